# SPDX-License-Identifier: Apache-2.0
"""Which Python functions took the time, action by action: the report of pstats."""

from __future__ import annotations

import fnmatch
import io
import marshal
import os
import weakref

from .._files import draft
from .._say import say
from ..timed import Tracer
from .files import Report, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pstats
    from collections.abc import Iterable
    from typing import IO, Any, Union

    _Path = Union[str, os.PathLike[str]]

OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

_living = weakref.WeakSet()


def _forked() -> None:
    for profiler in list(_living):
        profiler._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Calls:
    """The numbers of one action as pstats takes them from a cProfile.Profile."""

    def __init__(self, stats) -> None:
        self.stats = stats

    def create_stats(self) -> None:
        pass


def fold(rows):
    """Rows of the tracer as the dict of a .prof file: functions by file, line and name."""
    stats = {}
    for label, primitive, calls, own, total, _ in rows:
        if calls > 0:
            before = stats.get(label, (0, 0, 0.0, 0.0, {}))
            numbers = (primitive, calls, own, total)
            stats[label] = (*(a + b for a, b in zip(before, numbers)), before[4])
    for label, *_, callers in rows:
        if label not in stats:
            continue
        known = stats[label][4]
        for place, *numbers in reversed(callers):
            if numbers[0] > 0:
                before = known.get(rows[place][0], (0, 0, 0.0, 0.0))
                known[rows[place][0]] = tuple(a + b for a, b in zip(before, numbers))
    return stats


def chooser(only, exclude):
    """Is a function wanted? Patterns (fnmatch) are held against `file:name` and its parts."""
    only, exclude = tuple(only), tuple(exclude)
    if not only and not exclude:
        return None

    def matches(patterns, filename, name):
        texts = (filename, name, f"{filename}:{name}", os.path.basename(filename))
        return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns for text in texts)

    def is_wanted(filename, name):
        return (not only or matches(only, filename, name)) and not matches(exclude, filename, name)

    return is_wanted


class Advanced(Report, Tracer):
    """Traces Python functions while actions run.

    Actions nest and overlap, and each has all calls made while it ran, those of
    actions inside it too. A thread that runs no action of its own counts to those
    that run elsewhere; threads=False leaves it out.

    builtins=True also traces functions of C, as cProfile does by default.
    only=[...] and exclude=[...] are patterns of file or function names; what they
    switch off costs nothing from CPython 3.12 on.
    """

    __slots__ = (
        *Report.FIELDS,
        "line_count_restriction",
        "dump_stats",
        "sort",
        "_wishes",
        "_apart",
    )

    def __init__(
        self,
        dirpath: _Path | None = None,
        filename: str | None = None,
        line_count_restriction: int | float = 1.0,
        dump_stats: bool = False,
        *,
        sort: str = "cumulative",
        builtins: bool = False,
        threads: bool = True,
        only: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
    ) -> None:
        Report.__init__(self, dirpath, filename)
        self.line_count_restriction = line_count_restriction
        self.dump_stats = dump_stats
        self.sort = sort
        self._apart = None  # an action whose calls are not those of the actions around it
        self._wishes = {
            "builtins": builtins,
            "threads": threads,
            "only": [only] if isinstance(only, str) else list(only),
            "exclude": [exclude] if isinstance(exclude, str) else list(exclude),
        }
        wanted = chooser(self._wishes["only"], self._wishes["exclude"])
        self._configure(builtins, not threads, wanted, OWN_FOLDER)
        _living.add(self)

    def _options(self):
        restriction = {"line_count_restriction": self.line_count_restriction}
        return {**restriction, "dump_stats": self.dump_stats, "sort": self.sort, **self._wishes}

    def actions(self) -> list[str]:
        """The names of the actions there were, in the order of their first start."""
        return self._actions()

    def _rows_of(self, action):
        apart = self._apart if action not in (None, self._apart) else None
        return fold(self._stats(action, apart if apart in self._actions() else None))

    def stats(
        self, action: str | None = None, stream: IO[str] | None = None
    ) -> pstats.Stats | None:
        """pstats.Stats of one action, or of all that was traced; None without a call."""
        import pstats

        rows = self._rows_of(action)
        if not rows:
            return None
        calls: Any = Calls(rows)
        return pstats.Stats(calls, stream=stream or io.StringIO())

    def _text(self, action, show):
        stream = io.StringIO()
        stats = self.stats(action, stream)
        if stats is None:
            return " " * 9 + "0 function calls in 0.000 seconds\n\n"
        show(stats.strip_dirs().sort_stats(self.sort))
        return stream.getvalue()

    def report(self, action: str | None = None, limit: int | float | None = None) -> str:
        """The table of one action, byte for byte as pstats prints it."""
        limit = self.line_count_restriction if limit is None else limit
        return self._text(action, lambda stats: stats.print_stats(limit))

    def callers(self, action: str | None = None, *restrictions: Any) -> str:
        """Who called what, as pstats prints it."""
        return self._text(action, lambda stats: stats.print_callers(*restrictions))

    def callees(self, action: str | None = None, *restrictions: Any) -> str:
        """What called whom, as pstats prints it."""
        return self._text(action, lambda stats: stats.print_callees(*restrictions))

    def dump(self, path: _Path, action: str | None = None) -> None:
        """Writes a .prof file, for pstats, snakeviz and `gait pstats`."""
        with open(path, "wb") as file:
            marshal.dump(self._rows_of(action), file)

    def _dump_all(self) -> None:
        """One sentence tells of all that could not be written: there may be forty."""
        failures = []
        for action in self.actions():
            path = os.path.abspath(self.path(action, ".prof"))
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with draft(path) as part:
                    self.dump(part, action)
            except (OSError, ValueError) as error:
                failures.append((path, reason(error)))
        if failures:
            path, why = failures[0]
            others = f", nor {len(failures) - 1} others" if failures[1:] else ""
            say(f"cannot write {path!r}{others}: {why}")

    def summary(self) -> str:
        """Lightning's report: each action's table."""
        if self.dump_stats:
            self._dump_all()
        lines = [("" if self._stage is None else f"{self._stage.upper()} ") + "Profiler Report"]
        for action in self.actions():
            rank = "" if self.rank is None else f" rank: {self.rank}"
            lines += [f"Profile stats for: {action}{rank}", self.report(action)]
        return os.linesep.join(lines)

    def teardown(self, stage=None) -> None:
        """After a stage: the tracing ends, and the next one begins with nothing."""
        self.close()
        self.clear()
