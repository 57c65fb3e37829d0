# SPDX-License-Identifier: Apache-2.0
"""The events of a capture as torch.profiler would list them."""

import json

from . import _ops
from .event_list import Interval, Source, device_type

_EVALUATES = "autograd::engine::evaluate_function"


_UNTOLD = (
    ("autograd/__init__", "_make_grads"),
    ("autograd/__init__", "backward"),
    ("torch/tensor", "backward"),
)


def is_told(function) -> bool:
    """torch leaves some functions of its own out of stacks."""
    return not any(file in function and name in function for file, name in _UNTOLD)


class Recorded(Source):
    """The events of one capture, or of several: then the newest stand first, as
    torch.profiler has them, and its begin is 0."""

    def __init__(self, captures) -> None:
        newest = captures[-1]
        options = newest.options
        with_flops = bool(options.get("with_flops"))
        has_shapes = options.get("record_shapes") or with_flops  # torch needs them, too
        with_memory = bool(options.get("profile_memory"))
        ops = _ops.Ops()
        for capture in reversed(captures):
            for path in capture.paths:
                ops.read(
                    path,
                    pid=capture.pid,
                    since_ns=capture.begin_ns,
                    until_ns=capture.end_ns,
                    origin_ns=newest.begin_ns,
                    without_shapes=not has_shapes,
                    with_memory=with_memory,
                    with_flops=with_flops,
                    with_stacks=bool(options.get("with_stack")),
                )
        ops.build()
        self._texts, self._shapes = {}, {}
        self._device = options.get("device")
        super().__init__(ops, [()], self._device, with_memory, with_flops)
        self.stacks = [(0, 0), *ops.stacks()]  # of each: the caller's, and a name
        self._added, _ = ops.added()

    def entries(self, stack, limit=None):
        """Made when they are asked for: a recursion's are as long as it is deep."""
        found = []
        while stack and (limit is None or len(found) < limit):
            stack, name = self.stacks[stack]
            text = self._text(name)
            if is_told(text):
                found.append(text)
        return found

    def _text(self, number):
        if number not in self._texts:
            self._texts[number] = self.ops.text(number)
        return self._texts[number]

    def _shapes_of(self, number):
        if number not in self._shapes:
            self._shapes[number] = json.loads(self._text(number) or "[]")
        return self._shapes[number]

    def values_of(self, index):
        op = self._added[index]
        name = self._text(op.name)
        return {
            "id": index + 1,
            "name": name,
            "trace_name": None if name == "[memory]" else self._text(op.called),
            "overload_name": "",
            "node_id": -1,
            "stack": None,
            "time_range": Interval(op.start_us, op.end_us),
            "thread": op.thread,
            "fwd_thread": op.fwd_thread,
            "kernels": [],
            "input_shapes": self._shapes_of(op.shapes),
            "scope": 1 if op.flags & _ops.BACKWARD else 7 if op.flags & _ops.RANGE else 0,
            "use_device": self._device,
            "is_async": bool(op.flags & _ops.ASYNC),
            "is_remote": False,
            "sequence_nr": op.seq,
            "device_type": device_type(
                (self._device or "cpu").upper() if op.flags & _ops.ON_DEVICE else "CPU"
            ),
            "device_index": 0,
            "device_resource_id": op.thread,
            "is_legacy": False,
            "is_user_annotation": bool(op.flags & _ops.RANGE),
            "flops": op.flops,
            "is_python_function": bool(op.flags & _ops.PYTHON),
        }

    def _make_objects(self) -> None:
        super()._make_objects()
        for event in self._objects:  # the engine's range has the number of what it evaluates
            if event.sequence_nr < 0 and event.name.startswith(_EVALUATES):
                for child in event.cpu_children[:1]:
                    event.sequence_nr, event.fwd_thread = child.sequence_nr, child.fwd_thread


_last = []  # the captures asked for, and their source: tables are asked for again and again


def source_of(captures):
    """One capture, or a list of them."""
    captures = list(captures) if isinstance(captures, (list, tuple)) else [captures]
    if not _last or _last[0] != captures:
        _last[:] = [captures, Recorded(captures)]
    return _last[1]
