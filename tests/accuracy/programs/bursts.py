# SPDX-License-Identifier: Apache-2.0
"""Two functions in turn behind a recursion of 50 frames, whose time is clocked.

usage: bursts.py SECONDS MICROSECONDS [SHARE]

The first has that share of so many microseconds (three tenths), the second the rest. At the
end it prints as JSON the nanoseconds of the way down, of both, and of the way up again.
"""

import json
import sys
import time

SECONDS, WANTED_NS = float(sys.argv[1]), float(sys.argv[2]) * 1e3
SHARE = float(sys.argv[3]) if len(sys.argv) > 3 else 0.3
DEPTH = 50
clock = time.perf_counter_ns


def turn(n):
    while n:
        n -= 1


def first(n):
    turn(n)


def second(n):
    turn(n)


def burst(turns, times):
    times[1] = clock()
    first(turns[0])
    times[2] = clock()
    second(turns[1])
    times[3] = clock()


def down(depth, turns, times):
    if depth:
        return down(depth - 1, turns, times)
    return burst(turns, times)


def run(turns, end, spent):
    times = [0] * 4
    while True:
        start = clock()
        down(DEPTH, turns, times)
        over = clock()
        spent[0] += times[1] - start
        spent[1] += times[2] - times[1]
        spent[2] += times[3] - times[2]
        spent[3] += over - times[3]
        if over > end:
            return spent


def turns_of(share):
    """As many as take that share of the time wanted, on a processor of this moment."""
    best = min(timed(20000) for _ in range(20))
    return max(1, int(WANTED_NS * share / best * 20000))


def timed(n):
    start = clock()
    turn(n)
    return clock() - start


def main():
    turns = [turns_of(SHARE), turns_of(1 - SHARE)]
    run(turns, clock() + 2e7, [0] * 4)
    print("ready", flush=True)
    spent = run(turns, clock() + SECONDS * 1e9, [0] * 4)
    print(json.dumps(dict(zip(("down", "first", "second", "up"), spent))), flush=True)


main()
