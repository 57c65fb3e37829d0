# SPDX-License-Identifier: Apache-2.0
"""The C types behind gait.profilers, or the reason why there are none."""

from . import _why_off

if _why_off:

    class Actions:
        def __new__(cls, *_, **__):
            raise RuntimeError("gait's profilers need its C extension: " + _why_off)

    Tracer = Actions
else:
    from ._gait import _Actions as Actions  # noqa: F401
    from ._gait import _Tracer as Tracer  # noqa: F401
