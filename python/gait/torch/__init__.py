# SPDX-License-Identifier: Apache-2.0
"""torch.profiler's calls, tables and traces (names.py); loaded when they are asked for."""

from __future__ import annotations

import importlib

from .._core import why_off
from .names import MODULES, NAMES, NEED_EXTENSION

TYPE_CHECKING = False
if TYPE_CHECKING:  # what names.py lists
    from contextlib import AbstractContextManager
    from typing import Any

    from . import averages as averages
    from . import traces as traces
    from .actions import ProfilerAction as ProfilerAction
    from .actions import ProfilerActivity as ProfilerActivity
    from .capture import Capture as Capture
    from .capture import CaptureError as CaptureError
    from .document import table as table
    from .handlers import tensorboard_trace_handler as tensorboard_trace_handler
    from .plans import Schedule as Schedule
    from .plans import at_steps as at_steps
    from .plans import schedule as schedule
    from .profiler import profile as profile

    supported_activities: Any
    kineto_available: Any
    DeviceType: Any
    ExecutionTraceObserver: Any
    ProfilerActivityConfig: Any
    CuspyConfig: Any
    PerformanceMetricsConfig: Any

    def record_function(name: str, args: str | None = None) -> AbstractContextManager[Any]: ...


def __getattr__(name):
    if name in MODULES:
        return importlib.import_module("." + name, __name__)
    if name not in NAMES:
        raise AttributeError(f"module 'gait.torch' has no attribute {name!r}")
    if why_off and NAMES[name] in NEED_EXTENSION:
        from .. import _nothing

        return getattr(_nothing, name)
    module = importlib.import_module("." + NAMES[name], __name__)
    return module.find(name) if hasattr(module, "find") else getattr(module, name)
