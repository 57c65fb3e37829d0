# SPDX-License-Identifier: Apache-2.0
"""Recorded windows against what torch recorded in them, and against torch.profiler beside."""

import collections
import gzip

from . import oracle
from .session import Failed, median

TIMES = 0.005  # of all kernels of a window, beside torch.profiler's of other steps
SMALL = 300_000  # bytes of a trace that is kept for tests/golden
KEYS = oracle.STATES


def kernels_of(session, source):
    """name: [calls, ns], of all ops."""
    found = collections.defaultdict(lambda: [0, 0])
    for row in session.ask("kernels", source)["kernels"]:
        found[row["name"]][0] += row["calls"]
        found[row["name"]][1] += row["total_ns"]
    return dict(found)


def sums_of(windows):
    """Of several windows' events: kernels and the eight states of all."""
    kernels, whole = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for events in windows:
        whole.update(oracle.whole(events))
        for name, (calls, ns) in oracle.kernels(events).items():
            kernels[name][0] += calls
            kernels[name][1] += ns
    return dict(kernels), whole


def keep_small(session, path, name):
    """A trace for tests/golden, where it is small."""
    packed = gzip.compress(path.read_bytes(), 9, mtime=0)
    if len(packed) <= SMALL:
        (session.folder.parent / f"{session.name}-{name}.pt.trace.json.gz").write_bytes(packed)


def events_of(paths):
    windows = [oracle.device_events(oracle.rows_of(path)) for path in paths]
    if not windows or not all(windows):
        raise Failed("a window has no work of devices in it" if windows else "no window was kept")
    return windows


def hold_windows(session, told, rank_count=1):
    """What gait says of a run is what torch wrote of the same windows, to the ns."""
    windows = events_of(session.traces("recorded-*.json"))
    kernels, whole = sums_of(windows)
    session.same("kernels in windows", kernels_of(session, session.run), kernels)
    ranks = session.ask("breakdown", "--steps", session.run)["ranks"]
    session.same("ranks with devices", len(ranks), rank_count)
    found = collections.Counter()
    for rank in ranks:
        found.update({key: rank["whole"][key] for key in KEYS})
    session.same("states of devices", dict(found), dict(whole))
    steps = sum(len(rank["steps"]) for rank in ranks)
    session.same("steps in windows", steps, 3 * len(windows))
    report = session.ask("report", session.run)
    for rank in report["ranks"]:
        session.same(f"steps of rank {rank['rank']}", rank["steps"], told["steps"])
    busy = 1 - whole["idle"] / max(1, sum(whole.values()))
    session.figures.update({"devices busy": busy, "windows": len(windows)})
    keep_small(session, session.traces("recorded-*.json")[0], "window")
    return sum(calls for calls, _ in kernels.values()), windows


def variant(session, what):
    told = session.recorded(what)
    calls, _ = hold_windows(session, told)
    return f"{told['steps']} steps, {calls:,} kernels in windows, equal to the ns"


def windows(session):
    """Means of the same kernel in windows of gait and of torch, in turns."""
    told = session.recorded("windows")
    calls, ours = hold_windows(session, told)
    theirs = events_of(session.traces("torch-*.json"))
    session.same("windows of torch", len(theirs), len(ours))
    mine, truth = counts(ours), counts(theirs)
    session.same("calls beside torch.profiler", mine, truth)
    mine, truth = typical(ours), typical(theirs)
    apart = session.near(
        "time beside torch.profiler", sum(mine.values()), sum(truth.values()), TIMES
    )
    session.figures["longest"] = {
        name[:60]: [mine.get(name), ns]
        for name, ns in sorted(truth.items(), key=lambda row: -row[1])[:8]
    }
    return f"ok, {calls:,} kernels, times within {apart:.2%}"


def typical(windows):
    """name: its calls by their median, in ns: behind a pause clocks are slow for some."""
    lengths = collections.defaultdict(list)
    for start, end, lane, name in (event for events in windows for event in events):
        if lane != "mem":
            lengths[name].append(end - start)
    return {name: len(values) * median(values) for name, values in lengths.items()}


def counts(windows):
    return dict(collections.Counter(name for events in windows for *_, name in events))


def breakdown(session):
    """torch's own trace, taken in by gait, against brute force over the same file."""
    session.alone("traced")
    trace = session.folder / "out/torch.json"
    rows = oracle.rows_of(trace)
    (events,) = events_of([trace])
    (rank,) = session.ask("breakdown", "--steps", trace)["ranks"]
    want = {key: oracle.whole(events)[key] for key in KEYS}
    session.same("whole", {key: rank["whole"][key] for key in KEYS}, want)
    steps = {name: {key: sums[key] for key in KEYS} for name, sums in oracle.steps(rows)}
    found = {step["name"]: {key: step[key] for key in KEYS} for step in rank["steps"]}
    session.same("steps", found, steps)
    for step in rank["steps"]:
        session.same("causes of idle time", sum(step["idle_causes"].values()), step["idle"])
    session.same("kernels", kernels_of(session, trace), oracle.kernels(events))
    keep_small(session, trace, "torch")
    return f"ok, {len(events):,} events, {len(steps)} steps, equal to the ns"


def ranks(session):
    """Two processes: NCCL where two devices are, else gloo of one device's tensors."""
    run = [session.tool, "run", "-q", "-o", session.folder / "out/run", "--"]
    both = 'for r in 0 1; do RANK=$r LOCAL_RANK=$r "$@" & p="$p $!"; done; '
    both += "for q in $p; do wait $q || c=1; done; exit ${c:-0}"
    env = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    env |= {"MASTER_PORT": free_port(), "GAIT_TORCH_WINDOWS": "5/3/20"}
    session.call([*run, "sh", "-c", both, "both", *session.program("ranks")], env)
    session.run = session.folder / "out/run"
    told = session.told(rank=1)
    calls, windows = hold_windows(session, told, rank_count=2)
    collectives = [name for events in windows for _, _, lane, name in events if lane == "comm"]
    comms = session.ask("comms", session.run)["collectives"]
    kernels = sum(row["calls"] * row["ranks"] for row in comms)
    session.same("kernels of collectives", kernels, len(collectives))
    if told["backend"] == "nccl" and not collectives:
        raise Failed("NCCL ran and no kernel of it is on record")
    there = "two devices" if told["backend"] == "nccl" else "of one device: NCCL not tried"
    return f"ok, {told['backend']} {there}, {calls:,} kernels, {len(collectives)} collectives"


def free_port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def held(session):
    """The program's own profiler has the devices: one sentence, and the rest is recorded."""
    told = session.recorded("held", 30)
    session.same("sentences", session.stderr.count("torch.profiler itself"), 1)
    session.same("ranks with devices", len(session.ask("breakdown", session.run)["ranks"]), 0)
    (rank,) = session.ask("report", session.run)["ranks"]
    session.same("steps", rank["steps"], told["steps"])
    return f"ok, {told['steps']} steps beside a profiler of the program's, one sentence"


def of(what):
    def part(session):
        return "ok, " + variant(session, what)

    return part
