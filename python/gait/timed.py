# SPDX-License-Identifier: Apache-2.0
"""The C types behind gait.profilers, or without the extension some that do nothing."""

from ._core import why_off

if why_off:
    import contextlib

    from ._say import say_off

    class _Nothing:
        """What they measure is nothing; a program does not fail for want of it."""

        __slots__ = ()

        def __new__(cls, *_, **__):
            say_off(why_off)
            return object.__new__(cls)

        def _ignore(self, *_):
            return None

        def _none(self, *_):
            return []

        def profile(self, action):
            return contextlib.nullcontext(action)

        start = stop = _ignore

    class Actions(_Nothing):
        __slots__ = ()
        _refused = 0
        record = _Nothing._ignore
        _rows = _tree = _Nothing._none

    class Tracer(_Nothing):
        __slots__ = ()
        is_on = False
        clear = close = _configure = _forked = _Nothing._ignore
        _actions = _stats = _Nothing._none
else:
    from ._native import _Actions as Actions  # type: ignore[assignment]  # noqa: F401
    from ._native import _Tracer as Tracer  # type: ignore[assignment]  # noqa: F401
