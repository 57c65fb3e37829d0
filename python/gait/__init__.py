# SPDX-License-Identifier: Apache-2.0
"""gait: see where a training run's time goes.

    with gait.span("load"):          # or @gait.span("load") on a function
        batch = next(batches)
    gait.count("loss", loss.item())

Under `gait run` the process is on record from this import on; else from
gait.start(). Off, each call costs about as much as an empty one.
"""

import atexit
import os
import sys

_why_off = ""
if "t" in getattr(sys, "abiflags", ""):
    _why_off = "this Python runs without a GIL, which gait does not support yet"
else:
    try:
        from ._gait import *  # noqa: F403
    except ImportError as error:
        _why_off = str(error)
if _why_off:
    from ._off import *  # noqa: F403

# No module __getattr__ here: with one, CPython looks every gait.… up the slow way.
from . import trace  # noqa: E402, F401
from .loops import async_span, metadata, steps  # noqa: E402, F401
from .trace import open  # noqa: E402, F401

init = start  # noqa: F405


def _runs_the_tool():
    """Is this `python -m gait …`, which only starts the tool?"""
    if sys.argv[:1] != ["-m"]:
        return False
    words = getattr(sys, "orig_argv", [])
    return ("-m", "gait") in zip(words, words[1:])


def _begin():
    if not os.environ.get("GAIT_DIR") or _runs_the_tool():
        return
    if _why_off and os.environ.get("GAIT_ENABLE") != "0":
        from ._off import say

        say(_why_off)
    start()  # noqa: F405


def _close_when_interrupted():
    """After Ctrl-C Python kills itself by SIGINT, past everybody's exit handlers."""
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        stop()  # noqa: F405


def _close_in_children():
    """Children of multiprocessing leave by os._exit(): close the record there."""
    if "multiprocessing.util" in sys.modules:
        from .children import arrange

        arrange()


_begin()
if not _why_off:
    atexit.register(_close_when_interrupted)
    _close_in_children()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_close_in_children)
