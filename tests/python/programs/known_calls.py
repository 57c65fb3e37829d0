# SPDX-License-Identifier: Apache-2.0
"""What same_counts.py and same_stacks.py call: the same calls each time, on any CPython."""

import asyncio


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def generate(n):
    for i in range(n):
        try:
            yield i
        except KeyError:
            pass


def fail(n):
    if n == 0:
        raise ValueError("x".upper())
    fail(n - 1)


async def wait(n):
    await asyncio.sleep(0)
    return n
