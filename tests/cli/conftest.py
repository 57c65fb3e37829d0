# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tool share."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

NOBODY = 65534


@pytest.fixture
def golden(root):
    """Compare an answer with the one kept in tests/golden/cli; `make golden` rewrites it."""

    def compare(name, answer):
        path = root / "tests" / "golden" / "cli" / name
        if os.environ.get("GAIT_GOLDEN") == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(answer)
        assert answer == path.read_text()

    return compare


@pytest.fixture
def as_nobody(build):
    """Run the tool as a user without rights: (run, a directory of that user's)."""
    if os.getuid() != 0:
        home = pathlib.Path(tempfile.mkdtemp())
        yield lambda *args: run(build / "gait", home, *args), home
    else:
        # other users may not pass through the folders of this checkout
        home = pathlib.Path(tempfile.mkdtemp())
        tool = shutil.copy(build / "gait", home)
        os.chown(home, NOBODY, NOBODY)
        yield lambda *args: run(tool, home, *args, user=NOBODY, group=NOBODY), home
    for path in home.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(home)


def run(tool, home, *args, **options):
    line = [str(tool), *map(str, args)]
    if "user" in options:
        options["extra_groups"] = []
    return subprocess.run(line, cwd=home, capture_output=True, text=True, timeout=60, **options)


def pytest_collection_modifyitems(items):
    """Programs under faults are not run with a sanitizer in them.

    It takes the signals, the memory limits and the preloaded libraries that
    these tests are about; the recorder's unit tests run with it instead.
    """
    if not os.environ.get("GAIT_SANITIZE"):
        return
    for item in items:
        if item.path.name.startswith("test_faults_"):
            item.add_marker(pytest.mark.skip(reason="faults, not sanitizers"))
