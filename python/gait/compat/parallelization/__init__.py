# SPDX-License-Identifier: Apache-2.0
"""The profiler decorator of `parallelization`, under its import paths.

    from gait.compat.parallelization import profiler
    from gait.compat.parallelization.profiler.decorator import step_profiler

After install() the same works without the prefix `gait.compat.`.
"""

import sys

from ..._say import say
from . import profiler
from .profiler.decorator import step_profiler

__all__ = ["install", "profiler", "ray", "step_profiler"]


def ray(function=None, **options):
    """In the place of the launcher of that name: the function runs here, in this process.

    gait starts no cluster. Keep your own launcher around @profiler(): it finds out
    by itself which rank it is in.
    """
    if function is not None:
        return function
    asked = ", ".join(f"{key}={value}" for key, value in options.items())
    say(f"@ray({asked}) runs the function here: gait starts no cluster")
    return lambda target: target


def install():
    """Makes `from parallelization import profiler` find this; False if there is another."""
    if sys.modules.get("parallelization", sys.modules[__name__]) is not sys.modules[__name__]:
        return False
    for path in ("", ".profiler", ".profiler.decorator"):
        sys.modules["parallelization" + path] = sys.modules[__name__ + path]
    return True
