# SPDX-License-Identifier: Apache-2.0
"""When ops are on record, and how much of them."""

import os

import torch

from .. import _gait

FIRST, ACTIVE, EVERY = 5, 3, 100  # steps 5 to 7 of each hundred
# four of 61 stay out, to be compared with: the first of them still feels the window,
# and a number without divisors falls on each kind of step in turn
ALL = 0, 57, 61
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
    return True


def install():
    from . import say

    text = os.environ.get("GAIT_TORCH_WINDOWS", "")
    try:
        first, active, every = parse(text)
    except ValueError:
        say(f"GAIT_TORCH_WINDOWS '{text}' is not off, all or FIRST/ACTIVE/EVERY")
        first, active, every = parse("")
    # Ranges alone are on record outside of windows only where they are asked for:
    # a program may make any number of them.
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
