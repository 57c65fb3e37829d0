# SPDX-License-Identifier: Apache-2.0
"""What `pip install` builds the package with: meson-python, but for `pip install -e`.

meson-python's editable package has no tool in it, lacks the libraries that stand beside
the extension, and imports a build of its own anew each time. What it has built holds all
of that already, as `make` leaves it: the tool, and beside it the package, made of links to
the sources. So the editable package is a path to the one and a script that runs the other.
"""

import base64
import hashlib
import os
import shlex
import stat
import sys
import zipfile

import mesonpy
from mesonpy import (  # noqa: F401, these are pip's to call
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    settings = dict(config_settings or {})
    folder = settings.pop("build-dir", settings.get("builddir"))
    if folder is None:  # a Python's own: its extension is in it
        folder = f"build/editable-{sys.implementation.cache_tag}{sys.abiflags}"
    settings["builddir"] = os.path.abspath(folder)
    name = mesonpy.build_editable(wheel_directory, settings, metadata_directory)
    point_to_build(os.path.join(wheel_directory, name), settings["builddir"])
    return name


def point_to_build(wheel, build):
    """Keeps what an editable wheel says of itself; its content becomes the build's."""
    with zipfile.ZipFile(wheel) as archive:
        told = [name for name in archive.namelist() if name.split("/")[0].endswith(".dist-info")]
        files = {name: archive.read(name) for name in told if not name.endswith("/RECORD")}
    stem = told[0].split("/")[0][: -len(".dist-info")]
    tool = shlex.quote(os.path.join(build, "gait"))
    files["gait-editable.pth"] = os.path.join(build, "python").encode() + b"\n"
    files[f"{stem}.data/scripts/gait"] = f'#!/bin/sh\nexec {tool} "$@"\n'.encode()
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            mode = 0o755 if "/scripts/" in name else 0o644
            entry.external_attr = (stat.S_IFREG | mode) << 16  # pip asks it who may run it
            archive.writestr(entry, data)


def digest(data):
    text = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return "sha256=" + text
