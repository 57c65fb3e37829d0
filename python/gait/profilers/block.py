# SPDX-License-Identifier: Apache-2.0
"""gait.profile(): a block or a function under a named profiler, reported at its end."""

import contextlib
import functools


class Block:
    def __init__(self, kind, name, options):
        from . import by_name

        self._make = functools.partial(by_name, kind, **options)
        self._make()  # a wrong name or option is told here, not in the middle of a run
        self._name = name
        self._open = []

    def __enter__(self):
        profiler = self._make()
        name = self._name or "block"
        self._open.append((profiler, name))
        profiler.start(name)
        return profiler

    def __exit__(self, *_):
        profiler, name = self._open.pop()
        profiler.stop(name)
        getattr(profiler, "close", int)()
        profiler.describe()

    def __call__(self, function):
        name = self._name or getattr(function, "__qualname__", repr(function))

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            profiler = self._make()
            with contextlib.ExitStack() as at_end:
                at_end.callback(profiler.describe)
                at_end.callback(getattr(profiler, "close", int))
                with profiler.profile(name):
                    return function(*args, **kwargs)

        return wrapper
