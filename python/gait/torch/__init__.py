# SPDX-License-Identifier: Apache-2.0
"""Puts a PyTorch training on record that nobody edited; docs/TORCH.md says how.

What is called in each step is C (ext/torch/py_hook.c and what it names); here
it is put in its places, once, when torch has been imported.
"""

import atexit
import gc
import json
import os
import sys
import time

from .. import _say, _why_off
from . import watching

if not _why_off:
    from .. import _gait

_is_installed = False


def __getattr__(name):
    import importlib

    from .names import MODULES, NAMES, NEED_EXTENSION

    if name in MODULES:
        return importlib.import_module("." + name, __name__)
    if name not in NAMES:
        raise AttributeError(f"module 'gait.torch' has no attribute {name!r}")
    if _why_off and NAMES[name] in NEED_EXTENSION:
        from .. import _nothing

        return getattr(_nothing, name)
    module = importlib.import_module("." + NAMES[name], __name__)
    return module.find(name) if hasattr(module, "find") else getattr(module, name)


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
    watching.starter().say(why)


def begin():
    """The process is on record from here on, with its ops if it is to be so."""
    from . import processes, windows

    if not _gait.recording() and not _gait.start() and os.environ.get("GAIT_ENABLE") != "0":
        _say.say_off(_gait.last_error())
        return
    if not _gait.recording():
        return
    _gait._phase_wake()
    _gait._cost_call(hook_call_ns())
    version = getattr(sys.modules.get("torch"), "__version__", "")
    _gait._metadata("torch", json.dumps({"version": str(version)}))
    attempt(processes.tell_rank)  # a group may be older than the record
    attempt(windows.install)
    attempt(listen)
    atexit.register(tell_end, os.getpid())


def listen():
    """GAIT_TRIGGER_SIGNAL=USR2: that signal does what `gait trigger` does."""
    name = os.environ.get("GAIT_TRIGGER_SIGNAL", "").upper()
    if not name:
        return
    import signal

    number = getattr(signal, name if name.startswith("SIG") else "SIG" + name, None)
    if not isinstance(number, signal.Signals):
        raise ValueError(f"GAIT_TRIGGER_SIGNAL={name} is no signal; USR2 is one")
    before = signal.getsignal(number)
    if before is _on_signal:
        return
    if before is not signal.SIG_DFL:
        raise ValueError(f"{number.name} has a handler already: triggers come by gait trigger only")
    signal.signal(number, _on_signal)


def _on_signal(*_):
    _gait._trigger(None)


def tell_end(pid):
    """The script is over: what comes now is the interpreter's, not a step's."""
    if os.getpid() != pid or not _gait.recording():
        return
    _gait.mark(_gait.site("torch", "exit"))
    _gait._windows_close()
    _gait._cost_tell()
    attempt(tell_device)
    peak = memory_peak()
    if peak:
        _gait._metadata("memory_peak", json.dumps({"rss_bytes": peak}))


def hook_call_ns():
    """What it costs to be called through a hook that has nothing to do."""

    def nothing():
        pass

    hook = _gait._hook("forward", nothing)  # of no module: passed on
    best = {}
    for function in (nothing, hook) * 5:
        since = time.perf_counter_ns()
        for _ in range(200):
            function()
        took = time.perf_counter_ns() - since
        best[function] = min(best.get(function, took), took)
    return max(0.0, (best[hook] - best[nothing]) / 200)


def tell_device():
    """The name of the device that was used: its peak is looked up by it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        _gait._metadata("device_name", json.dumps(str(cuda.get_device_name())))


def memory_peak():
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0
