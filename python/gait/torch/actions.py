# SPDX-License-Identifier: Apache-2.0
"""torch.profiler's small names: its own where torch is loaded, else ours that equal them."""

import enum
import sys

from .._core import span
from .._vocabulary import ANNOTATION


class _Equal(enum.Enum):
    """Members equal those of the same name and value of an enum of the same name."""

    def __eq__(self, other):
        if type(other).__name__ != type(self).__name__:
            return NotImplemented
        return getattr(other, "name", None) == self.name and other.value == self.value

    def __ne__(self, other) -> bool:
        return not self == other

    def __hash__(self):
        return hash(self._name_)


class ProfilerAction(_Equal):
    """What a schedule says of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(_Equal):
    """Of these only CPU is recorded; the others are accepted, and said."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


_OURS = {"ProfilerAction": ProfilerAction, "ProfilerActivity": ProfilerActivity}
_FOREIGN = {
    "ProfilerAction": ("torch.profiler", "ProfilerAction"),
    "ProfilerActivity": ("torch.profiler", "ProfilerActivity"),
    "record_function": ("torch.autograd.profiler", "record_function"),
}
# torch's alone: to ask for one is to ask for torch
_TORCHS = (
    "supported_activities",
    "kineto_available",
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerActivityConfig",
    "CuspyConfig",
    "PerformanceMetricsConfig",
)


def find(name):
    """What a script means by that name: torch's, if it has torch."""
    if name in _TORCHS:
        import torch.profiler

        return getattr(torch.profiler, name)
    module, attribute = _FOREIGN[name]
    found = getattr(sys.modules.get(module), attribute, None)
    if found is not None:
        return found
    return _OURS[name] if name in _OURS else _own_range


def actions():
    """The four actions by their numbers, as the torch that is loaded has them."""
    known = find("ProfilerAction")
    return [known.NONE, known.WARMUP, known.RECORD, known.RECORD_AND_SAVE]


def _own_range(name, args=None):
    """record_function() without torch: a span of that name."""
    return span(name, ANNOTATION)
