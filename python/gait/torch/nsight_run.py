# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems follows the schedule of `gait run`: hosts.py calls these, and says the
command when the run begins.

CUDA is looked for when the first window opens. Asking for its devices before the training
does would keep its forked children from using them.
"""

from .. import _ranks, nsight
from .._say import attempt, say

_told = []  # an Nsight, once there is one


def begin() -> bool:
    """Whether there is somebody to tell."""
    if not _told:
        _told.append(nsight.Nsight())
        if not _told[0].is_there and _ranks.is_first():
            say(nsight.NOTHING_THERE)
    if not _told[0].is_there:
        return False
    attempt("Nsight was not told", _told[0].start)
    return True


def step(number) -> None:
    attempt("Nsight was not told", _next, number)


def _next(number) -> None:
    _told[0].pop()
    _told[0].push(f"ProfilerStep#{number}")


def end() -> None:
    attempt("Nsight was not told", _told[0].pop)
    attempt("Nsight was not told", _told[0].stop)
