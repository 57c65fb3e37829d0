# SPDX-License-Identifier: Apache-2.0
"""What `gait.torch` offers, and the module each name comes from.

Loaded when asked for: the hooks of `gait run` need none of it, and importing them
must not import torch.
"""

NAMES = {
    "ProfilerAction": "actions",
    "ProfilerActivity": "actions",
    "record_function": "actions",
    "supported_activities": "actions",
    "kineto_available": "actions",
    "DeviceType": "actions",
    "ExecutionTraceObserver": "actions",
    "ProfilerActivityConfig": "actions",  # this and the next two since torch 2.15
    "CuspyConfig": "actions",
    "PerformanceMetricsConfig": "actions",
    "schedule": "plans",
    "at_steps": "plans",
    "Schedule": "plans",
    "profile": "profiler",
    "tensorboard_trace_handler": "handlers",
    "Capture": "capture",
    "CaptureError": "capture",
    "table": "document",
}
NEED_EXTENSION = ("plans", "profiler", "capture")  # else gait/_nothing.py has the names
MODULES = ("averages", "traces")
