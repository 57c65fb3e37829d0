# SPDX-License-Identifier: Apache-2.0
"""gait/internal/ops.h through ctypes: torch's tree of ops and the rows of its tables."""

import ctypes
import struct
from ctypes import POINTER, byref, c_int, c_size_t, c_uint32

from .. import _read

ON_DEVICE, ASYNC, LEGACY, HAS_DEVICE, BACKWARD = 1, 2, 4, 8, 16
NO_STACK = NO_PARENT = 0xFFFFFFFF
RANGE, PYTHON = 32, 64
# One struct gait_op: doubles start end kernels; thread fwd_thread seq; bytes of
# CPU and device, FLOPs; numbers of name node key overload shapes stack; flags; a
# number of what it was called.
OP = struct.Struct("=3d6q8I")

Op = _read._structure(
    "gait_op",
    "real start_us end_us kernel_us",
    "int64 thread fwd_thread seq cpu_bytes device_bytes flops",
    "uint32 name node key overload shapes stack flags called",
)
Query = _read._structure(
    "gait_ops_query",
    "size size",
    "int64 pid since_ns until_ns origin_ns",
    "int without_shapes with_memory with_flops with_stacks with_device_ranges",
    "uint32 only_shard",
    "int without_functions",
)
Sums = _read._structure(
    "gait_op_sums",
    "uint64 count",
    "real cpu_us self_cpu_us device_us self_device_us",
    "int64 cpu_bytes self_cpu_bytes device_bytes self_device_bytes",
    "uint64 flops_low",
    "int64 flops_high",
    "uint32 first parent stack reserved",
)
Grouping = _read._structure(
    "gait_grouping",
    "size size",
    "int by_shapes by_overload",
    (POINTER(c_uint32), "stacks"),
    "size stack_count",
)

_declared = []


def library():
    found = _read._library()
    if not _declared:
        _read.check_layout(found, Op, Query, Sums, Grouping)
        pointer, rows = ctypes.c_void_p, POINTER(Sums)
        for name, result, arguments in (
            ("create", c_int, [POINTER(pointer)]),
            ("destroy", None, [pointer]),
            ("add", c_int, [pointer, ctypes.c_char_p, c_size_t]),
            ("read", c_int, [pointer, pointer, POINTER(Query)]),
            ("text", ctypes.c_char_p, [pointer, c_uint32]),
            ("stack", c_int, [pointer, c_uint32, POINTER(c_uint32), POINTER(c_uint32)]),
            ("added", POINTER(Op), [pointer, POINTER(c_size_t)]),
            ("build", c_int, [pointer]),
            ("events", rows, [pointer, POINTER(c_size_t)]),
            (
                "average",
                c_int,
                [pointer, POINTER(Grouping), POINTER(rows), POINTER(c_size_t)],
            ),
        ):
            function = getattr(found, "gait_ops_" + name)
            function.restype, function.argtypes = result, arguments
        _declared.append(found)
    return found


class Ops:
    """A list of events in C: added as packed OPs, then built, then asked."""

    def __init__(self) -> None:
        self._library = library()
        self._handle = ctypes.c_void_p()
        _read._check(self._library.gait_ops_create(byref(self._handle)))

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._library.gait_ops_destroy(handle)

    def add(self, packed) -> None:
        packed = bytes(packed)
        _read._check(self._library.gait_ops_add(self._handle, packed, len(packed) // OP.size))

    def read(self, path, **query) -> None:
        """Adds torch's ops of a trace; the words are those of the C struct."""
        given = Query(size=ctypes.sizeof(Query), **query)
        with _read.Trace(path) as trace:
            _read._check(
                self._library.gait_ops_read(self._handle, trace._open_handle(), byref(given))
            )

    def added(self):
        """The events as they were added."""
        count = c_size_t()
        rows = self._library.gait_ops_added(self._handle, byref(count))
        return rows, count.value

    def text(self, number):
        return _read._text(self._library.gait_ops_text(self._handle, number))

    def stacks(self):
        """All stacks, by number: the one that a function was called in, and its name's
        number."""
        caller, name = c_uint32(), c_uint32()
        number = 1
        while self._library.gait_ops_stack(self._handle, number, byref(caller), byref(name)):
            yield caller.value, name.value
            number += 1

    def build(self) -> None:
        _read._check(self._library.gait_ops_build(self._handle))

    def events(self):
        """What is left of the events, a row of Sums that lives as long as this."""
        count = c_size_t()
        rows = self._library.gait_ops_events(self._handle, byref(count))
        return rows, count.value

    def average(self, by_shapes, by_overload, stacks):
        """Sums of each row of a table. stacks: what is compared of each stack."""
        grouping = Grouping(ctypes.sizeof(Grouping), bool(by_shapes), bool(by_overload))
        if stacks is not None:
            grouping.stacks = (c_uint32 * len(stacks))(*stacks)
            grouping.stack_count = len(stacks)
        rows, count = POINTER(Sums)(), c_size_t()
        _read._check(
            self._library.gait_ops_average(self._handle, byref(grouping), byref(rows), byref(count))
        )
        return rows, count.value
