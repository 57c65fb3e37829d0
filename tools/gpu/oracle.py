# SPDX-License-Identifier: Apache-2.0
"""What a trace of Kineto says of devices, counted by brute force: plain Python, edge by edge,
none of gait's code."""

import collections
import decimal
import gzip
import json
import pathlib

LANES = {"kernel": "compute", "gpu_memcpy": "mem", "gpu_memset": "mem"}
COMMUNICATE = ("nccl", "rccl", "hccl", "oneccl")
STATES = "idle compute comm mem compute+comm compute+mem comm+mem compute+comm+mem".split()


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value())


def rows_of(path):
    path = pathlib.Path(path)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data, parse_float=decimal.Decimal)["traceEvents"]


def device_events(rows):
    """(start, end, lane, name) of each."""
    found = []
    for row in rows:
        lane = LANES.get(row.get("cat")) if row.get("ph") == "X" else None
        if lane:
            name = row["name"]
            if row["cat"] == "kernel" and any(word in name.lower() for word in COMMUNICATE):
                lane = "comm"
            start = ns(row["ts"])
            found.append((start, start + ns(row["dur"]), lane, name))
    return found


def states(events, since, until):
    """How long each set of lanes was busy from `since` to `until`."""
    edges = [(min(max(at, since), until), change, lane) for start, end, lane, _ in events
             for at, change in ((start, 1), (end, -1))]  # fmt: skip
    busy, sums, at = collections.Counter(), collections.Counter(dict.fromkeys(STATES, 0)), since
    for moment, change, lane in [*sorted(edges), (until, 0, "")]:
        names = [one for one in ("compute", "comm", "mem") if busy[one]]
        sums["+".join(names) or "idle"] += moment - at
        at = moment
        busy[lane] += change
    return sums


def whole(events):
    return states(events, min(event[0] for event in events), max(event[1] for event in events))


def steps(rows):
    """(name, states) of each ProfilerStep of the host."""
    events = device_events(rows)
    for row in sorted((row for row in rows if row.get("ph") == "X"), key=lambda row: row["ts"]):
        if row.get("cat") == "user_annotation" and row["name"].startswith("ProfilerStep#"):
            since = ns(row["ts"])
            yield row["name"], states(events, since, since + ns(row["dur"]))


def kernels(events):
    """name: [calls, ns] of kernels alone."""
    found = collections.defaultdict(lambda: [0, 0])
    for start, end, lane, name in events:
        if lane != "mem":
            found[name][0] += 1
            found[name][1] += end - start
    return dict(found)
