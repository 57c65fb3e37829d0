# SPDX-License-Identifier: Apache-2.0
"""events() and key_averages() as torch.profiler has them, of what gait recorded
or of a document of events; the sums are made in C (gait/internal/ops.h).

The classes bear torch's names and attributes, so that code written for torch's
lists runs on these. They are made when they are asked for: a table of averages
makes no object for each event.
"""

from __future__ import annotations

import collections
import json
import sys

from . import _ops
from .table_text import device_words, table_text, time_text, total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Kernel = collections.namedtuple("Kernel", "name device duration")


class Interval:
    """From start to end, in us."""

    __slots__ = ("end", "start")

    def __init__(self, start, end) -> None:
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start


class DeviceKind(str):
    """A device's type where torch is not there to name it."""

    __slots__ = ()

    @property
    def name(self):
        return str.__str__(self)

    def __str__(self) -> str:
        return "DeviceType." + str.__str__(self)


def device_type(name):
    """torch's own value, if torch is there and knows that device."""
    kinds = getattr(sys.modules.get("torch.autograd"), "DeviceType", None)
    return getattr(kinds, name, None) or DeviceKind(name)


def _text_of(name):
    return property(lambda self: time_text(getattr(self, name)))


def _same_as(name):
    return property(lambda self: getattr(self, name))


class _Times:
    """What single events and averages have in common."""

    __slots__ = ()
    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0)
    device_time = property(lambda self: self.device_time_total / self.count if self.count else 0.0)
    cpu_time_str = _text_of("cpu_time")
    device_time_str = _text_of("device_time")
    cpu_time_total_str = _text_of("cpu_time_total")
    device_time_total_str = _text_of("device_time_total")
    self_cpu_time_total_str = _text_of("self_cpu_time_total")
    self_device_time_total_str = _text_of("self_device_time_total")
    cuda_time = _same_as("device_time")
    cuda_time_total = _same_as("device_time_total")
    self_cuda_time_total = _same_as("self_device_time_total")
    self_cuda_memory_usage = _same_as("self_device_memory_usage")

    def _take(self, sums) -> None:
        self.cpu_time_total = sums.cpu_us
        self.self_cpu_time_total = sums.self_cpu_us
        self.device_time_total = sums.device_us
        self.self_device_time_total = sums.self_device_us
        self.cpu_memory_usage = sums.cpu_bytes
        self.self_cpu_memory_usage = sums.self_cpu_bytes
        self.device_memory_usage = sums.device_bytes
        self.self_device_memory_usage = sums.self_device_bytes
        self._has_parent = sums.parent != _ops.NO_PARENT
        self.self_cpu_percent = self.total_cpu_percent = self.total_device_percent = -1


_SUMS = (
    "cpu_time_total self_cpu_time_total device_time_total self_device_time_total "
    "cpu_memory_usage self_cpu_memory_usage device_memory_usage self_device_memory_usage "
    "self_cpu_percent total_cpu_percent total_device_percent count flops _has_parent"
).split()
_ABOUT = (
    "node_id overload_name input_shapes stack scope use_device is_async is_remote "
    "device_type is_legacy is_user_annotation"
).split()


class FunctionEvent(_Times):
    """One event."""

    __slots__ = (
        *_SUMS,
        *_ABOUT,
        *(
            "id name trace_name time_range thread fwd_thread kernels cpu_children cpu_parent "
            "sequence_nr device_index device_resource_id concrete_inputs kwinputs "
            "structured_input_shapes structured_input_strides input_dtypes "
            "is_python_function activity_type event_metadata external_id linked_correlation_id"
        ).split(),
    )
    key = _same_as("name")

    def __init__(self, sums, values) -> None:
        self.count, self.cpu_children, self.cpu_parent = 1, [], None
        self.concrete_inputs = self.kwinputs = self.structured_input_shapes = None
        self.structured_input_strides = self.input_dtypes = None
        self.activity_type = self.event_metadata = None
        self.is_python_function, self.external_id, self.linked_correlation_id = False, 0, 0
        for name, value in values.items():
            setattr(self, name, value)
        self._take(sums)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent {self.name} id={self.id} thread={self.thread} "
            f"from {self.time_range.start:.3f} us for {time_text(self.time_range.elapsed_us())}, "
            f"cpu_time={self.cpu_time_str}, {len(self.cpu_children)} children, "
            f"input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Times):
    """One row of a table: the sum over its events."""

    __slots__ = (*_SUMS, *_ABOUT, "_first", "_source", "key")

    def __init__(self, sums, values, source=None) -> None:
        for name in _ABOUT:
            setattr(self, name, values[name])
        self.key, self.count = values["name"], sums.count
        self.flops = sums.flops_low + (sums.flops_high << 64)
        self._source, self._first = source, sums.first
        self._take(sums)

    # of the first of its events
    cpu_parent = property(lambda self: self._source.object_of(self._first).cpu_parent)
    cpu_children = property(lambda self: self._source.object_of(self._first).cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg {self.key} count={self.count} "
            f"self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list):
    """A list of FunctionEvent or of FunctionEventAvg."""

    def __init__(
        self, items=(), use_device=None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(items)
        self._use_device, self._source = use_device, None
        self._profile_memory, self._with_flops = profile_memory, with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self):
        return total(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by=None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header=None,
        top_level_events_only: bool = False,
        time_unit=None,
    ):
        """The text that torch prints of such a list."""
        options = {key: value for key, value in locals().items() if key != "self"}
        return table_text(
            self, **options, profile_memory=self._profile_memory, with_flops=self._with_flops
        )

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ):
        """The sums of the events that have a name and what is grouped by in common."""
        if self._source is None:
            raise AssertionError("these are averages already, or the list is not a profiler's")
        return self._source.averages(
            group_by_input_shapes, group_by_stack_n, group_by_overload_name
        )

    def total_average(self):
        """All of it in one row, whose key is `Total`."""
        result = Total()
        for event in self:
            result.add(event)
        return result

    def export_chrome_trace(self, path) -> None:
        """A row of JSON events, as torch's list writes; profile() writes much more."""
        rows = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in self
            if event.trace_name is not None
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file)

    def supported_export_stacks_metrics(self):
        return [f"self_{device}_time_total" for device in ("cpu", "cuda", "xpu", "privateuse1")]

    def export_stacks(self, path, metric: str = "self_cpu_time_total"):
        """A line for each event that has a stack: root;…;leaf and its time in us."""
        legal = self.supported_export_stacks_metrics()
        if metric not in legal:
            raise ValueError(f"no stacks by {metric!r}; legal metrics: {', '.join(legal)}")
        underscores = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                time_us = int(getattr(event, device_words(metric)))
                if event.stack and time_us > 0:
                    frames = [entry.translate(underscores) for entry in reversed(event.stack)]
                    file.write(f"{';'.join(frames)} {time_us}\n")


