# SPDX-License-Identifier: Apache-2.0
"""Puts hooks in the place of functions, and takes them away for a while.

torch.compile reads what it compiles; for it everything is as torch made it.
"""

import functools
import types

from .._gait import _hook

ABSENT = object()
Hook = type(_hook("step", len))

SEEN_THROUGH = "__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__"

_places = []  # (owner, name, hook, what was there)
_outside = []  # functions that give and take what is not in one place


def hook(kind, function):
    """A callable that puts each call of `function` on record.

    What torch.compile's guards look at in a function can be seen through it.
    """
    made = functools.update_wrapper(_hook(kind, function), function)
    if isinstance(function, types.FunctionType):
        vars(made).update({name: getattr(function, name) for name in SEEN_THROUGH})
    return made


def replace(owner, name, kind):
    """Hooks the function that `owner`, a class or module, has under that name.

    False where it has none: another torch.
    """
    function = getattr(owner, name, None)
    if function is None:
        return False
    before = vars(owner).get(name, ABSENT)
    if isinstance(function, Hook):
        return True
    if isinstance(before, (staticmethod, classmethod, property)):
        return False
    put(owner, name, hook(kind, function), before)
    return True


def put(owner, name, made, before):
    setattr(owner, name, made)
    _places.append((owner, name, made, before))


def replace_all(owner, names, kind):
    for name in names.split():
        replace(owner, name, kind)


def share(owner, name, module):
    """The hook that `owner` has now is also what another module exports."""
    made = vars(owner).get(name)
    if isinstance(made, Hook) and vars(module).get(name) is made.__wrapped__:
        put(module, name, made, made.__wrapped__)


def also(take_away, put_back):
    _outside.append((take_away, put_back))


def take_away():
    """As if nothing had been hooked, until put_back()."""
    for owner, name, made, before in _places:
        if vars(owner).get(name) is not made:
            continue  # somebody has hooked it after us: theirs to keep
        if before is ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
    for away, _back in _outside:
        away()


def put_back():
    for owner, name, made, before in _places:
        if vars(owner).get(name, ABSENT) is before:
            setattr(owner, name, made)
    for _away, back in _outside:
        back()
