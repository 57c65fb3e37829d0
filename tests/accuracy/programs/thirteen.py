# SPDX-License-Identifier: Apache-2.0
"""Thirteen functions whose shares of time are clocked, run in turn for as long as told.

usage: thirteen.py SECONDS TURNS [THREADS]

Function k loops k * TURNS times, k from 1 to 13, called by `visit_k`, that by `work`,
that by `down` ten frames deep. At the end the main thread prints as JSON the seconds
it spent in each, from one clock reading to the next less what the clock alone takes.
More threads do the same unclocked.
"""

import json
import sys
import threading
import time

SECONDS, TURNS = float(sys.argv[1]), int(sys.argv[2])
THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
COUNT = 13
clock = time.perf_counter_ns

FUNCTION = """
def spin_{k}(n):
    while n:
        n -= 1
def visit_{k}():
    spin_{k}({turns})
"""
for k in range(1, COUNT + 1):
    exec(compile(FUNCTION.format(k=k, turns=k * TURNS), f"spin_{k}.py", "exec"))
# not by size: neighbours in time are far apart in length
VISITS = [globals()[f"visit_{1 + 5 * i % COUNT}"] for i in range(COUNT)]


def work(spent, end):
    while True:
        before = start = clock()
        for i, visit in enumerate(VISITS):
            visit()
            after = clock()
            spent[i] += after - before
            before = after
        spent[COUNT] += 1
        if start > end:
            return spent


def down(depth, spent, end):
    return down(depth - 1, spent, end) if depth else work(spent, end)


def of_the_clock():
    """Nanoseconds from one reading to the next where nothing is visited."""
    spent, visits = [0] * COUNT, [abs] * COUNT
    rounds = 2000
    for _ in range(rounds):
        before = clock()
        for i, _visit in enumerate(visits):
            after = clock()
            spent[i] += after - before
            before = after
    return sum(spent) / COUNT / rounds


def main():
    cost = of_the_clock()
    print("ready", flush=True)
    end = clock() + int(SECONDS * 1e9)
    for _ in range(THREADS - 1):
        threading.Thread(target=down, args=(10, [0] * (COUNT + 1), end), daemon=True).start()
    spent = down(10, [0] * (COUNT + 1), end)
    times = {f"visit_{1 + 5 * i % COUNT}": spent[i] - spent[COUNT] * cost for i in range(COUNT)}
    print(json.dumps({"ns": times, "rounds": spent[COUNT]}), flush=True)


main()
