# SPDX-License-Identifier: Apache-2.0
"""Shares of time as `gait record` sees them, beside the truth; a table on standard output.

usage: sampled_shares.py BUILD [--seconds S] [--rate HZ] [--target FILE] [MINOR ...]
       sampled_shares.py BUILD --everyday [--turns N] [MINOR ...]
       sampled_shares.py BUILD --bursts [--turns N] [--seconds S] [MINOR ...]

First shares, then stacks that cannot have been, flat out. The truth of shares is
clocked in the program itself (thirteen.py), or, for a program that
has no clock (--target, a Python file that takes --seconds and calls child_a and
child_b), it is what a sampler sees that stops it. The machine has to be quiet.

With --everyday: who runs in workloads of the standard library (everyday.py), at 1 kHz,
beside py-spy, as shares of the functions at the end of stacks; N seconds of each.
With --bursts: two functions in turn (bursts.py) beside what they clocked, at 100 Hz to
10 kHz, in both orders; each N times.
"""

import argparse
import functools
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.accuracy import everyday_shares  # noqa: E402
from tests.sample import test_record as callers  # noqa: E402
from tests.support.sampled_programs import PYTHONS, read_folded  # noqa: E402

STOPPED = "beside a stopped one"
LAST = re.compile(r"([\d,]+) rounds, .*; ([\d,]+) late, ([\d.]+) % cut, ([\d.]+) % torn")


def count_frames(samples, pattern):
    """Samples by the first of their frames whose name is of that pattern."""
    counts = {}
    for frames, count in samples:
        name = next((f[0] for f in frames if re.fullmatch(pattern, f[0])), None)
        if name:
            counts[name] = counts.get(name, 0) + count
    return counts


