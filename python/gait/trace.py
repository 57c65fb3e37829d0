# SPDX-License-Identifier: Apache-2.0
"""The read side: what was recorded, as Python values.

    with gait.open("run") as trace:
        for event in trace.events(kind="span"):
            print(event.name, event.duration_ns)

The library that reads, libgait-read.so, enters the process at the first open().
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from ._read import Event as Event
    from ._read import Trace as Trace
    from ._read import TraceError as TraceError


def open(path: str | os.PathLike[str]) -> Trace:
    """Opens a shard or a run directory; raises TraceError where that fails."""
    from ._read import Trace

    return Trace(path)


def __getattr__(name):
    if name not in ("Event", "Trace", "TraceError"):
        raise AttributeError("module 'gait.trace' has no attribute " + repr(name))
    from . import _read

    return getattr(_read, name)
