# SPDX-License-Identifier: Apache-2.0
"""Who called whom, flat out: beside what sys.setprofile saw in the same program."""

import json
import os
import subprocess

import pytest

from tests.accuracy import sampled_shares
from tests.support.sampled_programs import KNOWN, PYTHONS, RIGHT

FULL = bool(os.environ.get("GAIT_TEST_FULL"))
PROGRAM = sampled_shares.HERE / "programs" / "tangled.py"
# 3.11 and later make a generator in a frame of its own, of which a profiler is not told
MAKERS = {"tree", "inner", "outer", "all_tasks", "run_generators.<locals>.<genexpr>"}


def is_of_program(frame):
    return frame[1].endswith("tangled.py") and frame[0] not in ("<module>", "name_of")


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.skipif(not FULL, reason="takes minutes; GAIT_TEST_FULL=1")
@pytest.mark.parametrize("mode", ["generators", "exceptions", "tasks", "callbacks"])
@pytest.mark.parametrize("minor", KNOWN)
def test_pairs_of_caller_and_callee_are_real(build, minor, mode):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    words = [PYTHONS[minor], PROGRAM]
    done = subprocess.run([*words, "pairs", mode], capture_output=True, text=True, check=True)
    real = {tuple(pair) for pair in json.loads(done.stdout)}
    process = subprocess.Popen([*words, "run", mode, "60"], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    samples, about = sampled_shares.record(build, process.pid, 1000000, 8)
    process.kill()
    process.wait()
    total, wrong = 0, {}
    for frames, count in samples:
        total += count
        for caller, callee in zip(frames, frames[1:]):
            pair = (caller[0], callee[0])
            is_judged = is_of_program(caller) and is_of_program(callee)
            if is_judged and pair not in real and callee[0] not in MAKERS:
                wrong[pair] = wrong.get(pair, 0) + count
    assert total > 1000
    assert sum(wrong.values()) <= max(1e-5 * total, 3), (wrong, total)
    assert mode != "generators" or about["cut"] < 20  # 26 to 35 before calls were known by name
    assert about["torn"] < 30  # of looks; it was 41 before frames that are done were known