def record(build, pid, rate, seconds=0):
    """The samples of a process, and what was said of them."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "stacks.txt"
        words = ["-r", str(rate), "-f", "raw", "-o", out, "--pid", str(pid)]
        words += ["-d", str(seconds)] if seconds else []
        done = subprocess.run(
            [pathlib.Path(build) / "gait", "record", *words], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        rounds, late, cut, torn = LAST.search(" ".join(done.stderr.split())).groups()
        rounds, late = (int(number.replace(",", "")) for number in (rounds, late))
        about = {"rounds": rounds, "late": late, "cut": float(cut), "torn": float(torn)}
        return read_folded(out), about


def compare(counts, truth):
    """How far counts are from shares: distance, the distance that chance alone makes,
    and the worst function in shares beyond its three standard errors."""
    n = sum(counts.get(name, 0) for name in truth)
    off = {name: counts.get(name, 0) / n - share for name, share in truth.items()}
    errors = {name: math.sqrt(share * (1 - share) / n) for name, share in truth.items()}
    beyond = {name: abs(off[name]) - 3 * errors[name] for name in truth}
    return {
        "n": n,
        "distance": sum(map(abs, off.values())) / 2,
        "chance": sum(errors.values()) * math.sqrt(2 / math.pi) / 2,
        "worst": max(beyond, key=beyond.get),
        "beyond": max(beyond.values()),
    }


def clocked(build, python, seconds, rate, turns):
    """thirteen.py: functions of 1 to 13 times `turns` turns of a loop."""
    program = HERE / "programs" / "thirteen.py"
    process = subprocess.Popen(
        [python, program, str(seconds), str(turns)], stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    samples, about = record(build, process.pid, rate)
    told = json.loads(process.communicate()[0])
    total = sum(told["ns"].values())
    truth = {name: ns / total for name, ns in told["ns"].items()}
    shortest_us = min(told["ns"].values()) / told["rounds"] / 1e3
    result = compare(count_frames(samples, r"visit_\d+"), truth)
    return {**result, **about, "rate": rate, "seconds": seconds, "shortest_us": shortest_us}


CALLERS_OF_BURSTS = {
    "turn": {"first", "second"},
    "first": {"burst"},
    "second": {"burst"},
    "burst": {"down"},
    "down": {"down", "run"},
    "run": {"main"},
}


def never_was(frames):
    """Whether bursts.py has no such stack."""
    names = [frame[0] for frame in frames]
    pairs = zip(names, names[1:])
    wrong = any(b in CALLERS_OF_BURSTS and a not in CALLERS_OF_BURSTS[b] for a, b in pairs)
    return wrong or ("burst" in names and names.count("down") != 51)


def one_of_bursts(build, python, seconds, microseconds, share=0.3, rate=1000):
    """bursts.py, the function that runs first with that share of it: how far its share is
    from the clocked one, in points, the samples it is of, and those that never were."""
    program = HERE / "programs" / "bursts.py"
    words = [str(word) for word in (python, program, seconds, microseconds, share)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    samples, about = record(build, process.pid, rate)
    told = json.loads(process.communicate()[0])
    seen = count_frames(samples, "first|second")
    n = sum(seen.values())
    clocked_share = told["first"] / (told["first"] + told["second"])
    return {
        **about,
        "off": 100 * (seen.get("first", 0) / n - clocked_share),
        "chance": 100 * math.sqrt(clocked_share * (1 - clocked_share) / n),
        "n": n,
        "all": sum(count for _, count in samples),
        "wrong": sum(count for frames, count in samples if never_was(frames)),
    }


def first_of_burst(build, python, microseconds, runs):
    """The mean of that over runs of 2 s at 1 kHz, its error of chance, and the rounds made of
    those asked for."""
    results = [one_of_bursts(build, python, 2, microseconds) for _ in range(runs)]
    off = [result["off"] for result in results]
    error = statistics.stdev(off) / math.sqrt(runs)
    made = sum(result["rounds"] for result in results) / (runs * 2000)
    return statistics.mean(off), error, made


def bursts(build, minor, seconds, turns):
    """How far what has three tenths of the time is off, where it runs first and where second.
    At 100 Hz a run takes longer, for else there is nothing but chance."""
    for rate, longer, lengths in (
        (100, 4, (106,)),
        (1000, 1, (30, 106, 1000)),
        (10000, 1, (30, 106, 1000)),
    ):
        for microseconds in lengths:
            for share in (0.3, 0.7) * turns:
                result = one_of_bursts(
                    build, PYTHONS[minor], longer * seconds, microseconds, share, rate
                )
                off = result["off"] if share < 0.5 else -result["off"]
                print(
                    f"3.{minor:<3} {rate:>6} Hz {microseconds:>5} us "
                    f"{'first ' if share < 0.5 else 'second'} "
                    f"off {off:+6.2f} (chance {result['chance']:.2f})  "
                    f"n {result['n']:>6}  rounds {result['rounds']:>6} late {result['late']:>5}  "
                    f"cut {result['cut']:5.2f} %  torn {result['torn']:6.3f} %  "
                    f"{result['wrong']} of {result['all']} never were",
                    flush=True,
                )


def stopped(build, words, seconds, rate, pattern):
    """The functions of that pattern in a program that runs on, beside a sampler that stops it
    (its tool is built beside gait). Both have an error of chance."""
    words = [str(word) for word in words]
    reference = [pathlib.Path(build) / "tests/stopped_stacks", str(seconds), "2000", *words]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "stopped.txt"
        with open(path, "w") as out:
            subprocess.run(reference, stdout=out, stderr=subprocess.DEVNULL)
        samples = [  # its frames have no lines
            ([(frame.partition(" (")[0], "", 0) for frame, _, _ in frames], count)
            for frames, count in read_folded(path)
        ]
    seen = count_frames(samples, pattern)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    samples, about = record(build, process.pid, rate, seconds)
    process.kill()
    process.communicate()
    total = sum(seen.values())
    counts = count_frames(samples, pattern)
    result = compare(counts, {name: count / total for name, count in seen.items()})
    # of the two together
    wider = math.sqrt(1 + result["n"] / total)
    result["chance"] *= wider
    n = result["n"]
    result["beyond"] = max(
        abs(counts.get(name, 0) / n - count / total)
        - 3 * wider * math.sqrt(count / total * (1 - count / total) / n)
        for name, count in seen.items()
    )
    return {**result, **about, "rate": rate, "seconds": seconds, "stopped": total}


def impossible(build, python, seconds, busy, idle):
    """Samples of a program of known callers, flat out: those that never were, and all."""
    program = HERE.parent / "sample/programs/alternating.py"
    words = [python, program, busy, idle, 10, 1000]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    samples, _ = record(build, process.pid, 1000000, seconds)
    process.kill()
    process.communicate()
    wrong = sum(count for frames, count in samples if callers.impossible(frames, 10))
    return wrong, sum(count for _, count in samples)


def is_undisturbed(result):
    """Whether nearly all rounds were made when they were due."""
    return result["rounds"] > 0.8 * result["rate"] * result["seconds"]


def show(minor, what, result):
    distance = result["distance"] - result["chance"]
    is_met = result["beyond"] <= 0.005 and distance <= 0.005
    print(
        f"3.{minor:<3} {what:<22} n {result['n']:>8}  distance {result['distance']:.4f} "
        f"(chance {result['chance']:.4f})  beyond 3 errors {result['beyond']:+.4f}  "
        f"cut {result['cut']:.2f} %  torn {result['torn']:.3f} %  "
        + ("yes" if is_met else "NO")
        + ("" if is_undisturbed(result) else "  (disturbed: rounds were missed)"),
        flush=True,
    )


def everyday(build, minor, turns):
    record_with = functools.partial(record, build)
    results = {}
    for name in everyday_shares.NAMES:
        results[name] = everyday_shares.beside(record_with, PYTHONS[minor], name, turns)
        everyday_shares.show(minor, name, results[name])
    everyday_shares.show_mean(minor, results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("minors", nargs="*", type=int, default=sorted(PYTHONS))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rate", type=int, default=10000)
    parser.add_argument("--target", type=pathlib.Path, help="beside a sampler that stops it")
    parser.add_argument("--everyday", action="store_true", help="short calls, beside py-spy")
    parser.add_argument("--bursts", action="store_true", help="two functions in turn")
    parser.add_argument(
        "--turns", type=int, default=6, help="of --everyday and --bursts (default: 6)"
    )
    options = parser.parse_intermixed_args()
    if options.everyday and not everyday_shares.find_py_spy():
        parser.error("py-spy is not here: `make bench-peers` installs it")
    for minor in options.minors:
        if minor not in PYTHONS:
            print(f"3.{minor}: not here")
            continue
        if options.everyday:
            everyday(options.build, minor, options.turns)
            continue
        if options.bursts:
            bursts(options.build, minor, options.seconds, options.turns)
            continue
        about = options.build, PYTHONS[minor], options.seconds, options.rate
        for turns in (100, 1000):
            result = clocked(*about, turns)
            show(minor, f"from {result['shortest_us']:.1f} us", result)
        for busy, idle in ((1, 0), (4, 4), (8, 56)):
            wrong, stacks = impossible(*about[:2], int(options.seconds), busy, idle)
            met = "yes" if wrong <= 1e-5 * stacks else "NO"
            print(f"3.{minor:<3} {busy} + {idle} threads: {wrong} of {stacks} impossible  {met}")
        if options.target:
            seconds = int(options.seconds)
            words = [PYTHONS[minor], options.target, "--seconds", 2 * seconds]
            show(
                minor,
                STOPPED,
                stopped(options.build, words, seconds, options.rate, "child_[ab]"),
            )


if __name__ == "__main__":
    main()
