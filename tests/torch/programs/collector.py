# SPDX-License-Identifier: Apache-2.0
"""The collector of libgait.so through ctypes, for programs under test.

Importing this needs torch and GAIT_BUILD. Nothing of the Python package is
used, so that the collector is tested without its hooks.
"""

import ctypes
import json
import os

import torch

SHAPES, MEMORY, STRIDES = 1, 2, 4
AVOIDED = (
    "Python PythonTLSSnapshot NestedTensor AutogradNestedTensor Functionalize"
    " FuncTorchBatched FuncTorchGradWrapper"
)

library = ctypes.CDLL(os.path.join(os.environ["GAIT_BUILD"], "libgait.so"))
library.gait_torch_guard.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
library.gait_record_error.restype = ctypes.c_char_p
library.gait_torch_lacks.restype = ctypes.c_char_p
library.gait_torch_describe.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
library.gait_torch_describe.restype = ctypes.c_size_t


def check(status):
    if status:
        raise RuntimeError(f"{status}: {library.gait_record_error().decode()}")


def guard():
    keys = torch._C.DispatchKey
    avoided = 0
    for name in AVOIDED.split():
        if hasattr(keys, name):
            avoided |= torch._C.DispatchKeySet(getattr(keys, name)).raw_repr()
    tensor = torch.empty(3, 5)
    raw = torch._C._dispatch_keys(tensor).raw_repr()
    check(library.gait_torch_guard(tensor._cdata, raw, avoided))


def learn():
    check(library.gait_torch_learn(1))
    for value in 7, 7.25, 7j:
        torch.full([3, 5], value)
    torch.sum(torch.zeros(1, 1), [1], True)
    check(library.gait_torch_learn(0))


def attach(with_guard=True):
    check(library.gait_torch_attach())
    if with_guard:
        guard()
        learn()


def start():
    check(library.gait_start(None))


def stop():
    check(library.gait_stop())


def open_window(levels=0):
    check(library.gait_torch_window_open(levels))


def close_window():
    check(library.gait_torch_window_close())


def ranges(is_on):
    check(library.gait_torch_ranges(int(is_on)))


def lacks():
    return library.gait_torch_lacks().decode()


def describe():
    room = library.gait_torch_describe(None, 0) + 1
    text = ctypes.create_string_buffer(room)
    library.gait_torch_describe(text, room)
    return json.loads(text.value)
