# SPDX-License-Identifier: Apache-2.0
"""gait/internal/configuration.h through ctypes."""

import ctypes
import json
import os

from . import _read


class gait_config_request(ctypes.Structure):  # noqa: N801: the C struct's name
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("file", ctypes.c_char_p),
        ("arguments", ctypes.POINTER(ctypes.c_char_p)),
        ("argument_count", ctypes.c_size_t),
        ("arguments_from", ctypes.c_char_p),
        ("has_no_file", ctypes.c_int),
        ("has_no_variables", ctypes.c_int),
        ("is_strict", ctypes.c_int),
        ("is_section", ctypes.c_int),
    ]


def _library():
    library = _read._library()
    _read.check_layout(library, gait_config_request)
    library.gait_config_open.restype = ctypes.c_int
    library.gait_config_open.argtypes = [
        ctypes.POINTER(gait_config_request),
        ctypes.POINTER(ctypes.c_void_p),
    ]
    library.gait_config_json.restype = ctypes.c_char_p
    library.gait_config_json.argtypes = [ctypes.c_void_p]
    library.gait_config_close.restype = None
    library.gait_config_close.argtypes = [ctypes.c_void_p]
    return library


def resolve(
    path,
    arguments,
    environment: bool = True,
    usual: bool = True,
    strict: bool = True,
    called=None,
    is_section: bool = False,
):
    """What `gait config explain --json` says; a ValueError where something is wrong."""
    texts = [os.fsencode(argument) for argument in arguments]
    request = gait_config_request(
        size=ctypes.sizeof(gait_config_request),
        file=None if path is None else os.fsencode(path),
        arguments=(ctypes.c_char_p * (len(texts) + 1))(*texts, None),
        argument_count=len(texts),
        arguments_from=called.encode() if called else None,
        has_no_file=not usual,
        has_no_variables=not environment,
        is_strict=strict,
        is_section=is_section,
    )
    library = _library()
    handle = ctypes.c_void_p()
    if library.gait_config_open(ctypes.byref(request), ctypes.byref(handle)) < 0:
        raise ValueError(library.gait_trace_error().decode("utf-8", "replace"))
    try:
        return json.loads(library.gait_config_json(handle).decode("utf-8", "replace"))
    finally:
        library.gait_config_close(handle)
