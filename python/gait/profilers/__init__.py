# SPDX-License-Identifier: Apache-2.0
"""Profilers by name, as Lightning's users know them: the same calls, the same
tables, without what theirs lose.

    profiler = gait.profilers.Simple()
    with profiler.profile("load"):
        ...
    print(profiler.summary())
"""

from .advanced import Advanced
from .simple import Simple

__all__ = ["Advanced", "Simple", "by_name"]

NAMES = {"simple": Simple, "advanced": Advanced}


def by_name(name, **options):
    """The profiler of that name, made with these options."""
    try:
        return NAMES[str(name).lower()](**options)
    except KeyError:
        legal = ", ".join(sorted(NAMES))
        raise ValueError(f"no profiler is called {name!r}; there are: {legal}") from None
