# SPDX-License-Identifier: Apache-2.0
"""The table of ops at the end of `gait run --profile`: of all windows of one process.
With export_to_flame_graph their stacks too, of each process.

usage: run_table.py RUN_DIRECTORY FOLDER [quiet], with the settings in GAIT_PROFILING_…

It is torch.profiler's table, so its text is made where that is made; no torch is
imported for it.
"""

import glob
import os
import sys


class Window:
    """A window of a run, as a capture is seen by who lists its events."""

    def __init__(self, path, pid, times, options) -> None:
        self.paths = [path]
        self.pid = pid
        self.begin_ns, self.end_ns = times
        self.options = options


def windows(path, options):
    """(rank, its windows, what became of the one for runs without steps) of one shard."""
    from gait import trace
    from gait._vocabulary import META_SPARE_WINDOW, WINDOW

    with trace.open(path) as opened:
        found = [
            (event.id, event.pid, (event.start_ns, event.start_ns + event.duration_ns))
            for event in opened.events(kind="async")
            if (event.category, event.name) == WINDOW and event.duration_ns
        ]
        rank = max((shard["rank"] for shard in opened.shards), default=-1)
        spare = opened.metadata().get(META_SPARE_WINDOW)
    numbered = [(number, Window(path, pid, times, options)) for number, pid, times in found]
    return rank, numbered, spare


def of_ranks(paths, options):
    """[(rank, path, its windows)]. As in src/analyse/job/inventory.c: where anybody's
    schedule moved on, the first windows of those that have a spare one do not count."""
    from gait._vocabulary import SPARE_DROPPED

    found = [(path, *windows(path, options)) for path in paths]
    is_moving = any(spare == SPARE_DROPPED for *_, spare in found)
    ranks = []
    for path, rank, numbered, spare in found:
        kept = [one for number, one in numbered if not (spare and is_moving and number == 1)]
        if kept:
            ranks.append((max(rank, 0), path, kept))
    return ranks


def is_own(path):
    """Was its process started by the `gait run` that asks?"""
    from gait import trace
    from gait._vocabulary import META_INVOCATION

    with trace.open(path) as opened:
        told = opened.metadata().get(META_INVOCATION)
    asking = os.environ.get("GAIT_INVOCATION")
    return not (told and asking) or told == asking


def find(directory, config):
    """What of_ranks() tells of a run directory."""
    options = {
        "record_shapes": config.record_shapes,
        "profile_memory": config.profile_memory,
        "with_stack": config.with_stack,
        "with_flops": config.with_flops and config.record_shapes,
    }
    paths = sorted(glob.glob(os.path.join(glob.escape(directory), "*.gait")))
    return of_ranks([path for path in paths if is_own(path)], options)


def put_table(ranks, config, out) -> None:
    from gait.torch.recorded import Recorded

    rank, _, found = min(ranks, key=lambda one: one[:2])
    averages = Recorded(found).averages(config.group_by_input_shape, config.group_by_stack_n)
    whose = f" of rank {rank}" if len(ranks) > 1 else ""
    plural = "" if len(found) == 1 else "s"
    out.write(f"\nOps of {len(found)} window{plural}{whose}, sorted by {config.sort_by}\n")
    out.write(averages.table(sort_by=config.sort_by, row_limit=config.row_limit) + "\n")


def put_stacks(ranks, config, folder, is_quiet) -> None:
    from gait._say import say
    from gait.torch import flame
    from gait.torch.handlers import default_worker
    from gait.torch.recorded import Recorded

    for rank, _, found in ranks:
        rank = rank if len(ranks) > 1 else None
        worker = config.worker_name or default_worker(rank, found[0].pid)
        events = Recorded(found).events()
        path = flame.write(events, config.with_stack, folder, worker, config.metric)
        if not is_quiet:
            say(f"stacks of ops in '{path}'")


def put(directory, folder, is_quiet) -> None:
    import gait
    from gait._say import attempt

    config = gait.Config.from_environment()
    ranks = find(directory, config)
    if not ranks:
        return
    if config.table and not is_quiet:
        attempt("no table of ops", put_table, ranks, config, sys.stderr)
    if config.export_to_flame_graph:
        attempt("no stacks of ops", put_stacks, ranks, config, folder, is_quiet)


def main() -> None:
    # this folder holds modules by names of the standard library's
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        put(sys.argv[1], sys.argv[2], "quiet" in sys.argv[3:])
    except Exception as error:  # also where there is no gait to say it
        sys.exit(f"gait: no table of ops: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
