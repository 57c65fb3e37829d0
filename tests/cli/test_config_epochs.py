# SPDX-License-Identifier: Apache-2.0
"""How long a training is, as its own configuration says, and what becomes of the plan then."""

import json

import pytest


@pytest.fixture
def plan_of(gait, tmp_path):
    """(wait, warmup, active) of a YAML file."""

    def ask(text):
        (tmp_path / "x.yaml").write_text(text)
        done = gait("config", "explain", "--json", "-c", "x.yaml")
        if "built without libyaml" in done.stderr:
            pytest.skip("built without libyaml")
        assert (done.returncode, done.stderr) == (0, "")
        settings = json.loads(done.stdout)["settings"]
        return tuple(settings["profiling." + key]["value"] for key in ("wait", "warmup", "active"))

    return ask


TRAINER = """
step:
  _target_: itwinai.torch.trainer.TorchTrainer
  epochs: {epochs}
  enable_torch_profiling: True
  profiling_wait_epochs: {wait}
  profiling_warmup_epochs: {warmup}
"""


@pytest.mark.parametrize(
    "epochs, wait, warmup, plan",
    [(2, 1, 2, (1, 0, 1)), (1, 1, 1, (0, 0, 1)), (3, 5, 1, (1, 1, 1)), (10, 1, 2, (1, 2, 7))],
)
def test_the_trainers_epochs_are_those_of_itwinais_rule(plan_of, epochs, wait, warmup, plan):
    """It gave no trace: wait and warmup were all of the training."""
    text = TRAINER.format(epochs=epochs, wait=wait, warmup=warmup)
    assert plan_of(text) == plan


@pytest.mark.parametrize(
    "epochs, plan",
    [
        ("training: {epochs: 2}", (1, 0, 1)),  # 1 + 2 + 3 do not fit
        ("training: {epochs: 10}", (1, 2, 3)),
        ("a: {epochs: 2}\nb: {epochs: 9}", (1, 2, 3)),  # nobody knows which
        ("training: {epochs: 2.5}", (1, 2, 3)),
        ("training: {epochs: [2]}", (1, 2, 3)),
    ],
)
def test_a_plan_that_does_not_fit_the_training_is_shortened(plan_of, epochs, plan):
    text = f"{epochs}\nprofiling: {{wait: 1, warmup: 2}}\n"
    assert plan_of(text) == plan
