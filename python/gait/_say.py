# SPDX-License-Identifier: Apache-2.0
"""Sentences for people, on stderr: one line each, or on a terminal lines of 78 columns.

All that this package says goes through here, but what preload/ says before there is
a package. It may be loaded in any process, so it imports nothing.
"""

import sys

COLUMNS = 78

_said = set()


def wrap(words):
    """Between words only: a path stays whole."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > COLUMNS:
            lines.append(" ")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines) + "\n"


def put(text) -> None:
    """A stderr that is closed, or none at all, is no reason to end a training."""
    try:
        sys.stderr.write(text)
    except (AttributeError, OSError, ValueError):
        pass


def is_terminal():
    try:
        return sys.stderr.isatty()
    except (AttributeError, OSError, ValueError):
        return False


def say(words, once=None) -> None:
    """What has lines of its own is left as it is. With `once`, a key, only the first
    sentence of that key in this process is said."""
    if once is not None:
        if once in _said:
            return
        _said.add(once)
    words = "gait: " + words
    put(wrap(words) if "\n" not in words and is_terminal() else words + "\n")


def say_off(why) -> None:
    """To the person who wanted a record."""
    say("nothing is recorded: " + why, once=why)


def attempt(what, function, *arguments) -> None:
    """Where a failure of ours is a sentence, never the end of a training."""
    try:
        function(*arguments)
    except Exception as error:
        say(f"{what}: {type(error).__name__}: {error}")
