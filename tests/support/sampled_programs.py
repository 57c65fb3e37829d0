# SPDX-License-Identifier: Apache-2.0
"""Every Python there is, and what samples of its programs say."""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import time

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "sample"
PLACES = ["/usr/bin/python3.*", "/usr/local/bin/python3.*", "~/.pyenv/versions/*/bin/python3"]
KNOWN = range(8, 16)


def minor_of(python):
    ask = "import sys; print(sys.implementation.name, sys.version_info[1])"
    try:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    name, _, minor = done.stdout.strip().partition(" ")
    return int(minor) if name == "cpython" and minor.isdigit() else None


def find_pythons():
    named = [path for path in os.environ.get("GAIT_TEST_PYTHONS", "").split(":") if path]
    places = [path for place in PLACES for path in glob.glob(os.path.expanduser(place))]
    found = {}
    for path in [*named, sys.executable, *sorted(places)]:
        if os.path.basename(path).endswith("config"):
            continue
        minor = minor_of(path)
        if minor in KNOWN:
            found.setdefault(minor, path)
    return found


PYTHONS = find_pythons()


def may_sample_children():
    """False where a seccomp filter or kernel.yama.ptrace_scope 2 forbids it."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return libc.process_vm_readv(child.pid, None, 0, None, 0, 0) == 0
    except AttributeError:
        return False
    finally:
        child.communicate(b"\n")


RIGHT = may_sample_children()


def until(condition, seconds=20):
    """What `condition` gives once it is true; it is asked again and again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    return condition()


def read_folded(path):
    """[(frames, count)] of a raw file; frames are (name, file, line)."""
    out = []
    for row in pathlib.Path(path).read_text(errors="replace").splitlines():
        stack, _, count = row.rpartition(" ")
        frames = []
        for frame in stack.split(";"):
            name, _, place = frame.rpartition(" (")
            file, _, line = place.rstrip(")").rpartition(":")
            frames.append((name, file, int(line)) if line.isdigit() else (frame, "", 0))
        out.append((frames, int(count)))
    return out
