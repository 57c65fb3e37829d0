#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions gait's own code runs in a step: a figure that a busy machine
does not change, so that two builds can be compared on one.

usage: step_instructions.py [--functions] BUILD

Runs a training of bench/torch_phases.py's model under `gait run --windows off` and
valgrind's callgrind, takes a profile after each of some warm steps, and tells the median.
Counted is what runs in gait's libraries on the training's thread. What the
interpreter does to call a hook is not in it. Needs torch and valgrind.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

WARM, STEPS = 60, 24
OURS = re.compile(r"^(_native\.|libgait\.so)")


def train():
    import torch
    from torch_phases import Block

    def control(*words):
        command = ["callgrind_control", *words, str(os.getpid())]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    torch.set_num_threads(1)
    torch.manual_seed(0)
    block = Block(0)
    block.steps(WARM)
    control("-i", "on")
    control("-d")
    for _ in range(STEPS):
        block.steps(1)
        control("-d")
    control("-i", "off")


def functions_of(path):
    """Instructions by (library, function), each without what it calls."""
    found = collections.Counter()
    named = {}  # callgrind gives a name once and a number from then on
    library = function = None
    is_call = False
    for line in path.read_text(errors="replace").splitlines():
        told = re.match(r"(ob|fn|cob|cfn)=\((\d+)\)(?: (.*))?", line)
        if told:
            kind, number, name = told.groups()
            key = kind[-2:], number
            named[key] = name or named[key]
            if kind == "ob":
                library = pathlib.Path(named[key]).name
            elif kind == "fn":
                function = named[key]
        elif line.startswith("calls="):
            is_call = True  # the next line is what the call took
        elif re.match(r"[-+*\d]", line):
            if not is_call:
                found[library, function] += int(line.split()[1])
            is_call = False
    return found


def profiles(folder):
    """One for each step: of the main thread's, but for the first and the one at the end."""
    paths = folder.glob("profile*-01")
    number = re.compile(r"^profile\.(\d+)-01$")
    ordered = sorted((int(told[1]), path) for path in paths if (told := number.match(path.name)))
    return [functions_of(path) for _number, path in ordered[1 : STEPS + 1]]


def count(build):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [
            *(build / "gait", "run", "-q", "--windows", "off", "-o", folder / "run", "--"),
            *("valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes"),
            *(f"--callgrind-out-file={folder}/profile", sys.executable, __file__, "--train", "."),
        ]
        environment = dict(os.environ, PYTHONHASHSEED="0")
        done = subprocess.run(map(str, command), env=environment, capture_output=True, text=True)
        steps = profiles(folder)
    if done.returncode or len(steps) != STEPS:
        sys.exit(done.stderr or "step_instructions.py: callgrind took no profiles")
    names = {key for step in steps for key in step if OURS.match(key[0])}
    usual = {key: statistics.median(step[key] for step in steps) for key in names}
    own = [sum(step[key] for key in names) for step in steps]
    return statistics.median(own), usual


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--functions", action="store_true", help="each function's share, too")
    parser.add_argument("build", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.train:
        return train()
    own, usual = count(arguments.build)
    print(json.dumps({"instructions": own}))
    for (library, function), value in sorted(usual.items(), key=lambda item: -item[1]):
        if arguments.functions and value:
            print(f"{value:8.0f}  {library.partition('.')[0]}  {function}")
    return None


if __name__ == "__main__":
    main()
