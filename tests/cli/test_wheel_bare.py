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
# In a mount namespace of its own, so that nothing stays mounted.
ENTER = """
mount -t proc proc "$0/proc" && mount --bind "$1" "$0/mnt" && shift &&
exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 sh -ec "$1"
"""
INSTALL = """
for tool in cc gcc clang make ld; do ! command -v $tool || exit 9; done
rm -rf /root/env /root/first
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
    """The folder of the bare system, made once: some minutes."""
    place = root / "build" / f"bare-{SUITE}"
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("debootstrap is not here, or not for this user")
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        line = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, place]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"debootstrap cannot make a bare Debian: {done.stdout[-300:]}")
        (place / "made").touch()
    return place


def enter(bare, script):
    """Its torch is the one of this Python, lent to the bare one at /mnt."""
    torch = pathlib.Path(importlib.util.find_spec("torch").origin).resolve().parent.parent
    line = ["unshare", "--mount", "sh", "-c", ENTER, str(bare), str(torch), script]
    return subprocess.run(line, capture_output=True, text=True, timeout=280)


def test_a_training_is_recorded_in_a_bare_debian(bare, root):
    wheels = list(pathlib.Path(FOLDER).resolve().glob(f"gait-*-{TAG}-*.whl"))
    if not wheels or not importlib.util.find_spec("torch") or sys.version_info[:2] != (3, 11):
        pytest.skip(f"no wheel of {TAG}, or no torch for it here")
    for old in (bare / "root").glob("gait-*"):
        old.unlink()
    shutil.copy(wheels[0], bare / "root")
    shutil.copy(root / "examples" / "plain" / "train.py", bare / "root")
    done = enter(bare, INSTALL)
    assert done.returncode == 0, done.stdout + done.stderr
    done = enter(bare, TRAIN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Time per step" in done.stdout
    assert "forward" in done.stdout
