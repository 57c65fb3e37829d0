# SPDX-License-Identifier: Apache-2.0
"""The Chrome export, read by strict JSON parsers and compared with the CSV export."""

import collections
import decimal
import gzip
import json
import os
import random
import shutil
import subprocess

import pytest
from export_cases import (
    HOSTILE,
    LABELS,
    START,
    assert_nothing_crosses,
    everything,
    in_csv,
    read_csv,
    spans_of,
)
from shard_maker import ShardMaker


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def strictly_parsed(data):
    text = data.decode("utf-8", "strict")
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=refuse)


def exported(gait, path, *options, name="out.json"):
    ran = gait("export", path, "--format", "chrome", "-o", name, *options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


class Trace:
    """The events by phase, and where they are."""

    def __init__(self, document):
        self.base = document["baseTimeNanoseconds"]
        self.shards = {s["pid"]: s for s in document["otherData"]["shards"]}
        self.names = {}
        self.by_phase = collections.defaultdict(list)
        for event in document["traceEvents"]:
            self.by_phase[event["ph"]].append(event)
            if event["ph"] == "M" and event["name"] == "thread_name":
                self.names[event["pid"], event["tid"]] = event["args"]["name"]

    def ns(self, microseconds):
        return self.base + self.length(microseconds)

    @staticmethod
    def length(microseconds):
        assert isinstance(microseconds, decimal.Decimal)
        return int(microseconds * 1000)

    def rank(self, event):
        return str(self.shards[event["pid"]]["rank"])

    def label(self, event):
        return self.names[event["pid"], event["tid"]]


@pytest.fixture
def trace_and_rows(gait, tmp_path):
    case = everything(tmp_path / "run")
    exported(gait, case.directory)
    assert gait("export", case.directory, "--format", "csv", "-o", "out.csv").returncode == 0
    trace = Trace(strictly_parsed((tmp_path / "out.json").read_bytes()))
    return trace, read_csv((tmp_path / "out.csv").read_bytes().decode())


def own_label(label):
    return label.split(" overlapping")[0]


def test_spans_are_those_of_the_csv_export(trace_and_rows):
    trace, rows = trace_and_rows
    spans = [e for e in trace.by_phase["X"] if e["cat"] not in ("step", "drop")]
    got = [
        (trace.rank(e), own_label(trace.label(e)), in_csv(e["cat"]), in_csv(e["name"]),
         trace.ns(e["ts"]), trace.length(e["dur"]))
        for e in spans
    ]  # fmt: skip
    got += [
        (
            trace.rank(e),
            own_label(trace.label(e)),
            in_csv(e["cat"]),
            in_csv(e["name"]),
            trace.ns(e["ts"]),
            -1,
        )
        for e in trace.by_phase["B"]
    ]
    assert sorted(got) == spans_of(rows)
    assert not trace.by_phase["E"]
    assert {e["name"] for e in trace.by_phase["B"]} == {"outer", "inner"}


def test_times_count_from_a_midnight_so_that_doubles_hold_them(trace_and_rows):
    trace, _ = trace_and_rows
    day = 86_400_000_000_000
    assert trace.base == START - START % day
    for e in trace.by_phase["X"]:
        assert trace.base + round(float(e["ts"]) * 1000) == trace.ns(e["ts"])


def test_no_lane_has_spans_that_cross(trace_and_rows):
    trace, _ = trace_and_rows
    lanes = collections.defaultdict(list)
    for e in trace.by_phase["X"]:
        start = trace.ns(e["ts"])
        lanes[e["pid"], e["tid"]].append((start, start + trace.length(e["dur"])))
    assert any("overlapping" in name for name in trace.names.values())
    for spans in lanes.values():
        assert_nothing_crosses(spans)


def test_processes_of_one_number_stay_apart(trace_and_rows):
    trace, _ = trace_and_rows
    assert [s["system_pid"] for s in trace.shards.values()] == [4711, 4711]
    assert sorted(s["rank"] for s in trace.shards.values()) == [0, 1]
    names = [e["args"]["name"] for e in trace.by_phase["M"] if e["name"] == "process_name"]
    assert len(names) == 2
    assert any(name.startswith("maker rank 1 on node1 (pid 4711)") for name in names)
    tids = collections.Counter(tid for _, tid in trace.names)
    assert max(tids.values()) == 1


def test_steps_and_drops_are_seen(trace_and_rows):
    trace, _ = trace_and_rows
    named = {(e["name"], trace.label(e), trace.length(e["dur"])) for e in trace.by_phase["X"]}
    assert ("step 2", 'main "thread" steps', 9500) in named
    assert ("dropped 7 events", 'main "thread" drops', 50) in named


def test_counters_keep_their_values(trace_and_rows):
    trace, rows = trace_and_rows
    got = collections.Counter()
    for e in trace.by_phase["C"]:
        value = e["args"]["value"]
        got[e["name"], e.get("id", ""), trace.ns(e["ts"]), float(value)] += 1
    want = collections.Counter()
    for r in rows:
        if r["kind"] == "counter":
            track = "" if r["tid"] == "4711" else LABELS[r["rank"], r["tid"]]
            want[r["name"], track, int(r["start_ns"]), float(r["value"])] += 1
    assert got == want


def test_async_spans_pair_up(trace_and_rows):
    trace, rows = trace_and_rows
    begins = {e["id2"]["local"]: e for e in trace.by_phase["b"]}
    ends = {e["id2"]["local"]: e for e in trace.by_phase["e"]}
    assert len(begins) == len(trace.by_phase["b"]) == 20
    assert set(ends) < set(begins)
    got = sorted(
        (e["args"]["id"], trace.ns(e["ts"]), trace.ns(ends[k]["ts"]) if k in ends else None)
        for k, e in begins.items()
    )
    want = []
    for r in rows:
        if r["kind"] == "async":
            start, duration = int(r["start_ns"]), r["duration_ns"]
            want.append((int(r["id"]), start, start + int(duration) if duration else None))
    assert got == sorted(want, key=lambda w: w[0])


def test_flow_points_share_an_id(trace_and_rows):
    trace, _ = trace_and_rows
    points = [trace.by_phase[phase] for phase in "stf"]
    assert [len(p) for p in points] == [1, 1, 1]
    assert len({p[0]["id"] for p in points}) == 1
    assert len({(p[0]["cat"], p[0]["name"]) for p in points}) == 1
    assert points[2][0]["bp"] == "e"


def test_arguments_keep_their_types_and_digits(trace_and_rows):
    trace, _ = trace_and_rows
    mark = next(e for e in trace.by_phase["i"] if e["name"] == "here, there")
    assert mark["args"] == {
        "int": -(2**63),
        "big": 2**63 - 1,
        "real": decimal.Decimal("0.10000000000000001"),
        "whole": decimal.Decimal("3.0"),
        'k"ey': 'v"alue\n\x00end',
        "raw": 123456789012345678901234567890,
        "nan": "nan",
        "bad": "\ufffd",
    }
    kinds = {(e["cat"], tuple(sorted(e.get("args", {})))) for e in trace.by_phase["i"]}
    assert ("log", ("level",)) in kinds
    assert ("frame", ("weight",)) in kinds
    assert ("memory", ("address", "bytes", "total")) in kinds


def test_metadata_that_is_no_json_stays_a_text(gait, tmp_path):
    shard = ShardMaker(rank=0, note=b"{not json \xff\x01")
    shard.spans(shard.track(key="1000", os_id=1000), [(START, 5, shard.site("c", "n"))])
    shard.write(tmp_path / "run")
    exported(gait, tmp_path / "run")
    strictly_parsed((tmp_path / "out.json").read_bytes())


def test_gzip_by_name_holds_the_same(gait, tmp_path):
    case = everything(tmp_path / "run")
    exported(gait, case.directory)
    exported(gait, case.directory, name="out.json.gz")
    packed = gzip.decompress((tmp_path / "out.json.gz").read_bytes())
    assert packed == (tmp_path / "out.json").read_bytes()


# More than any buffer on the way holds, in several frames.
MANY = 1_000_000 if os.environ.get("GAIT_TEST_FULL") else 150_000
FRAME = MANY // 5


def many_hostile_events(directory):
    rng = random.Random(11)
    names = list(HOSTILE)
    while len(names) < 1000:
        pieces = [rng.randbytes(rng.randrange(1, 12)).replace(b"\0", b"\1") for _ in range(2)]
        names.append(rng.choice(HOSTILE[:7]) + b"".join(pieces))
    long_ones = [i for i, name in enumerate(names) if len(name) > 1000]
    shard = ShardMaker(rank=0)
    track = shard.track(key="1000", os_id=1000, name=HOSTILE[6])
    sites = [shard.site(names[-i], names[i]) for i in range(1000)]
    numbers = [n if n % 1000 not in long_ones or n < 2000 else 1 for n in range(MANY)]
    rows = [(START + n * 9, 8, sites[k % 1000]) for n, k in enumerate(numbers)]
    for first in range(0, MANY, FRAME):
        shard.spans(track, rows[first : first + FRAME])
    shard.write(directory)
    return [names[k % 1000].decode("utf-8", "replace") for k in numbers]


def test_many_hostile_events_are_strict_json(gait, tmp_path):
    names = many_hostile_events(tmp_path / "run")
    exported(gait, tmp_path / "run")
    path = tmp_path / "out.json"
    # floats as texts here: so many Decimals would take most of the time
    document = json.loads(
        path.read_bytes().decode("utf-8", "strict"), parse_float=str, parse_constant=refuse
    )
    spans = [e for e in document["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in spans] == names
    base = document["baseTimeNanoseconds"]
    assert all(
        base + int(e["ts"].replace(".", "")) == START + i * 9 and e["dur"] == "0.008"
        for i, e in enumerate(spans)
    )
    if not shutil.which("node"):
        pytest.skip("Python's parser agreed; node, the second one, is not installed")
    program = "console.log(JSON.parse(require('fs').readFileSync(process.argv[1]))"
    program += ".traceEvents.length)"
    ran = subprocess.run(["node", "-e", program, path], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, str(len(document["traceEvents"]))), ran
