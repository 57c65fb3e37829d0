# SPDX-License-Identifier: Apache-2.0
"""The events of a capture as torch.profiler would list them."""

import re

from . import _ops
from .averages import Interval, Source, device_type

_WORDS = re.compile(r"\([^)]*\)|\S+")
_SIZES = re.compile(r"\w+\[([\d,]*)\]")
_EVALUATES = "autograd::engine::evaluate_function"


def shapes_of(text):
    """Input shapes as torch has them: sizes of tensors, [] for all else."""
    shapes = []
    for word in _WORDS.findall(text):
        match = _SIZES.match(word) if word[0] != "S" else None
        sizes = match[1] if match else ""
        shapes.append([int(size) for size in sizes.split(",")] if sizes else [])
    return shapes


class Recorded(Source):
    """What lies between two times in the files of one process."""

    def __init__(self, path, pid, since_ns, until_ns, options):
        with_flops = bool(options.get("with_flops"))
        has_shapes = options.get("record_shapes") or with_flops  # torch needs them, too
        with_memory = bool(options.get("profile_memory"))
        ops = _ops.Ops()
        ops.read(
            *(path, pid, since_ns, until_ns),
            without_shapes=not has_shapes,
            with_memory=with_memory,
            with_flops=with_flops,
        )
        ops.build()
        super().__init__(ops, [()], None, with_memory, with_flops)
        self._added, _ = ops.added()
        self._texts, self._shapes = {}, {}

    def _text(self, number):
        if number not in self._texts:
            self._texts[number] = self.ops.text(number)
        return self._texts[number]

    def _shapes_of(self, number):
        if number not in self._shapes:
            self._shapes[number] = shapes_of(self._text(number))
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
            "time_range": Interval(op.start_us, op.end_us),
            "thread": op.thread,
            "fwd_thread": op.fwd_thread,
            "kernels": [],
            "input_shapes": self._shapes_of(op.shapes),
            "scope": 1 if op.flags & _ops.BACKWARD else 7 if op.flags & _ops.RANGE else 0,
            "use_device": None,
            "is_async": bool(op.flags & _ops.ASYNC),
            "is_remote": False,
            "sequence_nr": op.seq,
            "device_type": device_type("CPU"),
            "device_index": 0,
            "device_resource_id": op.thread,
            "is_legacy": False,
            "is_user_annotation": bool(op.flags & _ops.RANGE),
            "flops": op.flops,
        }

    def _make_objects(self):
        super()._make_objects()
        for event in self._objects:  # the engine's range has the number of what it evaluates
            if event.sequence_nr < 0 and event.name.startswith(_EVALUATES):
                for child in event.cpu_children[:1]:
                    event.sequence_nr, event.fwd_thread = child.sequence_nr, child.fwd_thread


_sources = {}  # of captures: averages are asked for again and again


def source_of(capture):
    key = id(capture)
    known = _sources.get(key)
    if known is None or known[0] is not capture:
        known = (capture, read(capture))
        _sources.clear()
        _sources[key] = known
    return known[1]


def read(capture):
    (path,) = capture.paths
    return Recorded(path, capture.pid, capture.begin_ns, capture.end_ns, capture.options)
