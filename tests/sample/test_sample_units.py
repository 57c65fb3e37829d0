# SPDX-License-Identifier: Apache-2.0
"""What is made of instructions agrees with each interpreter about its own standard library."""

import os
import subprocess

import pytest

from tests.support.sampled_programs import PROGRAMS

MODULES = 0 if os.environ.get("GAIT_TEST_FULL") else 40


@pytest.mark.skipif(bool(os.environ.get("GAIT_SANITIZE")), reason="hours with a sanitizer")
def test_returns_and_questions_to_generators_are_where_the_interpreter_says(python, build):
    script = PROGRAMS / "scripts" / "check_units.py"
    done = subprocess.run(
        [python, "-W", "ignore", script, build / "tests" / "unit_marks", str(MODULES)],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    objects, questions, wrong, between, units = map(int, done.stdout.split())
    assert objects > 300 and questions > 100
    assert wrong == 0, done.stderr
    assert between <= units // 1000  # what stands behind an instruction may be any number
