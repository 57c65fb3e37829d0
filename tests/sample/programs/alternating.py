# SPDX-License-Identifier: Apache-2.0
"""A program whose stacks are known: busy threads, threads that wait, hostile names.

usage: alternating.py BUSY IDLE DEPTH SECONDS

Legal callers: slow <- by_slow, quick <- by_quick, by_* <- burst, burst <- down,
and DEPTH + 1 frames of `down`. At the end it prints the share of time, clocked
in the busy main thread itself, that was spent under by_quick.
"""

import sys
import threading
import time

BUSY, IDLE, DEPTH = (int(word) for word in sys.argv[1:4])
END = time.perf_counter() + float(sys.argv[4])
STOP = threading.Event()
SPENT = [0, 0]


def quick(n):
    while n:
        n -= 1


def slow(n):
    while n:
        n -= 1


def by_quick():
    quick(600)


def by_slow():
    slow(1400)


def burst(clocked):
    start = time.perf_counter_ns()
    by_quick()
    middle = time.perf_counter_ns()
    by_slow()
    if clocked:
        SPENT[0] += middle - start
        SPENT[1] += time.perf_counter_ns() - middle


def wait_here(_):
    STOP.wait()


def down(depth, last, argument):
    if depth:
        return down(depth - 1, last, argument)
    return last(argument)


def work(clocked):
    while time.perf_counter() < END:
        down(DEPTH, burst, clocked)


def wait(_):
    down(DEPTH, wait_here, None)


def start(function):
    threading.Thread(target=function, args=(False,), daemon=True).start()


for _ in range(BUSY - 1):
    start(work)
for _ in range(IDLE):
    start(wait)
print("ready", flush=True)
work(True)
print(SPENT[0] / max(1, sum(SPENT)), flush=True)
