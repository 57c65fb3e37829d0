# SPDX-License-Identifier: Apache-2.0
"""`gait steps` beside sets of intervals in Python, over traces of other tools: to the ns.

Nothing of gait's is used here: a trace is read as JSON, each part of a ledger is a union of
intervals less those before it.
"""

import collections
import gzip
import json
import pathlib
from fractions import Fraction

import pytest

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "traces"
TRACES = sorted(SHARED.glob("*/*.json.gz"))
KINDS = {"kernel": "computing", "gpu_memcpy": "copies", "memcpy": "copies"}
KINDS |= {"gpu_memset": "copies", "memset": "copies"}
PARTS = ("computing", "communication", "copies", "input", "blocking", "alloc", "launch", "op")
PARTS += ("python",)


def ns(us):
    return int(Fraction(str(us)) * 1000)


def read(path):
    """(category, name, thread, start, end, args) of each span, in ns."""
    data = json.loads(gzip.decompress(path.read_bytes()), strict=False, parse_float=str)
    events = data["traceEvents"] if isinstance(data, dict) else data
    for event in events:
        if event.get("ph") != "X":
            continue
        start, length = ns(event["ts"]), ns(event.get("dur") or 0)
        category = str(event.get("cat", "")).lower()
        yield category, event["name"], event.get("tid"), start, start + length, event.get("args")


def union(rows):
    made = []
    for start, end in sorted(rows):
        if made and start <= made[-1][1]:
            made[-1][1] = max(made[-1][1], end)
        elif end > start:
            made.append([start, end])
    return made


def minus(rows, less):
    """What of sorted, disjoint `rows` is in none of sorted, disjoint `less`."""
    made, at = [], 0
    for start, end in rows:
        while at < len(less) and less[at][1] <= start:
            at += 1
        k = at
        while k < len(less) and less[k][0] < end:
            if less[k][0] > start:
                made.append([start, less[k][0]])
            start = max(start, less[k][1])
            k += 1
        if start < end:
            made.append([start, end])
    return made


def call_kind(name, length):
    if "Synchronize" in name or name in ("cudaMemcpy", "hipMemcpy"):
        return "blocking"
    if any(word in name for word in ("Malloc", "cudaFree", "hipFree", "HostAlloc", "HostRegister")):
        return "alloc"
    return "blocking" if "emcpy" in name and length >= 1_000_000 else "launch"


def is_loader(name):
    return name.startswith("enumerate(DataPipe)#") or (
        name.startswith("enumerate(DataLoader)#") and name.endswith(".__next__")
    )


def ledger(path):
    lanes, calls, ops, python, steps, work = (collections.defaultdict(list), {}, [], [], set(), [])
    launchers, with_ops = set(), set()
    for category, name, thread, start, end, args in read(path):
        link = (args or {}).get("correlation")
        if category in KINDS:
            kind = KINDS[category]
            if category == "kernel" and any(
                w in name.lower() for w in ("nccl", "rccl", "hccl", "oneccl")
            ):
                kind = "communication"
            lanes[kind].append((start, end))
            work.append((link, end))
        elif category in ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime"):
            lanes[call_kind(name, end - start)].append((start, end))
            if link and str(link) not in ("0", "-1"):
                launchers.add(thread)
                if link not in calls or start < calls[link]:
                    calls[link] = start
        elif name.startswith("ProfilerStep") and not category.startswith("gpu_"):
            steps.add((start, end, name))
        elif is_loader(name):
            lanes["input"].append((start, end))
        elif category in ("cpu_op", "operator"):
            ops.append((thread, start, end))
            with_ops.add(thread)
        elif category == "python_function":
            python.append((thread, start, end))
    if not steps or not work:
        return None
    known = launchers & with_ops
    counts = launchers if known else launchers | with_ops
    lanes["op"] = [row[1:] for row in ops if row[0] in counts]
    lanes["python"] = [row[1:] for row in python if row[0] in counts]
    steps = sorted(steps)
    begin, until = steps[-1][:2]
    ends = [end for link, end in work if link in calls and begin <= calls[link] <= until]
    base = [[steps[0][0], max([steps[-1][1], *ends])]]
    parts, left = {}, base
    for part in PARTS:
        rest = minus(left, union(lanes[part]))
        parts[part] = sum(b - a for a, b in left) - sum(b - a for a, b in rest)
        left = rest
    parts["nothing"] = sum(b - a for a, b in left)
    turns = [b[0] - a[0] for a, b in zip(steps, steps[1:], strict=False)]
    return parts, [*turns, base[0][1] - steps[-1][0]]


@pytest.mark.skipif(not TRACES, reason="the shared traces are not here")
def test_the_ledger_of_turns_is_exact(gait):
    compared = 0
    for path in TRACES:
        wanted = ledger(path)
        if not wanted:
            continue
        told = json.loads(gait("steps", "--json", path).stdout)
        (row,) = told["ledgers"]
        assert {part["id"]: part["ns"] for part in row["device"]} == wanted[0], path
        assert [step["turn_ns"] for step in told["steps"]] == wanted[1], path
        assert sum(part["ns"] for part in row["device"]) == row["total_ns"] == sum(wanted[1]), path
        compared += 1
    assert compared >= 10
