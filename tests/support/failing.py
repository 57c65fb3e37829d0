# SPDX-License-Identifier: Apache-2.0
"""One call of a program fails: tests/support/fail_call.c, preloaded, and what it counts."""

import os
import pathlib
import struct

# The kinds of calls in the order of fail_call.c, and how each can fail.
HOWS = {
    "alloc": ["ENOMEM"],
    "write": ["ENOSPC", "EIO", "short"],
    "mmap": ["ENOMEM"],
    "rename": ["EACCES", "ENOSPC"],
    "unlink": ["EACCES"],
    "reserve": ["ENOSPC", "EIO"],
    "create": ["EACCES", "ENOSPC"],
}
FILE_KINDS = [kind for kind in HOWS if kind != "alloc"]


class Counts:
    """A file in which the program counts its calls: also one that is killed."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder, "calls")
        self.path.write_bytes(bytes(4096))

    def read(self):
        """By kind; and from zero again."""
        numbers = struct.unpack_from(f"<{len(HOWS)}q", self.path.read_bytes())
        self.path.write_bytes(bytes(4096))
        return dict(zip(HOWS, numbers))


def failing(build, program, counts, call="", then=""):
    """The variables with which `call` fails, such as "write:3:EIO", in processes of `program`."""
    kind, number, how = call.split(":") if call else ("", "", "")
    return {
        "LD_PRELOAD": os.path.abspath(os.path.join(build, "tests/libfail_call.so")),
        "GAIT_FAIL_IN": program,
        "GAIT_COUNT_CALLS": str(counts.path),
        "GAIT_FAIL_CALL": kind,
        "GAIT_FAIL_AT": number,
        "GAIT_FAIL_HOW": how,
        "GAIT_FAIL_THEN": then,
    }
