# SPDX-License-Identifier: Apache-2.0
"""Who runs in everyday code: `gait record` beside py-spy, which stops the program to look.

By turns on one process, since what such a program does drifts from second to second.
py-spy knows nothing of gait's way to read, so that a fault of one is not one of both.
"""

import contextlib
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tests.accuracy.programs.everyday import WORKLOADS
from tests.support.sampled_programs import read_folded

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs" / "everyday.py"
NAMES = tuple(WORKLOADS)
# what the interpreter itself puts between a class and its __init__ (3.13)
TRAMPOLINE = "__init__ (__init__)"


def find_py_spy():
    beside = pathlib.Path(sys.executable).parent / "py-spy"
    return str(beside) if beside.exists() else shutil.which("py-spy")


def leaf_of(frames):
    """(name, file) of the frame that runs. py-spy's names are less qualified than gait's;
    a trampoline counts for its caller, as it does in gait."""
    frames = [frame for frame in frames if frame[0] != TRAMPOLINE]
    name, file, _ = frames[-1]
    return name.rpartition(".")[2], file.rpartition("/")[2]


def add_leaves(counts, samples):
    for frames, count in samples:
        leaf = leaf_of(frames)
        counts[leaf] = counts.get(leaf, 0) + count


def stopping(py_spy, pid, rate, seconds):
    """The samples of py-spy, which holds the program for each."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "stacks.txt"
        words = [py_spy, "record", "-r", str(rate), "-f", "raw", "-o", out, "--pid", str(pid)]
        done = subprocess.run([*words, "-d", str(seconds)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return read_folded(out)


def compare(counts, reference):
    """How far two samples of shares are apart: distance, what chance alone makes of it,
    and the three functions that differ most as (name, share, share of the reference)."""
    n, m = sum(counts.values()), sum(reference.values())
    leaves = {*counts, *reference}
    shares = {leaf: (counts.get(leaf, 0) / n, reference.get(leaf, 0) / m) for leaf in leaves}
    pooled = [(counts.get(leaf, 0) + reference.get(leaf, 0)) / (n + m) for leaf in leaves]
    errors = [math.sqrt(share * (1 - share) * (1 / n + 1 / m)) for share in pooled]
    worst = sorted(leaves, key=lambda leaf: -abs(shares[leaf][0] - shares[leaf][1]))[:3]
    return {
        "n": n,
        "stopped": m,
        "distance": sum(abs(mine - theirs) for mine, theirs in shares.values()) / 2,
        "chance": sum(errors) * math.sqrt(2 / math.pi) / 2,
        "worst": [(leaf[0], *shares[leaf]) for leaf in worst],
    }


@contextlib.contextmanager
def running(words):
    """A process that has said that it is ready, on a processor of its own: who reads it from
    the same one finds it at rest, always right, and nothing is proved."""
    words = [str(word) for word in words]
    ours = os.sched_getaffinity(0)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{' '.join(words)}: ended before it was ready")
        os.sched_setaffinity(process.pid, {max(ours)})
        os.sched_setaffinity(0, ours - {max(ours)} or ours)
        yield process.pid
    finally:
        os.sched_setaffinity(0, ours)
        process.kill()
        process.communicate()


def beside(record, python, name, turns, rate=1000):
    """One workload: a second of py-spy and a second of gait, so many times. `record` gives
    what gait says of a process: its samples, and what was said of them."""
    py_spy = find_py_spy()
    reference, counts, abouts = {}, {}, []
    with running([python, PROGRAM, name, 60 * turns]) as pid:
        for turn in range(2 * turns):
            if turn % 4 in (0, 3):  # who comes first changes too
                add_leaves(reference, stopping(py_spy, pid, rate, 1))
            else:
                samples, about = record(pid, rate, 1)
                add_leaves(counts, samples)
                abouts.append(about)
    rounds = sum(about["rounds"] for about in abouts)
    result = compare(counts, reference)
    for what in ("cut", "torn"):
        result[what] = sum(about[what] * about["rounds"] for about in abouts) / rounds
    # the program never waits: a round that has nothing of it could not read it
    result["none"] = max(0, 100 * (1 - result["n"] / rounds))
    result["rounds"], result["asked"] = rounds, rate * turns
    result["above"] = result["distance"] - result["chance"]
    result["unsure"] = result["cut"] + result["torn"] + result["none"]
    return result


def is_undisturbed(results):
    """Whether nearly all rounds were made, by another processor than the program's."""
    results = list(results)
    if len(os.sched_getaffinity(0)) < 2:
        return False
    return sum(one["rounds"] for one in results) > 0.8 * sum(one["asked"] for one in results)


def mean(results, what):
    return sum(result[what] for result in results) / len(results)


def beyond_bounds(results):
    """Which bounds the workloads of one Python (a dictionary by name) do not keep. A single one
    may have bad seconds, as drift is no error of chance; all of them do not have them at once."""
    found = [
        f"{name}: {what} {result[what]:.3g} > {most}"
        for name, result in results.items()
        for what, most in (("above", 0.25), ("unsure", 30))
        if result[what] > most
    ]
    for what, most in (("above", 0.10), ("unsure", 10)):
        if mean(results.values(), what) > most:
            found.append(f"mean of all: {what} {mean(results.values(), what):.3g} > {most}")
    return found


def show(minor, name, result):
    worst = ", ".join(f"{leaf} {mine:.3f} ({theirs:.3f})" for leaf, mine, theirs in result["worst"])
    print(
        f"3.{minor:<3} {name:<11} n {result['n']:>6} beside {result['stopped']:>6}  "
        f"distance {result['distance']:.3f} (chance {result['chance']:.3f})  "
        f"cut {result['cut']:5.2f} %  torn {result['torn']:5.2f} %  none {result['none']:5.2f} %  "
        f"{worst}" + ("" if is_undisturbed([result]) else "  (disturbed: rounds were missed)"),
        flush=True,
    )


def show_mean(minor, results):
    above, unsure = mean(results.values(), "above"), mean(results.values(), "unsure")
    beyond = beyond_bounds(results)
    print(
        f"3.{minor:<3} mean of {len(results)}: distance above chance {above:.4f}  "
        f"cut, torn, none {unsure:.2f} %  " + (f"NO: {', '.join(beyond)}" if beyond else "yes"),
        flush=True,
    )
