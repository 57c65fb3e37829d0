# SPDX-License-Identifier: Apache-2.0
"""The one watch over imports of this process, whoever needs it first."""

import sys

from .. import _patches


def starter():
    """preload/_gait_start.py: `gait run` has loaded it, else it is loaded now."""
    known = sys.modules.get("_gait_start")
    if known is None:
        from ..preload import _gait_start as known

        sys.modules["_gait_start"] = known
    return known


def watch():
    known = starter()
    if known.watch not in sys.meta_path:
        sys.meta_path.insert(0, known.watch)
    if not any(patch.wrapper is known.watch for patch in _patches.installed()):
        _patches.note(sys, "meta_path", known.watch, "when a library is imported", known.end)
    return known.watch


def say(why) -> None:
    starter().say(why)


def attempt(function) -> None:
    """What this torch does not have is a sentence, not the end of a training."""
    try:
        function()
    except Exception as error:
        say(f"{type(error).__name__}: {error}")
