# SPDX-License-Identifier: Apache-2.0
"""Stacks that change in a tenth of a microsecond and are not a plain tree of calls.

usage: tangled.py pairs|run MODE SECONDS

`pairs` runs MODE some times under sys.setprofile and prints which function called
which, as JSON; `run` runs it for so long. MODE: generators, exceptions, tasks, callbacks.
"""

import asyncio
import functools
import json
import sys
import time


def leaf_a(n):
    total = 0
    for i in range(n):
        total += i
    return total


def leaf_b(n):
    total = 1
    for i in range(n):
        total ^= i
    return total


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        leaf_a(2)
        yield depth
        yield from tree(depth - 1)


def run_generators():
    for _ in tree(6):
        leaf_b(1)
    sum(leaf_a(i) for i in tree(3))


def fall(depth):
    if depth == 0:
        leaf_a(3)
        raise KeyError(depth)
    if depth % 7 == 0:
        try:
            fall(depth - 1)
        finally:
            leaf_b(2)
    else:
        fall(depth - 1)


def run_exceptions():
    try:
        fall(60)
    except KeyError:
        leaf_b(3)


async def inner(n):
    leaf_a(n)
    await asyncio.sleep(0)
    leaf_b(n)


async def outer(n):
    await inner(n)
    leaf_b(2)
    await inner(n + 1)


async def all_tasks():
    await asyncio.gather(*[asyncio.ensure_future(outer(i % 5)) for i in range(40)])


def run_tasks():
    LOOP.run_until_complete(all_tasks())


def key_a(x):
    return leaf_a(x % 4)


def key_b(x):
    return leaf_b(x % 4)


def join(a, b):
    return leaf_a(2) + b


class Ordered:
    def __init__(self):
        leaf_b(1)

    def __lt__(self, other):
        return leaf_a(1) < 0


def run_callbacks():
    sorted(range(8), key=key_a)
    functools.reduce(join, range(6))
    max(map(key_b, range(4)), key=key_a)
    sorted([Ordered(), Ordered(), Ordered()])


def name_of(frame):
    return getattr(frame.f_code, "co_qualname", frame.f_code.co_name)


def pairs_of(run):
    found = set()

    def note(frame, event, arg):
        if frame.f_back:
            found.add((name_of(frame.f_back), name_of(frame)))

    sys.setprofile(note)
    for _ in range(20):
        run()
    sys.setprofile(None)
    return sorted(found)


run = globals()["run_" + sys.argv[2]]
LOOP = asyncio.new_event_loop() if sys.argv[2] == "tasks" else None
if sys.argv[1] == "pairs":
    print(json.dumps(pairs_of(run)))
else:
    print("ready", flush=True)
    end = time.monotonic() + float(sys.argv[3])
    while time.monotonic() < end:
        run()
