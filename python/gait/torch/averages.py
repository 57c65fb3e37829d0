# SPDX-License-Identifier: Apache-2.0
"""events(), key_averages() and what is exported of a capture, as torch.profiler has them."""

from . import memory_timeline
from .capture import CaptureError
from .recorded import source_of


def events(capture):
    """The events of a finished capture (or of several), as profile().events() has them."""
    return source_of(capture).events()


def key_averages(
    capture,
    group_by_input_shape: bool = False,
    group_by_stack_n: int = 0,
    group_by_overload_name: bool = False,
):
    """Their averages, as profile().key_averages() has them."""
    return source_of(capture).averages(
        group_by_input_shape, group_by_stack_n, group_by_overload_name
    )


def export_stacks(capture, path, metric: str = "self_cpu_time_total"):
    """A line for each event: its stack from the root, and its time in us."""
    found = events(capture)
    captures = capture if isinstance(capture, (list, tuple)) else [capture]
    if not captures[-1].options.get("with_stack"):
        raise CaptureError("no stacks to export: profile() takes with_stack=True for that")
    found.export_stacks(path, metric)


def export_memory_timeline(capture, path, device=None) -> None:
    """Memory held over time, as .html, .json, .json.gz or .raw.json.gz."""
    memory_timeline.export(capture, path, device)
