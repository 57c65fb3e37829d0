# SPDX-License-Identifier: Apache-2.0
"""Helpers around whole loops and tasks, loaded when first asked for."""

from __future__ import annotations

import itertools

from ._core import _metadata, async_begin, async_end, mark, span, step_begin, step_end, why_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, SupportsIndex

    from ._native import Span

if not why_off:
    from . import _native

_EPOCH = span("epoch", "torch")

_END = object()
_ids = itertools.count(1)


class steps:
    """Each item of an iterable as one step of the training.

        for batch in gait.steps(loader): ...

    The first step begins when the first item is asked for, each other one when
    its item is there: a step is the loop's body and the wait for the next item,
    which is the span "input" in it. There are as many steps as items.
    """

    def __init__(self, iterable: Iterable[Any], first: SupportsIndex | None = None) -> None:
        self._iterable = iterable
        self._first = first

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        wait = span("input", category="data")
        iterator = iter(self._iterable)
        step_begin(self._first)
        try:
            with wait:
                item = next(iterator, _END)
            while item is not _END:
                hand_over = [item]
                del item  # the loop's body alone decides how long its item lives
                yield hand_over.pop()
                with wait:
                    item = next(iterator, _END)
                if item is not _END:
                    step_begin()
        finally:
            step_end()


class async_span:
    """A span that may overlap others on its thread: use it around an `await`.

    `async with gait.async_span("fetch"): …`, or `with`. Make one for each use:
    tasks that share one at the same time would end each other's spans.
    """

    def __init__(self, name: str, category: str = "python") -> None:
        self._site = span(name, category)
        self._open = []

    def __enter__(self) -> async_span:
        number = next(_ids)
        self._open.append(number)
        async_begin(self._site, number)
        return self

    def __exit__(self, *_: object) -> None:
        async_end(self._site, self._open.pop())

    async def __aenter__(self) -> async_span:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


def metadata(key: str, value: object) -> bool:
    """Says something about this process: any value that JSON can hold."""
    import json

    try:
        text = json.dumps(value, default=str)
        if "NaN" in text or "Infinity" in text:  # no JSON: they become texts
            text = json.dumps(json.loads(text, parse_constant=str))
    except (TypeError, ValueError, RecursionError):  # a key that is no text, a cycle
        text = json.dumps(repr(value))
    return _metadata(key, text)


def phase(name: str) -> Span:
    """A span of the step's ledger: input, forward, … or a name of your own."""
    return span(name, "phase")


def epoch() -> None:
    """Says that an epoch begins here, where no framework says so."""
    mark(_EPOCH)
    if not why_off:
        _native._epoch()


def trigger(step_count: int | None = None) -> None:
    """Asks for some steps with ops on record, from the next step on that is free.

    `gait trigger PID` asks the same from outside.
    """
    if not why_off:
        _native._trigger(step_count)
