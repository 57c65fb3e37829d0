# SPDX-License-Identifier: Apache-2.0
"""Profilers by name, as Lightning's users know them: the same calls, the same
tables, without what theirs lose.

    profiler = gait.profilers.Simple()
    with profiler.profile("load"):
        ...
    print(profiler.summary())
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .advanced import Advanced
    from .pytorch import PyTorch
    from .simple import Simple

__all__ = ["Advanced", "PyTorch", "Simple", "by_name"]

PLACES = {"Advanced": ".advanced", "PyTorch": ".pytorch", "Simple": ".simple"}
NAMES = {name.lower(): name for name in PLACES}


def __getattr__(name):
    """Loaded when first asked for: `import gait` stays cheap."""
    place = PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = getattr(importlib.import_module(place, __name__), name)
    globals()[name] = found
    return found


def by_name(name: str, **options: Any) -> Simple | Advanced | PyTorch:
    """The profiler of that name, made with these options."""
    known = NAMES.get(str(name).lower())
    if known is None:
        raise ValueError(f"no profiler is called {name!r}; there are: {', '.join(sorted(NAMES))}")
    return (globals().get(known) or __getattr__(known))(**options)
