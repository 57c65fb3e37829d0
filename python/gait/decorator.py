# SPDX-License-Identifier: Apache-2.0
"""@gait.profiler(…): a profile around a function, with its files and its table.

The schedule and what is recorded are gait.torch.profile's; here is what becomes of a
trace: {output_dir}/rank_{rank}/ for TensorBoard, {output_dir}/trace_rank_{rank}.json,
and a table on rank 0.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import shutil

from . import _ranks
from ._core import why_off
from ._files import draft
from ._say import attempt, say, say_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULTS = {
    "enabled": True,
    "output_dir": "./profiler_logs",
    "skip_first": 1,
    "wait": 1,
    "warmup": 1,
    "active": 3,
    "repeat": 1,
    "with_stack": False,
    "with_flops": True,
    "with_modules": False,
    "nsight_enabled": False,
    "nsight_output": "nsight_profile",
}
ROWS = 10

# the profiles that are open, the innermost last; no lock, which a fork could leave taken
_running = []


def profiler(function=None, **options):
    """See gait.profiler."""
    unknown = sorted(set(options) - set(DEFAULTS))
    if unknown:
        import difflib

        near = difflib.get_close_matches(unknown[0], DEFAULTS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it takes {', '.join(DEFAULTS)}"
        raise TypeError(f"profiler() takes no {unknown[0]!r}{hint}")
    chosen = {**DEFAULTS, **options}
    if not why_off:
        _check(chosen)

    def decorate(target):
        return _wrap(target, chosen) if chosen["enabled"] else target

    if function is None:
        return decorate
    if not callable(function):
        raise TypeError("profiler() decorates a function: write @gait.profiler()")
    return decorate(function)


def step_profiler() -> None:
    """See gait.step_profiler."""
    for innermost in _running[-1:]:
        innermost.step()


def _check(options) -> None:
    import warnings

    from .torch.plans import schedule

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = {key: options[key] for key in ("skip_first", "wait", "warmup", "active")}
        schedule(**numbers, repeat=options["repeat"])


def _wrap(target, options):
    if inspect.iscoroutinefunction(target):

        @functools.wraps(target)
        async def wrapper(*args, **kwargs):
            with profiled(options):
                return await target(*args, **kwargs)

    elif inspect.isgeneratorfunction(target):

        @functools.wraps(target)
        def wrapper(*args, **kwargs):  # type: ignore[misc]
            with profiled(options):
                return (yield from target(*args, **kwargs))

    else:

        @functools.wraps(target)
        def wrapper(*args, **kwargs):  # type: ignore[misc]
            with profiled(options):
                return target(*args, **kwargs)

    return wrapper


@contextlib.contextmanager
def profiled(options):
    """A profile that is open inside; what it had when an exception came is written.

    Where there can be none, what is inside runs all the same, and nobody is given.
    """
    writer, prof = _begin(options)
    if prof is None:
        yield None
        return
    _running.append(prof)
    try:
        yield prof
    finally:
        _running.remove(prof)
        # what goes wrong here is a sentence, never the end of a training
        attempt("the last trace was not written", prof.stop)
        attempt("there is no table", writer.finish, prof)


def _begin(options):
    """(who writes its files, a profile that runs), or why not in a sentence."""
    if why_off:
        say_off(why_off)
        return None, None
    prof = None
    try:
        writer = _Writer(options)
        prof = _make(options, writer)
        prof.start()
        return writer, prof
    except Exception as error:
        say(f"this call is not profiled: {error}")
        if prof is not None:
            attempt("the profile did not end", prof.stop)
        return None, None


def _make(options, writer):
    import warnings

    import torch

    from .torch import plans
    from .torch.actions import find
    from .torch.profiler import profile

    kinds = find("ProfilerActivity")
    activities = [kinds.CPU] + ([kinds.CUDA] if torch.cuda.is_available() else [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warmup 0 is what was asked for
        numbers = {key: options[key] for key in ("skip_first", "wait", "warmup", "active")}
        plan = plans.schedule(**numbers, repeat=options["repeat"])

    make: Any = profile
    if options["nsight_enabled"]:
        from .nsight import following

        make = following(make, options["nsight_output"], options["repeat"], _ranks.is_first())
    return make(
        activities=activities,
        schedule=plan,
        on_trace_ready=writer.write,
        record_shapes=True,
        profile_memory=True,
        with_stack=options["with_stack"],
        with_flops=options["with_flops"],
        with_modules=options["with_modules"],
    )


class _Writer:
    """The files and the table of one call."""

    def __init__(self, options) -> None:
        from .torch import handlers

        self._folder = os.path.abspath(options["output_dir"])
        self._options = options
        handlers.make_folder(self._folder)
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise PermissionError(
                f"traces cannot be written to {self._folder!r}: it is read-only; name another "
                "folder with output_dir"
            )
        self._handlers = handlers
        self._is_first = _ranks.is_first()
        self._paths = []

    def write(self, prof) -> None:
        """A training goes on when its disk is full."""
        attempt("a trace was not written", self._write, prof)

    def _write(self, prof):
        """Both files of a trace; the second is the last one's, whole at any time."""
        rank = _ranks.global_rank() or 0
        folder = os.path.join(self._folder, f"rank_{rank}")
        self._handlers.make_folder(folder)
        path = self._handlers.tensorboard_trace_handler(folder, f"rank_{rank}")(prof)
        whole = os.path.join(self._folder, f"trace_rank_{rank}.json")
        self._paths = [*self._paths, path]
        with draft(whole) as part:  # ranks of several machines may share the folder
            shutil.copyfile(path, part)

    def finish(self, prof) -> None:
        """Rank 0 says what there is."""
        if not self._paths or not self._is_first or not _ranks.is_first():
            return
        count = len(self._paths)
        say(f"{count} trace{'s' if count != 1 else ''} in {self._folder}")
        from .torch import console

        print(console.table(prof, self._options["with_flops"], ROWS), flush=True)


def add_arguments(parser):
    """See gait.add_arguments."""
    known = parser._option_string_actions
    if "--profile" not in known:
        parser.add_argument(
            "--profile",
            action="store_true",
            help="profile some steps with gait: traces and a table in ./profiler_logs",
        )
    if "--nsight" not in known:
        parser.add_argument(
            "--nsight",
            action="store_true",
            help="tell NVIDIA Nsight Systems which steps to record",
        )
    return parser
