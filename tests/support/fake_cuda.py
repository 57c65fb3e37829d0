# SPDX-License-Identifier: Apache-2.0
"""Libraries under the names of CUDA's and NVTX's, which write down how they are called."""

import importlib.util
import pathlib
import subprocess

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static void say(const char *text) {
    FILE *file = fopen(getenv("FAKE_LOG"), "a");
    fprintf(file, "%s\n", text);
    fclose(file);
}
int cudaProfilerStart(void) { say("start"); return 0; }
int cudaProfilerStop(void) { say("stop"); return 0; }
int cudaGetDeviceCount(int *count) { *count = 1; return 0; }
int nvtxRangePushA(const char *name) { say(name); return 0; }
int nvtxRangePop(void) { say("pop"); return 0; }
"""


def is_needless():
    """Whether torch brings the real ones."""
    folders = importlib.util.find_spec("torch").submodule_search_locations
    return any(pathlib.Path(folder, "lib", "libtorch_cuda.so").exists() for folder in folders)


def make_library(folder, name):
    (folder / "fake.c").write_text(SOURCE)
    line = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", folder / name]
    subprocess.run([*line, folder / "fake.c"], check=True)


def make(place):
    """The variables with which a process finds them."""
    folder = place / "fake"
    folder.mkdir()
    for name in ("libcudart.so", "libnvToolsExt.so.1"):
        make_library(folder, name)
    return {"LD_LIBRARY_PATH": str(folder), "FAKE_LOG": str(place / "log")}


def calls(place):
    return (place / "log").read_text().split()
