# SPDX-License-Identifier: Apache-2.0
"""Puts a PyTorch training on record that nobody edited; docs/TORCH.md says how.

What is called in each step is C (py_hook.c and what it names); here it is put
in its places, once, when torch has been imported.
"""

import gc
import json
import os
import sys

from .. import _gait

_is_installed = False


def install(is_waiting=False):
    """Hooks torch, which is there. A process that is waiting is not on record
    until it does what a training does; others are from now on."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    from . import compiling, late, processes, savers, training, workers

    for part in (training, workers, processes, savers, compiling, late):
        attempt(part.install)
    gc.callbacks.append(_gait._gc)
    if is_waiting and not _gait.recording():
        _gait._phase_arm(begin)
    else:
        begin()


def attempt(function):
    """What this torch does not have is a sentence, not the end of a training."""
    try:
        function()
    except Exception as error:
        say(f"{type(error).__name__}: {error}")


def say(why):
    if sys.stderr is not None:
        sys.stderr.write(f"gait: not everything is recorded: {why}\n")


def begin():
    """The process is on record from here on, with its ops if it is to be so."""
    from . import windows

    if not _gait.recording() and not _gait.start() and os.environ.get("GAIT_ENABLE") != "0":
        sys.stderr.write(f"gait: nothing is recorded: {_gait.last_error()}\n")
        return
    if not _gait.recording():
        return
    _gait._phase_wake()
    version = getattr(sys.modules.get("torch"), "__version__", "")
    _gait._metadata("torch", json.dumps({"version": str(version)}))
    attempt(windows.install)
