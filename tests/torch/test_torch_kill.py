# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments: whatever was recorded can be read.

GAIT_TEST_FULL=1 makes it 50 kills; GAIT_TEST_SEED repeats a sequence.
"""

import json
import os
import random
import signal
import subprocess
import time

import pytest
from torch_trainings import FULL, Job

KILLS = 50 if FULL else 4
SEED = int(os.environ.get("GAIT_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
ENDLESS = """
import os
print(os.getpid(), flush=True)
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4)
done = os.open("steps", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
while True:
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        os.write(done, b".")
    torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_training_can_be_read(trainings, tmp_path, number):
    rng = random.Random(SEED + number)
    # one in four while it still imports torch
    steps_before, more = (
        (0, 1.5)
        if number % 4 == 3
        else (rng.randrange(100, 200) if number == 1 else rng.randrange(1, 200), 0.02)
    )
    wait = rng.random() * more
    script, counted = tmp_path / "script.py", tmp_path / "steps"
    script.write_text(ENDLESS)
    job = Job(script, warm=number % 4 in (1, 2))
    process = subprocess.Popen(
        trainings.command(job, tmp_path / "run"),
        cwd=tmp_path,
        env=trainings.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(process.stdout.readline())
    while steps_before and (not counted.exists() or counted.stat().st_size < steps_before):
        time.sleep(0.001)
    time.sleep(wait)
    os.kill(pid, signal.SIGKILL)
    assert process.wait(timeout=60) == 128 + signal.SIGKILL

    command = [trainings.tool, "report", str(tmp_path / "run")]
    answer = subprocess.run([*command, "--json"], capture_output=True, text=True)
    said = f"GAIT_TEST_SEED={SEED}, kill {number}: {answer.stderr}"
    steps = counted.stat().st_size if counted.exists() else 0
    if not steps and "holds no *.gait file" in answer.stderr:
        return  # torch was not there yet
    assert answer.returncode == 0, said
    report = json.loads(answer.stdout)
    # the step in which it was killed may have come as far as its optimizer
    assert report["steps"] in (steps, steps + 1), said
    assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"], said
    assert_cost_is_told(report, steps, said)
    screen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    is_known = report["overhead"]["hooks_ns"] is not None
    assert ("hooks not known" in screen) is (steps > 0 and not is_known), screen


def assert_cost_is_told(report, steps, said):
    """What hooks cost is written as it is measured, on one phase in 32."""
    hooks_ns = report["overhead"]["hooks_ns"]
    assert hooks_ns is not None or steps < 100, said
    # five phases a step; each reads a clock twice, which no machine does in 5 ns
    assert hooks_ns is None or hooks_ns >= 5 * steps * 2 * 5, said
