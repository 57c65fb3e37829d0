# SPDX-License-Identifier: Apache-2.0
"""Samples and steps a second are of the steady steps, and of those that fetched a batch."""

import pytest

from tests.support.made_training import MS, START, WORK, Training

STEP_S = sum(WORK.values()) / 1e9
OWN_WORK = {name: ns for name, ns in WORK.items() if name != "input"}


def throughput(gait, tmp_path, training):
    report = training.report(gait, tmp_path / "run")
    return report["throughput"], gait("report", "--all", tmp_path / "run").stdout


def test_the_first_step_and_those_that_compile_do_not_count(gait, tmp_path):
    training = Training()
    training.step({**WORK, "compile": 12_000 * MS}, samples=32)
    for number in range(49):
        more = {"compile": 700 * MS} if number == 20 else {}
        training.step({**WORK, **more}, samples=32)
    told, text = throughput(gait, tmp_path, training)
    assert told["steps_per_s"] == pytest.approx(1 / STEP_S)
    assert told["samples_per_s"] == pytest.approx(32 / STEP_S)
    assert told["samples"] == 50 * 32
    assert f"{32 / STEP_S:.0f} samples/s, {1 / STEP_S:.1f} steps/s" in text
    assert "not included: the first step" in text


def test_a_batch_that_is_fetched_once_says_nothing_of_samples_a_second(gait, tmp_path):
    training = Training()
    training.step(WORK, samples=512)
    for _ in range(40):
        training.step(OWN_WORK)
    told, text = throughput(gait, tmp_path, training)
    assert (told["samples_per_s"], told["samples"]) == (None, 512)
    assert "samples/s" not in text and "steps/s" in text


def test_a_loader_that_is_asked_one_batch_ahead_leaves_the_last_step_without(gait, tmp_path):
    """As accelerate does: the first step asks for two."""
    training = Training()
    training.step({"input": 1 * MS}, samples=8)
    for number in range(20):
        phases = WORK if number < 19 else OWN_WORK
        training.step({**phases}, samples=8)
    told, _ = throughput(gait, tmp_path, training)
    assert told["samples_per_s"] / told["steps_per_s"] == pytest.approx(8)


def test_processes_that_train_apart_each_have_their_own_pace(gait, tmp_path):
    """As Hogwild's: no rank waits for another, so the slower of each pair says nothing."""
    slow = {**WORK, "forward": 155 * MS}
    for pid, of in ((2000, (WORK, slow)), (2001, (slow, WORK))):
        training = Training(pid)
        for number in range(41):
            training.step(of[number % 2], samples=32)
        told, text = throughput(gait, tmp_path, training)
    assert "Steps  41, the most of 2 processes, 100.0 % of pid 2000's run; the 40" in text
    assert "Time of pid 2000's run" in text and "Processes " in text and "rank" not in text
    assert told["steps_per_s"] == pytest.approx(1 / (STEP_S + 0.05), rel=0.02)
    assert told["samples_per_s"] == pytest.approx(2 * 32 / (STEP_S + 0.05), rel=0.02)


def test_the_faster_of_two_that_train_apart_adds_what_it_makes(gait, tmp_path):
    for pid, work in ((2000, WORK), (2001, {**WORK, "forward": 155 * MS})):
        training = Training(pid)
        for _ in range(41):
            training.step(work, samples=32)
        told, _ = throughput(gait, tmp_path, training)
    assert told["steps_per_s"] == pytest.approx(1 / (STEP_S + 0.1))
    assert told["samples_per_s"] == pytest.approx(32 / STEP_S + 32 / (STEP_S + 0.1))


@pytest.mark.parametrize("who", [{}, {"rank": 0}])
def test_a_process_after_another_has_no_more_samples_a_step(gait, tmp_path, who):
    for pid, start in ((2000, START), (2001, START + 60_000 * MS)):
        training = Training(pid, start, **who)
        for _ in range(41):
            training.step(WORK, samples=32)
        told, _ = throughput(gait, tmp_path, training)
    assert told["samples_per_s"] == pytest.approx(32 / STEP_S)
