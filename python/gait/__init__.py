# SPDX-License-Identifier: Apache-2.0
"""gait: see where a training run's time goes.

    with gait.span("load"):          # or @gait.span("load") on a function
        batch = next(batches)
    gait.count("loss", loss.item())

Under `gait run` the process is on record from this import on; else from
gait.start(). Off, each call costs about as much as an empty one.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
import sys as _sys

# No module __getattr__ here: with one, CPython looks every gait.… up the slow way.
from . import profilers, trace
from ._core import (
    Span,
    Step,
    arg,
    async_begin,
    async_end,
    begin,
    count,
    end,
    flow_begin,
    flow_end,
    flow_step,
    flush,
    last_error,
    mark,
    next,
    rank,
    recording,
    shard_path,
    site,
    snapshot,
    span,
    start,
    step,
    step_begin,
    step_end,
    stop,
    thread_name,
)
from ._core import why_off as _why_off
from .config import Config
from .loops import async_span, epoch, metadata, phase, steps, trigger
from .trace import open

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "add_arguments",
    "arg",
    "async_begin",
    "async_end",
    "async_span",
    "begin",
    "Config",
    "count",
    "end",
    "epoch",
    "flow_begin",
    "flow_end",
    "flow_step",
    "flush",
    "init",
    "last_error",
    "mark",
    "metadata",
    "next",
    "open",
    "phase",
    "profile",
    "profiler",
    "profilers",
    "rank",
    "recording",
    "shard_path",
    "site",
    "snapshot",
    "Span",
    "span",
    "start",
    "Step",
    "step",
    "step_begin",
    "step_end",
    "step_profiler",
    "steps",
    "stop",
    "thread_name",
    "trace",
    "trigger",
    "uninstall",
]


def init(*args, **kwargs) -> bool:
    """start(), and PyTorch's phases and ops with it, imported or yet to be."""
    started = start(*args, **kwargs)
    _wait_for_torch()
    return started


def _wait_for_torch() -> None:
    if _why_off:
        return
    from .preload import _gait_start

    _sys.modules.setdefault("_gait_start", _gait_start).begin()


def profiler(function=None, **options):
    """A decorator that profiles some steps of what a function does, with torch.

        @gait.profiler(output_dir="./profiler_logs", active=3)
        def train(): ...                 # calls gait.step_profiler() after each step

    enabled=True, output_dir="./profiler_logs", skip_first=1, wait=1, warmup=1, active=3,
    repeat=1, with_stack=False, with_flops=True, with_modules=False,
    nsight_enabled=False, nsight_output="nsight_profile"
    """
    from .decorator import profiler as decorate

    return decorate(function, **options)


def uninstall() -> list[str]:
    """Takes gait's hooks out of PyTorch, Lightning and what else has some, as if they had
    never been there; init() puts them back. What is on record stays, and goes on.

    Returns the names of the places that somebody else has replaced since: these stay.
    """
    from . import _patches

    install = _sys.modules.get("gait.torch.install")
    if install:
        install.leave()
    starter = _sys.modules.get("_gait_start")
    if starter:
        starter.end()
    return [str(patch) for patch in _patches.uninstall()]


def step_profiler() -> None:
    """Says that a step of the function that @gait.profiler() decorates has ended.

    Outside of one it does nothing.
    """
    from .decorator import step_profiler as step_it

    step_it()


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Gives an argparse parser `--profile` and `--nsight`; returns it."""
    from .decorator import add_arguments as add

    return add(parser)


def profile(kind: str = "advanced", name: str | None = None, **options: object) -> Any:
    """A block (`with`) or a function (decorator) under a profiler of gait.profilers.

    Its report is printed when it ends, or goes to a file: dirpath=…, filename=….
    """
    from .profilers.block import Block

    return Block(kind, name, options)


def _runs_the_tool() -> bool:
    """Is this `python -m gait …`, which only starts the tool?"""
    if _sys.argv[:1] != ["-m"]:
        return False
    words = getattr(_sys, "orig_argv", [])
    return ("-m", "gait") in zip(words, words[1:])


def _is_imported_by_hooks():
    """Then gait/torch decides when the record begins."""
    return getattr(_sys.modules.get("_gait_start"), "is_starting", False)


def _begin() -> None:
    if not _os.environ.get("GAIT_DIR") or _runs_the_tool() or _is_imported_by_hooks():
        return
    if _why_off and _os.environ.get("GAIT_ENABLE") != "0":
        from ._say import say_off

        say_off(_why_off)
    start()
    if _os.environ.get("GAIT_ENABLE") != "0":
        _wait_for_torch()


def _close_when_interrupted() -> None:
    """After Ctrl-C Python kills itself by SIGINT, past everybody's exit handlers."""
    if getattr(_sys, "last_type", None) is KeyboardInterrupt:
        stop()


def _tell_failure() -> None:
    if getattr(_sys, "last_type", None) is not None or getattr(_sys, "last_exc", None) is not None:
        from . import _failure

        try:
            _failure.tell()
        except Exception as error:  # an exception may refuse to be told
            from ._say import say

            say(f"how the program failed is not on record: {error}")


def _name_threads_at_exit() -> None:
    """The record is closed when Python is gone, and the names of threads with it."""
    from ._native import _tell_names

    _atexit.register(_tell_names)


def _close_in_children() -> None:
    """Children of multiprocessing leave by os._exit(): close the record there."""
    if "multiprocessing.util" in _sys.modules:
        from .children import arrange

        arrange()


def _before_fork() -> None:
    _close_in_children()
    if _sys.version_info >= (3, 12):
        from . import _forks

        _forks.settle(recording())


_begin()
if not _why_off:
    _atexit.register(_close_when_interrupted)
    _atexit.register(_tell_failure)
    _name_threads_at_exit()
    _close_in_children()
    if hasattr(_os, "register_at_fork"):
        _os.register_at_fork(before=_before_fork)
del TYPE_CHECKING, annotations  # neither is a name of gait's
