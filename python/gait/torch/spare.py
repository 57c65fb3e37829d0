# SPDX-License-Identifier: Apache-2.0
"""A capture that is thrown away with the first step(): only a run that never calls it
needs it. The first step of others may be an epoch, so it must not grow for ever."""

import os
import threading

from .. import _gait

LIMIT_BYTES = 32 << 20  # some three million ops
EACH_SECONDS = 0.5


class Spare:
    """It is open from now on; `close` is called where it is cut off, on any thread."""

    def __init__(self, number, close):
        self.number = number
        self.is_cut = False
        self._close = close
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._path = _gait.shard_path()
        self._before = self._bytes()
        _gait.async_begin(_gait.site("torch", "capture"), number)
        threading.Thread(target=self._watch, name="gait-spare", daemon=True).start()

    def end(self):
        with self._lock:
            if not self._over.is_set():
                self._over.set()
                _gait.async_end(_gait.site("torch", "capture"), self.number)

    def _bytes(self):
        try:
            return os.path.getsize(self._path)
        except (OSError, TypeError):
            return 0

    def _watch(self):
        while not self._over.wait(EACH_SECONDS):
            if self._bytes() - self._before > LIMIT_BYTES:
                self._cut()

    def _cut(self):
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
            self.is_cut = True
            _gait.async_end(_gait.site("torch", "capture"), self.number)
            self._close()
