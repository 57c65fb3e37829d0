# SPDX-License-Identifier: Apache-2.0
"""Puts a PyTorch training on record that nobody edited; docs/TORCH.md says how.

What is called in each step is C (ext/torch/py_hook.c and what it names); here
it is put in its places, once, when torch has been imported.
"""

import atexit
import functools
import gc
import json
import os
import sys
import time

from .. import _native, _patches, _say
from .._vocabulary import EXIT, META_DEVICE_NAME, META_MEMORY_PEAK, META_TORCH
from . import compiling, late, processes, savers, training, windows, workers
from .signals import listen
from .watching import attempt

_is_installed = False


def install(is_waiting: bool = False) -> None:
    """Hooks torch, which is there. A process that is waiting is not on record
    until it does what a training does; others are from now on."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    for part in (training, workers, processes, savers, compiling, late):
        attempt(part.install)
    gc.callbacks.append(_native._gc)
    undo = functools.partial(gc.callbacks.remove, _native._gc)
    _patches.note(gc, "callbacks", _native._gc, "the phase gc", undo)
    if is_waiting and not _native.recording():
        _native._phase_arm(begin)
    else:
        begin()


def leave() -> None:
    """Torch is not on record from here on; what else is goes on."""
    global _is_installed
    _is_installed = False
    _native._phase_arm(None)
    _native._windows_close()
    _native._collectors_stop()


def begin() -> None:
    """The process is on record from here on, with its ops if it is to be so."""
    if not _native.recording() and not _native.start() and os.environ.get("GAIT_ENABLE") != "0":
        _say.say_off(_native.last_error())
        return
    if not _native.recording():
        return
    _native._phase_wake()
    _native._cost_call(hook_call_ns())
    version = getattr(sys.modules.get("torch"), "__version__", "")
    _native._metadata(META_TORCH, json.dumps({"version": str(version)}))
    attempt(processes.tell_rank)  # a group may be older than the record
    attempt(windows.install)
    attempt(listen)
    atexit.unregister(tell_end)  # of a time before gait.uninstall()
    atexit.register(tell_end, os.getpid())


def tell_end(pid) -> None:
    """The script is over: what comes now is the interpreter's, not a step's."""
    if os.getpid() != pid or not _native.recording():
        return
    _native.mark(_native.site(*EXIT))
    _native._windows_close()
    _native._cost_tell()
    attempt(tell_device)
    peak = memory_peak()
    if peak:
        _native._metadata(META_MEMORY_PEAK, json.dumps({"rss_bytes": peak}))


def hook_call_ns():
    """What it costs to be called through a hook that has nothing to do."""

    def nothing() -> None:
        pass

    hook = _native._hook("forward", nothing)  # of no module: passed on
    best = {}
    for function in (nothing, hook) * 5:
        since = time.perf_counter_ns()
        for _ in range(200):
            function()
        took = time.perf_counter_ns() - since
        best[function] = min(best.get(function, took), took)
    return max(0.0, (best[hook] - best[nothing]) / 200)


def tell_device() -> None:
    """The name of the device that was used: its peak is looked up by it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        _native._metadata(META_DEVICE_NAME, json.dumps(str(cuda.get_device_name())))


def memory_peak():
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0
