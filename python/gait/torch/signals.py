# SPDX-License-Identifier: Apache-2.0
"""GAIT_TRIGGER_SIGNAL: a trigger that comes as a signal."""

import functools
import os
import signal

from .. import _native, _patches


def listen():
    """GAIT_TRIGGER_SIGNAL=USR2: that signal does what `gait trigger` does."""
    name = os.environ.get("GAIT_TRIGGER_SIGNAL", "").upper()
    if not name:
        return
    number = getattr(signal, name if name.startswith("SIG") else "SIG" + name, None)
    if not isinstance(number, signal.Signals):
        raise ValueError(f"GAIT_TRIGGER_SIGNAL={name} is no signal; USR2 is one")
    before = signal.getsignal(number)
    if before is _on_signal:
        return
    if before is not signal.SIG_DFL:
        raise ValueError(f"{number.name} has a handler already: triggers come by gait trigger only")
    signal.signal(number, _on_signal)
    undo = functools.partial(signal.signal, number, before)
    _patches.note(signal, number.name, _on_signal, "triggers", undo)


def _on_signal(*_) -> None:
    _native._trigger(None)
