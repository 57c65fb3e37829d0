# SPDX-License-Identifier: Apache-2.0
"""Where CPython keeps things is what a compiler makes of that version's own headers."""

import importlib.machinery
import importlib.util
import subprocess

import pytest

from tests.support.sampled_programs import PROGRAMS


@pytest.fixture(scope="module")
def make_layouts(root):
    path = str(root / "tools/make-layouts")
    loader = importlib.machinery.SourceFileLoader("make_layouts", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def compiled(python, make_layouts):
    """The row that the headers of this Python give."""
    found = make_layouts.include_of(python)
    if not found:
        pytest.skip(f"no headers of {python} here")
    return make_layouts.row(found[1])


def test_the_committed_row_is_what_the_headers_give(compiled, make_layouts):
    assert make_layouts.same(compiled, make_layouts.committed()[compiled["minor"]])


def test_what_an_interpreter_tells_of_itself_is_what_its_headers_give(
    compiled, python, build, start
):
    program = PROGRAMS / "programs/alternating.py"
    process = start([python, program, 0, 1, 3, 600])
    words = [build / "tests/told_layout", str(process.pid)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}
    assert {name for name in compiled if told[name] != compiled[name]} <= {"patch"}
