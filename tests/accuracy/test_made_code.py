# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs that make code objects and drop them, flat out."""

import os
import re
import signal
import subprocess
import time

import pytest

from tests.accuracy import sampled_shares
from tests.support.sampled_programs import KNOWN, PYTHONS, RIGHT, read_folded

FULL = bool(os.environ.get("GAIT_TEST_FULL"))
PROGRAM = sampled_shares.HERE / "programs" / "makers.py"
NUMBERED = re.compile(r"(?:first|second)_(\d+)|.*\bmade_(\d+)(?:\.py|/part_(\d).py)")
MODES = ["compiled", "replaced", "replaced-slowly", "imported"]


def numbers_of(frame):
    """The generations that a frame names, by its function and by its file."""
    name, file, _ = frame
    found = re.findall(r"\b(?:first|second)_(\d+)", name) + re.findall(r"made_(\d+)", file)
    return {int(number) for number in found}


def is_impossible(frames):
    """No generation calls another; each runs below its turn, and modules in their order."""
    generations = set().union(*map(numbers_of, frames))
    turns = {int(frame[0][5:]) for frame in frames if re.fullmatch(r"turn_\d", frame[0])}
    parts = [
        int(part)
        for frame in frames
        for part in re.findall(r"/part_(\d)\.py", frame[1])
        if frame[0] == "<module>"
    ]
    return (
        len(generations) > 1
        or len(turns) > 1
        or {k % 7 for k in generations} - turns != set()
        or parts != list(range(len(parts)))
    )


def judge(build, python, mode, seconds, rate=1000000):
    """The samples that cannot have been, by stack, and all; what was said of them."""
    process = subprocess.Popen([python, PROGRAM, mode, "600"], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    try:
        samples, about = sampled_shares.record(build, process.pid, rate, seconds)
    finally:
        process.kill()
        process.communicate()
    return wrong_ones(samples), sum(count for _, count in samples), about


def wrong_ones(samples):
    wrong = {}
    for frames, count in samples:
        if is_impossible(frames):
            stack = ";".join(f"{name} ({file}:{line})" for name, file, line in frames)
            wrong[stack] = wrong.get(stack, 0) + count
    return wrong


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("minor", KNOWN)
def test_no_stack_names_code_that_is_gone(build, minor, mode):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    wrong, total, about = judge(build, PYTHONS[minor], mode, 12 if FULL else 0.3)
    assert total > 20
    assert not wrong, (sum(wrong.values()), total, about)


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.skipif(not FULL, reason="takes a minute; GAIT_TEST_FULL=1")
@pytest.mark.parametrize("minor", KNOWN)
def test_a_sampler_that_is_held_up_names_no_code_that_is_gone(build, minor, tmp_path):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    words, out = [PYTHONS[minor], PROGRAM, "replaced-slowly", "600"], tmp_path / "stacks.txt"
    program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    words = [build / "gait", "record", "-r", "1000000", "-f", "raw", "-o", out, "-d", "10"]
    sampler = subprocess.Popen([*words, "--pid", str(program.pid)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(35):  # 6 to 10 of their looks named a function that was gone
            time.sleep(0.01)
            sampler.send_signal(signal.SIGSTOP)
            time.sleep(0.22)
            sampler.send_signal(signal.SIGCONT)
        assert sampler.wait(60) == 0
    finally:
        program.kill()
        program.communicate()
    samples = read_folded(out)
    assert sum(count for _, count in samples) > 100
    assert not wrong_ones(samples)
