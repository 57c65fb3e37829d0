# SPDX-License-Identifier: Apache-2.0
"""Runs in each Python that `gait run` starts: waits for `import torch`.

`gait run` puts this folder first in PYTHONPATH. Nothing is imported here but
what the interpreter has loaded anyway; then the sitecustomize that would have
run without us has its turn, and sys.path is what it would have been.
"""

import os
import sys


def _packages(own):
    """Where gait may lie for this Python: beside the tool, as another version of Python has
    it there, and in what this Python has installed."""
    yield own
    version = "python%d.%d" % sys.version_info[:2]
    parts = own.split(os.sep)
    for i, part in enumerate(parts):
        if part.startswith("python3."):
            yield os.sep.join(parts[:i] + [version] + parts[i + 1 :])
    for entry in sys.path:
        yield os.path.join(entry, "gait")


def _fitting(own):
    """The first with an extension for this Python, else ours, which says what is missing."""
    try:
        from _imp import extension_suffixes
    except ImportError:  # Python 2
        return own
    for package in _packages(own):
        for suffix in extension_suffixes():
            if os.path.exists(os.path.join(package, "_native" + suffix)):
                return package
    return own


def _begin(folder):
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    if os.environ.get("GAIT_DIR") and os.environ.get("GAIT_ENABLE") != "0":
        chosen = os.path.join(_fitting(os.path.dirname(folder)), "preload")
        sys.path.insert(0, chosen)
        try:
            import _gait_start
        finally:
            sys.path.remove(chosen)
        _gait_start.begin()
        _gait_start.begin_profiler()
        sys.meta_path.append(_gait_start.LastFinder)


def _give_way():
    """What a second `import sitecustomize` finds is what there would have been.

    Where there is none we end as if we had not been there either: site takes an
    ImportError of this name for that.
    """
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401


try:
    _begin(os.path.dirname(os.path.abspath(__file__)))
except Exception as error:  # whatever it is, it must not cost the training
    if sys.stderr is not None:
        sys.stderr.write("gait: nothing is recorded: %s\n" % error)
_give_way()
