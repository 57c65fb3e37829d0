# SPDX-License-Identifier: Apache-2.0
"""Terminals. Where the system has none (a bare container without /dev/pts), the test
that wants one is skipped."""

import pty

import pytest


def open_terminal():
    """Its two ends, ours and the program's."""
    return wanted(pty.openpty)


def fork_in_terminal():
    """A child whose terminal it is: its pid, which is 0 in itself, and our end."""
    return wanted(pty.fork)


def wanted(make):
    try:
        return make()
    except OSError as error:
        pytest.skip(f"no terminal can be had here, is /dev/pts mounted? ({error})")
