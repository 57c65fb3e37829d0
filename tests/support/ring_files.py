# SPDX-License-Identifier: Apache-2.0
"""The ring files of processes in shared memory, told apart by their pids: other
tests, and other people, may record at the same time."""

import os
import pathlib
import struct

import pytest

PID_AT = 32


def rings_of(pids, since=0):
    """The ring files that processes of these pids wrote to after that moment: pids
    come again, and ring files of killed processes stay."""
    found = []
    for ring in pathlib.Path("/dev/shm").glob("gait-*.ring"):
        try:
            with open(ring, "rb") as file:
                head = file.read(PID_AT + 8)
            is_new = ring.stat().st_mtime >= since - 1
        except OSError:
            continue  # somebody else's, or gone
        if is_new and len(head) == PID_AT + 8 and struct.unpack_from("<q", head, PID_AT)[0] in pids:
            found.append(ring)
    return found


def has_shared_memory():
    """Whether buffers lie there: it is mounted, and half of it is free."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return False
    return 2 * room.f_bavail > room.f_blocks and os.access("/dev/shm", os.W_OK | os.X_OK)


# Semaphores of Python's processes lie there: a loader has no workers without them.
needs_semaphores = pytest.mark.skipif(
    not os.path.isdir("/dev/shm"), reason="Python's processes need /dev/shm for what they share"
)
