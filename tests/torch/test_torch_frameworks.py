# SPDX-License-Identifier: Apache-2.0
"""Lightning, Hugging Face's Trainer and accelerate, as installed, unedited and not told."""

import importlib.util

import pytest
from test_torch_epochs import EACH_SECOND, assert_windows_are_of_each_second_epoch
from test_torch_ledger import TWELVE, assert_all_planted, attempts, without_times
from torch_trainings import Job, full

pytestmark = [pytest.mark.xdist_group("frameworks"), pytest.mark.usefixtures("ahead")]

PACKAGES = {
    "lightning_fit": ("lightning", "tensorboard", "tqdm"),
    "hugging_face": ("transformers", "accelerate", "tensorboard", "safetensors"),
    "accelerated": ("accelerate", "tqdm"),
}


def a_job(script, batches, *marks):
    missing = [name for name in PACKAGES[script] if importlib.util.find_spec(name) is None]
    reason = f"no {', '.join(missing)} in this Python; `make test` brings it"
    skip = pytest.mark.skipif(bool(missing), reason=reason)
    env = (("HF_HUB_OFFLINE", "1"),)
    job = Job(script, (str(batches),), env, options=EACH_SECOND)
    return pytest.param(job, marks=[skip, *marks])


TRAININGS = [
    a_job("lightning_fit", 1, full),
    a_job("lightning_fit", 3),
    a_job("hugging_face", 1, full),
    a_job("hugging_face", 3),
    a_job("accelerated", 1, full),
    a_job("accelerated", 4),
]
of_all = pytest.mark.parametrize("training", TRAININGS, ids=str, indirect=True)


@of_all
def test_steps_and_epochs_are_counted_exactly(training):
    assert training.report["steps"] == training.truth["steps"]
    assert [epoch["steps"] for epoch in training.report["epochs"]] == training.truth["epochs"]
    assert_windows_are_of_each_second_epoch(training)


@of_all
def test_all_that_a_framework_does_is_in_its_phase(training):
    assert list(training.phases) == TWELVE
    assert sum(training.phases.values()) == training.report["step_total_ns"]
    told = training.told()
    for phase in ("input", "forward", "backward", "optimizer", "evaluation"):
        assert told[phase] > 0, phase
    for phase in ("checkpoint", "logging"):
        assert told[phase] > 100_000, phase


@of_all
def test_a_framework_does_what_it_does_without_gait(training, run):
    without = run(training.job.but(gait=False, warm=True))
    assert (training.code, without.code) == (0, 0)
    said = [
        [line for line in one.stdout.splitlines() if line.startswith("TRUTH")]
        for one in (training, without)
    ]
    assert without_times(said[0]) == without_times(said[1])


@full
@pytest.mark.parametrize(
    "training",
    [
        a_job("lightning_fit", 1),
        a_job("hugging_face", 1),
    ],
    ids=str,
    indirect=True,
)
def test_a_planted_delay_is_in_its_phase(training, run):
    places = {"collate": 12, "forward": 12, "evaluation": 4}
    if training.job.script == "lightning_fit":
        places.update(backward=12, checkpoint=3)

    def check(with_delays, without):
        assert_all_planted(run(with_delays), run(without))

    attempts(check, training.job.planted(**places), training.job)
