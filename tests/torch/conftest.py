# SPDX-License-Identifier: Apache-2.0
"""Trainings for the tests of PyTorch: a test asks for one by its Job.

What many tests share is run once. A module can have its trainings begun ahead,
on as many cores as there are: importing torch takes longer than any of them.
Without torch the tests are skipped, and say why.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from said_besides import without_these
from torch_trainings import Job, Trainings
from warm_python import WarmPython

NO_TORCH = "torch is not in this Python; `make setup-torch` brings it"
HERE = pathlib.Path(__file__).parent
WARM = ["torch", "torch.profiler", "argparse", "gzip", "gait.torch"]
WARM += ["gait.torch." + name for name in ("profiler", "averages", "traces", "handlers")]


def pytest_collection_modifyitems(items):
    if importlib.util.find_spec("torch") is None:
        for item in items:
            if "needs_no_torch" not in item.keywords and HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=NO_TORCH))


@pytest.fixture(scope="session")
def trainings(build, tmp_path_factory):
    """Everything that the tests of this session ran."""
    with contextlib.closing(Trainings(build, tmp_path_factory.mktemp("trainings"))) as runs:
        yield runs


@pytest.fixture(scope="module")
def ahead(trainings, request):
    """Begins what the selected tests of a module will ask for, in their order."""
    for item in request.session.items:
        if item.path == request.path:
            for value in getattr(getattr(item, "callspec", None), "params", {}).values():
                if isinstance(value, Job):
                    trainings.begin(value)


@pytest.fixture
def run(trainings):
    """run(Job(…)) gives a Training."""
    return trainings.get


@pytest.fixture
def training(trainings, request):
    """The training that a test is parametrized with."""
    return trainings.get(request.param)


@pytest.fixture
def run_text(trainings, tmp_path):
    """run_text(source, **fields of a Job) runs a script of a few lines."""

    def go(source, begin=False, **fields):
        path = tmp_path / "script.py"
        path.write_text(source)
        return (trainings.begin if begin else trainings.get)(Job(path, **fields))

    return go


class Done:
    """A script that has ended; told: what it printed by tell()."""

    def __init__(self, process):
        self.code, self.stdout = process.returncode, process.stdout
        self.stderr = without_these(process.stderr)

    @property
    def told(self):
        lines = [line for line in self.stdout.splitlines() if line.startswith("TOLD ")]
        assert lines, self.stdout + self.stderr
        return [json.loads(line[5:]) for line in lines]


@pytest.fixture(scope="session")
def warm_python(build):
    """Forks for scripts; torch and gait are imported once."""
    with contextlib.closing(WarmPython(WARM, build / "python")) as python:
        yield python


@pytest.fixture
def scripts(request, build, tmp_path):
    """scripts(source, arguments…) runs it outside of any run, or `under` a command."""

    def go(source, *arguments, code=0, head="", also="", under=(), **env):
        path = tmp_path / "script.py"
        path.write_text(head + also + textwrap.dedent(source))
        clean = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        clean.update(PYTHONPATH=str(build / "python"), TMPDIR=str(tmp_path), **env)
        if under:
            line = [*under, sys.executable, str(path), *arguments]
            process = subprocess.run(
                line, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=120
            )
        else:
            warm = request.getfixturevalue("warm_python")
            process = warm.run(path, arguments, tmp_path, clean)
        assert process.returncode == code, process.stdout + process.stderr
        return Done(process)

    return go
