# SPDX-License-Identifier: Apache-2.0
"""What a program costs: the memory it took, and the work it did.

A build with -fsanitize-coverage=trace-pc counts the blocks of code that ran
(tests/support/count_blocks.c): the same figure each time, on any machine. `make check`
makes such a build. Elsewhere the time of the processor has to do, the least of some runs.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

IS_COUNTED = bool(os.environ.get("GAIT_COUNT_WORK"))
# what twice the input may cost: a count has no noise
MOST = 2.3 if IS_COUNTED else 3.0
FLOOR = 0 if IS_COUNTED else 0.1  # seconds that tell nothing


def work(*command, **options):
    """Blocks of code that ran, or else seconds of a processor; and the CompletedProcess."""
    with tempfile.NamedTemporaryFile() as counts:
        env = {**os.environ, "GAIT_COUNT_FILE": counts.name, **options.pop("env", {})}
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, env=env, **options
        )
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        if IS_COUNTED:
            spent = sum(map(int, pathlib.Path(counts.name).read_text().split()))
    return spent, done


def least_work(command, runs=3, before=lambda: None):
    """Of some runs of what `command` makes, where time is what is counted."""
    least = None
    for _ in range(1 if IS_COUNTED else runs):
        before()
        spent, done = work(*command)
        least = spent if least is None else min(least, spent)
    return max(least, FLOOR), done


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
    """The most memory that the program had, and how it ended."""
    small = [sys.executable, "-I", "-S", "-c", SMALL, *map(str, command)]
    told = subprocess.run(small, stdout=subprocess.PIPE, text=True, check=True).stdout
    peak, code = map(int, told.split())
    return peak, code
