# SPDX-License-Identifier: Apache-2.0
"""`gait steps` and `gait breakdown --activity` beside sets of intervals in Python, over traces of
other tools: to the ns.

Nothing of gait's is used here: a trace is read as JSON, each part of a ledger is a union of
intervals less those before it.
"""

import collections
import gzip
import json
import pathlib
import random
from fractions import Fraction

import pytest
import stored_runs
from chosen_events import BASE_NS, span

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "traces"
TRACES = sorted(SHARED.glob("*/*.json.gz"))
KINDS = {"kernel": "computing", "gpu_memcpy": "copies", "memcpy": "copies"}
KINDS |= {"gpu_memset": "copies", "memset": "copies"}
DEVICES = ("computing", "communication", "copies")
PARTS = (*DEVICES, "input", "blocking", "alloc", "launch", "op", "python")


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


def lanes_of(path):
    """What each lane holds, the steps, the turns' time, and that of the devices."""
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
    if not work:
        return None
    known = launchers & with_ops
    counts = launchers if known else launchers | with_ops
    lanes["op"] = [row[1:] for row in ops if row[0] in counts]
    lanes["python"] = [row[1:] for row in python if row[0] in counts]
    devices = [row for kind in DEVICES for row in lanes[kind]]
    window = [[min(a for a, _ in devices), max(b for _, b in devices)]]
    steps = sorted(steps)
    if not steps:
        return lanes, steps, None, window
    begin, until = steps[-1][:2]
    ends = [end for link, end in work if link in calls and begin <= calls[link] <= until]
    return lanes, steps, [[steps[0][0], max([steps[-1][1], *ends])]], window


def parted(base, lanes, parts):
    """Of each part what is in none before it; of the rest, None."""
    made, left = {}, base
    for part in parts:
        rest = minus(left, union(lanes[part]))
        made[part], left = minus(left, rest), rest
    return {**made, None: left}


def length(rows):
    return sum(b - a for a, b in rows)


def ledger(path):
    known = lanes_of(path)
    if not known or not known[1]:
        return None
    lanes, steps, base, _ = known
    parts = {part or "nothing": length(rows) for part, rows in parted(base, lanes, PARTS).items()}
    turns = [b[0] - a[0] for a, b in zip(steps, steps[1:], strict=False)]
    return parts, [*turns, base[0][1] - steps[-1][0]]


def cells(lanes, base):
    devices, hosts = parted(base, lanes, DEVICES), parted(base, lanes, PARTS[len(DEVICES) :])
    return {
        (state or "idle", host or "nothing"): length(minus(rows, minus(rows, at)))
        for state, rows in devices.items()
        for host, at in hosts.items()
    }


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


# --- devices by host -------------------------------------------------------------------------


def told_activity(gait, path, *options):
    told = json.loads(gait("breakdown", "--activity", "--json", *options, path).stdout)
    made = {(row["state"], row["host"]): row["ns"] for row in told["activity"]}
    totals = {(row["state"], row["host"]): row["ns"] for row in told["activity_totals"]}
    for row in told["activity"] + told["activity_totals"]:
        assert row["of_ns"] == sum(made.values())
        assert row["share"] == pytest.approx(row["ns"] / row["of_ns"], abs=1e-6)
    for (state, host), ns in totals.items():
        assert ns == sum(
            cell for at, cell in made.items() if state in (None, at[0]) and host in (None, at[1])
        )
    return told, made, {row["base"] for row in told["activity"]}


def sums_to_the_ledger(told, made):
    """The idle row is that of the ledger, and the others sum to its parts."""
    (row,) = [row for row in told["ledgers"] if row["device"]]
    for part in row["device"]:
        sums = [ns for (state, _), ns in made.items() if state == part["id"]]
        assert part["ns"] == (sum(sums) if sums else made["idle", part["id"]]), part


def sums_to_the_whole(told, made):
    """Each state is the figure of the whole."""
    (rank,) = told["ranks"]
    total = rank["whole"]["total"]
    figures = {"computing": total["compute_busy"], "communication": total["exposed_comm"],
               "copies": total["exposed_copy"], "idle": rank["whole"]["idle"]}  # fmt: skip
    for state, ns in figures.items():
        assert ns == sum(cell for at, cell in made.items() if at[0] == state), state


