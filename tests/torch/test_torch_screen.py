# SPDX-License-Identifier: Apache-2.0
"""The ways to begin, what is on the screen at the end, and what a script may add."""

import re
import subprocess
import sys

import pytest
from torch_trainings import Job

DDP = Job("ddp", processes=2, options=("--windows", "0/100/101"))
LOOP = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.xdist_group("traces")  # where this job is run anyway
def test_a_run_ends_with_its_first_screen(run):
    """Once for all ranks, and the same that `gait report` prints."""
    ddp = run(DDP)
    assert ddp.code == 0
    assert ddp.stderr.count("Time per step") == 1
    assert ddp.first_screen in ddp.stderr
    lines = ddp.first_screen.splitlines()
    assert len(lines) <= 45
    assert max(len(line) for line in lines if not line.startswith("more: ")) <= 78
    assert [line for line in lines if line != line.rstrip()] == []
    for word in ("p50", "p95", "max", "backward", "= all steps", "Cost of gait", "samples/s"):
        assert word in ddp.first_screen


def test_the_screen_of_the_example(trainings, root, build, tmp_path):
    """What the first page of the README shows comes from this."""
    script = root / "examples" / "plain" / "train.py"
    args = ("--epochs", "2", "--pictures", "1280")
    shown = trainings.get(Job(script, args, options=("--overflow", "drop")))
    quiet = trainings.get(Job(script, args, gait=False, warm=True))
    assert (shown.code, shown.stdout) == (0, quiet.stdout)
    losses = [float(number) for number in re.findall(r"loss ([\d.]+)", shown.stdout)]
    assert len(losses) == 2 and losses[1] < 0.8 * losses[0]
    assert shown.report["steps"] == 40
    assert shown.first_screen in shown.stderr


def spoken(*line, env, cwd):
    return subprocess.run(line, env=env, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_python_m_gait_run(trainings, build, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOOP + "for _ in range(12): step()\n")
    env = trainings.environment([("PYTHONPATH", str(build / "python"))])
    line = [sys.executable, "-m", "gait", "run", "-q", "-o", "run", "--", sys.executable]
    done = spoken(*line, str(script), env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    answer = spoken(trainings.tool, "report", "run", "--json", env=env, cwd=tmp_path)
    assert '"steps": 12,' in answer.stdout


ADDED = """
import time
import gait
slept = 0
for epoch in range(2):
    gait.epoch()
    for n in range(6):
        with gait.step():
            with gait.phase("augment"):
                begin = time.perf_counter_ns()
                time.sleep(0.05)
                slept += time.perf_counter_ns() - begin
            step()
            step()
print('TRUTH {"rank": 0, "slept": %d}' % slept)
"""


def test_steps_phases_and_epochs_of_the_scripts_own(run_text):
    on = run_text(LOOP + ADDED, warm=True)
    assert (on.code, on.stderr) == (0, "")
    report = on.report
    assert report["steps"] == 12
    assert sum(on.phases.values()) == report["step_total_ns"]
    assert list(on.phases)[12:] == ["augment"]
    assert on.phases["augment"] == pytest.approx(on.truth["slept"], rel=0.05)
    assert [epoch["steps"] for epoch in report["epochs"]] == [6, 6]


@pytest.mark.parametrize(("windows", "count"), [("all", 3), ("all", 12), ("steps=5,8-10", 12)])
def test_ops_are_of_the_steps_that_they_were_recorded_in(trainings, tmp_path, windows, count):
    """Also the first and the last one, and one that waited for its window to open. The
    oracle is an op that each step calls once."""
    script = tmp_path / "script.py"
    script.write_text(LOOP + f"for _ in range({count}): step()\n")
    job = Job(script, options=("--quiet", "--windows", windows), warm=True)
    done = trainings.get(job)
    (calls,) = [op["calls"] for op in done.report["ops"]["top"] if op["name"] == "aten::addmm"]
    assert done.report["ops"]["steps"] == calls
    assert f"Ops of {calls} steps" in done.screen


def test_the_steps_that_are_counted_and_averaged_are_one_set(trainings, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOOP + "import time\ntime.sleep(0.5)\nfor _ in range(30): step()\n")
    done = trainings.get(Job(script, options=("--quiet", "--windows", "all"), warm=True))
    report = done.report
    steady = report["steady_step"]
    told = re.search(r"Steps  30, .*; the (\d+) steady ones took ([\d.]+) (\w+) on", done.screen)
    assert int(told[1]) == steady["steps"] == 29
    mean_ns = (report["step_total_ns"] - report["first_step_ns"]) / 29
    assert float(told[2]) * {"us": 1e3, "ms": 1e6}[told[3]] == pytest.approx(mean_ns, rel=0.01)


def test_the_share_of_an_op_is_of_the_step_too(run_text):
    """An op that sleeps in each of eight steps, of which all are on record."""
    slow = """
library = torch.library.Library("mine", "DEF")  # torch 2.15 profiles no custom_op()
library.define("wait(Tensor x) -> Tensor")
def wait(x):
    time.sleep(0.03)
    return x.clone()
library.impl("wait", wait, "CPU")
"""
    loop = "import time, torch\n" + slow + LOOP + "for _ in range(8):\n"
    loop += "    time.sleep(0.03)\n    torch.ops.mine.wait(torch.ones(1))\n    step()\n"
    done = run_text(loop, options=("--quiet", "--windows", "all"), warm=True)
    ops = done.report["ops"]
    (mine,) = [op for op in ops["top"] if op["name"] == "mine::wait"]
    assert mine["op_share"] == pytest.approx(mine["self_ns"] / ops["self_ns"])
    assert mine["op_share"] > 0.65  # on a crowded machine the other ops take their time, too
    assert mine["step_share"] == pytest.approx(0.5, abs=0.15)
    assert "of step" in done.screen


def test_tokens_are_said_to_be_with_padding(run_text):
    lines = """
import torch
model = torch.nn.Embedding(9, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
rows = [{"input_ids": torch.tensor([5] * (i % 8) + [0] * (8 - i % 8))} for i in range(16)]
for batch in torch.utils.data.DataLoader(rows, batch_size=2):
    model(batch["input_ids"]).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    done = run_text(lines, warm=True)
    assert done.report["throughput"]["tokens"] == 128
    assert re.search(r"[\d,]+ samples/s, [\d,]+ tokens/s with padding, ", done.screen)
