# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments: whatever was recorded can be read.

GAIT_TEST_FULL=1 makes it 50 kills; GAIT_TEST_SEED repeats a sequence.
"""

import csv
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
    # a report has no hooks_ns where it was killed before anything of a training happened
    is_known = report["overhead"].get("hooks_ns") is not None
    assert ("hooks not known" in screen) is (steps > 0 and not is_known), screen


def assert_cost_is_told(report, steps, said):
    """What hooks cost is written as it is measured, on one phase in 32."""
    if not steps and "hooks_ns" not in report["overhead"]:
        return  # it was killed before anything of a training happened
    hooks_ns = report["overhead"]["hooks_ns"]
    assert hooks_ns is not None or steps < 100, said
    # five phases a step; each reads a clock twice, which no machine does in 5 ns
    assert hooks_ns is None or hooks_ns >= 5 * steps * 2 * 5, said


CRASHES = """
import os, time, torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4)
for epoch in range(4):
    begin = time.perf_counter()
    model.train()
    for number, (x,) in enumerate(loader):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        if epoch == 3 and number == 5:
            os.kill(os.getpid(), 9)
    model.eval()
    with torch.no_grad():
        for (x,) in loader:
            model(x)
        time.sleep(0.05)  # part of the epoch that itwinai's tracker times
    print(time.perf_counter() - begin, flush=True)
"""


def test_a_crash_in_the_fourth_epoch_leaves_itwinais_rows_of_three(trainings, gait, tmp_path):
    (tmp_path / "script.py").write_text(CRASHES)
    done = subprocess.run(
        trainings.command(Job(tmp_path / "script.py", warm=True), tmp_path / "run"),
        cwd=tmp_path,
        env=trainings.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGKILL
    said = gait("report", "--epochs-csv", "metrics/epoch-time", "run")
    assert said.stdout == "metrics/epoch-time/epochtime_non-distributed_1N.csv\n", said.stderr
    with open(tmp_path / said.stdout.strip(), newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["epoch_id"], row["name"], row["nodes"]) for row in rows] == [
        (number, "non-distributed", "1") for number in "123"
    ]
    clocked = [float(word) for word in done.stdout.split()]
    for row, seconds in zip(rows, clocked, strict=True):
        assert float(row["time"]) == pytest.approx(seconds, rel=0.05, abs=0.005)
    screen = gait("report", "--epochs-csv", "-", "run").stdout
    assert screen.splitlines()[0] == "epoch_id,time,name,nodes"
