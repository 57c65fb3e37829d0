# SPDX-License-Identifier: Apache-2.0
"""All that gait puts in the place of something of other people's modules: one list.

Nobody else in the package sets an attribute of a module or class that is not gait's.
`gait doctor --patches` prints the list, gait.uninstall() empties it.
"""

ABSENT = object()

_patches = []  # Patch, in the order in which they were put
_outside = []  # Moving: what is not in one place for good


class Patch:
    """One attribute of a class or module that is another one now."""

    __slots__ = ("is_fixed", "name", "original", "owner", "undo", "why", "wrapper")

    def __init__(self, owner, name, wrapper, why, original=ABSENT) -> None:
        self.owner = owner
        self.name = name
        self.wrapper = wrapper  # what stands there now
        self.why = why
        self.original = original  # what its own __dict__ had there
        self.is_fixed = False  # stays where the others step aside for torch.compile
        self.undo = None  # takes it out, where setting the attribute would not

    def __str__(self) -> str:
        owner = self.owner
        module = getattr(owner, "__module__", None)
        if module is None:  # of a module
            return f"{owner.__name__}.{self.name}"
        kind = owner if isinstance(owner, type) else type(owner)
        return f"{module}.{kind.__qualname__}.{self.name}"

    def is_in_place(self) -> bool:
        return vars(self.owner).get(self.name, ABSENT) is self.wrapper

    def set(self) -> None:
        setattr(self.owner, self.name, self.wrapper)

    def take(self) -> bool:
        """False where somebody has replaced it after us: theirs to keep."""
        if self.undo is not None:
            self.undo()
        elif not self.is_in_place():
            return False
        elif self.original is ABSENT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self.original)
        return True


class Moving:
    """Patches that come and go by themselves: functions that list them, take them away
    for a while and put them back."""

    __slots__ = ("away", "back", "listed")

    def __init__(self, listed, away, back) -> None:
        self.listed, self.away, self.back = listed, away, back


def put(owner, name, wrapper, why, is_fixed: bool = False) -> None:
    """Sets the attribute; the list knows it from now on."""
    patch = Patch(owner, name, wrapper, why, vars(owner).get(name, ABSENT))
    patch.is_fixed = is_fixed
    patch.set()
    _patches.append(patch)


def note(owner, name, wrapper, why, undo) -> None:
    """What was changed by other means than an attribute; `undo` changes it back."""
    patch = Patch(owner, name, wrapper, why, wrapper)
    patch.is_fixed, patch.undo = True, undo
    _patches.append(patch)


def also(moving) -> None:
    _outside.append(moving)


def installed():
    """All Patches there are now."""
    return [*_patches, *(patch for moving in _outside for patch in moving.listed())]


def take_away() -> None:
    """As if nothing had been patched, until put_back(); what is fixed stays."""
    for patch in _patches:
        if not patch.is_fixed:
            patch.take()
    for moving in _outside:
        moving.away()


def put_back() -> None:
    for patch in _patches:
        found = vars(patch.owner).get(patch.name, ABSENT)
        if not patch.is_fixed and found is patch.original:
            patch.set()
    for moving in _outside:
        moving.back()


def uninstall():
    """Takes all of it out, the newest first. Returns the Patches that could not be, because
    somebody else's stands in the same place."""
    kept = [patch for patch in reversed(installed()) if not patch.take()]
    _patches.clear()
    _outside.clear()
    return kept
