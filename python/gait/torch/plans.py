# SPDX-License-Identifier: Apache-2.0
"""Schedules: what a profile does at each step. The arithmetic is C (gait/internal/schedule.h)."""

from __future__ import annotations

import warnings

from .. import _native
from .actions import actions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

UNITS = ("step", "epoch", "seconds")
MOST = 1 << 40  # gait/internal/schedule.h; no run is so long


class Schedule:
    """A callable that gives the ProfilerAction of a step, as torch's schedule does."""

    def __init__(self, packed, unit: str = "step") -> None:
        self._packed = packed
        self.unit = unit

    def __call__(self, step: int) -> Any:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        return actions()[_native._schedule_at(self._packed, step)[0]]

    def at(self, position: int) -> tuple[int, int]:
        """(number of the action, cycle from 0 or -1: none)."""
        return _native._schedule_at(self._packed, position)

    @property
    def active(self) -> int:
        """How many steps a cycle usually records."""
        first = self.needs(1)
        step = first
        while step > 0 and self.at(step - 1)[0] >= 2:
            step -= 1
        return first - step

    def needs(self, cycles: int = 0) -> int:
        """How long a run must be for so many whole cycles; 0: for all, or for one where
        they have no end."""
        return _native._schedule_needs(self._packed, cycles)

    def recorded(self, length: int) -> int:
        """How many of the first `length` steps it records."""
        return _native._schedule_recorded(self._packed, length)

    @property
    def end(self):
        """How many steps there are until nothing more is recorded; None: there is no end."""
        end = self.needs()
        return end if end == self.needs(1 << 60) else None

    def plan(self, length: int = 0) -> str:
        """What it will do in a run of `length` steps (0: not known), in words."""
        return _native._schedule_plan(self._packed, length)

    def for_epochs(self, epochs: int) -> Schedule:
        """For a run of so many epochs: all that wait and warmup leave is active. Where
        they leave nothing they are shortened, with a warning."""
        packed, has_given_way = _native._schedule_clamp(self._packed, epochs)
        if has_given_way:
            warnings.warn(
                f"{epochs} epochs are too few for wait and warmup, which are shortened: "
                + _native._schedule_plan(packed, epochs).splitlines()[0],
                stacklevel=2,
            )
        return Schedule(packed, self.unit)

    def __eq__(self, other):
        return isinstance(other, Schedule) and self._packed == other._packed

    def __hash__(self):
        return hash(self._packed)

    def __repr__(self) -> str:
        return "<gait.torch " + self.plan().splitlines()[0] + ">"


def _whole(name, value):
    """torch reckons with whatever it is given: 3.0, numpy's numbers, sys.maxsize."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value:
        raise TypeError(f"a schedule takes whole numbers: {name} is {value!r}")
    return min(number, MOST)


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
    every_n_steps: int = 0,
    unit: str = "step",
) -> Schedule:
    """torch.profiler.schedule, and more: a cycle each `every_n_steps`; a unit.

    step() of a profile counts steps, or epochs if it is called once an epoch; with
    "seconds" it looks at the clock.
    """
    try:
        is_bad = wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0
    except TypeError:
        is_bad = False  # below it is named
    if is_bad:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is not step, epoch or seconds")
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
    given.update(skip_first=skip_first, every_n_steps=every_n_steps)
    whole = {name: _whole(name, value) for name, value in given.items()}
    every = whole.pop("every_n_steps")
    packed = _native._schedule(*whole.values(), int(skip_first_wait != 0), every, UNITS.index(unit))
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    return Schedule(packed, unit)


def recognise(function):
    """The Schedule that a callable is: ours, or torch's own; None for another."""
    if function is None or isinstance(function, Schedule):
        return function
    code = getattr(function, "__code__", None)
    if getattr(code, "co_name", "") != "schedule_fn":
        return None
    cells = zip(code.co_freevars, function.__closure__ or ())
    try:
        found = {name: cell.cell_contents for name, cell in cells}
        names = "wait warmup active repeat skip_first".split()
        numbers = [_whole(name, found.get(name, 0)) for name in names]
        has_no_first_wait = int(found.get("skip_first_wait", 0) != 0)
        return Schedule(_native._schedule(*numbers, has_no_first_wait, 0, 0))
    except (TypeError, ValueError):
        return None


def at_steps(steps: Iterable[int], warmup: int = 0) -> Schedule:
    """Records these steps: at_steps([5, 10, 11, 12]). Each run of them is a cycle."""
    numbers = sorted({int(step) for step in steps})
    if not numbers or numbers[0] < 0:
        raise ValueError("at_steps() takes the numbers of steps, from 0")
    ranges = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = ",".join(f"{first}-{last}" for first, last in ranges)
    return parse(f"steps={words}", warmup)


def parse(text, warmup: int = 0):
    """The schedule that a setting means, such as "5/3/100" or "wait=1,active=3"."""
    packed = _native._schedule_parse(text + (f";warmup={warmup}" if warmup else ""))
    return Schedule(packed, UNITS[_native._schedule_unit(packed)])
