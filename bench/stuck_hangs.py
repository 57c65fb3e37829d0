#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether `gait stuck` names the rank that hangs, and nobody where nothing does.

usage: stuck_hangs.py BUILD [--count N] [--looks SEC]

N hangs (30) are planted in trainings of four gloo processes: in a loader, in time.sleep(), by
SIGSTOP, in another collective, in another order of collectives, in a checkpoint. Each is first
shown to hang without gait: no rank makes a step for SHOWN seconds. Then N healthy trainings:
fast ones, steps of three seconds that compute or sleep, a busy machine, a long validation on
one rank. Each is asked about twice, recorded (by its run) and not (by its processes). Needs
torch.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests/support"))

from hanging import PLACES, Hanging  # noqa: E402
from warm_python import WarmPython  # noqa: E402

SHOWN = 3
HEALTHY = ("none", "slow", "pause", "validation", "busy")


@contextlib.contextmanager
def burners(count):
    """Processes that want the processor."""
    line = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(line) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def plant(options, python, folder, what, number, gait):
    rank, step = number % 4, 3 + number % 7
    what = "none" if what == "busy" else what
    tool = pathlib.Path(options.build) / "gait"
    return Hanging(python, tool, folder, what, rank, step, ("-q",) if gait else None)


def hangs_without_gait(job):
    """The proof that it hangs, by the files that the ranks write."""
    before = job.planted().settled(1.0).progress()
    time.sleep(SHOWN)
    return before == job.progress()


def ask_hanging(options, python, folder, what, number):
    with plant(options, python, f"{folder}/plain", what, number, gait=False) as job:
        assert hangs_without_gait(job), f"{what}: it does not hang"
        plain = job.ask("--for", options.looks, *job.pids())
        is_named = job.is_named(plain)
    with plant(options, python, f"{folder}/recorded", what, number, gait=True) as job:
        job.planted().settled()
        recorded = job.ask("--for", options.looks, job.run)
        return job.is_named(recorded), is_named, recorded["sentence"], plain["sentence"]


def ask_healthy(options, python, folder, what, number):
    answers = []
    with burners(4 if what == "busy" else 0):
        for gait in (True, False):
            with plant(options, python, f"{folder}/{gait}", what, number, gait) as job:
                job.planted()
                subject = [job.run] if gait else job.pids()
                answer = job.ask("--for", options.looks, *subject)
                answers.append((answer["code"] == 0, answer.get("sentence", answer["stderr"])))
    return answers[0][0], answers[1][0], answers[0][1], answers[1][1]


def measure(options, python, kinds, ask):
    told = [0, 0]
    for number in range(options.count):
        what = kinds[number % len(kinds)]
        with tempfile.TemporaryDirectory() as folder:
            recorded, plain, *sentences = ask(options, python, folder, what, number)
        told[0] += recorded
        told[1] += plain
        print(f"{number:3} {what:11} {'ok' if recorded else 'WRONG':5}", sentences[0], flush=True)
        print(f"    {'':11} {'ok' if plain else 'WRONG':5}", sentences[1], flush=True)
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--looks", default="2")
    parser.add_argument("--only", choices=("hangs", "healthy"))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with contextlib.closing(WarmPython(["torch", "torch._dynamo"])) as warm:
        for title, kinds, ask in (
            ("hangs", tuple(PLACES), ask_hanging),
            ("healthy", HEALTHY, ask_healthy),
        ):
            if options.only in (None, title):
                recorded, plain = measure(options, warm.command, kinds, ask)
                count = options.count
                print(f"{title}: {recorded} of {count} right recorded, {plain} of {count} not")


if __name__ == "__main__":
    main()
