#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A busy program to be sampled: usage: sampler_target.py BUSY IDLE DEPTH ROUNDS

Each busy thread goes DEPTH frames down and alternates between a short and a long
function; idle threads wait at that depth. It says "ready", begins when told by a
line, works for ROUNDS rounds a thread (0: for ever) and prints the CPU and wall
seconds this took.
"""

import json
import sys
import threading
import time

BUSY, IDLE, DEPTH, ROUNDS = map(int, sys.argv[1:5])
STOP = threading.Event()


def short(n):
    while n:
        n -= 1


def long(n):
    while n:
        n -= 1


def by_short():
    short(900)


def by_long():
    long(2100)


def burst():
    by_short()
    by_long()


def wait_here():
    STOP.wait()


def down(depth, last):
    if depth:
        return down(depth - 1, last)
    return last()


def work():
    left = ROUNDS or -1
    while left:
        down(DEPTH, burst)
        left -= 1


def start(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


for _ in range(IDLE):
    start(lambda: down(DEPTH, wait_here))
print("ready", flush=True)
sys.stdin.readline()
wall, cpu = time.perf_counter(), time.process_time()
others = [start(work) for _ in range(BUSY - 1)]
print("begun", flush=True)
work()
for thread in others:
    thread.join()
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps({"cpu_s": cpu, "wall_s": wall}), flush=True)
