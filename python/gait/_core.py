# SPDX-License-Identifier: Apache-2.0
"""The functions that record: the extension's, or ones that do nothing where it is not.

Modules of the package take them from here, and nothing from the package itself, which is
made of them.
"""

import sys

why_off = ""
if "t" in getattr(sys, "abiflags", ""):
    why_off = (
        "this is a free-threaded Python, which gait does not support yet; "
        "run the program with the usual build"
    )
else:
    try:
        from ._native import *  # noqa: F403
        from ._native import _metadata as _metadata
    except ImportError as error:
        from ._off import _explain

        why_off = _explain(error)
if why_off:
    from . import _off
    from ._off import *  # type: ignore[assignment]  # noqa: F403
    from ._off import _metadata as _metadata

    _off.why = why_off
