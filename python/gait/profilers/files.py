# SPDX-License-Identifier: Apache-2.0
"""Where a profiler's report goes: Lightning's file names, but the global rank."""

from __future__ import annotations

import os
import re
import sys

from .._files import through_no_link
from .._ranks import global_rank
from .._say import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def file_name(parts, extension):
    """Joins what there is, without what some file system does not take."""
    texts = (part if isinstance(part, str) else str(part) for part in parts if part is not None)
    base = "-".join(texts)  # an Enum that is a str: its value
    base = re.sub(r'[\\/:*?"<>|\x00-\x1f\x7f]', "_", base)
    base = re.sub("[\ud800-\udc7f\udd00-\udfff]", "_", base)  # nor is that any name's byte
    base = re.sub(r"_+", "_", base).strip()
    return (base or "profile") + extension


def writable(text):
    """The text as a file and a terminal take it, whatever an action was called."""
    try:
        text.encode("utf-8", "surrogateescape")
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def reason(error):
    return getattr(error, "strerror", None) or str(error)


def show(text) -> None:
    """print() where the terminal may not know the letters."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        kind = getattr(sys.stdout, "encoding", None) or "ascii"
        print(text.encode(kind, "backslashreplace").decode(kind), flush=True)


class Report:
    """What all profilers have in common: a stage, a rank, and a file to append to.

    Who has it as a base has FIELDS among its __slots__: an object without a
    __dict__ is quicker to call (3.11: 12 ns a call of some 30).
    """

    __slots__ = ()
    FIELDS = ("dirpath", "filename", "_stage", "_local_rank", "__weakref__")

    def __init__(self, dirpath=None, filename=None) -> None:
        self.dirpath = dirpath
        self.filename = filename
        self._stage: Any = None
        self._local_rank: Any = None

    def setup(self, stage=None, local_rank=None, log_dir=None) -> None:
        """What Lightning's trainer tells before a stage."""
        self._stage = stage
        self._local_rank = local_rank
        self.dirpath = self.dirpath or log_dir

    def teardown(self, stage=None) -> None:
        """After a stage. Nothing stays open here, so there is nothing to close."""

    @property
    def rank(self):
        """The global rank, or None in a job of one process."""
        rank = global_rank()
        return self._local_rank if rank is None else rank

    @property
    def local_rank(self):
        return self._local_rank or 0

    def path(self, action=None, extension: str = ".txt"):
        """Where the report goes: {stage}-{filename}-{rank}[-{action}].txt."""
        name = file_name((self._stage, self.filename or None, self.rank, action), extension)
        return os.path.join(os.fspath(self.dirpath or "."), name)

    def describe(self) -> None:
        """Appends the summary to its file; without a file name, rank 0 prints it."""
        text = writable(self.summary())
        if self.filename and self.dirpath:
            path = self.path()
            try:
                path = os.path.abspath(path)
                os.makedirs(self.dirpath, exist_ok=True)
                with open(
                    path,
                    "a",
                    encoding="utf-8",
                    errors="surrogateescape",
                    opener=through_no_link,
                ) as file:
                    file.write(text)
            except (OSError, ValueError) as error:  # ValueError: a NUL in the path
                say(f"cannot write the report to {path!r}: {reason(error)}; here it is instead")
            else:
                say(f"the report is in '{path}'")
                self.teardown(self._stage)
                return
        if not self.rank:
            show(text)
        self.teardown(self._stage)

    def __reduce__(self):
        # what was measured stays in the process that measured it
        options = {"dirpath": self.dirpath, "filename": self.filename}
        return rebuild, (type(self), {**options, **self._options()})

    def _options(self):
        return {}


def rebuild(kind, options):
    return kind(**options)
