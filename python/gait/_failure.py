# SPDX-License-Identifier: Apache-2.0
"""The exception that ended the program, as Python leaves it in sys when nobody caught it."""

import json
import os
import sys

from . import _native
from ._vocabulary import META_FAILURE

MOST = 500  # characters of what it says
LEFT = "_gait_phase"  # where an exception keeps the innermost phase that it left

# Whose functions are at work in a phase, where their names do not differ by version.
PHASES = (
    ("torch/utils/data/dataloader.py", ("__next__",), "input"),
    ("torch/nn/modules/module.py", ("_call_impl", "_wrapped_call_impl"), "forward"),
    ("torch/_tensor.py", ("backward",), "backward"),
    ("torch/autograd/__init__.py", ("backward", "grad"), "backward"),
    ("torch/optim/optimizer.py", ("wrapper", "profile_hook_step", "_use_grad"), "optimizer"),
    ("torch/serialization.py", ("save", "load"), "checkpoint"),
    ("torch/distributed/distributed_c10d.py", None, "communication"),
)


def tell() -> None:
    """At exit. Nothing of Python's is hooked for it; a shell that goes on has a failure on
    record, too, which counts only where the process ends with a code other than 0."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None or isinstance(error, KeyboardInterrupt) or not _native.recording():
        return
    told = {"type": type(error).__name__, "text": str(error)[:MOST]}
    traceback = getattr(sys, "last_traceback", None)
    told.update(place(traceback))
    phase = error.__dict__.get(LEFT) or phase_in(traceback)
    if phase:
        told["phase"] = phase
    _native._metadata(META_FAILURE, json.dumps(told))


def leave(name, error, traceback) -> None:
    """An exception leaves a phase that the program marked. Nothing else knows of it when the
    program ends; the exception may be caught, and others may follow."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        error.__dict__.setdefault(LEFT, phase_in(traceback) or name)


def phase_in(traceback):
    """The innermost phase of torch's that it leads through, or None."""
    phase = None
    while traceback is not None:
        phase = phase_of(traceback.tb_frame.f_code) or phase
        traceback = traceback.tb_next
    return phase


def place(traceback) -> dict:
    """Of the innermost frame that is the user's own, else of the innermost."""
    found = best = None
    while traceback is not None:
        found = traceback
        if not is_library(found.tb_frame.f_code.co_filename):
            best = found
        traceback = traceback.tb_next
    frame = best or found
    if frame is None:
        return {}
    code = frame.tb_frame.f_code
    return {"file": code.co_filename, "line": frame.tb_lineno, "function": code.co_name}


def phase_of(code):
    """The phase that a function of torch tells; None: no such function."""
    path = code.co_filename.replace(os.sep, "/")
    for ending, names, phase in PHASES:
        if path.endswith(ending) and (names is None or code.co_name in names):
            return phase
    return None


def is_library(path) -> bool:
    import sysconfig

    parts = os.path.normpath(path).split(os.sep)
    library = sysconfig.get_paths()["stdlib"]
    return (
        "site-packages" in parts
        or "dist-packages" in parts
        or path.startswith((library + os.sep, "<frozen"))
    )
