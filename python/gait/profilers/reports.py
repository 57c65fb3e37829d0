# SPDX-License-Identifier: Apache-2.0
"""What a profiler measured is reported once, also where a training ends by an exception."""


class Reports:
    """Whether all that a profiler measured has been reported; it outlives its trainer."""

    def __init__(self, profiler) -> None:
        self._profiler = profiler
        self._told = 0

    def _count(self):
        profiler = self._profiler
        if hasattr(profiler, "rows"):
            return sum(row["calls"] for row in profiler.rows())
        if hasattr(profiler, "actions"):
            return len(profiler.actions())
        return sum(steps.count for steps in profiler._kinds.values())

    def describe(self) -> None:
        told = self._count()
        self._profiler.describe()
        self._told = min(told, self._count())

    def describe_unreported(self) -> None:
        if self._count() > self._told:
            self.describe()
