# SPDX-License-Identifier: Apache-2.0
"""The functions of gait._native where it cannot be loaded: they do nothing."""

import os
import sys


def _explain(error):
    """Most often this is another Python than the one that gait was built for."""
    folder = os.path.dirname(os.path.abspath(__file__))
    start = "_native.cpython-"
    try:
        names = os.listdir(folder)
    except OSError:  # in an archive
        names = []
    tags = [name[len(start) :].split("-")[0] for name in names if name.startswith(start)]
    own = "{}{}".format(*sys.version_info)
    if getattr(error, "name", None) != "gait._native" or not tags or own in tags:
        return str(error)
    built = " and ".join(sorted(tag[0] + "." + tag[1:] for tag in tags))
    minor = "{}.{}".format(*sys.version_info)
    return f"gait was built for Python {built}, and this is {minor}: {_remedy(folder, own)}"


def _remedy(folder, own) -> str:
    """The command that brings the extension of this Python: a build's, or a wheel's."""
    if os.path.islink(os.path.join(folder, "__init__.py")):
        return f"'make PYTHON={sys.executable}' builds it anew"
    start, end = "gait-", ".dist-info"  # what pip leaves beside the package
    beside = os.listdir(os.path.dirname(folder))
    versions = [
        n[len(start) : -len(end)] for n in beside if n.startswith(start) and n.endswith(end)
    ]
    wheel = f"gait-{versions[0] if versions else '*'}-cp{own}-*.whl"
    return f"'{sys.executable} -m pip install {wheel}' brings it, the wheel of that Python"


class Span:
    """A span that does nothing."""

    site = 0

    def __init__(self, name: str = "", category: str = "python") -> None:
        self.name = name
        self.category = category

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __call__(self, function):
        return function

    def args(self, **_):
        return self


def span(name, /, category: str = "python"):
    return Span(name, category)


class Step:
    """A step that is not counted."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def step(number=None, /):
    return Step()


def site(category, name, /) -> int:
    return 0


def _nothing(*_):
    return None


begin = end = next = mark = count = arg = step_begin = step_end = _nothing
async_begin = async_end = flow_begin = flow_step = flow_end = _nothing


def start(
    directory=None, *, overflow=None, ring_bytes: int = 0, role=None, subject_pid: int = 0
) -> bool:
    return False


def _no(*_) -> bool:
    return False


stop = flush = snapshot = recording = thread_name = _metadata = rank = _no


why = ""  # set by who chose these


def last_error():
    return why


def shard_path():
    return None
