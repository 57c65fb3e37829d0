# SPDX-License-Identifier: Apache-2.0
"""Puts hooks in the place of functions, and takes them away for a while.

All that gait replaces in other people's modules goes through put() and is listed by
places(). A hook passes for its function wherever it is asked (ext/torch/py_hook.c);
torch.compile reads bytecode, and for it everything is as torch made it.
"""

import copy
import copyreg
import sys

from .. import _native
from . import watching

ABSENT = object()
Hook = type(_native._hook("step", len))

INSIDE = "copy", "communication"  # kinds of functions written in C

_places = []  # Place, in the order in which they were taken
_outside = []  # functions that give and take what is not in one place, and list it


class Place:
    """Where a function of somebody else's was replaced."""

    __slots__ = ("before", "is_fixed", "made", "name", "owner")

    def __init__(self, owner, name, made, before, is_fixed=False):
        self.owner = owner  # a class or module
        self.name = name
        self.made = made  # what stands there now
        self.before = before  # what its own __dict__ had there
        self.is_fixed = is_fixed  # stays when the others are taken away

    def __str__(self):
        module = getattr(self.owner, "__module__", None)
        owner = self.owner.__name__ if module is None else f"{module}.{self.owner.__qualname__}"
        return f"{owner}.{self.name}"


def reduced(made):
    """For pickle: its name where that leads to it; else what it stands for, handed on."""
    name = getattr(made, "__qualname__", "")
    found = sys.modules.get(getattr(made, "__module__", None))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is made else (copy.copy, (plain(made),))


copyreg.pickle(Hook, reduced)


def hook(kind, function):
    """A callable that puts each call of `function` on record."""
    return _native._hook(kind, function)


def beside(when, function, other):
    """One that calls other(first argument) too: "before", "after" (if it returns) or
    "finally". What fails there is a sentence, not the end of a training."""

    def attempt(*arguments):
        try:
            other(*arguments)
        except Exception as error:
            watching.starter().say(f"{type(error).__name__}: {error}")

    return _native._hook(when, function, attempt)


def instead(function, other):
    """One that calls `other`, and passes for `function`."""
    return _native._hook("instead", function, other)


def plain(function):
    """What a hook stands for; others are what they are."""
    return _native._hooked(function) if isinstance(function, Hook) else function


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
    if kind in INSIDE and _native._hook_inside(kind == "copy", innermost(function)):
        _places.append(Place(owner, name, function, before, is_fixed=True))
    else:
        put(owner, name, hook(kind, function))
    return True


def innermost(function):
    """The function in what pybind11 makes of it."""
    while type(function).__name__ == "instancemethod":
        function = function.__func__
    return function


def put(owner, name, made, is_fixed=False):
    before = vars(owner).get(name, ABSENT)
    tell_script(made)
    setattr(owner, name, made)
    _places.append(Place(owner, name, made, before, is_fixed))


def tell_script(made):
    """torch.jit.script() knows what it calls by its id, in a table made when first used."""
    known = getattr(sys.modules.get("torch.jit._builtins"), "_builtin_table", None) or {}
    if isinstance(made, Hook) and id(plain(made)) in known:
        known[id(made)] = known[id(plain(made))]


def replace_all(owner, names, kind):
    for name in names.split():
        replace(owner, name, kind)


def share(owner, name, module):
    """The hook that `owner` has now is also what another module exports."""
    made = vars(owner).get(name)
    if isinstance(made, Hook) and vars(module).get(name) is plain(made):
        put(module, name, made)


def also(take_away, put_back, list_them):
    _outside.append((take_away, put_back, list_them))


def places():
    """All that stands in the place of something now."""
    found = list(_places)
    for _away, _back, list_them in _outside:
        found += list_them()
    return found


def take_away():
    """As if nothing had been hooked, until put_back()."""
    for place in _places:
        owner, name = place.owner, place.name
        if place.is_fixed or vars(owner).get(name) is not place.made:
            continue  # somebody has hooked it after us: theirs to keep
        if place.before is ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, place.before)
    for away, _back, _list in _outside:
        away()


def put_back():
    for place in _places:
        if not place.is_fixed and vars(place.owner).get(place.name, ABSENT) is place.before:
            setattr(place.owner, place.name, place.made)
    for _away, back, _list in _outside:
        back()
