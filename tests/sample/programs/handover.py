# SPDX-License-Identifier: Apache-2.0
"""Threads that hand the interpreter's lock to each other all the time, in stacks of
changing depth, with generators, calls from C, locks, sleeps and C without the lock.

usage: handover.py THREADS SECONDS

Legal callers: deeper <- work or deeper; spin <- deeper or locked; numbers <- spin;
nap, locked, hashing, ordered <- deeper; key <- ordered.
"""

import hashlib
import random
import sys
import threading
import time

END = time.time() + float(sys.argv[2])
LOCK, BYTES = threading.Lock(), b"x" * 20000
sys.setswitchinterval(5e-5)


def numbers():
    yield from range(40)


def spin():
    return sum(n for n in numbers())


def nap():
    time.sleep(random.random() * 1e-3)


def locked():
    with LOCK:
        return spin()


def hashing():
    return hashlib.sha256(BYTES).digest()


def key(n):
    return -n


def ordered():
    return sorted(range(20), key=key)


def deeper(depth, last):
    return deeper(depth - 1, last) if depth else last()


def work():
    while time.time() < END:
        deeper(random.randrange(30), random.choice((spin, spin, nap, locked, hashing, ordered)))


for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
work()
