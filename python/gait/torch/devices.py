# SPDX-License-Identifier: Apache-2.0
"""What devices do, on record while a window is open: hosts.py calls begin() and end().

torch's own recording of activities (Kineto) is switched on for the window alone, and for
devices alone: the ops are gait's. When the window closes, its trace becomes a shard beside
the process's own. Both happen between two steps, on the thread that trains; a span says how
long they took. Where the program uses no accelerator, torch is asked for nothing.

The program's own torch.profiler comes first: a process has one recording of devices.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import tempfile
import threading
import time

from .. import _native, _patches, _ranks, _read
from .._files import draft
from .._say import say
from .._vocabulary import DEVICES, META_DEVICES
from .capture import stem_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Of torch's kinds of activity, the module of torch that drives the device.
BACKENDS = {"CUDA": "cuda", "XPU": "xpu", "MTIA": "mtia", "HPU": "hpu"}
QUIET = ("KINETO_LOG_LEVEL", "5")  # Kineto's lines on stderr, two a window

Import = _read._structure(
    "gait_device_import",
    "size size",
    "text trace shard owner",
    "int64 pid rank since_ns until_ns",
)

_users = set()  # the program's own profiles that are recording, or about to
_told = {"windows": 0, "events": 0, "ns": 0}
_state: dict[str, Any] = {"open": None, "failed": False, "numbers": 0}


def _forget_in_child() -> None:
    _users.clear()
    _told.update(windows=0, events=0, ns=0)
    _state.update(open=None, numbers=0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


# --- torch's recording -----------------------------------------------------------------------


def built(torch):
    """The kinds of device that this torch was built to record."""
    try:
        supported = torch._C._autograd._supported_activities()
    except AttributeError:
        return []
    return [item for item in supported if getattr(item, "name", None) in BACKENDS]


def in_use(torch):
    """Those of them that the program uses by now. Nothing is initialised for the answer."""
    found = []
    for item in built(torch):
        module = getattr(torch, BACKENDS[item.name], None)
        asked = getattr(module, "is_initialized", None) or getattr(module, "is_available", None)
        if asked is not None and asked():
            found.append(item)
    return found


def there(torch):
    """Names of those that this machine has; not asked where torch cannot record any."""
    found = set()
    for item in built(torch):
        asked = getattr(getattr(torch, BACKENDS[item.name], None), "is_available", None)
        if asked is not None and asked():
            found.add(item.name)
    return found


class Kineto:
    """One recording of torch's, of the devices in `activities`."""

    def __init__(self, torch, activities) -> None:
        self.torch = torch
        self.activities = set(activities)
        self.thread = threading.get_ident()
        self.is_taken = False  # the program's own profiler has ended it

    def start(self) -> None:
        calls, kinds = self.torch._C._autograd, self.torch._C._profiler
        plain = (kinds.ProfilerState.KINETO, *(False,) * 5, kinds._ExperimentalConfig())
        try:
            config = kinds.ProfilerConfig(*plain, "gait")
        except TypeError:  # before torch 2.6 it had no number of the trace
            config = kinds.ProfilerConfig(*plain)
        # what was launched before is on no record: the devices would look idle until it is
        # done, which took 27 ms of a window of 60 on an H200
        self.wait()
        with quiet():
            calls._prepare_profiler(config, self.activities)
            calls._enable_profiler(config, self.activities)

    def wait(self) -> None:
        """Until the devices have done all they were given."""
        for item in self.activities:
            name = BACKENDS.get(item.name)
            if name is None:  # the CPU
                continue
            module = getattr(self.torch, name)
            if name != "cuda":
                module.synchronize()
                continue
            if module.is_current_stream_capturing():  # a graph would be lost
                continue
            has_context = getattr(self.torch._C, "_cuda_hasPrimaryContext", lambda _: True)
            for device in filter(has_context, range(module.device_count())):
                module.synchronize(device)

    def stop(self, path) -> None:
        """Ends it; its trace is at `path` then, None: nobody wants it."""
        with quiet():
            result = self.torch._C._autograd._disable_profiler()
            if path is not None:
                result.save(path)


@contextlib.contextmanager
def quiet():
    name, level = QUIET
    is_ours = name not in os.environ
    if is_ours:
        os.environ[name] = level
    try:
        yield
    finally:
        if is_ours:
            os.environ.pop(name, None)


# --- the program's own profiler ----------------------------------------------------------------


