# SPDX-License-Identifier: Apache-2.0
"""Tables of ops with the device's time: torch's own, and those of gait.torch.profile."""

from . import oracle
from .recordings import kernels_of
from .session import median

SESSIONS = ("plain", "all", "stack")
SORTS = ("self_cpu_time_total", "cpu_time_total", "count", "self_cuda_time_total")
NO_KERNELS = ("ProfilerStep", "Optimizer.", "##", "Memset", "Memcpy")
DEVICE_TIME = 0.05  # of other steps, with all that two profilers do between kernels


def ops(session):
    """`gait ops --torch` of torch's trace is the table that torch printed, byte for byte."""
    session.alone("tables")
    folder, lines = session.folder / "out", 0
    for name in SESSIONS:
        for key in SORTS:
            words = ["ops", "--torch", "--sort-by", key, "--row-limit", "-1"]
            done = session.call([session.tool, *words, folder / f"{name}.json"])
            want = (folder / f"{name}.{key}.txt").read_text()
            session.same(f"table {name} by {key}", done.stdout.rstrip("\n"), want.rstrip("\n"))
            lines += want.count("\n")
    return f"ok, {len(SESSIONS) * len(SORTS)} tables, {lines:,} lines, byte for byte"


def device_rows(rows):
    """Of rows of a table those with the device's time, without annotations: gait has none
    of those on the device (docs/DEVICES.md)."""
    kept = {}
    for key, (count, us) in rows.items():
        name = key.partition(" ")[2]
        is_op = "::" in name or name.endswith(("Backward0", "Backward1", "Backward"))
        is_kernel = key.startswith("CUDA ") and not name.startswith(NO_KERNELS)
        if us and (is_op or is_kernel):
            kept[key] = (count, us)
    return kept


def profile(session):
    """gait.torch.profile beside torch.profiler: the same ops as often, and their time."""
    told = session.alone("profiles")
    ours, theirs = ([device_rows(rows) for rows in told[name]] for name in ("gait", "torch"))
    want = {key: count for key, (count, _) in theirs[-1].items()}
    session.same("calls of ops", {key: count for key, (count, _) in ours[-1].items()}, want)
    apart = 0.0
    for kind in ("CPU", "CUDA"):
        sums = [
            median([sum(us for key, (_, us) in rows.items() if key.startswith(kind)) for rows in r])
            for r in (ours, theirs)
        ]
        apart = max(apart, session.near(f"device time of rows of {kind}", *sums, DEVICE_TIME))
    for trace in session.traces("gait-*.json"):
        events = oracle.device_events(oracle.rows_of(trace))
        session.same(f"kernels of {trace.name}", kernels_of(session, trace), oracle.kernels(events))
    return f"ok, {len(want)} ops and kernels as often as torch, device time within {apart:.2%}"
