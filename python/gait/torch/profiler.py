# SPDX-License-Identifier: Apache-2.0
"""profile(): torch.profiler.profile's life cycle over gait's windows.

What is recorded lies in files and stays there, so a capture can be exported any
number of times, and an object can be started again. What to make of a capture is
the business of averages.py and traces.py.
"""

from __future__ import annotations

import json
import os
import time
import uuid
import warnings

from .. import _native, _ranks
from .._say import say
from .._vocabulary import CAPTURE
from . import arguments, recorder, stacks
from .actions import actions
from .capture import STEP, Capture, CaptureError
from .plans import Schedule, recognise
from .spare import Spare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any, Union

    _Path = Union[str, os.PathLike[str]]

NONE, WARMUP, RECORD, SAVE = range(4)
NAMES = ("NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE")


def _always(_):
    return actions()[RECORD]


class profile:  # noqa: N801: torch's name
    """torch.profiler.profile, recorded by gait.

    with gait.torch.profile(schedule=gait.torch.schedule(wait=1, warmup=1, active=3),
                            on_trace_ready=handler) as prof:
        for batch in loader:
            train(batch)
            prof.step()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

    schedule         gait.torch.schedule(), torch's, or a function of the step's number
                     that gives a ProfilerAction; without one all is recorded
    on_trace_ready   called with the profile after each cycle, such as
                     gait.torch.tensorboard_trace_handler(folder)
    record_shapes    shapes, strides and types of what ops are given
    profile_memory   what is allocated and freed
    with_stack       Python functions around the ops
    with_flops       counted from the shapes
    with_modules     spans of the modules, forward and backward
    acc_events       the answers are of all cycles, not of the last one
    activities       CPU, and devices that are here and this torch can record; of others
                     one line says that they are not

    The other arguments are torch's. What is asked before a cycle has ended raises
    CaptureError.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = arguments.activities(activities, use_cuda)
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer or arguments.observer()
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.preset_metadata = {}
        self.captures = []  # finished ones, the last cycle's only unless acc_events
        self.step_num = 0
        self.number_from = 0  # what step 0 is called
        self.traces = 0  # how many have become ready
        self._plan = recognise(schedule)
        self._metadata = {}
        self._trace_id: Any = None
        self._pid: Any = None  # of the process that has started it
        self._modules = None
        self._is_told = False
        self._reset()
        self.current_action = actions()[self._wanted(0)]

    # --- starting, stepping, stopping ---------------------------------------------------

    def _reset(self) -> None:
        self._action = NONE
        self._open: Any = None  # number of the capture that runs
        self._window: Any = None  # what holds the collector's window
        self._is_on_record = False
        self._has_stacks = False  # Python functions are on record
        self._range: Any = None  # ProfilerStep#n
        self._spare: Any = None  # for the case that step() is never called, see spare.py
        self._is_cut = False  # the spare one was too large
        self._forced = 0  # steps that a trigger still has to come
        self._is_forced = False
        self._asked = 0
        self._begun_at = 0.0
        self._cycle = -1

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.stop()
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begins with step 0, also the second time."""
        if self._pid is not None and self._pid == os.getpid():
            raise RuntimeError("this profile is running: stop() it before it is started again")
        arguments.say_what_is_not(self)
        arguments.listen()
        self._reset()
        self._pid = os.getpid()
        self.step_num = self.traces = 0
        self._begun_at = time.monotonic()
        _native._captures(1)
        if self._plan is not None and _ranks.is_first() and not self._is_told:
            say(self._plan.plan().rstrip("\n"))
        self._is_told = True
        why = recorder.acquire()
        self._is_on_record = not why
        if why:
            say("this profile records nothing: " + why, once=why)
        first = self._wanted(0)
        self._transit(NONE, first)
        self._begin_spare(first)
        self._mark_step()

    def stop(self) -> None:
        """Ends it. What a cycle has so far recorded becomes a partial trace."""
        if self._pid is None:
            return
        if self._pid != os.getpid():  # a child of fork: its parent will end it
            self._pid = None
            return
        self._pid = None
        self._unmark_step()
        _native._captures(-1)
        last, self._action = self._action, NONE
        is_spare = self._spare is not None and last < RECORD and self.step_num == 0
        if is_spare:
            self._end_spare(keep=True)
        self._leave(last)
        self._close()
        self._let_go()
        self._say_what_happened(is_spare)
        self.current_action = actions()[self._wanted(self.step_num)]

    def step(self) -> None:
        """Says that the next step (or whatever the schedule counts) begins."""
        if self._pid is None or self._pid != os.getpid():
            return
        self._unmark_step()
        upcoming = self.step_num + 1
        wanted = self._wanted(upcoming)  # before anything changes: it may raise
        self.step_num = upcoming
        if self._spare is not None:
            self._end_spare(keep=False)
        self._asked = self._asked or _native._trigger_take()
        wanted = self._after_trigger(wanted)
        previous, self._action = self._action, wanted
        self.current_action = actions()[wanted]
        self._transit(previous, wanted)
        self._mark_step()

    def trigger(self, steps: int | None = None) -> None:
        """One more cycle of so many steps, from the next step on that is free."""
        self._asked = -1 if steps is None else int(steps)

    def _wanted(self, step):
        plan = self._plan
        if plan is not None and plan.unit == "seconds":
            since = int(time.monotonic() - self._begun_at) if self._pid else 0
            action, cycle = plan.at(since)
            return self._in_seconds(action, cycle)
        action = self.schedule(step)
        for number, known in enumerate(actions()):
            if action == known:
                return number
        raise ValueError(f"a schedule returns a ProfilerAction, not {action!r}")

    def _in_seconds(self, action, cycle):
        """Which second is a cycle's last step is known when it is over."""
        if action >= RECORD:
            if self._action >= RECORD and cycle != self._cycle:
                self._action = SAVE
            self._cycle = cycle
            return RECORD
        if self._action == RECORD:
            self._action = SAVE
        return action

    def _after_trigger(self, wanted):
        if self._forced == 0 and self._asked and wanted == NONE:
            usual = self._plan.active if self._plan is not None else 1
            self._forced = self._asked if self._asked > 0 else max(1, usual)
            self._asked = 0
            self._is_forced = True
        if self._forced == 0:
            return wanted
        self._forced -= 1
        return RECORD if self._forced else SAVE

    # --- transitions --------------------------------------------------------------------

    def _transit(self, previous, action) -> None:
        """What torch does from one action to the next, RECORD → WARMUP included."""
        self._action = action
        if previous == SAVE:
            self._end(is_partial=False)
            self._trace_ready()
        elif (
            previous in (WARMUP, RECORD)
            and action == NONE
            or (previous, action)
            == (
                RECORD,
                WARMUP,
            )
        ):
            warnings.warn(
                f"Incorrect schedule: {NAMES[previous]} followed by {NAMES[action]}", stacklevel=3
            )
            if previous == RECORD:
                self._end(is_partial=True)
        if action == NONE:
            self._close()
            return
        self._prepare()
        if action >= RECORD and self._open is None:
            self._begin()

    def _leave(self, action) -> None:
        if action >= RECORD and self._open is not None:
            self._end(is_partial=self.record_steps)
            self._trace_ready()

    def _prepare(self) -> None:
        """Ops are on record from here on; they are no capture's yet."""
        if not self._is_on_record or self._window is not None or not recorder.attach():
            return
        make = self.custom_trace_id_callback or (lambda: str(uuid.uuid4()))
        self._trace_id = make()
        if arguments.device_of(self):
            self._watch_devices()
        self._window = _native._window_hold(arguments.levels(self))
        if self.with_modules:
            self._modules = self._make_labels()

    @staticmethod
    def _watch_devices() -> None:
        from .windows import has_devices

        has_devices()  # looks out for the program's own profiler, too

    @staticmethod
    def _wait_for_devices() -> None:
        """What they were given in a capture is the capture's."""
        from . import devices

        devices.wait()

    @property
    def has_window(self) -> bool:
        """Are ops on record, in a capture or for one that comes?"""
        return self._window is not None

    @staticmethod
    def _make_labels():
        from .modules import Labels

        return Labels()

    def _close(self) -> None:
        """No ops of ours any more, until _prepare()."""
        self._end_stacks()
        if self._modules is not None:
            self._modules.remove()
            self._modules = None
        if self._window is not None:
            _native._window_leave(self._window)
            self._window = None

    def _let_go(self):
        """The file that holds what was recorded; the recorder goes on while we run, so
        that `gait trigger` finds it."""
        if not self._is_on_record:
            return None
        if self._pid is not None:
            return recorder.renew()
        self._is_on_record = False
        return recorder.release()

    def _begin(self) -> None:
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        if not self._is_on_record:
            return
        self._open = recorder.next_number()
        _native.async_begin(_native.site(*CAPTURE), self._open)
        self._begin_stacks()

    def _begin_stacks(self) -> None:
        if self.with_stack and self._window is not None:
            self._has_stacks = stacks.begin()

    def _end_stacks(self) -> None:
        if self._has_stacks:
            self._has_stacks = False
            stacks.end()

    def _end(self, is_partial) -> None:
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        if self._open is None:
            return
        number, self._open = self._open, None
        self._end_stacks()
        if arguments.device_of(self):
            self._wait_for_devices()
        _native.async_end(_native.site(*CAPTURE), number)
        self._close()
        self._keep(number, self._let_go(), is_partial)

    def _keep(self, number, path, is_partial) -> None:
        self._fill_metadata()
        forced, self._is_forced = self._is_forced, False
        made = Capture(
            path,
            number,
            arguments.options(self),
            self._metadata,
            rank=_ranks.global_rank(),
            partial=is_partial,
            trigger=forced,
        )
        if not self.acc_events:
            self.captures.clear()
        self.captures.append(made)

    def _trace_ready(self) -> None:
        if not self.captures:
            return
        self.traces += 1
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # --- steps --------------------------------------------------------------------------

    def _mark_step(self) -> None:
        """torch's own range, so that it is met with its end whatever lies between."""
        if not self.record_steps or self._window is None:
            return
        self._range = arguments.step_range(STEP + str(self.number_from + self.step_num))
        self._range.__enter__()

    def _unmark_step(self) -> None:
        step, self._range = self._range, None
        if step is not None:
            step.__exit__(None, None, None)

    def _begin_spare(self, action) -> None:
        """Until the first step(), for the case that there is none."""
        if not self.record_steps or action >= RECORD:
            return
        if action == NONE:
            self._prepare()
        if self._window is not None:
            self._spare = Spare(recorder.next_number(), self._close)
            self._begin_stacks()

    def _end_spare(self, keep) -> None:
        spare, self._spare = self._spare, None
        spare.end(self._end_stacks)
        if self._action == WARMUP and not keep:
            self._prepare()  # where it was cut off
            return
        is_own = recorder.is_own()
        self._close()
        path = self._let_go()
        if keep:
            self._is_cut = spare.is_cut
            self._keep(spare.number, path, is_partial=True)
            self._trace_ready()
        elif is_own and path is not None and path != _native.shard_path():
            os.unlink(path)

    def _say_what_happened(self, is_spare) -> None:
        if not self.record_steps:
            return
        who = f"rank {_ranks.global_rank()}: " if _ranks.global_rank() else ""
        if self.step_num == 0:
            whole = "its beginning" if self._is_cut else "the whole run"
            kept = f"{whole} was captured instead" if is_spare else "what ran is kept"
            kept = kept if self.captures else "nothing was captured"
            say(f"{who}step() was never called, so the schedule stayed at step 0: {kept}")
        elif self._plan is not None and self._plan.unit != "seconds":
            self._say_too_short(who)

    def _say_too_short(self, who) -> None:
        needs = self._plan.needs()
        asked = self._plan.recorded(needs)
        got = self._plan.recorded(self.step_num)
        if self.step_num >= needs:
            return
        is_partial = self.captures and self.captures[-1].partial
        kept = "" if self.captures else ", and nothing was captured"
        kept = ", and its last trace is partial" if is_partial else kept
        say(
            f"{who}recorded {got} of {asked} {self._plan.unit}{'s' * (asked != 1)} asked for: the "
            f"run ended after {self.step_num}, its schedule needs {needs}{kept}"
        )

    # --- what is said about it ----------------------------------------------------------

    def add_metadata(self, key: str, value: object) -> None:
        """A text that the trace carries."""
        self._metadata[key] = json.dumps(str(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """JSON text that the trace carries."""
        arguments.check_json(key, value)
        self._metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same, before it is started."""
        arguments.check_json(key, value)
        self.preset_metadata[key] = value

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """The function that names the traces to come."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the trace that is or was recorded last, None before the first."""
        return self._trace_id

    def _fill_metadata(self) -> None:
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                self._metadata[name] = "1"
        info = _ranks.distributed_info()
        if info is not None:
            self._metadata["distributedInfo"] = json.dumps(info, default=str)
        self._metadata.update(self.preset_metadata)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Leaves ops out, or takes them in again, in the middle of a capture."""
        if self._open is None or "CPU" not in arguments.names(activities):
            return
        if enable and self._window is None:
            self._window = _native._window_hold(arguments.levels(self))
        elif not enable and self._window is not None:
            _native._window_leave(self._window)
            self._window = None

    # --- answers ------------------------------------------------------------------------

    @property
    def capture(self) -> Capture:
        """The last finished capture; CaptureError while there is none."""
        if self.captures:
            return self.captures[-1]
        if self._open is not None or self._spare is not None:
            raise CaptureError(
                "this profile is still recording: stop() it, or leave its `with`, before it "
                "is asked or exported"
            )
        if self._pid is not None:
            raise CaptureError("nothing is captured yet: the schedule has recorded no step so far")
        raise CaptureError("nothing was captured: there was no start(), or no step was recorded")

    def _averages(self):
        from . import averages

        return averages

    def events(self) -> Any:
        """The events of the last cycle: a list with torch's attributes and table()."""
        asked = self._asked_for()
        return self._averages().events(asked)

    def _asked_for(self):
        """One capture, or with acc_events all of them."""
        last = self.capture
        return list(self.captures) if self.acc_events and len(self.captures) > 1 else last

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> Any:
        """Their sums by name, and by what else is asked for; print(….table()) shows them."""
        options = {}
        if group_by_overload_name:
            options["group_by_overload_name"] = True
        asked = self._asked_for()
        return self._averages().key_averages(
            asked,
            group_by_input_shape=group_by_input_shape,
            group_by_stack_n=group_by_stack_n,
            **options,
        )

    def export_chrome_trace(self, path: _Path, use_python_export: bool = False) -> None:
        """Writes the last cycle as torch.profiler's trace file, packed if it ends in ".gz"."""
        asked = self.capture
        from . import traces

        traces.export_chrome(asked, os.fspath(path))

    def export_stacks(self, path: _Path, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each event, `root;…;leaf us`, for flame graphs; wants with_stack."""
        asked = self._asked_for()
        self._averages().export_stacks(asked, os.fspath(path), metric)

    def export_memory_timeline(self, path: _Path, device: str | None = None) -> None:
        """Writes the memory held over time: .html, .json, .json.gz or .raw.json.gz."""
        asked = self.capture
        self._averages().export_memory_timeline(asked, os.fspath(path), device)


__all__ = ["Schedule", "profile"]
