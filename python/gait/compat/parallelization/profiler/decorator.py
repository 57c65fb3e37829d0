# SPDX-License-Identifier: Apache-2.0
"""gait's decorator where `parallelization` has its own."""

from gait import profiler, step_profiler

__all__ = ["profiler", "step_profiler"]
