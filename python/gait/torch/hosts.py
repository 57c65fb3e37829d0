# SPDX-License-Identifier: Apache-2.0
"""Collectors of a window whose work is done in Python (src/collect/hosted.c).

A host is a module with begin(), which is true where the collector is on now, end(), and
step(number) where it wants steps. It is imported when a window first asks for it.
"""

import importlib

from .. import _native

HOSTS = {"python": "stacks", "nsight": "nsight_run", "devices": "devices"}


def install() -> None:
    for collector, name in HOSTS.items():
        _native._window_host(collector, *calls(name))


def calls(name):
    def module():
        return importlib.import_module("." + name, __package__)

    return lambda: module().begin(), lambda: module().end(), lambda number: module().step(number)
