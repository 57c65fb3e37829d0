# SPDX-License-Identifier: Apache-2.0
"""The line decoder agrees with each interpreter about its own standard library."""

import os
import subprocess

import pytest

from tests.support.sampled_programs import PROGRAMS

MODULES = 0 if os.environ.get("GAIT_TEST_FULL") else 40


@pytest.mark.skipif(bool(os.environ.get("GAIT_SANITIZE")), reason="hours with a sanitizer")
def test_every_instruction_has_the_line_the_interpreter_says(python, build):
    script = PROGRAMS / "scripts" / "check_lines.py"
    done = subprocess.run(
        [python, "-W", "ignore", script, build / "tests" / "line_rows", str(MODULES)],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    objects, instructions, lines, columns = map(int, done.stdout.split())
    assert (lines, columns) == (0, 0), done.stderr
    assert objects > 300 and instructions > 5000
