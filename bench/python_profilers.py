#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gait's named profilers cost beside those they stand in for.

usage: python_profilers.py [--json] [--rounds N] [--calls MILLIONS]

Tracing: added CPU time a Python call, gait's over cProfile's, call tree and names
included. Actions: a start and its stop, gait's over what Lightning's
SimpleProfiler does for one, statement for statement. All of them run in turn in
each round; a figure is the median over the rounds. --calls: how far memory grows
over so many million traced calls.
"""

import argparse
import cProfile
import json
import resource
import statistics
import sys
import time
from collections import defaultdict

from gait.profilers import Advanced, Simple

FIB = 18
PAIRS = 5000


class ReferenceSimple:
    """start() and stop() of Lightning's SimpleProfiler (2.6)."""

    def __init__(self):
        self.current_actions = {}
        self.recorded_durations = defaultdict(list)

    def start(self, action_name):
        if action_name in self.current_actions:
            raise ValueError(f"Attempted to start {action_name} which has already started.")
        self.current_actions[action_name] = time.perf_counter()

    def stop(self, action_name):
        end_time = time.perf_counter()
        if action_name not in self.current_actions:
            raise ValueError(f"Attempting to stop recording an action ({action_name}) which …")
        start_time = self.current_actions.pop(action_name)
        duration = end_time - start_time
        self.recorded_durations[action_name].append(duration)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Node:
    """Calls of many functions with arguments, from several callers, and generators."""

    def __init__(self, depth, width):
        self.children = [Node(depth - 1, width) for _ in range(width if depth else 0)]

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def size(self):
        return 1 + sum_of(child.size() for child in self.children)

    def depth(self):
        return 1 + max_of([child.depth() for child in self.children])


def sum_of(numbers):
    total = 0
    for number in numbers:
        total = add(total, number)
    return total


def max_of(numbers):
    most = 0
    for number in numbers:
        most = larger(most, number)
    return most


def add(a, b):
    return a + b


def larger(a, b):
    return a if a > b else b


def work_mixed():
    tree = Node(5, 3)
    return len(list(tree.walk())), tree.size(), tree.depth()


WORK = {"fib": lambda: fib(FIB), "mixed": work_mixed}


def timed(work):
    before = time.thread_time_ns()
    work()
    return time.thread_time_ns() - before


def under_cprofile(work):
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    ns = timed(work)
    profile.disable()
    return ns


def under_cprofile_builtins(work):
    profile = cProfile.Profile()
    profile.enable()
    ns = timed(work)
    profile.disable()
    return ns


def under_gait(work):
    profiler = Advanced()
    profiler.start("bench")
    ns = timed(work)
    profiler.stop("bench")
    profiler.close()
    profiler.report("bench")  # the names: outside of the time, but they must be there
    return ns


def count_calls(work):
    profiler = Advanced()
    with profiler.profile("bench"):
        work()
    profiler.close()
    return sum(value[1] for value in profiler.stats("bench").stats.values())


def measure_tracing(rounds):
    modes = {
        "plain": timed,
        "gait": under_gait,
        "cprofile": under_cprofile,
        "cprofile_builtins": under_cprofile_builtins,
    }
    results = {}
    for name, work in WORK.items():
        calls = count_calls(work)
        taken = {mode: [] for mode in modes}
        for _ in range(rounds):
            for mode, run in modes.items():
                taken[mode].append(run(work))
        median = {mode: statistics.median(ns) / calls for mode, ns in taken.items()}
        plain = median.pop("plain")
        added = {mode: ns - plain for mode, ns in median.items()}
        results[name] = {
            "calls": calls,
            "added_ns": {mode: round(ns, 1) for mode, ns in added.items()},
            "ratio": round(added["gait"] / added["cprofile"], 3),
        }
    return results


def time_pairs(profiler):
    before = time.thread_time_ns()
    for _ in range(PAIRS):
        profiler.start("action")
        profiler.stop("action")
    return (time.thread_time_ns() - before) / PAIRS


def time_nothing():
    before = time.thread_time_ns()
    for _ in range(PAIRS):
        pass
    return (time.thread_time_ns() - before) / PAIRS


def measure_pairs(rounds):
    ours, theirs, loop = [], [], []
    profiler = Simple()
    for _ in range(rounds):
        reference = ReferenceSimple()
        theirs.append(time_pairs(reference))
        ours.append(time_pairs(profiler))
        loop.append(time_nothing())
    empty = statistics.median(loop)
    gait, lightning = statistics.median(ours) - empty, statistics.median(theirs) - empty
    return {
        "gait_ns": round(gait, 1),
        "lightning_ns": round(lightning, 1),
        "ratio": round(gait / lightning, 3),
    }


def measure_memory(millions):
    profiler = Advanced()
    calls = 0
    with profiler.profile("bench"):
        work_mixed()
        fib(FIB)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        while calls < millions * 1e6:
            fib(25)  # 242,785 calls
            calls += 242785
    profiler.close()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"calls": calls, "grown_bytes": 1024 * grown}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=float, default=1)
    options = parser.parse_args()
    result = {
        "python": sys.version.split()[0],
        "tracing": measure_tracing(options.rounds),
        "pair": measure_pairs(options.rounds),
        "memory": measure_memory(options.calls),
    }
    if options.json:
        print(json.dumps(result))
        return
    print(f"Python {result['python']}, median of {options.rounds} rounds")
    for name, row in result["tracing"].items():
        print(f"{name}: {row['added_ns']} ns a call, {row['ratio']:.3f} of cProfile's")
    print(f"start and stop: {result['pair']}")
    print(f"memory: {result['memory']}")


if __name__ == "__main__":
    main()
