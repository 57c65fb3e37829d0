# SPDX-License-Identifier: Apache-2.0
"""Puts hooks in the place of functions, and takes them away for a while.

All that gait replaces in other people's modules goes through put() into the list of
gait/_patches.py. A hook passes for its function wherever it is asked (ext/torch/py_hook.c);
torch.compile reads bytecode, and for it everything is as torch made it.
"""

import copy
import copyreg
import functools
import sys

from .. import _native, _patches
from . import watching

Hook = type(_native._hook("step", len))

INSIDE = "copy", "communication"  # kinds of functions written in C

# why a hook of that kind is there, where it is not the phase of its name
WHY = {
    "ask": "the phase input",
    "fetch": "loading, in workers too",
    "iterator": "where a loop over a loader begins",
    "scaler_step": "the phase optimizer, and whether it stepped",
    "step": "the phase optimizer, and where a step ends",
    "zero_grad": "where a step begins",
}


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

    def attempt(*arguments) -> None:
        try:
            other(*arguments)
        except Exception as error:
            watching.say(f"{type(error).__name__}: {error}")

    return _native._hook(when, function, attempt)


def instead(function, other):
    """One that calls `other`, and passes for `function`."""
    return _native._hook("instead", function, other)


def plain(function):
    """What a hook stands for; others are what they are."""
    return _native._hooked(function) if isinstance(function, Hook) else function


def replace(owner, name, kind) -> bool:
    """Hooks the function that `owner`, a class or module, has under that name.

    False where it has none: another torch.
    """
    function = getattr(owner, name, None)
    if function is None:
        return False
    before = vars(owner).get(name)
    if isinstance(function, Hook):
        return True
    if isinstance(before, (staticmethod, classmethod, property)):
        return False
    why = WHY.get(kind, f"the phase {kind}")
    inner = innermost(function)
    if kind in INSIDE and _native._hook_inside(kind == "copy", inner):
        undo = functools.partial(_native._unhook_inside, inner)
        _patches.note(owner, name, function, why, undo)
    else:
        put(owner, name, hook(kind, function), why)
    return True


def innermost(function):
    """The function in what pybind11 makes of it."""
    while type(function).__name__ == "instancemethod":
        function = function.__func__
    return function


def put(owner, name, made, why, is_fixed: bool = False) -> None:
    tell_script(made)
    _patches.put(owner, name, made, why, is_fixed)


def tell_script(made) -> None:
    """torch.jit.script() knows what it calls by its id, in a table made when first used."""
    known = getattr(sys.modules.get("torch.jit._builtins"), "_builtin_table", None) or {}
    if isinstance(made, Hook) and id(plain(made)) in known:
        known[id(made)] = known[id(plain(made))]


def replace_all(owner, names, kind) -> None:
    for name in names.split():
        replace(owner, name, kind)


def share(owner, name, module) -> None:
    """The hook that `owner` has now is also what another module exports."""
    made = vars(owner).get(name)
    if isinstance(made, Hook) and vars(module).get(name) is plain(made):
        put(module, name, made, "what another module exports is the same")
