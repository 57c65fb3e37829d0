# SPDX-License-Identifier: Apache-2.0
"""A training that fails tells what raised, where, and in which phase of which step."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import gait
import torch
where = sys.argv[1]

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, rows):
        if where == "forward" and number == 3:
            raise RuntimeError("planted")
        with gait.phase("augment"):
            if where == "augment" and number == 3:
                raise KeyError("planted")
        return Passes.apply(self.layer(rows))

class Passes(torch.autograd.Function):
    @staticmethod
    def forward(context, rows):
        return rows * 1

    @staticmethod
    def backward(context, gradient):
        if where == "backward" and number == 3:
            raise ArithmeticError("planted")
        return gradient

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if where == "input" and index == 35:
            raise OSError("planted")
        return torch.zeros(8)

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number, rows in enumerate(torch.utils.data.DataLoader(Rows(), batch_size=10)):
    with gait.phase("round"):
        model(rows).sum().backward()
        if where == "optimizer" and number == 3:
            optimizer.param_groups[0]["lr"] = "none"
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    "where, name, function",
    [
        ("input", "OSError", "__getitem__"),
        ("forward", "RuntimeError", "forward"),
        ("augment", "KeyError", "forward"),
        ("backward", "ArithmeticError", "backward"),
        ("optimizer", "TypeError", "<module>"),
    ],
)
def test_what_raised_and_in_which_phase(trainings, tmp_path, where, name, function):
    script = tmp_path / "fails.py"
    script.write_text(SCRIPT)
    line = [trainings.tool, "run", "-q", "-o", "x", "--", sys.executable, script, where]
    done = subprocess.run(
        line, cwd=tmp_path, env=trainings.environment(), stderr=subprocess.DEVNULL
    )
    assert done.returncode == 1
    report = subprocess.run(
        [trainings.tool, "report", "--json", "x"], cwd=tmp_path, capture_output=True, check=True
    )
    failure = json.loads(report.stdout)["failure"]
    found = {key: failure[key] for key in ("exit_code", "type", "file", "function", "phase")}
    assert found == {
        "exit_code": 1,
        "type": name,
        "file": str(script),
        "function": function,
        "phase": where,
    }
    # steps on record: the one whose optimizer raised was whole but for that
    assert failure["step"] == (4 if where == "optimizer" else 3)
