# SPDX-License-Identifier: Apache-2.0
"""gait.profile(): a block or a function under a named profiler, reported at its end."""

import functools

from .._say import say


class Block:
    def __init__(self, kind, name, options) -> None:
        from . import by_name

        self._make = functools.partial(by_name, kind, **options)
        self._make()  # a wrong name or option is told here, not in the middle of a run
        self._name = name
        self._open = []
        self._is_refusal_told = False

    def _begin(self, name):
        """A profiler that runs, or None: a program does not fail for want of its report."""
        profiler = self._make()
        try:
            profiler.start(name)
        except RuntimeError as error:
            if not self._is_refusal_told:
                say(f"{name!r} is not profiled: {error}")
            self._is_refusal_told = True
            return None
        return profiler

    @staticmethod
    def _end(profiler, name) -> None:
        if profiler is None:
            return
        profiler.stop(name)
        getattr(profiler, "close", int)()
        profiler.describe()

    def __enter__(self):
        name = self._name or "block"
        profiler = self._begin(name)
        self._open.append((profiler, name))
        return profiler or self._make()

    def __exit__(self, *_) -> None:
        self._end(*self._open.pop())

    def __call__(self, function):
        name = self._name or getattr(function, "__qualname__", repr(function))

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            profiler = self._begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                self._end(profiler, name)

        return wrapper
