# SPDX-License-Identifier: Apache-2.0
"""Runs other scripts one after the other, "name argument" each, in this one process."""

import pathlib
import runpy
import sys

for words in sys.argv[1:]:
    name, *arguments = words.split()
    sys.argv = [name, *arguments]
    print("SCRIPT", words, flush=True)
    runpy.run_path(str(pathlib.Path(__file__).parent / (name + ".py")), run_name="__main__")
