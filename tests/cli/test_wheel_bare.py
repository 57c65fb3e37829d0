# SPDX-License-Identifier: Apache-2.0
"""A wheel in a bare Debian 12, which has Python and no compiler: `make check-wheels`."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FOLDER = os.environ.get("GAIT_WHEELS")
TAG = "cp311"  # Debian 12's Python
pytestmark = pytest.mark.skipif(not FOLDER, reason="GAIT_WHEELS=dist tries a wheel of that folder")
SUITE = "bookworm"
INSTALL = """
for tool in cc gcc clang make ld; do ! command -v $tool || exit 9; done
python3 -m venv /root/env
/root/env/bin/pip install -q --no-index --no-deps /root/gait-*.whl
echo /mnt > "$(echo /root/env/lib/python3*/site-packages)/torch.pth"
"""
TRAIN = """
cd /root
. env/bin/activate
gait run -o first -- python train.py --epochs 1 --pictures 640
gait report first
"""


@pytest.fixture(scope="module")
def bare(root):
    """The folder of the bare system, made once: a minute."""
    place = root / "build-bare" / "wheel"
    line = [root / "tools/bare-debian", "new", SUITE, place, "python3", "python3-venv"]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    yield place
    shutil.rmtree(place)


def enter(bare, root, script):
    """Its torch is the one of this Python, lent to the bare one at /mnt."""
    torch = pathlib.Path(importlib.util.find_spec("torch").origin).resolve().parent.parent
    line = [root / "tools/bare-debian", "run", bare, "--bind", torch, "/mnt", "sh", "-ec", script]
    return subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=280)


def test_a_training_is_recorded_in_a_bare_debian(bare, root):
    wheels = list(pathlib.Path(FOLDER).resolve().glob(f"gait-*-{TAG}-*.whl"))
    if not wheels or not importlib.util.find_spec("torch") or sys.version_info[:2] != (3, 11):
        pytest.skip(f"no wheel of {TAG}, or no torch for it here")
    shutil.copy(wheels[0], bare / "root")
    shutil.copy(root / "examples" / "plain" / "train.py", bare / "root")
    done = enter(bare, root, INSTALL)
    assert done.returncode == 0, done.stdout + done.stderr
    done = enter(bare, root, TRAIN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Time per step" in done.stdout
    assert "forward" in done.stdout
