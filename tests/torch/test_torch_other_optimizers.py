# SPDX-License-Identifier: Apache-2.0
"""What is none of torch's: optimizers of fastai and Keras, fastai's loader; as installed or
stood in for."""

import importlib.util

import pytest
from torch_trainings import Job

pytestmark = pytest.mark.xdist_group("frameworks")


def a_job(package, script, *args):
    is_missing = importlib.util.find_spec(package) is None
    skip = pytest.mark.skipif(is_missing, reason=f"no {package} in this Python")
    return pytest.param(Job(script, args), marks=skip)


@pytest.mark.parametrize(
    "training",
    [
        a_job("fastai", "fastai_fit", "1"),
        a_job("fastai", "fastai_fit", "2"),
        a_job("keras", "keras_fit"),
    ],
    ids=str,
    indirect=True,
)
def test_steps_and_epochs_of_a_framework_are_counted_exactly(training):
    assert training.code == 0, training.stderr
    assert training.report["steps"] == training.truth["steps"]
    assert [epoch["steps"] for epoch in training.report["epochs"]] == training.truth["epochs"]
    assert "no_optimizer" not in [one["id"] for one in training.report["findings"]]
    assert training.phases["optimizer"] > 0


# what gait looks for by name, with nothing else of the library
STAND_INS = {
    "fastai.optimizer": ("Optimizer", "step"),
    "keras.src.backend.torch.optimizers.torch_optimizer": ("TorchOptimizer", "apply"),
}
LIBRARY = """
import torch

class {cls}:
    def __init__(self, parameters):
        self.parameters = list(parameters)

    @torch.no_grad()
    def {step}(self, *_):
        for p in self.parameters:
            p.sub_(0.01 * p.grad)

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None
"""
TRAINS = """
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch
from {module} import {cls}

class Other({cls}):
    pass

model = torch.nn.Linear(4, 1)
optimizer = Other(model.parameters())
for i in range(24):
    model(torch.ones(2, 4)).sum().backward()
    if i % 2:
        optimizer.{step}()
        optimizer.zero_grad()
"""


def stand_in(folder, module, text):
    place = folder.joinpath(*module.split(".")).with_suffix(".py")
    place.parent.mkdir(parents=True)
    for parent in (parent for parent in place.parents if folder in parent.parents):
        parent.joinpath("__init__.py").touch()  # or the installed one would be found
    place.write_text(text)


@pytest.mark.parametrize("module", STAND_INS)
def test_an_optimizer_of_another_library_ends_the_steps(run_text, tmp_path, module):
    cls, step = STAND_INS[module]
    stand_in(tmp_path, module, LIBRARY.format(cls=cls, step=step))
    training = run_text(TRAINS.format(module=module, cls=cls, step=step), warm=True)
    assert training.code == 0, training.stderr
    assert training.report["steps"] == 12
    assert "no_optimizer" not in [one["id"] for one in training.report["findings"]]


LOADER = """
import time
import torch

class DataLoader:
    is_closed = False

    def __init__(self, rows):
        self.inner = torch.utils.data.DataLoader(rows, batch_size=3, collate_fn=list)

    def __iter__(self):
        try:
            for rows in self.inner:  # no tensors in it
                time.sleep(0.02)
                yield torch.ones(len(rows), 4), torch.zeros(len(rows))
        finally:
            self.is_closed = True
"""
LEAVES = """
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch
from fastai.data.load import DataLoader

class Other(DataLoader):
    pass

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = Other([str(i) for i in range(30)])
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if epoch and i == 5:
            break
    assert loader.is_closed
"""


def test_what_a_loader_does_behind_torchs_is_input(run_text, tmp_path):
    stand_in(tmp_path, "fastai.data.load", LOADER)
    training = run_text(LEAVES, warm=True)
    assert training.code == 0, training.stderr
    assert training.report["steps"] == 16
    assert training.report["throughput"]["samples"] == 48
    assert training.phases["input"] >= 16 * 20_000_000
    assert [epoch["steps"] for epoch in training.report["epochs"]] == [10, 6]


PART = """
import torch
body = torch.nn.Linear(4, 2)
model = torch.nn.Sequential(body, torch.nn.Linear(2, 1))
body.eval()
body(torch.ones(1, 4))
for _ in range(3):
    model.train()
    for _ in range(4):
        model(torch.ones(2, 4)).sum().backward()
    model.eval()
    model(torch.ones(2, 4))
"""


def test_train_of_the_whole_ends_what_eval_of_a_part_began(run_text):
    training = run_text(PART, warm=True)
    rows = [row for row in training.rows if row["category"] == "phase"]
    spans = [row for row in rows if row["name"] == "evaluation"]
    first = min(int(row["start_ns"]) for row in rows if row["name"] == "backward")
    part = min(spans, key=lambda row: int(row["start_ns"]))
    assert int(part["start_ns"]) + int(part["duration_ns"]) < first
    assert training.report["steps"] == 12


INSIDE = """
import time, torch
body = torch.nn.Linear(4, 1)
class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = body
    def forward(self, x):
        return self.body(x).pow(2).mean()
loss = Loss()
optimizer = torch.optim.SGD(loss.parameters(), 0.1)
evaluated = 0
for epoch in range(3):
    for _ in range(5):
        loss(torch.ones(2, 4)).backward()
        optimizer.step()
        optimizer.zero_grad()
    begin = time.perf_counter_ns()
    body.eval()
    with torch.no_grad():
        for _ in range(4):
            loss(torch.ones(2, 4))
            time.sleep(0.01)
    body.train()
    evaluated += time.perf_counter_ns() - begin
print('TRUTH {"rank": 0, "evaluated": %d}' % evaluated)
"""


def test_a_model_inside_of_its_loss_is_evaluated(run_text):
    """As Sentence Transformers does: the loss around it stays in training mode."""
    training = run_text(INSIDE, warm=True)
    run = {row["name"]: row["total_ns"] for row in training.report["run"]}
    told = training.phases["evaluation"] + run["evaluation"]
    assert told == pytest.approx(training.truth["evaluated"], rel=0.05)
    assert training.report["verdict_id"] == "evaluation-bound"


# a class in the place of torch's, which wants a device
GRAPHS = """
import torch
from gait.torch import training

class CUDAGraph:
    def capture_begin(self, pool=None): pass
    def capture_end(self): pass
    def replay(self): pass

torch.cuda.CUDAGraph = CUDAGraph
training.install_graphs()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)

def step():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()

for _ in range({warm_up}):
    step()
inference, graph = CUDAGraph(), CUDAGraph()
inference.capture_begin()
model(torch.ones(2, 4))
inference.capture_end()
graph.capture_begin(pool=None)
step()
graph.capture_end()
for _ in range(20):
    inference.replay()
    graph.replay()
    torch.ones(3).tanh()
"""


@pytest.mark.parametrize("warm_up", [0, 3])
def test_a_replay_of_a_captured_step_is_one(run_text, warm_up):
    env = (("GAIT_TORCH_WINDOWS", "8/3"),)
    training = run_text(GRAPHS.replace("{warm_up}", str(warm_up)), env=env)
    assert training.code == 0, training.stderr
    assert training.report["steps"] == 20 + warm_up
    assert sum(row["name"] == "aten::tanh" for row in training.rows) == 3
