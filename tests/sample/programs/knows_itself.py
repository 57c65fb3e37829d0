# SPDX-License-Identifier: Apache-2.0
"""Holds all kinds of values, says what they are, and waits."""

import collections
import json
import time

Point = collections.namedtuple("Point", "x y")


class Outer:
    class Inner:
        pass


class Text(str):
    pass


class Whole(int):
    pass


def shown(value):
    """What `gait dump --locals` shall say of it."""
    kind = type(value)
    if kind is Outer.Inner:
        return f"<__main__.Outer.Inner at {id(value):#x}>"
    if kind.__module__ == "__main__":
        return f"__main__.{kind.__name__}({kind.__mro__[1].__repr__(value)})"
    return repr(value)


SHOWN = {"Point": lambda value: f"__main__.Point({tuple(value)!r})"}


def holds(first, second=2.5, *rest, key="k", **more):
    ten, below, zero, wide = 10, -(2**70), 0, 7**400
    tenth, exponent, tiny, whole, minus = 0.1, 1e16, 5e-324, 123456.0, -0.0
    endless, nothing, small, odd = float("inf"), float("nan"), 0.0001, 2.0 / 3
    yes, no, none = True, False, None
    plain, quoted, both = "plain", "it's", 'it\'s "both"'
    moved, words, alone = "\x1b[31m\n\t\\\x7f\x85", "größe 走る 🎉", "\ud800"
    raw = b"abc\x00\xff'"
    empty = ((), [], {}, set(), frozenset(), "", b"")
    one, three, nested = (1,), [1, "a", None], [[1], {"k": (2.5, True)}]
    mapping = {"a": 1, 2: [3], None: b"x", (1, 2): "t"}
    gaps = {n: n for n in range(6)}
    del gaps[0], gaps[3]
    numbers, frozen = {7}, frozenset({"a"})
    text, integer, point = Text("hello"), Whole(7), Point(1, "b")
    thing = Outer.Inner()
    shared = [10]

    def inside(more_inside):
        used = (shared, more_inside)
        tell(locals())
        time.sleep(600)
        return used

    gone = 1
    del gone
    mine = dict(locals())
    del mine["inside"]
    tell(mine)
    inside(3)


def tell(names):
    said = {}
    for name, value in names.items():
        if name != "mine":
            said[name] = SHOWN.get(type(value).__name__, shown)(value)
    print(json.dumps(said), flush=True)


module_level = "of the module"
holds(1, 2.0, "extra", key=None, other=[1])
