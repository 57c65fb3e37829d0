# SPDX-License-Identifier: Apache-2.0
"""`gait run --profiler advanced`: a whole program, traced from its first line on."""

import atexit
import os
import sys

import gait

from .advanced import Advanced
from .files import global_rank, say

ACTION = "run"


def setting(name, otherwise):
    return os.environ.get("GAIT_PROFILING_" + name) or otherwise


def row_limit():
    """An integer is rows, a number with a point a share of them."""
    text = setting("LINE_COUNT_RESTRICTION", "20")
    try:
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:
        say(f"line_count_restriction is a number, not {text!r}: showing 20 functions")
        return 20


def begin():
    rank = global_rank()
    options = {
        "dirpath": os.environ.get("GAIT_DIR") or ".",
        "filename": setting("WORKER_NAME", "profile") + (f"-{os.getpid()}" if rank is None else ""),
        "line_count_restriction": row_limit(),
    }
    profiler = Advanced(**options)
    try:
        profiler.start(ACTION)
    except RuntimeError as error:
        say(f"no functions are traced: {error}")
        return
    atexit.register(finish, profiler, os.getpid())
    gait.start()


def finish(profiler, pid):
    """Files of each process; the first rank also shows its table."""
    if os.getpid() != pid:  # a child that was forked has nothing of its own to tell
        return
    profiler.close()
    text = profiler.summary()
    profiler.dump_stats = True
    path = os.path.abspath(profiler.path(ACTION, ".prof"))
    try:
        profiler.dump(path, ACTION)
        with open(profiler.path(), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        say(f"cannot write '{path}': {error.strerror}")
    if not profiler.rank and sys.stderr is not None:
        sys.stderr.write(f"{text}\ngait: all of it: gait pstats {path}\n")
