# SPDX-License-Identifier: Apache-2.0
"""Windows of `gait run` by steps, lists of steps and epochs, and on demand."""

import pytest
from torch_trainings import full

# 4 epochs of 3 steps; a loader that only evaluates runs between them
TRAINING = """
import os, subprocess, sys
import gait, torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train = DataLoader(TensorDataset(torch.ones(6, 4)), batch_size=2)
check = DataLoader(TensorDataset(torch.ones(4, 4)), batch_size=2)
step = 0
for epoch in range(4):
    EPOCH
    for (x,) in train:
        optimizer.zero_grad()
        (model(x) * torch.full((), float(step))).sum().backward()
        optimizer.step()
        with torch.profiler.record_function(f"was step {step}"):
            torch.ones(1).exp()
        STEP
        step += 1
    model.eval()
    with torch.no_grad():
        for (x,) in check:
            model(x)
    model.train()
"""

# no loader, and gradients are thrown away right behind each optimizer
GAN = """
import torch
maker, judge = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
optimizers = [torch.optim.Adam(model.parameters()) for model in (judge, maker)]
for step in range(6):
    for optimizer in optimizers:
        judge(maker(torch.ones(8, 4))).mean().backward()
        with torch.profiler.record_function(f"was step {step}"):
            torch.ones(1).exp()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.fixture
def recorded(run_text, build):
    """recorded(windows) gives the numbers of the steps with ops on record."""

    def go(windows, epoch="pass", step="pass", training=TRAINING):
        source = training.replace("EPOCH", epoch).replace("STEP", step)
        env = (("TOOL", str(build / "gait")), ("PYTHONPATH", str(build / "python")))
        done = run_text(source, env=env, options=("--quiet", "--windows", windows), warm=True)
        assert (done.code, done.stderr) == (0, "")
        return [int(r["name"][9:]) for r in done.rows if r["name"].startswith("was step ")]

    return go


@pytest.mark.parametrize(
    "windows, steps",
    [
        ("skip_first=1,wait=1,warmup=1,active=2,repeat=2,every=5", [3, 4, 8, 9]),
        ("active=1,every=2,unit=epoch", [0, 1, 2, 6, 7, 8]),
        pytest.param("steps=1,4-6", [1, 4, 5, 6], marks=full),
        pytest.param("wait=1,active=1,repeat=1,unit=epoch", [3, 4, 5], marks=full),
        pytest.param("wait=1000,active=1,unit=seconds", [], marks=full),
    ],
)
def test_windows_follow_the_unit(recorded, windows, steps):
    assert recorded(windows) == steps


def test_a_step_of_two_optimizers_is_over_when_both_have_stepped(recorded):
    assert recorded("steps=0-1,3", training=GAN) == [0, 0, 1, 1, 3, 3]


@full
def test_epochs_that_are_told_count_instead(recorded):
    # each second one only
    found = recorded("wait=1,active=1,repeat=1,unit=epoch", "epoch % 2 or gait.epoch()")
    assert found == [6, 7, 8, 9, 10, 11]


def test_a_trigger_opens_windows_where_none_was_planned(recorded):
    ask = "step in (4, 8) and subprocess.run([os.environ['TOOL'], 'trigger', str(os.getpid())" + (
        ", '-n', '2'], check=True, stdout=subprocess.DEVNULL)"
    )
    assert recorded("off", step=ask) == [5, 6, 9, 10]
