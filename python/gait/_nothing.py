# SPDX-License-Identifier: Apache-2.0
"""Profiles that do nothing: of a Config that is not enabled, and of gait.torch where
the C extension cannot be loaded. A training runs through them as it would without."""

from . import _say
from ._core import why_off


class CaptureError(RuntimeError):
    """There is nothing captured that could answer."""


CaptureError.__module__ = "gait.torch"


def _refuse(self, *_, **__):
    raise CaptureError(self._why_nothing)


class Nothing:
    """What one calls while a training runs does nothing; an answer says why there is none."""

    captures = ()
    step_num = traces = 0
    current_action = None
    _why_nothing = "nothing was captured: profiling is not enabled"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def _ignore(self, *_, **__):
        return None

    start = stop = step = trigger = _ignore
    add_metadata = add_metadata_json = preset_metadata_json = _ignore
    set_custom_trace_id_callback = get_trace_id = toggle_collection_dynamic = _ignore
    events = key_averages = export_chrome_trace = _refuse
    export_stacks = export_memory_timeline = _refuse
    capture = property(_refuse)


# --- the names of gait.torch, where there is no extension -------------------------------


class profile(Nothing):  # noqa: N801: torch's name
    """Records nothing, and says so once."""

    _why_nothing = "nothing was captured: " + why_off

    def __init__(self, **_) -> None:
        pass

    def start(self, *_, **__) -> None:
        _say.say_off(why_off)


class Schedule:
    """At each step there is nothing to do."""

    unit, active = "step", 0

    def __init__(self, **_) -> None:
        pass

    def __call__(self, step):
        from .torch.actions import actions

        return actions()[0]

    def for_epochs(self, epochs):
        return self


schedule = Schedule


class Capture:
    """There are none."""


def at_steps(steps, warmup: int = 0):
    return Schedule()
