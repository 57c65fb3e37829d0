# SPDX-License-Identifier: Apache-2.0
"""Closes the record of a multiprocessing child, which leaves by os._exit().

Without it the reader still takes what the child published from its ring file;
with it the shard is complete by itself. Loaded only where multiprocessing is.
"""

import sys

from ._core import stop

LAST = -1000  # after the finalizers of everybody else, which may record

_arranged = False


def _close_at_exit(_module) -> None:
    from multiprocessing.util import Finalize

    Finalize(None, stop, exitpriority=LAST)


def arrange() -> None:
    """Once a process tree: a child forgets its finalizers before it starts, but
    then runs what was registered for after the fork."""
    global _arranged
    if _arranged:
        return
    _arranged = True
    from multiprocessing import process, util

    util.register_after_fork(sys.modules[__name__], _close_at_exit)
    if process.parent_process() is not None:
        _close_at_exit(None)
