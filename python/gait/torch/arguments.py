# SPDX-License-Identifier: Apache-2.0
"""What profile() is asked for, checked, and what of it gait cannot do yet."""

from __future__ import annotations

import json
import os
import sys
import warnings

from .._say import say
from .actions import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHAPES, MEMORY, STRIDES = 1, 2, 4  # gait/internal/torch_binding.h
DEVICES = 32  # gait/internal/windows.h
KINDS = ("CPU", "XPU", "CUDA", "MTIA", "HPU", "PrivateUse1")


def _is_activity(item):
    return type(item).__name__ == "ProfilerActivity" and getattr(item, "name", None) in KINDS


def names(activities):
    return {item.name for item in activities}


def activities(given, use_cuda):
    """A set of activities, as torch reads what it is given."""
    known = find("ProfilerActivity")
    if use_cuda is not None:
        warnings.warn(
            "`use_cuda` is deprecated, use `activities` argument instead",
            FutureWarning,
            stacklevel=4,
        )
    if given is None:
        found = {known.CPU, known.CUDA} if _has_cuda() else {known.CPU}
    else:
        found = set()
        for item in given:
            for one in item if isinstance(item, dict) else [item]:
                if not _is_activity(one):
                    raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
                if one in found:
                    raise ValueError(f"Activity {one} specified more than once")
                found.add(one)
    if use_cuda:
        found.add(known.CUDA)
    elif use_cuda is not None:
        found.discard(known.CUDA)
    if not found:
        raise AssertionError("No valid profiler activities found")
    return found


def _has_cuda():
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available()


def can_record(name) -> bool:
    """Whether torch was built to record devices of that kind, and one is here."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    from . import devices

    return name in devices.there(torch)


def say_what_is_not(prof) -> None:
    """One line for each thing that was asked for and is not on record."""
    for name in sorted(names(prof.activities) - {"CPU"}):
        if can_record(name):
            continue
        is_missing = name == "CUDA" and not _has_cuda()
        where = " (nor is a CUDA device here)" if is_missing else ""
        say(f"{name} activity is not recorded{where}, only ops of the CPU", once=name)


def device_of(prof):
    """What tables call the device whose work is on record, None without one."""
    found = [name for name in sorted(names(prof.activities) - {"CPU"}) if can_record(name)]
    return found[0].lower() if found else None


def listen() -> None:
    """To the signal that GAIT_TRIGGER_SIGNAL names, if it names one."""
    if os.environ.get("GAIT_TRIGGER_SIGNAL"):
        from .signals import listen as listen_to

        try:
            listen_to()
        except ValueError as error:
            say(str(error), once="signal")


def levels(prof):
    """What the collector is to record of each op."""
    shapes = SHAPES if prof.record_shapes or prof.with_flops else 0
    strides = STRIDES if prof.record_shapes else 0
    devices = DEVICES if device_of(prof) else 0
    return shapes | strides | devices | (MEMORY if prof.profile_memory else 0)


def options(prof):
    keys = "record_shapes profile_memory with_stack with_flops with_modules".split()
    found: dict[str, Any] = {key: bool(getattr(prof, key)) for key in keys}
    found["strides"] = bool(prof.record_shapes)
    found["activities"] = sorted(names(prof.activities))
    found["device"] = device_of(prof)
    return found


def check_json(key, value):
    try:
        json.loads(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the metadata {key!r} is no JSON text ({error}); for a plain text use add_metadata()"
        ) from None


def observer():
    """torch's execution trace observer, where the environment asks for one."""
    if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE") != "1":
        return None
    profiler = getattr(sys.modules.get("torch"), "profiler", None)
    made = getattr(profiler, "ExecutionTraceObserver", None)
    build = getattr(made, "build_execution_trace_obs_from_env", None)
    return build() if build is not None else None


def step_range(name):
    """A range of torch's: its quick kind is seen by torch's own profiler only."""
    import torch

    return torch.autograd.profiler.record_function(name)
