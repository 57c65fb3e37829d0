# SPDX-License-Identifier: Apache-2.0
"""The table of a document of events: what torch.profiler had before it made its
tree, as JSON (tests/torch/test_torch_table.py has the fields)."""

from __future__ import annotations

from . import _ops
from .event_list import FunctionEvent, Interval, Kernel, Source, device_type
from .table_text import total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEVICES = {"CUDA", "PrivateUse1", "MTIA", "HPU", "XPU"}


class Numbers(dict):
    """Values to numbers, in the order in which they come."""

    def __missing__(self, value):
        number = self[value] = len(self)
        return number


def table(
    document: Any, key_averages: dict[str, Any] | None = None, table: dict[str, Any] | None = None
) -> str:
    """torch's text for a document of events.

    The dictionaries are the arguments of EventList.key_averages() and of
    EventList.table(); without the first it is the table of the single events.
    """
    events = Document(document).events()
    rows = events if key_averages is None else events.key_averages(**key_averages)
    return rows.table(**(table or {}))


class Document(Source):
    """The events of a parsed document."""

    def __init__(self, document) -> None:
        self._rows = document["events"]
        self._stacks = Numbers({(): 0})
        ops = _ops.Ops()
        ops.add(self._packed())
        ops.build()
        options = ("use_device", "profile_memory", "with_flops")
        super().__init__(ops, list(self._stacks), **{name: document.get(name) for name in options})

    def values_of(self, index):
        row = self._rows[index]
        values = {name: row.get(name) for name in _PLAIN}
        values["time_range"] = Interval(row["start_us"], row["end_us"])
        values["device_type"] = device_type(row.get("device_type", "CPU"))
        values["kernels"] = [Kernel(*kernel) for kernel in row.get("kernels") or ()]
        values["device_resource_id"] = row.get("device_resource_id", row.get("thread"))
        return values

    def _packed(self):
        packed = bytearray(len(self._rows) * _ops.OP.size)
        threads, pack_into, size = self._threads(), _ops.OP.pack_into, _ops.OP.size
        names, nodes, keys, overloads, shapes = (Numbers() for _ in range(5))
        for index, row in enumerate(self._rows):
            get, name = row.get, row["name"]
            stack, node, device = get("stack"), get("node_id"), get("device_type", "CPU")
            kernels = get("kernels")
            pack_into(
                packed,
                index * size,
                row["start_us"],
                row["end_us"],
                total(kernel[2] for kernel in kernels) if kernels else 0,
                threads[get("thread")],
                threads.get(get("fwd_thread"), -1),
                _integer(row, "sequence_nr", -1),
                _integer(row, "cpu_memory_usage"),
                _integer(row, "device_memory_usage"),
                _integer(row, "flops"),
                names[name],
                nodes[node],
                keys[name, node, device, get("is_legacy"), get("is_user_annotation")],
                overloads[get("overload_name")],
                shapes[str(get("input_shapes"))],
                _ops.NO_STACK if stack is None else self._stacks[tuple(stack)],
                _flags(row, device),
                0,
            )
        self._refuse_too_much()
        return packed

    def _refuse_too_much(self):
        """Sums of bytes are made in 64 bits."""
        for name in "cpu_memory_usage", "device_memory_usage":
            if sum(abs(row.get(name) or 0) for row in self._rows) >= 1 << 63:
                raise ValueError(f"the {name} of all events do not add up in 64 bits")

    def _threads(self):
        """Threads in their order: that of numbers, whatever they are called."""
        named = {row.get("thread") for row in self._rows}
        try:
            order = sorted(named)
        except TypeError:
            order = sorted(named, key=str)
        return {thread: place for place, thread in enumerate(order)}


_OBJECTS = {"cpu_children", "cpu_parent", "kernels", "time_range"}
_PLAIN = sorted(
    name for name in set(FunctionEvent.__slots__) - _OBJECTS if name[0] != "_" and name != "count"
)


def _integer(row, name, default: int = 0):
    value = row.get(name)
    if value is None:
        return default
    if value.__class__ is int and -(1 << 62) < value < 1 << 62:
        return value
    if int(value) != value or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{name} of event {row['name']!r} is no number of 64 bits: {value!r}")
    return int(value)


def _flags(row, device):
    flags = _ops.BACKWARD if row.get("scope") == 1 else 0
    if row.get("is_async"):
        flags |= _ops.ASYNC
    if row.get("is_legacy"):
        flags |= _ops.LEGACY
    if row.get("use_device"):
        flags |= _ops.HAS_DEVICE
    if device == "CPU":
        return flags
    if device not in _DEVICES and flags & _ops.HAS_DEVICE and not flags & _ops.ASYNC:
        legal = ", ".join(sorted(_DEVICES))
        raise ValueError(f"event {row['name']!r} ran on {device!r}, which is none of {legal}")
    return flags | _ops.ON_DEVICE
