# SPDX-License-Identifier: Apache-2.0
"""The Makefile in a checkout whose path holds a blank."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest

STUB = '#!/bin/sh\necho "${0##*/}: $*"\n'


def make(folder, *words):
    line = ["make", "-s", "-C", folder, *words]
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "BUILD"}
    done = subprocess.run(line, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def checkout(root, tmp_path):
    """The Makefile with the real tools."""
    folder = tmp_path / "a blank"
    folder.mkdir()
    shutil.copy(root / "Makefile", folder)
    shutil.copytree(root / "tools", folder / "tools")
    return folder


# What each starts with the private Python, and nothing else does it for them.
@pytest.mark.parametrize(
    ("target", "started"),
    {
        "bench": "bench/run_bench.py build",
        "check-docker": "-m pytest -q tests/cli/test_docker.py",
        "check-mutation": "tools/check-mutation",
        "install": "tools/install build install",
        "release": "tools/release ",
        "sdist": "tools/wheels --sdist",
        "wheels": "tools/wheels",
    }.items(),
)
def test_a_target_starts_the_private_python(checkout, target, started):
    for place in [
        checkout / ".venv/bin/python",
        checkout / "tools/setup",
        checkout / "tools/build",
    ]:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(STUB)
        place.chmod(0o755)
    assert make(checkout, target).splitlines()[-1] == f"python: {started}"


def test_a_build_folder_may_have_a_blank_in_its_name(checkout):
    for name in ("setup", "build", "run-tests", "lint", "demo"):
        place = checkout / "tools" / name
        place.write_text('#!/bin/sh\nfor word; do printf "<%s>" "$word"; done\n')
    said = make(checkout, "BUILD=b c", "test-fast", "demo-c")
    assert said.count("<b c>") == 4 and "<b>" not in said


def test_setup_makes_its_python_there(checkout):
    """With the packages of the one that runs this, so that nothing is fetched."""
    home = checkout / ".venv"
    venv.create(home)
    (site,) = home.glob("lib/python3*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    make(checkout, "setup", f"PYTHON={sys.executable}")
    assert (home / ".done-build").exists()
    assert (site / "gait-build.pth").read_text() == f"{checkout}/build/python\n"


def test_clean_takes_the_build_folders_away(checkout):
    for name in ("build", "build-asan", "kept"):
        pathlib.Path(checkout, name).mkdir()
    make(checkout, "clean")
    assert sorted(path.name for path in checkout.iterdir()) == ["Makefile", "kept", "tools"]
