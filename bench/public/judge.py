#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether gait tells truly what public training programs do, by a second clock.

usage: judge.py BUILD SOURCE DATA [NAME ...] [--repeats N] [--keep FOLDER] [--json FILE]

SOURCE holds clones of the programs' repositories, DATA what make_data.py made. Each
program runs bare, under gait, and under gait with the second clock around its calls;
with --repeats also N times each bare with the clock and under gait, in turn. What is
not there is skipped, and said so.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

from bodies import truth_of
from public_programs import PROGRAMS

HERE = pathlib.Path(__file__).resolve().parent
CLOCK = str(HERE / "second_clock.py")
TIMEOUT_S = 300


@dataclasses.dataclass
class Place:
    build: pathlib.Path
    source: pathlib.Path
    data: pathlib.Path
    keep: pathlib.Path


def filled(text, place):
    for name, value in (("SOURCE", place.source), ("DATA", place.data), ("HERE", HERE)):
        text = text.replace(name, str(value))
    return text


def absent(program, place):
    """Why a program cannot be run here, or None."""
    target = filled(program.command[0], place)
    if target == "-m":
        module = program.command[1].split(".")[0]
        done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True)
        return None if done.returncode == 0 else f"no module {module}"
    for part in (*program.command[:2], *(target for _, target in program.links)):
        path = filled(part, place)
        if path.startswith("/") and not os.path.exists(path):
            return f"no {path}"
    return None


def folder_of(program, place):
    folder = place.keep / program.name / "run"
    shutil.rmtree(folder.parent, ignore_errors=True)
    return folder


def made_anew(program, place, folder):
    """Each run begins in the same state: nothing that an earlier one saved is there."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("", *program.folders):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, target in program.links:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(filled(target, place))


def run(program, place, folder, prefix=(), clock=None):
    made_anew(program, place, folder)
    env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONHASHSEED="0")
    env |= {name: filled(value, place) for name, value in program.env}
    clocked = [CLOCK, str(clock)] if clock else []
    command = [filled(part, place) for part in program.command]
    if clock and program.command[0].startswith("HERE"):
        command, clocked = command[:1] + [CLOCK, str(clock)] + command[1:], []
    whole = [*prefix, sys.executable, *program.launch, *clocked, *command]
    began = time.perf_counter()
    done = subprocess.run(
        whole, cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT_S,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    name = "_".join(["gait"] * bool(prefix) + ["clock"] * bool(clock)) or "bare"
    (folder.parent / f"{name}.out").write_text(done.stdout)
    (folder.parent / f"{name}.err").write_text(done.stderr)
    return done, time.perf_counter() - began


def under_gait(program, place, folder, name, clock=None):
    trace = folder.parent / name
    prefix = [str(place.build / "gait"), "run", "--quiet", "-o", str(trace), "--"]
    done, _ = run(program, place, folder, prefix, clock)
    report = [str(place.build / "gait"), "report", str(trace)]
    screen = subprocess.run(report, capture_output=True, text=True, check=False)
    (folder.parent / f"{name}.txt").write_text(screen.stdout)
    told = subprocess.run([*report, "--json"], capture_output=True, text=True, check=False)
    (folder.parent / f"{name}.json").write_text(told.stdout)
    return done, json.loads(told.stdout)


def logs_of(clock):
    paths = sorted(clock.parent.glob(clock.name + ".*.json"))
    return [json.loads(path.read_text()) for path in paths]


def training_of(rank):
    """Time of a rank's steps less evaluation and checkpoints in them."""
    phases = {phase["name"]: phase["total_ns"] for phase in rank["phases"]}
    return rank["step_total_ns"] - phases.get("evaluation", 0) - phases.get("checkpoint", 0)


def training_s(truth, report):
    """Seconds of a middle step, as gait counts: without the first and the compiling ones."""
    left = (report.get("steady_step") or {"steps": len(truth.steps)})["steps"]
    apart = truth.total - truth.training
    lengths = [end - begin for begin, end, _ in truth.steps]
    if left < len(lengths):
        lengths = sorted(lengths[1:])[:left]
    return (sum(lengths) - apart) / 1e9 / left


