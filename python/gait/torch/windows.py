# SPDX-License-Identifier: Apache-2.0
"""When ops are on record, and how much of them."""

import os

import torch

from .. import _gait

FIRST, ACTIVE, EVERY = 5, 3, 100  # steps 5 to 7 of each hundred
ALL = 0, 30, 32  # two of 32 steps stay out: what ops cost is seen by comparing with them
SHAPES, MEMORY, STRIDES = 1, 2, 4


def parse(text):
    """(first, active, every) of "off", "all", "FIRST/ACTIVE" or "FIRST/ACTIVE/EVERY"."""
    if not text:
        return FIRST, ACTIVE, EVERY
    if text == "off":
        return 0, 0, 0
    if text == "all":
        return ALL
    numbers = [int(part) for part in text.split("/")]
    if not 2 <= len(numbers) <= 3 or min(numbers) < 0:
        raise ValueError(text)
    first, active, every = [*numbers, 0][:3]
    return first, active, every


# Tensors with these keys may run Python code when they are asked for their sizes.
AVOIDED = (
    "Python",
    "PythonTLSSnapshot",
    "NestedTensor",
    "AutogradNestedTensor",
    "Functionalize",
    "FuncTorchBatched",
    "FuncTorchGradWrapper",
)


def attach():
    """Has the collector find torch; what it does not find it does without."""
    if not _gait._torch_attach():
        return False
    keys = torch._C
    avoided = 0
    for name in AVOIDED:
        key = getattr(keys.DispatchKey, name, None)
        if key is not None:
            avoided |= keys.DispatchKeySet(key).raw_repr()
    tensors = [
        torch.zeros(2),
        torch.zeros(2, 3, dtype=torch.int64),
        torch.zeros(1).requires_grad_(),
    ]
    for tensor in tensors:
        if _gait._torch_guard(tensor._cdata, keys._dispatch_keys(tensor).raw_repr(), avoided):
            break
    if _gait._torch_learn(True):
        try:
            for value in 7, 7.25, 7j:
                torch.full([3, 5], value, device="cpu")
            torch.sum(torch.zeros(1, 1, device="cpu"), [1], True)
        finally:
            _gait._torch_learn(False)
    return True


def install():
    from . import say

    text = os.environ.get("GAIT_TORCH_WINDOWS", "")
    try:
        first, active, every = parse(text)
    except ValueError:
        say(f"GAIT_TORCH_WINDOWS '{text}' is not off, all or FIRST/ACTIVE/EVERY")
        first, active, every = parse("")
    # A callback for ranges alone makes the engine name each node of a backward pass,
    # 0.4 us a node: 16 us a step of 25 modules. In windows they come for nothing.
    has_ranges = os.environ.get("GAIT_TORCH_RANGES", "0") != "0"
    if not active and not has_ranges:
        return
    try:
        is_attached = attach()
    except AttributeError:  # a torch without these: names only
        is_attached = True
    lacks = _gait._torch_lacks() if is_attached else _gait.last_error()
    if lacks:
        say(lacks)
    if not is_attached:
        return
    if has_ranges:
        _gait._torch_ranges(True)
    _gait._windows(first, active, every, SHAPES | MEMORY)