def drawn_events(seed, has_steps):
    draw, events, at = random.Random(seed), [], 5
    for number in range(4):
        if has_steps:
            events.append(span("user_annotation", f"ProfilerStep#{number}", at, 1000))
        loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        events.append(span("user_annotation", loader, at + 10, draw.randrange(1, 200)))
        for begin in sorted(draw.sample(range(150, 1000), 12)):
            link = len(events) + 1
            call = draw.choice(["cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize",
                                "cudaMalloc"])  # fmt: skip
            events.append(span("cpu_op", "aten::mm", at + begin - 3, draw.randrange(5, 70)))
            events.append(span("python_function", "f", at + begin - 9, draw.randrange(9, 90)))
            events.append(span("cuda_runtime", call, at + begin, draw.randrange(1, 40),
                               correlation=link))  # fmt: skip
            kind, name = draw.choice([("kernel", "gemm"), ("kernel", "ncclKernel_Sum"),
                                      ("gpu_memcpy", "Memcpy HtoD")])  # fmt: skip
            events.append(span(kind, name, at + begin + draw.randrange(5, 400),
                               draw.randrange(0, 90), tid=100 + link % 3, pid=0, device=0,
                               stream=100 + link % 3, correlation=link))  # fmt: skip
        at += draw.randrange(1000, 1300)
    return events


@pytest.mark.parametrize("has_steps", [True, False], ids=["steps", "window"])
@pytest.mark.parametrize("seed", range(4))
def test_what_the_host_did_in_each_state_of_the_devices(gait, tmp_path, seed, has_steps):
    path, base_ns = tmp_path / "drawn.json.gz", BASE_NS
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": base_ns}
    trace["traceEvents"] = drawn_events(seed, has_steps)
    path.write_bytes(gzip.compress(json.dumps(trace).encode()))
    lanes, _, turns, window = lanes_of(path)
    told, made, bases = told_activity(gait, path)
    assert bases == {"turn" if has_steps else "window"}
    assert made == cells(lanes, turns or window)
    name = "4 steps of rank 0" if has_steps else "window of rank 0"
    screen = gait("breakdown", "--activity", path).stdout
    assert f"\n{name} " in screen and max(map(len, screen.splitlines()[1:])) <= 78
    assert f"What the host did: {name}" in gait("breakdown", "--format=html", path).stdout
    assert "of rank 0" not in gait("breakdown", path).stdout
    if has_steps:
        sums_to_the_ledger(told, made)
        told, some, _ = told_activity(gait, path, "--steps=1..2")
        sums_to_the_ledger(told, some)
        assert sum(some.values()) < sum(made.values())
    else:
        sums_to_the_whole(told, made)
    times = ("--from", f"{base_ns + 700_000}", "--to", f"{base_ns + 2_500_500}")
    told, made, bases = told_activity(gait, path, *times)
    ((begin, end),) = window
    assert bases == {"choice"}
    assert made == cells(lanes, [[max(begin, 700_000), min(end, 2_500_500)]])
    sums_to_the_whole(told, made)


def test_steps_of_a_recorded_run_with_devices_on_record(gait, tmp_path):
    stored_runs.unpack(tmp_path)
    for run in ("h200", "h200_input"):
        told, made, bases = told_activity(gait, tmp_path / run)
        assert bases == {"turn"} and sum(made.values())
        sums_to_the_ledger(told, made)


def test_a_rank_without_devices_says_what_would_tell(gait, tmp_path):
    path = tmp_path / "host.json.gz"
    events = [row for row in drawn_events(1, True) if row["tid"] == 9]
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    told = json.loads(gait("breakdown", "--activity", "--json", path).stdout)
    assert told["activity"] == told["activity_totals"] == []
    assert "no work of devices is on record" in gait("breakdown", "--activity", path).stdout
    assert "activity" not in json.loads(gait("breakdown", "--json", path).stdout)


@pytest.mark.skipif(not TRACES, reason="the shared traces are not here")
def test_activity_of_real_traces_is_exact(gait):
    compared = judged = 0
    for path in TRACES:
        known = lanes_of(path)
        if not known:
            continue
        lanes, steps, turns, window = known
        told, made, bases = told_activity(gait, path)
        has_turns = bases == {"turn"}  # of steps that bear another name, too
        assert has_turns or (bases == {"window"} and not steps), path
        assert bool(steps) < has_turns or made == cells(lanes, turns or window), path
        (sums_to_the_ledger if has_turns else sums_to_the_whole)(told, made)
        verdict = json.loads(gait("report", "--json", path).stdout)
        parts = {part["id"]: part for part in verdict["verdict_parts"]}
        if verdict["verdict_base"] == ("step" if has_turns else "window"):
            for part, host in (("input", "input"), ("sync", "blocking")):
                told_ns = parts.get(part, {"ns": 0})["ns"]
                assert told_ns == made["idle", host], (path, part)
            judged += 1
        compared += 1
    assert compared >= 10 and judged >= 10