def compare(program, truths, report):
    """Each figure as the clock has it and as gait tells it: of rank 0, or of the slowest of
    processes that train apart, and what all of these make together."""
    truth = max(truths, key=lambda truth: (len(truth.steps), truth.total))
    slowest = max(report["ranks"], key=lambda rank: (rank["steps"], rank["step_total_ns"]))
    rank = next((rank for rank in report["ranks"] if rank["rank"] == 0), slowest)
    phases = {phase["name"]: phase["total_ns"] for phase in rank["phases"]}
    rows = [
        ("processes", program.processes, len(report["ranks"])),
        ("steps", len(truth.steps), report["steps"]),
        ("step total ms", truth.total / 1e6, rank["step_total_ns"] / 1e6),
        ("training ms", truth.training / 1e6, training_of(rank) / 1e6),
        ("p50 ms", truth.median / 1e6, report["step"]["p50_ns"] / 1e6),
    ]
    if program.loader and len(report["ranks"]) == len(truths):
        samples = sum(truth.samples for truth in truths)
        rows.append(("samples", samples, report["throughput"]["samples"]))
        rate = report["throughput"]["samples_per_s"] or 0
        made = sum(one.samples / len(one.steps) / training_s(one, report) for one in truths)
        rows.append(("samples/s", made, rate))
    rate = report["throughput"]["steps_per_s"] or 0
    rows.append(("steps/s", 1 / training_s(truth, report), rate))
    rows += [(name, ns / 1e6, phases.get(name, 0) / 1e6) for name, ns in truth.phases.items()]
    return rows


def results(program, done, folder):
    """What a run came to: its losses, and the digest of what it saved."""
    found = re.findall(program.losses, done.stdout + done.stderr) if program.losses else []
    if program.saved:
        found.append(hashlib.sha256((folder / program.saved).read_bytes()).hexdigest())
    return found


def judge(program, place):
    folder = folder_of(program, place)
    bare, bare_s = run(program, place, folder)
    found = results(program, bare, folder)
    done, _ = under_gait(program, place, folder, "plain")
    result = {
        "name": program.name,
        "exit": [bare.returncode, done.returncode],
        "losses": [len(found), found == results(program, done, folder)],
        "bare_s": bare_s,
    }
    clock = folder.parent / "log"
    done, report = under_gait(program, place, folder, "both", clock)
    result["verdict"] = report["verdict"]
    result["run"] = {part["name"]: part["total_ns"] / 1e9 for part in report.get("run") or ()}
    result["wall_s"] = report["wall_ns"] / 1e9
    apart = program.processes if "CLOCK_CHILDREN" in dict(program.env) else 1
    truths = [truth_of(log, program) for log in logs_of(clock)[:apart]]
    result["rows"] = [("steps", len(truths[0].steps), 0)]
    if report["steps"]:
        result["rows"] = compare(program, truths, report)
    if program.own:
        result["own"] = program.own(done.stdout + done.stderr)
    return result


def spread(program, place, repeats):
    """Throughput by the clock in bare runs and by gait in its runs, in turn."""
    folder, clock_rates, gait_rates = folder_of(program, place), [], []
    for turn in range(repeats):
        clock = folder.parent / f"log{turn}"
        run(program, place, folder, clock=clock)
        truth = truth_of(logs_of(clock)[0], program)
        clock_rates.append(len(truth.steps) * 1e9 / truth.training)
        _, report = under_gait(program, place, folder, f"turn{turn}")
        gait_rates.append(report["throughput"]["steps_per_s"])
    return {
        "clock": statistics.median(clock_rates),
        "clock_spread": (max(clock_rates) - min(clock_rates)) / statistics.median(clock_rates),
        "gait": statistics.median(gait_rates),
    }


def show(result):
    same = f"exit {result['exit']}, losses {result['losses']}"
    print(f"\n{result['name']}: {same}, bare {result['bare_s']:.1f} s")
    print(f"  {result['verdict']}")
    parts = ", ".join(f"{name} {part:.2f}" for name, part in result["run"].items())
    print(f"  run {result['wall_s']:.2f} s: {parts}")
    if result.get("own"):
        print(f"  the program's own {result['own'][1]}: {result['own'][0]:.6g}")
    for name, true, told in result["rows"]:
        off = f"{100 * (told - true) / true:+.1f} %" if true else ""
        print(f"  {name:16} {true:>12.6g} {told:>12.6g}  {off}")
    sys.stdout.flush()


def path_of(text):
    return pathlib.Path(text).resolve()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    for name in ("build", "source", "data"):
        parser.add_argument(name, type=path_of)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--keep", type=path_of, default=path_of("public-runs"))
    parser.add_argument("--json")
    asked = parser.parse_intermixed_args()
    place = Place(asked.build, asked.source, asked.data, asked.keep)
    results = []
    for program in PROGRAMS:
        if asked.names and program.name not in asked.names:
            continue
        why = absent(program, place)
        if why:
            print(f"\n{program.name}: skipped: {why}")
            continue
        try:
            result = judge(program, place)
            if asked.repeats:
                result["spread"] = spread(program, place, asked.repeats)
            show(result)
            results.append(result)
        except Exception as error:
            print(f"\n{program.name}: FAILED: {type(error).__name__}: {error}")
    if asked.json:
        pathlib.Path(asked.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
