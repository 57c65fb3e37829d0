#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ops on record cost a training, beside torch.profiler and an empty callback.

usage: torch_ops.py BUILD [--rounds N] [--json]

Every way is taken in turn in each round, in an order of its own; a figure is
the median of the differences to the same round without anything, in CPU time of
the training's thread for an op (one event of torch). What is recorded is
drained between the rounds. Needs torch.
"""

import argparse
import ctypes
import gc
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("KINETO_LOG_LEVEL", "5")

import gait
import torch
from gait.torch import windows
from torch.profiler import ProfilerActivity, profile

WARM = 20  # part of a round that is not timed
LEVELS = {"names": 0, "shapes": windows.SHAPES, "memory": windows.SHAPES | windows.MEMORY}
TORCH = {
    "names": {},
    "shapes": {"record_shapes": True},
    "memory": {"record_shapes": True, "profile_memory": True},
}
FLOORS = {"names": False, "shapes": True, "memory": True}  # needs_inputs
RSS_OPS = 100000


def make_add():
    add = torch.zeros(16).add_

    def work(count):
        for _ in range(count):
            add(1)

    return work, 2000


def make_mlp():
    layers = [torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)]
    model = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs, targets = torch.randn(16, 32), torch.randint(0, 10, (16,))

    def work(count):
        for _ in range(count):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return work, 50


LOADS = {"add_": make_add, "MLP step": make_mlp}


class Empty:
    """Torch's own floor."""

    def __init__(self, build):
        found = json.loads(gait._native._torch_describe())
        library = ctypes.CDLL(found["library"])
        own = ctypes.CDLL(str(build / "bench" / "libempty_callback.so"))
        self._add = own.empty_callback
        self._add.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._add.restype = ctypes.c_uint64
        name = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
        self._where = ctypes.cast(getattr(library, name), ctypes.c_void_p)
        self._remove = library._ZN2at14removeCallbackEm
        self._remove.argtypes = [ctypes.c_uint64]
        self._remove.restype = None

    def start(self, needs_inputs):
        self._handle = self._add(self._where, needs_inputs)

    def stop(self):
        self._remove(self._handle)


def timed(start, stop, work, count):
    """(ns in the loop, ns in the stop)"""
    start()
    gc.disable()
    work(max(1, count // WARM))
    begin = time.thread_time_ns()
    work(count)
    end = time.thread_time_ns()
    gc.enable()
    stop()
    return end - begin, time.thread_time_ns() - end


def ways_of(empty):
    """{(who, level): function(work, count)}"""
    window = gait._native._torch_window
    ways = {("base", ""): lambda *load: timed(lambda: None, lambda: None, *load)}
    for needs_inputs in (False, True):
        ways["empty", needs_inputs] = lambda *load, n=needs_inputs: timed(
            lambda: empty.start(n), empty.stop, *load
        )
    for level, bits in LEVELS.items():
        ways["gait", level] = lambda *load, bits=bits: timed(
            lambda: window(bits), lambda: window(None), *load
        )
    for level, options in TORCH.items():

        def run(*load, options=options):
            profiler = profile(activities=[ProfilerActivity.CPU], **options)
            return timed(profiler.start, profiler.stop, *load)

        ways["torch", level] = run
    return ways


def count_ops(work, count):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        work(count)
    return len(profiler.profiler.kineto_results.events())


def measure(build, rounds):
    windows.attach()
    ways = ways_of(Empty(build))
    names = list(ways)
    results = {}
    for load, make in LOADS.items():
        work, count = make()
        work(count)
        ops = count_ops(work, count)
        times = {name: [] for name in names}
        for _ in range(rounds):
            random.shuffle(names)
            for name in names:
                times[name].append(ways[name](work, count))
                gait.flush()
        results[load] = summary(times, ops)
    return results


def summary(times, ops):
    base = [loop for loop, _ in times["base", ""]]

    def added(name):
        rows = [loop - other for (loop, _), other in zip(times[name], base)]
        return statistics.median(rows) / ops

    def stop(name):
        return statistics.median(stop for _, stop in times[name]) / ops

    result = {"ops": ops, "base_ns": statistics.median(base) / ops, "levels": {}}
    for level in LEVELS:
        result["levels"][level] = {
            "gait_ns": added(("gait", level)),
            "torch_ns": added(("torch", level)),
            "empty_ns": added(("empty", FLOORS[level])),
            "gait_stop_ns": stop(("gait", level)),
            "torch_stop_ns": stop(("torch", level)),
        }
    return result


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def growth(who, level):
    """Resident bytes that a window of RSS_OPS ops leaves, in this process."""
    work, count = make_add()
    work(count)
    profiler = profile(activities=[ProfilerActivity.CPU], **TORCH[level])
    windows.attach()
    if who == "gait":  # what is there once, not for each op
        gait._native._torch_window(LEVELS[level])
        work(count)
        gait._native._torch_window(None)
        gait.flush()
    before = resident()
    if who == "gait":
        gait._native._torch_window(LEVELS[level])
    else:
        profiler.start()
    work(RSS_OPS // 5)
    if who == "gait":
        gait._native._torch_window(None)
    else:
        profiler.stop()
    return resident() - before


def growth_of(build, who, level):
    command = [sys.executable, __file__, str(build), "--growth", who, level]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return int(done.stdout.split()[-1])


def disk(rounds):
    """Bytes on disk for an op with shapes, of MLP steps."""
    with tempfile.TemporaryDirectory() as directory:
        gait.start(directory)
        work, count = make_mlp()
        for _ in range(rounds):
            gait._native._torch_window(windows.SHAPES)
            work(count)
            gait._native._torch_window(None)
            gait.flush()
        gait.stop()
        stored = sum(path.stat().st_size for path in pathlib.Path(directory).glob("*.gait"))
        with gait.open(directory) as trace:
            ops = trace.info()["events"]
    return stored / ops


def put(results):
    print(f"{'':<22}{'gait':>8}{'torch':>9}{'empty':>8}{'ratio':>8}{'above':>9}{'stop':>9}")
    for load, result in results["loads"].items():
        print(f"{load}, {result['base_ns']:.0f} ns an op without")
        for level, row in result["levels"].items():
            ratio = row["gait_ns"] / row["torch_ns"]
            stops = row["torch_stop_ns"] / max(row["gait_stop_ns"], 0.001)
            print(
                f"  {level:<20}{row['gait_ns']:>5.0f} ns{row['torch_ns']:>6.0f} ns"
                f"{row['empty_ns']:>5.0f} ns{ratio:>8.2f}"
                f"{row['gait_ns'] - row['empty_ns']:>6.0f} ns{'1/' + format(stops, '.0f'):>9}"
            )
    grown = results["resident_bytes_per_op"]
    print(f"resident, bytes an op: gait {grown['gait']:.1f}, torch {grown['torch']:.0f}")
    print(f"on disk with shapes: {results['disk_bytes_per_op']:.2f} B an op")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--growth", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as directory:
        gait.start(directory)
        if arguments.growth:
            print(growth(*arguments.growth))
            gait.stop()
            return 0
        # this thread alone: the drainer is another one, and goes where there is room
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        loads = measure(arguments.build, arguments.rounds)
        gait.stop()
    grown = {who: growth_of(arguments.build, who, "shapes") / RSS_OPS for who in ("gait", "torch")}
    results = {
        "torch": str(torch.__version__),
        "rounds": arguments.rounds,
        "loads": loads,
        "resident_bytes_per_op": grown,
        "disk_bytes_per_op": disk(max(1, arguments.rounds // 3)),
    }
    if arguments.json:
        print(json.dumps(results))
    else:
        put(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
