# SPDX-License-Identifier: Apache-2.0
"""torch.profiler's calls, tables and traces (names.py); loaded when they are asked for."""

import importlib

from .._core import why_off
from .names import MODULES, NAMES, NEED_EXTENSION


def __getattr__(name):
    if name in MODULES:
        return importlib.import_module("." + name, __name__)
    if name not in NAMES:
        raise AttributeError(f"module 'gait.torch' has no attribute {name!r}")
    if why_off and NAMES[name] in NEED_EXTENSION:
        from .. import _nothing

        return getattr(_nothing, name)
    module = importlib.import_module("." + NAMES[name], __name__)
    return module.find(name) if hasattr(module, "find") else getattr(module, name)
