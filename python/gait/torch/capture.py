# SPDX-License-Identifier: Apache-2.0
"""What one cycle of a profile() recorded: where it lies and how it was asked for.

A capture is a time of one process in the files of a run. The recorder's own event
marks it (async, category `torch`, name `capture`, id: the capture's number), so that
its edges are on the clock of everything else in that file. It answers no question;
averages.py and traces.py do.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from .. import _native
from .._nothing import CaptureError
from .._vocabulary import ANNOTATION, CAPTURE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stem_of(name):
    """Of a shard's file."""
    return name[: -len(".gait")] if name.endswith(".gait") else name


STEP = "ProfilerStep#"  # the name of a step's span, before its number

_folder = []  # pid and path: of this process's own runs and frozen copies: gone at exit


def temporary_folder():
    """A folder of this process that is gone when it ends."""
    if not _folder or _folder[0] != os.getpid():
        _folder[:] = [os.getpid(), tempfile.mkdtemp(prefix="gait-capture-")]
        atexit.register(_remove, *_folder)
    return _folder[1]


def _remove(pid, path) -> None:
    if os.getpid() == pid:  # a child of fork leaves its parent's alone
        shutil.rmtree(path, ignore_errors=True)


class Capture:
    """One finished capture; read-only, and good for any number of exports.

    number    of the event that marks it
    pid       the process it is of
    rank      its global rank, None where there is one process only
    partial   it was stopped before the schedule said so
    trigger   it was asked for while the program ran
    options   dict: record_shapes, profile_memory, with_stack, with_flops, with_modules
              (bool), activities (names such as "CPU")
    metadata  dict of key → JSON text, from add_metadata_json()
    """

    def __init__(
        self,
        path,
        number,
        options,
        metadata,
        rank=None,
        partial: bool = False,
        trigger: bool = False,
    ) -> None:
        self.number = number
        self.pid = os.getpid()
        self.rank = rank
        self.partial = partial
        self.trigger = trigger
        self.options = options
        self.metadata = metadata
        self._path = self._origin = path
        self._with_devices: Any = None  # a folder, once there was work of devices
        self._times: Any = None
        self._steps: Any = None

    @property
    def paths(self) -> list[str]:
        """The files that hold it, the same bytes each time; with work of devices a folder.

        A file that is still being written is copied at the first question: a later
        reading of its clock may move times by a nanosecond.
        """
        if self._path is not None and self._path == _native.shard_path():
            _native.flush()
            folder = tempfile.mkdtemp(dir=temporary_folder())
            self._path = shutil.copy(self._path, folder)
        if self._path is None or not os.path.exists(self._path):
            raise CaptureError(f"the file of this capture is gone: {self._path}")
        return [self._path if not self.options.get("device") else self._joined()]

    def _joined(self):
        """The file beside those of the devices, which name it by its name."""
        folder, name = os.path.split(self._origin)
        start = stem_of(name) + ".devices-"
        found = [entry for entry in sorted(os.listdir(folder)) if entry.startswith(start)]
        found = [entry for entry in found if entry.endswith(".gait")]
        if found and self._with_devices is None:
            self._with_devices = tempfile.mkdtemp(dir=temporary_folder())
            shutil.copy(self._path, os.path.join(self._with_devices, name))
            for entry in found:
                shutil.copy(os.path.join(folder, entry), self._with_devices)
        return self._with_devices or self._path

    @property
    def begin_ns(self) -> int:
        """When it began, in ns since the epoch."""
        return self._edges()[0]

    @property
    def end_ns(self) -> int:
        """When it ended, in ns since the epoch."""
        return self._edges()[1]

    @property
    def steps(self) -> list[tuple[int, int, int]]:
        """[(number, begin_ns, end_ns)] of the steps, [] without a schedule."""
        if self._steps is None:
            begin, end = self._edges()
            self._steps = []
            for event in self._events("span", begin, end):
                if event.category == ANNOTATION and event.name.startswith(STEP):
                    if begin <= event.start_ns and event.duration_ns is not None:
                        number = int(event.name[len(STEP) :])
                        last = event.start_ns + event.duration_ns
                        self._steps.append((number, event.start_ns, last))
        return self._steps

    def _edges(self):
        if self._times is None:
            for event in self._events("async"):
                if (event.category, event.name, event.id) == (*CAPTURE, self.number):
                    if event.pid == self.pid and event.duration_ns is not None:
                        self._times = event.start_ns, event.start_ns + event.duration_ns
                        break  # Python functions follow, and may be many
            if self._times is None:
                raise CaptureError("the capture is not in its file: the recorder lost it")
        return self._times

    def _events(self, kind, begin: int = 0, end: int = 0):
        from .. import trace

        for path in self.paths:
            with trace.open(path) as opened:
                yield from opened.events(kind=kind, since_ns=begin, until_ns=end)
