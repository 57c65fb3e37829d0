# SPDX-License-Identifier: Apache-2.0
"""`gait run --profiler simple|advanced`: a whole program, unedited.

The phases of a PyTorch training are the actions; `advanced` has one more, the
whole run. Calls made by imports of what is installed are an action apart, half a
million for torch; their time is in the functions that import.
"""

from __future__ import annotations

import atexit
import os
import sys

from .._core import start
from .._files import draft
from .._native import _phase_watch
from .._ranks import global_rank
from .._say import put, say
from .advanced import Advanced
from .files import reason, writable
from .simple import Simple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUN, IMPORTS = "run", "imports"
profiler_of_run = None  # which lightning_actions tells too


def setting(name, otherwise):
    return os.environ.get("GAIT_PROFILING_" + name) or otherwise


def folder():
    """The run directory, or what is named, in it unless absolute."""
    return os.path.join(os.environ.get("GAIT_DIR") or ".", setting("OUTPUT_DIR", ""))


def row_limit():
    """An integer is rows, a number with a point a share of them."""
    text = setting("LINE_COUNT_RESTRICTION", "20")
    try:
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:
        say(f"line_count_restriction is a number, not {text!r}: showing 20 functions")
        return 20


def make(name):
    where = {"dirpath": folder(), "filename": name}
    where["filename"] = setting("WORKER_NAME", name)
    if global_rank() is None:
        where["filename"] += f"-{os.getpid()}"
    if name == "simple":
        return Simple(extended=setting("EXTENDED", "1") not in ("0", "false"), **where)
    return Advanced(line_count_restriction=row_limit(), dump_stats=True, **where)


def begin(name) -> None:
    profiler = make(name)
    if name == "advanced" and not start_run(profiler):
        return
    take(profiler)
    _phase_watch(profiler.start, profiler.stop)
    os.register_at_fork(after_in_child=lambda: _phase_watch(None, None))
    start()


def begin_lightnings() -> None:
    """Lightning's report beside the ops: the guide of its callback has both by one switch."""
    take(make("simple"))


def take(profiler) -> None:
    global profiler_of_run
    profiler_of_run = profiler
    atexit.register(finish, profiler, os.getpid())


def start_run(profiler) -> bool:
    try:
        profiler.start(RUN)
    except RuntimeError as error:
        say(f"no functions are traced: {error}")
        return False

    profiler._apart = IMPORTS
    starter: Any = sys.modules["_gait_start"]
    starter.around_imports = lambda: profiler.profile(IMPORTS)
    return True


def finish(profiler, pid) -> None:
    """A file from each process; the first rank also shows what is in it."""
    if os.getpid() != pid:  # a child that was forked has nothing of its own to tell
        return
    _phase_watch(None, None)
    if isinstance(profiler, Advanced):
        profiler.close()
    elif not profiler.rows():
        return  # no training: there is nothing to say, and many a tool is a Python too
    text = profiler.summary()
    if isinstance(profiler, Simple):
        text += os.linesep + profiler.table()
    text = writable(text)
    path = os.path.abspath(profiler.path())
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with draft(path) as part, open(
            part, "w", encoding="utf-8", errors="surrogateescape"
        ) as file:
            file.write(text)
    except (OSError, ValueError) as error:
        say(f"cannot write {path!r}: {reason(error)}")
    if not profiler.rank:
        put(text.rstrip("\n") + f"\n\ngait: the same in {path}\n")
