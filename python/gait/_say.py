# SPDX-License-Identifier: Apache-2.0
"""Sentences for people, on stderr: one line each, or on a terminal lines of 78 columns."""

import sys

COLUMNS = 78


def wrap(words):
    """Between words only: a path stays whole."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > COLUMNS:
            lines.append(" ")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines) + "\n"


def say(words):
    """What has lines of its own is left as it is. A stderr that is closed, or none at
    all, is no reason to end a training."""
    words = "gait: " + words
    try:
        is_whole = "\n" in words or not sys.stderr.isatty()
        sys.stderr.write(words + "\n" if is_whole else wrap(words))
    except (AttributeError, OSError, ValueError):
        pass