def install(torch) -> None:
    """Knows from now on when the program uses torch's profiler itself."""
    from . import wrap

    owner = torch.autograd.profiler.profile
    if any(patch.owner is owner for patch in _patches.installed()):
        return
    why = "devices are recorded for one of us at a time"
    for name, when, other in (
        ("_prepare_trace", "before", _give_way),
        ("_start_trace", "before", _give_way),
        ("__exit__", "finally", _users_end),
    ):
        function = vars(owner).get(name)
        if function is not None:
            _patches.put(owner, name, wrap.beside(when, function, other), why)


def _give_way(user) -> None:
    _users.add(id(user))
    recording = _state["open"]
    if recording is None or recording[0].is_taken:
        return
    say("the program uses torch.profiler itself: gait records no devices meanwhile", once="taken")
    recording[0].is_taken = True
    if recording[0].thread == threading.get_ident():
        _finish(recording)


def _users_end(user) -> None:
    _users.discard(id(user))


def _is_taken(torch) -> bool:
    """By a profile that was there before us, too."""
    return bool(_users) or bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", False))


# --- a window ----------------------------------------------------------------------------------


def begin() -> bool:
    """Whether devices are on record now."""
    torch = sys.modules.get("torch")
    if torch is None or _state["failed"]:
        return False
    activities = in_use(torch)
    if not activities:
        return False
    with _timed():
        return _attempt("no devices are recorded", _begin, torch, activities)


def _begin(torch, activities) -> bool:
    if _state["open"] is not None:
        _drop()
    if _is_taken(torch):
        say(
            "the program uses torch.profiler itself: gait records no devices meanwhile",
            once="taken",
        )
        return False
    if _state["open"] is not None:
        return False
    recording = Kineto(torch, activities)
    recording.start()
    _state["open"] = recording, time.time_ns()
    return True


def end() -> None:
    recording = _state["open"]
    if recording is None or recording[0].is_taken:
        return
    with _timed():
        if recording[0].thread == threading.get_ident():
            _attempt("devices of a window are not recorded", _finish, recording)
        else:  # torch ends a recording on its own thread only: with the next window, or never
            recording[0].is_taken = True
            say("devices of a window are lost: another thread closed it", once="thread")


def wait() -> None:
    """Until the devices have done all they were given, where that is on record."""
    recording = _state["open"]
    if recording is not None and not recording[0].is_taken:
        _attempt("devices are not recorded", recording[0].wait)


def _drop() -> None:
    """What the program's profiler took over on another thread is still torch's state of this
    one."""
    recording, _ = _state["open"]
    if recording.thread == threading.get_ident() and not _is_taken(recording.torch):
        _state["open"] = None
        recording.stop(None)


def _finish(recording) -> None:
    kineto, since_ns = recording
    own = _native.shard_path()
    try:
        kineto.wait()
    finally:
        until_ns = time.time_ns()
        _state["open"] = None
        with tempfile.TemporaryDirectory(prefix="gait-devices-") as folder:
            trace = os.path.join(folder, "devices.json")
            kineto.stop(trace if own else None)
            if own:
                _import(trace, own, since_ns, until_ns)


def _import(trace, own, since_ns, until_ns) -> None:
    folder, name = os.path.split(own)
    _state["numbers"] += 1
    path = os.path.join(folder, f"{stem_of(name)}.devices-{_state['numbers']}.gait")
    rank = _ranks.global_rank()
    given = Import(
        size=ctypes.sizeof(Import),
        trace=os.fsencode(trace),
        owner=os.fsencode(name),
        pid=os.getpid(),
        rank=-1 if rank is None else rank,
        since_ns=since_ns,
        until_ns=until_ns,
    )
    events = ctypes.c_uint64()
    with draft(path, is_made=False) as part:
        given.shard = os.fsencode(part)
        _read._check(_reader().gait_import_devices(ctypes.byref(given), ctypes.byref(events)))
    _told["windows"] += 1
    _told["events"] += events.value


def _reader():
    library = _read._library()
    _read.check_layout(library, Import)
    library.gait_import_devices.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library


@contextlib.contextmanager
def _timed():
    """On record, so that no step has it."""
    since = time.perf_counter_ns()
    _native.begin(_native.site(*DEVICES))
    try:
        yield
    finally:
        _native.end()
        _told["ns"] += time.perf_counter_ns() - since
        _native._metadata(META_DEVICES, json.dumps(_told))


def _attempt(what, function, *arguments) -> bool:
    """A failure is one sentence, and the end of it: the training goes on."""
    try:
        return bool(function(*arguments))
    except Exception as error:
        _state.update(failed=True, open=None)
        say(f"{what}: {type(error).__name__}: {error}", once="devices")
        return False