class Total(FunctionEventAvg):
    """What total_average() adds up."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_ops.Sums(parent=_ops.NO_PARENT), dict.fromkeys([*_ABOUT, "name"]))
        self.key, self.node_id, self.is_async, self.is_remote = "Total", 0, False, False
        self.device_type, self.is_legacy = device_type("CPU"), False

    def add(self, event) -> None:
        for name in _SUMS[:8]:
            setattr(self, name, getattr(self, name) + getattr(event, name))
        if not self.count:
            for name in _ABOUT:
                setattr(self, name, getattr(event, name))
        self.count += event.count
        self.flops += event.flops or 0


class Source:
    """What a list came from: its events in C, and the texts they stand for.

    A subclass says what an event is (`values_of`), and what its stack is.
    """

    def __init__(
        self, ops, stacks, use_device=None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        self.ops, self.stacks = ops, stacks
        self.options = {
            "use_device": use_device,
            "profile_memory": profile_memory,
            "with_flops": with_flops,
        }
        self.sums, self.count = ops.events()
        self._objects: Any = None
        self._places: Any = None

    def values_of(self, index):
        raise NotImplementedError

    def stack_of(self, sums):
        return None if sums.stack == _ops.NO_STACK else self.entries(sums.stack)

    def entries(self, stack, limit=None):
        """The innermost entries of a stack."""
        return list(self.stacks[stack][:limit])

    def events(self):
        found = EventList(self._all(), **self.options)
        found._source = self  # type: ignore[assignment]
        return found

    def _all(self):
        if self._objects is None:
            self._make_objects()
        return self._objects

    def object_of(self, index):
        """The object of the event that was added as that one."""
        objects = self._all()
        return objects[self._places[index]]

    def _make_objects(self) -> None:
        self._objects, self._places = [], {}
        for place in range(self.count):
            sums = self.sums[place]
            event = FunctionEvent(sums, self.values_of(sums.first))
            event.stack = self.stack_of(sums)
            self._places[sums.first] = place
            self._objects.append(event)
        for place in range(self.count):
            parent = self.sums[place].parent
            if parent != _ops.NO_PARENT:
                self._objects[place].cpu_parent = self._objects[self._places[parent]]
        for place in sorted(range(self.count), key=self._start_of):
            event = self._objects[place]
            if event.cpu_parent is not None:
                event.cpu_parent.cpu_children.append(event)

    def _start_of(self, place):
        times = self._objects[place].time_range
        return times.start, -times.end

    def averages(self, by_shapes: bool = False, stack_n: int = 0, by_overload: bool = False):
        prefixes = None
        if stack_n > 0:
            known = {}
            prefixes = [
                known.setdefault(tuple(self.entries(stack, stack_n)), len(known))
                for stack in range(len(self.stacks))
            ]
        rows, count = self.ops.average(by_shapes, by_overload, prefixes)
        found = EventList(**self.options)
        for place in range(count):
            sums = rows[place]
            row = FunctionEventAvg(sums, self.values_of(sums.first), self)
            has_stack = stack_n > 0 and sums.stack != _ops.NO_STACK
            row.stack = self.entries(sums.stack, stack_n) if has_stack else []
            if not by_shapes:
                row.input_shapes = ""
            if not by_overload:
                row.overload_name = ""
            found.append(row)
        return found
