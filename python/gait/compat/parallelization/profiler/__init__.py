# SPDX-License-Identifier: Apache-2.0
"""A package that can be called: `@profiler()`, and `profiler.decorator.step_profiler`."""

import sys
import types

from . import decorator
from .decorator import step_profiler

__all__ = ["decorator", "step_profiler"]


class _Callable(types.ModuleType):
    def __call__(self, *args, **options):
        return decorator.profiler(*args, **options)


sys.modules[__name__].__class__ = _Callable
