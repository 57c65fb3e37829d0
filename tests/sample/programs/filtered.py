# SPDX-License-Identifier: Apache-2.0
"""Runs a command under a seccomp filter that forbids process_vm_readv; 77: none can be had."""

import ctypes
import os
import struct
import sys

SYS_PROCESS_VM_READV = 310  # x86-64
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
CODE = struct.pack("HBBI", 0x20, 0, 0, 0)  # load the call's number
CODE += struct.pack("HBBI", 0x15, 0, 1, SYS_PROCESS_VM_READV)
CODE += struct.pack("HBBI", 0x06, 0, 0, 0x50000 | 1)  # EPERM
CODE += struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)  # allowed

code = ctypes.create_string_buffer(CODE)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
