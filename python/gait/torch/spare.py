# SPDX-License-Identifier: Apache-2.0
"""A capture that is thrown away with the first step(): only a run that never calls it
needs it. The first step of others may be an epoch, so it must not grow for ever."""

import os
import threading

from .. import _native
from .._vocabulary import CAPTURE

LIMIT_BYTES = 32 << 20  # some three million ops
EACH_SECONDS = 0.5


class Watch:
    """Calls cut(), on a thread of its own, when the file has grown too much."""

    def __init__(self, cut, is_open) -> None:
        self._cut = cut
        self._is_open = is_open
        self._over = threading.Event()
        self._path = _native.shard_path()
        self._before = self._bytes()
        threading.Thread(target=self._watch, name="gait-spare", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _bytes(self):
        try:
            return os.path.getsize(self._path)
        except (OSError, TypeError):
            return 0

    def _watch(self) -> None:
        while not self._over.wait(EACH_SECONDS) and self._is_open():
            if self._bytes() - self._before > LIMIT_BYTES:
                self._cut()


class Spare:
    """It is open from now on; `close` is called where it is cut off, on any thread."""

    def __init__(self, number, close) -> None:
        self.number = number
        self.is_cut = False
        self._close = close
        self._lock = threading.Lock()
        self._is_over = False
        _native.async_begin(_native.site(*CAPTURE), number)
        self._watch = Watch(self._cut, lambda: not self._is_over)

    def end(self, before) -> None:
        """`before` is called first, and never while it is being cut off."""
        with self._lock:
            before()
            self._end()

    def _end(self) -> bool:
        if self._is_over:
            return False
        self._is_over = True
        self._watch.stop()
        _native.async_end(_native.site(*CAPTURE), self.number)
        return True

    def _cut(self) -> None:
        with self._lock:
            if self._end():
                self.is_cut = True
                self._close()
