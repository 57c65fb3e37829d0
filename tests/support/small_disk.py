# SPDX-License-Identifier: Apache-2.0
"""A file system that is soon full."""

import contextlib
import os
import subprocess

import pytest


@contextlib.contextmanager
def small_disk_at(path, size):
    """A tmpfs of that size at `path`, which is made; skips where none can be mounted."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
