# SPDX-License-Identifier: Apache-2.0
"""`gait run --profiler` on a training that nobody edited: its phases are the actions."""

import json
import re

import pytest
from ring_files import needs_semaphores

# one worker: what all of it looks at is run once
pytestmark = [pytest.mark.xdist_group("profilers"), needs_semaphores]

SCRIPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 3)

    def forward(self, x):
        return scale(self.inner(x))

def scale(x):
    return x * 2

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(80, 8), torch.randint(3, (80,)))
for x, y in DataLoader(data, batch_size=8, num_workers=WORKERS):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def rows_of(stderr):
    """{action: calls} of the first table."""
    table = stderr.split("Percentage %")[1].split("\n\n")[0]
    rows = re.findall(r"^\|  (\S+) *\t\|  \S+ *\t\|  (\d+)", table, re.MULTILINE)
    return {name: int(calls) for name, calls in rows}


@pytest.fixture(scope="module")
def both(trainings, tmp_path_factory):
    from torch_trainings import Job

    path = tmp_path_factory.mktemp("profilers") / "script.py"
    path.write_text(SCRIPT.replace("WORKERS", "2"))
    jobs = [
        Job(path, options=("--profiler", name, "--windows", "off"))
        for name in ("simple", "advanced")
    ]
    for job in jobs:
        trainings.begin(job)
    return [trainings.get(job) for job in jobs]


def test_simple_counts_the_phases(both):
    simple, _ = both
    assert simple.code == 0, simple.stderr
    rows = rows_of(simple.stderr)
    assert {rows[name] for name in ("forward", "backward")} == {10}
    assert rows["optimizer"] in (10, 20) and rows["input"] >= 10
    assert simple.stderr.count("Profiler Report") == 1  # workers say nothing
    (path,) = simple.directory.glob("simple-*.txt")
    assert "p95" in path.read_text()


def test_advanced_has_the_functions_of_each_phase(both):
    _, advanced = both
    assert advanced.code == 0, advanced.stderr
    assert advanced.stderr.count("Profiler Report") == 1
    text = advanced.stderr.split("Profile stats for: forward\n")[1].split("Profile stats")[0]
    assert re.search(r"^ +10 .*script.py:\d+\(forward\)$", text, re.MULTILINE)
    assert re.search(r"^ +10 .*script.py:\d+\(scale\)$", text, re.MULTILINE)
    (path,) = advanced.directory.glob("advanced-*-run.prof")
    names = {row["name"]: row["calls"] for row in json.loads(ask(advanced, path))["functions"]}
    assert names["scale"] == 10


def ask(training, path):
    return training.ask("pstats", path, "--json").stdout
