# SPDX-License-Identifier: Apache-2.0
"""CPython 3.12 and later warn where a process with several threads forks.

Of a program with one thread gait makes one with two: the recorder's. That one is known
to be safe at a fork (src/record/recorder.c). So the warning is ignored where the threads
besides the program's are gait's, and is given where the program has some of its own.
"""

import threading
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MESSAGE = r"This process \(pid=\d+\) is multi-threaded, use of fork"

_filters = []  # the one that was put in, as `warnings` has it


def thread_count() -> int:
    """Of this process, as CPython counts them; 0 where that cannot be known."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[17])
    except (OSError, ValueError, IndexError):
        return 0


def settle(is_recording: bool) -> None:
    """Before each fork: it depends on the threads there are then."""
    own = is_recording + sum(thread.name == "gait-spare" for thread in threading.enumerate())
    is_alone = own > 0 and thread_count() == 1 + own
    present = [entry for entry in _filters if entry in warnings.filters]
    if is_alone and not present:
        warnings.filterwarnings("ignore", MESSAGE, DeprecationWarning)
        _filters[:] = warnings.filters[:1]
    elif present and not is_alone:
        filters: Any = warnings.filters
        for entry in present:
            filters.remove(entry)
        _filters.clear()
