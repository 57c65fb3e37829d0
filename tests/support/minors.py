# SPDX-License-Identifier: Apache-2.0
"""Other CPythons with headers on this machine, and the package built for them."""

import glob
import itertools
import json
import os
import subprocess
import sys

ASK = """
import json, sys, sysconfig
print(json.dumps([sys.version_info[:2], sys.implementation.name, sys.abiflags,
                  sysconfig.get_paths()["include"], sysconfig.get_config_var("EXT_SUFFIX")]))
"""
PLACES = ["/usr/bin/python3.*", "/usr/local/bin/python3.*", "~/.pyenv/versions/*/bin/python3"]


def other_pythons():
    """{minor: (python, include folder, suffix)}, without the one that runs this."""
    found = {}
    named = [path for path in os.environ.get("GAIT_TEST_PYTHONS", "").split(":") if path]
    places = (sorted(glob.glob(os.path.expanduser(place))) for place in PLACES)
    for python in [*named, *itertools.chain(*places)]:
        if python.endswith("config"):
            continue
        done = subprocess.run([python, "-c", ASK], capture_output=True, text=True)
        if done.returncode:
            continue
        minor, name, flags, include, suffix = json.loads(done.stdout)
        usable = name == "cpython" and "t" not in flags and minor >= [3, 8]
        if usable and tuple(minor) != sys.version_info[:2]:
            if os.path.exists(os.path.join(include, "Python.h")):
                found.setdefault("{}.{}".format(*minor), (python, include, suffix))
    return found


def build_package(root, build, folder, include, suffix, optimize="-O0"):
    package = folder / "gait"
    package.mkdir()
    for source in (root / "python/gait").rglob("*.py"):
        place = package / source.relative_to(root / "python/gait")
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(source)
    for library in ("libgait.so", "libgait-read.so"):
        (package / library).symlink_to(build / library)
    extension = root / "python/gait/ext"
    sources = sorted(map(str, extension.rglob("*.c")))
    command = [os.environ.get("CC", "cc"), "-std=c11", optimize, "-fPIC", "-shared", "-Wall"]
    command += ["-Wextra", "-Werror", "-fvisibility=hidden", "-isystem", include]
    # Debian's pyconfig.h includes one that lies beside the folder
    command += ["-idirafter", os.path.dirname(include)]
    command += [f"-I{root}/include", f"-I{root}/src", f"-I{extension}", *sources]
    command += ["-o", str(package / ("_native" + suffix))]
    command += [f"-L{build}", "-lgait", "-Wl,-rpath,$ORIGIN", "-pthread"]
    subprocess.run(command, check=True)
