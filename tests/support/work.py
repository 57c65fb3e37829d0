# SPDX-License-Identifier: Apache-2.0
"""What a program costs: the memory it took, and the work it did.

A build with -fsanitize-coverage=trace-pc counts the blocks of code that ran
(tests/support/count_blocks.c): the same figure each time, on any machine. `make check`
makes such a build; elsewhere these tests are skipped.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

IS_COUNTED = bool(os.environ.get("GAIT_COUNT_WORK"))
MOST = 2.3  # what twice the input may cost


def work(*command, **options):
    """Blocks of code that ran, and the CompletedProcess. Seconds of a processor would be no
    measure: beside other work they differ by three times. Where nothing counts, it is skipped."""
    if not IS_COUNTED:
        pytest.skip("nothing counts the work here: make work, a part of make check")
    with tempfile.NamedTemporaryFile() as counts:
        env = {**os.environ, "GAIT_COUNT_FILE": counts.name, **options.pop("env", {})}
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, env=env, **options
        )
        return sum(map(int, pathlib.Path(counts.name).read_text().split())), done


# A process is charged with the memory of the one that it was forked off, until it runs a program
# of its own: pytest with 190 MB made each program take as much.
SMALL = """if True:
    import os, sys
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    print(usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status))
"""


def peak_bytes(*command):
    """The most memory that the program had, and how it ended. A sanitizer takes its own."""
    if os.environ.get("GAIT_SANITIZE"):
        pytest.skip("the memory of a sanitizer would count")
    small = [sys.executable, "-I", "-S", "-c", SMALL, *map(str, command)]
    told = subprocess.run(small, stdout=subprocess.PIPE, text=True, check=True).stdout
    peak, code = map(int, told.split())
    return peak, code
