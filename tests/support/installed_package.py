# SPDX-License-Identifier: Apache-2.0
"""Pythons of their own, what pip puts into them, and whether it works there."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import gait
with gait.span("mine"):
    print(gait.recording())
"""


def make_venv(home, python=sys.executable):
    """A Python of its own, without pip: its path."""
    subprocess.run([python, "-m", "venv", "--without-pip", home], check=True)
    return home / "bin" / "python"


def pip(python, *words):
    """The pip of this Python, for that one."""
    done = said(sys.executable, "-m", "pip", "--python", python, *words)
    if "no such option: --python" in done.stderr:
        pytest.skip("this pip is too old to install into another Python")
    return done


def said(*words, cwd=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GAIT_", "PYTHON"))}
    line = [str(word) for word in words]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=env, timeout=280)


def assert_works(python, folder):
    """The tool, `python -m gait`, the recorder and the reader, of that Python."""
    tool = python.parent / "gait"
    for line in ([tool], [python, "-m", "gait"]):
        done = said(*line, "--version", cwd=folder)
        assert done.stdout.startswith("gait "), done.stderr
    (folder / "program.py").write_text(PROGRAM)
    done = said(tool, "run", "-q", "-o", "run", "--", python, "program.py", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    ask = "import gait; print([e.name for e in gait.open('run').events()])"
    assert said(python, "-c", ask, cwd=folder).stdout == "['mine']\n"
