# SPDX-License-Identifier: Apache-2.0
"""Shares of samples beside shares of time, where there is time for it."""

import os

import pytest

from tests.accuracy import sampled_shares
from tests.support.sampled_programs import KNOWN, PYTHONS, RIGHT

FULL = bool(os.environ.get("GAIT_TEST_FULL"))


def test_a_stack_of_bursts_that_never_was_is_told():
    whole = ["<module>", "main", "run", *["down"] * 51, "burst", "first", "turn"]
    for names, is_wrong in (
        (whole, False),
        (whole[:-3], False),
        (whole[:20], False),  # on the way down
        ([*whole[:-2], "turn"], True),  # two moments: nobody but the two calls it
        (whole[:3] + whole[4:], True),  # a frame is missing
        ([*whole, "burst"], True),
    ):
        assert sampled_shares.never_was([(name, "", 0) for name in names]) == is_wrong


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.skipif(not FULL, reason="takes minutes; GAIT_TEST_FULL=1")
@pytest.mark.parametrize("minor", KNOWN)
@pytest.mark.parametrize("turns", [200, 1000])
def test_thirteen_functions_get_their_shares_of_time(build, minor, turns):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    result = sampled_shares.clocked(build, PYTHONS[minor], 20, 5000, turns)
    if not sampled_shares.is_undisturbed(result):
        pytest.skip("the machine is too busy to say: rounds were missed")
    assert result["beyond"] < 0.005 and result["torn"] < 0.1
    # chance itself varies by a fifth or so
    assert result["distance"] < 1.5 * result["chance"] + 0.005


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.skipif(not FULL, reason="takes minutes; GAIT_TEST_FULL=1")
@pytest.mark.parametrize("minor", KNOWN)
def test_shares_are_those_of_a_sampler_that_stops_the_program(build, minor):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    program = sampled_shares.HERE / "programs" / "thirteen.py"
    words = [PYTHONS[minor], program, 120, 400]
    result = sampled_shares.stopped(build, words, 30, 2000, r"visit_\d+")
    if not sampled_shares.is_undisturbed(result) or result["stopped"] < 5000:
        pytest.skip("the machine is too busy to say: rounds were missed")
    assert result["beyond"] < 0.005
    assert result["distance"] < 1.5 * result["chance"] + 0.005


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.skipif(not FULL, reason="takes minutes; GAIT_TEST_FULL=1")
@pytest.mark.parametrize("minor", KNOWN)
@pytest.mark.parametrize("microseconds", [30, 300])
def test_who_runs_first_behind_deep_calls_keeps_its_share(build, minor, microseconds):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    if minor <= 10 and microseconds == 30:
        pytest.xfail("6 to 8 points off: to read 50 frames of the heap takes as long as a burst")
    off, error, made = sampled_shares.first_of_burst(build, PYTHONS[minor], microseconds, 30)
    if made < 0.9:
        pytest.skip("the machine is too busy to say: rounds were missed")
    assert abs(off) < 0.75 + 3 * error  # it was 3 to 5 points when looks saw what they slowed
