# SPDX-License-Identifier: Apache-2.0
"""How long each action took: Lightning's table, and one that says more."""

from __future__ import annotations

import os
import time

from ..timed import Actions
from .files import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    _Path = Union[str, os.PathLike[str]]

STYLES = ("lightning", "legacy")


def lightning_number(seconds) -> str:
    return f"{seconds:.5}"


class Simple(Report, Actions):
    """Times actions by name.

    start() and stop(), `with profile(name)`, or record(name, seconds) for what
    somebody else timed. Actions nest, `with profile()` also inside itself, and run
    on any thread. Memory does not grow with the number of calls; names beyond
    65,536 are counted together.

    style="legacy" is the table of Lightning before 2022, with `_` for the calls
    of the `Total` row.
    """

    __slots__ = (*Report.FIELDS, "extended", "style", "_began")

    def __init__(
        self,
        dirpath: _Path | None = None,
        filename: str | None = None,
        extended: bool = True,
        style: str = "lightning",
    ) -> None:
        Report.__init__(self, dirpath, filename)
        if style not in STYLES:
            raise ValueError(f"style is one of {', '.join(STYLES)}, not {style!r}")
        self.extended = extended
        self.style = style
        self._began = time.perf_counter()

    def _options(self):
        return {"extended": self.extended, "style": self.style}

    def summary(self, wall_seconds: float | None = None, stage: Any = ...) -> str:
        """Lightning's table. The wall time is counted from the profiler's making."""
        wall = time.perf_counter() - self._began if wall_seconds is None else float(wall_seconds)
        is_own = wall_seconds is None
        stage = self._stage if stage is ... else stage
        title = ("" if stage is None else f"{stage.upper()} ") + "Profiler Report" + os.linesep
        # of time that we measured nothing took more than all: calls within a call of the same
        # action count once, and those of several threads at once cover the whole
        rows = [
            (name, total / calls, calls, total, min(outermost, wall) if is_own else total)
            for name, calls, total, _, outermost, *_ in self._rows()
        ]
        if not rows:
            return title + os.linesep
        width = max(len(row[0]) for row in rows)
        if self.style == "legacy":
            return legacy_table(title, rows, width, wall)
        table = extended_table if self.extended else short_table
        return title + table(rows, width, wall) + os.linesep

    def table(self, wall_seconds: float | None = None) -> str:
        """gait's own: what is an action's own time, how it is spread, what is in what."""
        from .own_table import render

        wall = time.perf_counter() - self._began if wall_seconds is None else float(wall_seconds)
        return render(self._rows(), self._tree(), wall, self._refused)

    def rows(self) -> list[dict[str, Any]]:
        """One dict an action, in the order in which they were first complete; seconds."""
        keys = "name calls total own outermost least most sd p50 p95 p99".split()
        return [dict(zip(keys, row)) for row in self._rows()]


def share_of(part, wall):
    try:
        return 100.0 * part / wall
    except ZeroDivisionError:
        return float("nan")


def with_shares(rows, wall):
    shares = [(*row[:4], share_of(row[4], wall)) for row in rows]
    shares.sort(key=lambda row: row[4], reverse=True)
    return shares


def cell(text) -> str:
    return f"  {text:<15}\t|"


def dashes(header):
    """As wide as the header; Lightning counts its line end too."""
    return os.linesep + "-" * len(header.expandtabs())


def extended_table(rows, width, wall):
    def line(name, mean, calls, total, share) -> str:
        cells = cell(mean) + cell(calls) + cell(total) + cell(share)
        return f"{os.linesep}|  {name:<{width}s}\t|{cells}"

    header = line("Action", "Mean duration (s)", "Num calls", "Total time (s)", "Percentage %")
    rule = dashes(header)
    all_calls = str(sum(row[2] for row in rows))
    out = rule + header + rule
    out += line("Total", "-", all_calls, lightning_number(wall), "100 %") + rule
    for name, mean, calls, total, share in with_shares(rows, wall):
        numbers = (lightning_number(number) for number in (total, share))
        out += line(name, lightning_number(mean), str(calls), *numbers)
    return out + rule


def short_table(rows, width, wall):
    def line(name, mean, total) -> str:
        return f"{os.linesep}|  {name:<{width}s}\t|{cell(mean)}{cell(total)}"

    header = line("Action", "Mean duration (s)", "Total time (s)")
    rule = dashes(header)
    out = rule + header + rule
    for name, mean, _, total, _ in sorted(rows, key=lambda row: row[1], reverse=True):
        out += line(name, lightning_number(mean), lightning_number(total))
    return out + rule


def legacy_table(title, rows, width, wall):
    def line(name, mean, calls, total, share) -> str:
        cells = cell(mean) + f"{calls:<15}\t|" + cell(total) + cell(share)
        return f"{os.linesep}{name:<{width}s}\t|{cells}"

    out = os.linesep * 2 + title
    out += line("Action", "Mean duration (s)", "Num calls", "Total time (s)", "Percentage %")
    rule = os.linesep + "-" * len(out)
    out += rule + line("Total", "-", "_", lightning_number(wall), "100 %") + rule
    for name, mean, calls, total, share in with_shares(rows, wall):
        numbers = (lightning_number(number) for number in (total, share))
        out += line(name, lightning_number(mean), str(calls), *numbers)
    return out + os.linesep
