# SPDX-License-Identifier: Apache-2.0
"""Python called by C called by Python, in two ways that are known: sorted() with a
key, and the C library's qsort with a comparison by ctypes. With `hang`, a thread
that sits in a C function for ever, without the interpreter's lock. SIGUSR1 ends it
as if the time were over.

usage: native_chain.py SECONDS [hang]
"""

import ctypes
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None)
NUMBER = ctypes.POINTER(ctypes.c_int)
COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, NUMBER, NUMBER)


def burn():
    total = 0
    for i in range(300):
        total += i * i
    return total


def key(number):
    burn()
    return -number


def compare(a, b):
    burn()
    return a[0] - b[0]


def by_sorted():
    return sorted(range(60), key=key)


def by_qsort():
    numbers = (ctypes.c_int * 50)(*range(50, 0, -1))
    libc.qsort(numbers, 50, 4, COMPARISON(compare))
    return list(numbers)


def deeper(depth):
    """Each level a C call, so that the C stack is deep, too."""
    return max([depth], key=lambda _: deeper(depth - 1)) if depth else burn()


def hang():
    libc.pause()


def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not told:
        assert by_sorted() == list(range(59, -1, -1))
        assert by_qsort() == list(range(1, 51))
        for _ in range(20):
            deeper(3)


told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(True))
if "hang" in sys.argv[2:]:
    threading.Thread(target=hang, daemon=True).start()
print("ready", flush=True)
main(float(sys.argv[1]))
print("done", flush=True)
