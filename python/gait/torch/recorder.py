# SPDX-License-Identifier: Apache-2.0
"""The recorder as captures need it: the run that there is, or one of their own.

Inside `gait run` (or after gait.start()) captures lie in that run. Else each has a
run of its own in a temporary folder, which is gone when the process ends; it is
closed with the capture, so that the file never changes again.
"""

import functools
import itertools
import os
import tempfile
import threading

from .. import _native
from .._say import say
from .capture import temporary_folder

RING_BYTES = 4 << 20

_state = {"users": 0, "own": False, "attached": None}
_numbers = itertools.count(1)
# starting and stopping wait without the GIL; a signal's handler may profile, too
_lock = threading.RLock()


def _forget_in_child() -> None:
    global _lock
    _lock = threading.RLock()
    _state.update(users=0, own=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def _one_at_a_time(function):
    @functools.wraps(function)
    def locked():
        with _lock:
            return function()

    return locked


@_one_at_a_time
def acquire():
    """The process is on record from here on; "" or a sentence why it is not."""
    why = ""
    if _state["users"] == 0:
        _state["own"] = not _native.recording()
        if _state["own"]:
            why = _start()
    if not why:
        _state["users"] += 1
    return why


def _start():
    try:
        folder = tempfile.mkdtemp(dir=temporary_folder())
    except OSError as error:
        return f"there is no place for temporary files: {error.strerror or error}; set TMPDIR"
    if not _native.start(folder, overflow="block", ring_bytes=RING_BYTES):
        return _native.last_error()
    if not _native.recording():
        return "GAIT_ENABLE=0 switches it off"
    return ""


@_one_at_a_time
def release():
    """The path of the file that holds what was recorded since acquire()."""
    path = _native.shard_path()
    _state["users"] = max(0, _state["users"] - 1)
    if _state["users"] == 0 and _state["own"]:
        _native.stop()
        _state["own"] = False
    return path


@_one_at_a_time
def renew():
    """release() and acquire() again: what is in the file by now stays as it is, and
    what comes is in another one, if the run is ours alone."""
    path = _native.shard_path()
    if _state["own"] and _state["users"] == 1:
        asked = _native._trigger_take()  # what came meanwhile is in the run that ends
        _native.stop()
        why = _start()
        if asked:
            _native._trigger(asked if asked > 0 else None)
        if why:
            say("nothing more is recorded: " + why, once=why)
    return path


def is_own():
    return _state["own"]


@_one_at_a_time
def attach():
    """Has the collector know torch; says once what it cannot tell of it."""
    if _state["attached"] is None:
        try:
            from . import windows
        except (ImportError, OSError) as error:  # no torch, or a broken one
            _state["attached"], lacks = False, str(error)
        else:
            _state["attached"] = windows.attach()
            lacks = _native._torch_lacks() if _state["attached"] else _native.last_error()
        if lacks:
            say("not everything is recorded: " + lacks, once="lacks")
    return _state["attached"]


def next_number():
    return next(_numbers)


__all__ = ["acquire", "attach", "is_own", "next_number", "release", "renew"]
