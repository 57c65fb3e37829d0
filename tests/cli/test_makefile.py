# SPDX-License-Identifier: Apache-2.0
"""The Makefile in a checkout whose path holds a blank."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest
from terminals import open_terminal

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


def put_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="a sanitized build has no Python package"
)
def test_an_installation_builds_no_tests(build, checkout):
    ninja = os.path.join(os.path.dirname(sys.executable), "ninja")
    line = [ninja, "-C", build, "-t", "inputs", "products"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "../src/cli/main.c" in done.stdout and "../python/gait/ext/native.c" in done.stdout
    assert not [name for name in done.stdout.split() if name.startswith(("../tests", "../bench"))]
    put_program(checkout / ".venv/bin/python", f'exec "{sys.executable}" "$@"\n')
    put_program(checkout / ".venv/bin/meson", "exit 0\n")
    put_program(checkout / ".venv/bin/ninja", 'echo "$@" >>lines\n')
    put_program(checkout / "tools/setup", "")
    options = [{"name": "prefix", "value": "/usr/local"}, {"name": "libdir", "value": "lib"}]
    about = checkout / "build/meson-info/intro-buildoptions.json"
    for is_fresh in (True, False):
        about.parent.mkdir(parents=True, exist_ok=True)
        about.write_text(json.dumps(options))
        line = ["make", "-s", "-C", checkout, "install", f"DESTDIR={checkout}/there"]
        subprocess.run(line, capture_output=True, text=True, timeout=120)
        lines = (checkout / "lines").read_text().splitlines()
        (checkout / "lines").unlink()
        built = [line for line in lines if "build.ninja" not in line]
        assert built and all(line.endswith(" products") for line in built), lines
        assert len(lines) > len(built) or not is_fresh
        (checkout / "build/build.ninja").touch()


def test_a_build_shows_at_a_terminal_alone_how_far_it_is(checkout):
    put_program(checkout / ".venv/bin/meson", "exit 0\n")
    put_program(checkout / ".venv/bin/ninja", "test -t 1 && echo '[1/2] Compiling'; exit 0\n")
    ours, its = open_terminal()
    line = [checkout / "tools/build", "build"]
    subprocess.run(line, stdout=its, check=True, timeout=60)
    os.close(its)
    assert b"[1/2] Compiling\r\n" in os.read(ours, 4096)
    os.close(ours)
    assert "Compiling" not in subprocess.run(line, capture_output=True, text=True).stdout


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
