# SPDX-License-Identifier: Apache-2.0
"""Everyday Python, mostly short calls: one workload of the standard library's, over and over.

usage: everyday.py MODE SECONDS

MODE is a name in WORKLOADS. Prints "ready", then runs for that long.
"""

import _pydecimal
import copy
import difflib
import fractions
import io
import json
import random
import re
import statistics
import sys
import textwrap
import time
import tokenize

with open(textwrap.__file__, encoding="utf-8") as file:
    SOURCE = file.read()
LINES = SOURCE.splitlines()[:60]
EDITED = [line.replace("e", "i") if i % 3 == 0 else line for i, line in enumerate(LINES)]
DOCUMENT = {
    "rows": [1, 2, {"text": "words " * 3, "flags": [None, True, 1.5]}] * 6,
    "sizes": {f"part {i}": i for i in range(20)},
}
PATTERNS = [
    r"(?P<word>[a-z]+\s*(one|two|thr[ei]+)*?)(\d{1,3}\.){3}[^x-z]+$",
    r"(a|b)*c|d{3,4}?[0-9a-fA-F_]+",
]


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


class Tree:
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def count(self):
        if self.left is None:
            return 1
        return 1 + self.left.count() + self.right.count()


def grow(depth):
    return Tree(None, None) if depth == 0 else Tree(grow(depth - 1), grow(depth - 1))


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def plus(self, other):
        return Point(self.x + other.x, self.y + other.y)


def run_recursion():
    fibonacci(18)


def run_mutual():
    is_even(60)


def run_trees():
    grow(8).count()


def run_points():
    step = place = Point(1, 2)
    for _ in range(200):
        place = place.plus(step)


def run_tokenize():
    list(tokenize.generate_tokens(io.StringIO(SOURCE).readline))


def run_regex():
    re.purge()
    for pattern in PATTERNS:
        re.compile(pattern)


def run_json():
    json.encoder.c_make_encoder = None  # the encoder in Python
    json.dumps(DOCUMENT, indent=2)


def run_deepcopy():
    copy.deepcopy(DOCUMENT)


def run_difflib():
    list(difflib.unified_diff(LINES, EDITED))
    difflib.SequenceMatcher(None, SOURCE[:300], SOURCE[200:500]).ratio()


def run_fractions():
    x = fractions.Fraction(1, 3)
    for i in range(1, 30):
        x = x * fractions.Fraction(i, i + 1) + fractions.Fraction(1, i)


def run_statistics():
    statistics.pstdev([1, 2, 3.5, 7, 9, 10])


def run_textwrap():
    textwrap.wrap(SOURCE[:2000], 40)


def run_decimal():
    x = _pydecimal.Decimal("1.2345678901234567890")
    for i in range(6):
        x = (x * x + _pydecimal.Decimal(i)).sqrt()


def run_random():
    source = random.Random(4)
    values = list(range(50))
    source.shuffle(values)
    source.sample(values, 10)
    for _ in range(20):
        source.gauss(0, 1)
    source.choice(values)


WORKLOADS = {name[4:]: run for name, run in globals().items() if name.startswith("run_")}


def main():
    run, seconds = WORKLOADS[sys.argv[1]], float(sys.argv[2])
    run()
    print("ready", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run()


if __name__ == "__main__":
    main()
