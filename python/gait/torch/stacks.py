# SPDX-License-Identifier: Apache-2.0
"""with_stack: Python functions on record while a capture or a window is open."""

import os
import site
import sys

from .. import _native
from .._say import say

OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def prefixes(torch):
    """What a file's path is told without: the folders that Python imports from."""
    folders = [*sys.path, os.path.dirname(os.path.dirname(torch.__file__))]
    for name in "getsitepackages getuserbase getusersitepackages".split():
        found = getattr(site, name, list)()  # virtualenv's own site lacks some
        folders += found if isinstance(found, list) else [found]
    texts = (folder for folder in folders if isinstance(folder, str))
    return tuple(sorted({os.path.abspath(folder) + os.sep for folder in texts}))


def begin() -> bool:
    """True if they are on record now: then end() is due."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    call = torch.nn.Module.__call__
    try:
        _native._frames_configure(getattr(call, "__code__", None), OWN_FOLDER, prefixes(torch))
        _native._frames_hold()
    except RuntimeError as error:
        say(f"with_stack=True: no Python functions are recorded: {error}", once="with_stack")
        return False
    return True


def end() -> bool:
    _native._frames_leave()
    return True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_native._frames_forget)
