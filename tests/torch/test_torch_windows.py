# SPDX-License-Identifier: Apache-2.0
"""Ops are on record in every loop that has steps, whatever makes them."""

import pytest

HEAD = """
import gait
import torch
a = torch.randn(8, 16)
b = torch.randn(16, 16, requires_grad=True)
model = torch.nn.Linear(16, 16)
def learn(loss):
    loss.backward()
    with torch.no_grad():
        for p in (b, *model.parameters()):
            if p.grad is not None:
                p -= 0.1 * p.grad
                p.grad = None
"""
# how each step is made: (what goes before, the loop); each has one aten::tanh
LOOPS = {
    "marked, no module": ("", "for _ in range(20):\n with gait.step():\n  (a @ b).tanh()"),
    "marks alone in their line": ("", "for _ in range(20):\n (a @ b).tanh()\n gait.step()"),
    "backward alone": ("", "for _ in range(20):\n learn((a @ b).tanh().sum())"),
    "backward of a module": ("", "for _ in range(20):\n learn(model(a).tanh().sum())"),
    "forward alone": (
        "class Net(torch.nn.Module):\n def forward(self, x):\n  return x.tanh()\n",
        "net = Net()\nfor _ in range(20):\n net(a)",
    ),
    "a look at the features before": (
        "for _ in range(30): model(a)\n",
        "for _ in range(20):\n learn(model(a).tanh().sum())",
    ),
    "an optimizer, and a look before it was made": (
        "for _ in range(30): model(a)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n",
        "for _ in range(20):\n"
        " model(a).tanh().sum().backward()\n optimizer.step()\n optimizer.zero_grad()",
    ),
}


@pytest.mark.parametrize("before, loop", LOOPS.values(), ids=LOOPS)
def test_a_window_is_open_for_three_steps_of_any_loop(run_text, before, loop):
    training = run_text(HEAD + before + loop, env=(("GAIT_TORCH_WINDOWS", "8/3"),), warm=True)
    assert training.code == 0, training.stderr
    assert sum(row["name"] == "aten::tanh" for row in training.rows) == 3


SHORT = "for _ in range(3):\n learn(model(a).tanh().sum())"


@pytest.mark.parametrize(
    "text, options, why",
    [
        (SHORT, (), "no window was open in a step (by default steps 5 to 7 of each hundred"),
        ("model(a)", (), "ops are recorded in some steps, and the run has no steps"),
        (SHORT, ("--quiet", "--windows", "1/1"), None),
    ],
)
def test_a_report_without_ops_says_why(run_text, text, options, why):
    training = run_text(HEAD + text, options=options)
    told = training.report["ops"]["why"]
    assert why in told if why else told is None
    lines = [line for line in training.first_screen.splitlines() if line.startswith("Ops ")]
    assert len(lines) == 1 and ("none: " in lines[0]) == bool(why)


def test_a_mark_that_nothing_follows_is_told(run_text):
    marked = run_text(HEAD + "for _ in range(9):\n gait.step()\n learn(model(a).sum())", warm=True)
    assert (marked.report["steps"], marked.report["open_steps"]) == (8, 1)
    assert "1 not" in marked.screen


def test_who_marks_one_step_is_not_told_to_mark_steps(run_text):
    report = run_text(HEAD + "gait.step()\nmodel(a)").report
    (advice,) = [one["text"] for one in report["verdict_try"]]
    assert "mark each iteration" not in advice and "1 step began" in advice
    (told,) = [one["text"] for one in report["findings"] if one["id"] == "no_optimizer"]
    assert "mark them" not in told and "did not end" in told
