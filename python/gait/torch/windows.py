# SPDX-License-Identifier: Apache-2.0
"""When ops are on record, and how much of them."""

import os

from .. import _gait

FIRST, ACTIVE, EVERY = 5, 3, 100  # steps 5 to 7 of each hundred
SHAPES, MEMORY, STRIDES = 1, 2, 4


def parse(text):
    """(first, active, every) of "off", "all", "FIRST/ACTIVE" or "FIRST/ACTIVE/EVERY"."""
    if not text:
        return FIRST, ACTIVE, EVERY
    if text == "off":
        return 0, 0, 0
    if text == "all":
        return 0, 1, 1
    numbers = [int(part) for part in text.split("/")]
    if not 2 <= len(numbers) <= 3 or min(numbers) < 0:
        raise ValueError(text)
    first, active, every = [*numbers, 0][:3]
    return first, active, every


def install():
    text = os.environ.get("GAIT_TORCH_WINDOWS", "")
    try:
        first, active, every = parse(text)
    except ValueError:
        from . import say

        say("GAIT_TORCH_WINDOWS '%s' is not off, all or FIRST/ACTIVE/EVERY" % text)
        first, active, every = parse("")
    _gait._windows(first, active, every, SHAPES | MEMORY)
