# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's Nsight Systems wants to know: when to record, and where a step is.

nsys records from cudaProfilerStart to cudaProfilerStop if it is told to, so these
follow the schedule; each step is an NVTX range. Nothing of CUDA is needed to be here.
"""

import ctypes
import ctypes.util
import os
import shlex
import sys

from ._say import say

CUDART = ("libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0")
NVTX = ("libnvToolsExt.so.1", "libnvToolsExt.so", "libnvtx3interop.so.1", "libnvtx3interop.so")


def _loaded(*stems):
    """The path of a library that this process has already: torch brings its own."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                name = path[2].rpartition("/")[2]
                if path[1] and name.startswith(stems) and ".so" in name:
                    return "/" + path[2]
    except OSError:
        pass
    return None


def _find(stems, names):
    for name in (_loaded(*stems), *names):
        if name is not None:
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
    return None


def _ranges():
    """The functions that begin and end a range: torch's own, which know their library
    wherever it lies, else a library's; (None, None) where there is neither."""
    torchs = getattr(getattr(sys.modules.get("torch"), "_C", None), "_nvtx", None)
    push, pop = getattr(torchs, "rangePushA", None), getattr(torchs, "rangePop", None)
    if push is not None and pop is not None:
        return push, pop
    library = _find(("libnvToolsExt", "libnvtx3interop"), NVTX)
    push, pop = getattr(library, "nvtxRangePushA", None), getattr(library, "nvtxRangePop", None)
    if push is None or pop is None:
        return None, None
    return lambda name: push(name.encode("utf-8", "replace")), pop


class Nsight:
    """cudaProfilerStart and -Stop, and ranges; each does nothing where it cannot."""

    def __init__(self) -> None:
        runtime = _find(("libcudart",), CUDART)
        self._start = getattr(runtime, "cudaProfilerStart", None)
        self._stop = getattr(runtime, "cudaProfilerStop", None)
        self._push, self._pop = _ranges()
        self.is_there = self._start is not None and self._stop is not None
        if self.is_there:
            count = ctypes.c_int()
            asked = getattr(runtime, "cudaGetDeviceCount", None)
            self.is_there = asked is not None and not asked(ctypes.byref(count)) and count.value > 0
        self._pushed = 0

    def start(self) -> None:
        if self.is_there:
            self._start()

    def stop(self) -> None:
        if self.is_there:
            self._stop()

    def push(self, name) -> None:
        if self._push is not None:
            self._push(name)
            self._pushed += 1

    def pop(self) -> None:
        if self._pop is not None and self._pushed:
            self._pushed -= 1
            self._pop()


NOTHING_THERE = "nsight_enabled: no CUDA device or runtime here: nsys has nothing to record"


def following(profile, output, cycles, is_first):
    """The class of profiles, made to tell Nsight of its captures and steps, where there is
    somebody to tell; else a sentence why not, and the class as it is."""
    nsight = Nsight()
    if not nsight.is_there:
        say(NOTHING_THERE)
        return profile
    if is_first:
        say(f"to record with Nsight Systems, run:\n  {command(output, cycles)}")

    class Followed(profile):
        def _begin(self) -> None:
            super()._begin()
            nsight.start()

        def _end(self, is_partial) -> None:
            nsight.stop()
            super()._end(is_partial)

        def _mark_step(self) -> None:
            super()._mark_step()
            nsight.push(f"ProfilerStep#{self.step_num}")

        def _unmark_step(self) -> None:
            nsight.pop()
            super()._unmark_step()

    return Followed


def command(output, cycles):
    """The line that has nsys record what the schedule says."""
    script = [part for part in sys.argv if part] or ["train.py"]
    end = "stop" if cycles == 1 else f"repeat:{cycles}" if cycles else "repeat"
    return " ".join(
        shlex.quote(word)
        for word in (
            "nsys",
            "profile",
            "--capture-range=cudaProfilerApi",
            f"--capture-range-end={end}",
            "--trace=cuda,nvtx,osrt",
            "-o",
            output,
            os.path.basename(sys.executable) or "python",
            *script,
        )
    )
