# SPDX-License-Identifier: Apache-2.0
"""What `@gait.span("x")` makes of a function. Loaded at the first decoration.

A plain function becomes a C object that begins, calls and ends. A generator,
coroutine or asynchronous generator function stays one, seen from outside; its
span covers each run of its body from one suspension to the next, so that what
runs in between is not inside it. Wrong arguments of such a function are found
when it is first resumed, not when it is called.
"""

import functools
import types

from ._native import _decorated, _segments

GENERATOR, COROUTINE, ITERABLE_COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200


def decorate(span, function):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(span, function.__func__))
    if isinstance(function, type) or not callable(function):
        what = "the class" if isinstance(function, type) else "an object of type"
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"a gait span decorates functions, not {what} {name!r}")
    flags = _flags(function)
    if flags & ASYNC_GENERATOR:
        wrapper = _async_generator(span, function)
    elif flags & COROUTINE:
        wrapper = _coroutine(span, function)
    elif flags & (GENERATOR | ITERABLE_COROUTINE):
        wrapper = _generator(span, function)
        if flags & ITERABLE_COROUTINE:
            wrapper = types.coroutine(wrapper)
    else:
        wrapper = _decorated(span, function)
    # an object that happens to be callable keeps its attributes to itself
    updated = functools.WRAPPER_UPDATES if hasattr(function, "__code__") else ()
    return functools.update_wrapper(wrapper, function, updated=updated)


def _flags(function):
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return getattr(code, "co_flags", 0)


def _generator(span, function):
    def wrapper(*args, **kwargs):
        return (yield from _segments(span, function(*args, **kwargs)))

    return wrapper


def _coroutine(span, function):
    async def wrapper(*args, **kwargs):
        return await _segments(span, function(*args, **kwargs).__await__())

    return wrapper


def _async_generator(span, function):
    def drive(awaitable):
        return _segments(span, awaitable.__await__())

    async def wrapper(*args, **kwargs):
        inner = function(*args, **kwargs)
        try:
            value = await drive(inner.__anext__())
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    await drive(inner.aclose())
                    raise
                except BaseException as error:
                    value = await drive(inner.athrow(error))
                else:
                    value = await drive(inner.asend(sent))
        except StopAsyncIteration:
            return

    return wrapper
