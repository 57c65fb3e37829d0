# SPDX-License-Identifier: Apache-2.0
"""What the tests of the sampler share."""

import subprocess

import pytest

from tests.support.sampled_programs import KNOWN, PROGRAMS, PYTHONS, RIGHT


def pytest_collection_modifyitems(items):
    for item in items:
        if not RIGHT and PROGRAMS in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="processes may not be read here"))


@pytest.fixture(params=KNOWN, ids=[f"3.{minor}" for minor in KNOWN])
def python(request):
    """Each CPython that can be sampled, as far as it is here."""
    if request.param not in PYTHONS:
        pytest.skip(f"no CPython 3.{request.param} here; GAIT_TEST_PYTHONS names more")
    return PYTHONS[request.param]


@pytest.fixture
def start():
    """start([python, ...]) gives a process that has printed its first line."""
    running = []

    def begin(command, **options):
        options.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen([str(word) for word in command], text=True, **options)
        running.append(process)
        if options["stdout"] == subprocess.PIPE:
            process.first_line = process.stdout.readline()
        return process

    yield begin
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def alternating(start):
    """A running tests/sample/programs/alternating.py."""

    def begin(python, busy=1, idle=0, depth=10, seconds=600):  # killed at the end
        program = PROGRAMS / "programs" / "alternating.py"
        return start([python, program, busy, idle, depth, seconds])

    return begin
