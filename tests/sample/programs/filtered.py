# SPDX-License-Identifier: Apache-2.0
"""filtered.py CALL[:ARGUMENT] COMMAND...: runs it under a seccomp filter that refuses a call.

CALL is its number; with an ARGUMENT only where that is its first one. 77: no filter can be had.
"""

import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
call, _, argument = sys.argv[1].partition(":")
STEPS = [(LOAD, 0, 0, 0), (EQUAL, 0, 1 + 2 * bool(argument), int(call))]
if argument:
    STEPS += [(LOAD, 0, 0, 16), (EQUAL, 0, 1, int(argument))]
STEPS += [(RETURN, 0, 0, 0x50000 | 1), (RETURN, 0, 0, 0x7FFF0000)]  # EPERM; allowed

code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in STEPS))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(STEPS), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0):
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
