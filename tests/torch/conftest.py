# SPDX-License-Identifier: Apache-2.0
"""Trainings for the tests of PyTorch: a test asks for one by its Job.

What many tests share is run once. A module can have its trainings begun ahead,
on as many cores as there are: importing torch takes longer than any of them.
Without torch the tests are skipped, and say why.
"""

import contextlib
import importlib.util
import pathlib

import pytest
from torch_trainings import Job, Trainings

NO_TORCH = "torch is not in this Python; `make setup-torch` brings it"
HERE = pathlib.Path(__file__).parent


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
