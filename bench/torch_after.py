#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left of windows once they are closed: a step's time, and memory.

usage: torch_after.py [--rounds N] [--json]

Two forks of one warm process train the same model in turn. One opens and closes
a window of three steps before each of its blocks, the other never has one; what
is timed is the block behind, in CPU time of its thread. Needs torch.
"""

import argparse
import gc
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

import gait
import torch
from gait.torch import windows
from torch_ops import make_mlp
from torch_phases import middle

STEPS, INSIDE, SETTLE = 60, 3, 6
EARLY = 20  # windows, behind which memory should not grow


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class Runner:
    """A fork that makes a block of steps whenever it is asked to."""

    def __init__(self, work, has_windows):
        asked, self._ask = os.pipe()
        self._told, tell = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                self._serve(work, has_windows, asked, tell)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(tell)

    @staticmethod
    def _serve(work, has_windows, asked, tell):
        while os.read(asked, 1) == b"b":
            if has_windows:
                gait._native._torch_window(windows.SHAPES | windows.MEMORY)
            work(INSIDE)
            if has_windows:
                gait._native._torch_window(None)
                gait.flush()
            work(SETTLE)
            begin = time.thread_time_ns()
            work(STEPS)
            took = time.thread_time_ns() - begin
            os.write(tell, json.dumps([took / STEPS, resident()]).encode() + b"\n")

    def block(self):
        """(ns a step, resident bytes)"""
        os.write(self._ask, b"b")
        return json.loads(os.read(self._told, 4096))

    def end(self):
        os.write(self._ask, b"e")
        os.waitpid(self.pid, 0)


def measure(rounds):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    work, _count = make_mlp()
    work(50)
    gc.collect()
    gc.freeze()
    runners = {True: Runner(work, True), False: Runner(work, False)}
    found = {True: [], False: []}
    for _ in range(rounds):
        for has_windows in random.sample((True, False), 2):
            found[has_windows].append(runners[has_windows].block())
    for runner in runners.values():
        runner.end()
    took = {key: [ns for ns, _bytes in rows] for key, rows in found.items()}
    more = [on - off for on, off in zip(took[True], took[False])]
    early = min(EARLY, rounds // 2)
    grown = found[True][-1][1] - found[True][early][1]
    return {
        "windows": rounds,
        "step_ns": statistics.median(took[False]),
        "more_ns": middle(more),
        "resident_bytes": found[True][-1][1],
        "grown_bytes": grown,
        "grown_bytes_without": found[False][-1][1] - found[False][early][1],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as directory:
        gait.start(directory)
        windows.attach()
        result = measure(arguments.rounds)
        gait.stop()
    if arguments.json:
        print(json.dumps(result))
        return 0
    value, low, high = (ns / 1e3 for ns in result["more_ns"])
    print(f"a step of {result['step_ns'] / 1e3:.0f} us: {value:+.2f} us [{low:.2f} to {high:.2f}]")
    print(f"resident: {result['grown_bytes'] / 1e6:+.2f} MB from the {EARLY}th to the last window")
    return 0


if __name__ == "__main__":
    sys.exit(main())
