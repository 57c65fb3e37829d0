# SPDX-License-Identifier: Apache-2.0
"""When ops are on record, and how much of them."""

import contextlib
import os

import torch

from .. import _native, _patches
from . import hosts
from .watching import attempt, say

DEFAULT = "5/3/100"  # steps 5 to 7 of each hundred
SHAPES, MEMORY, STRIDES, STACKS, NSIGHT, DEVICES = 1, 2, 4, 8, 16, 32


# Tensors with these keys may run Python code when they are asked for their sizes.
AVOIDED = (
    "Python",
    "PythonTLSSnapshot",
    "NestedTensor",
    "AutogradNestedTensor",
    "Functionalize",
)


def attach() -> bool:
    """Has the collector find torch; what it does not find it does without."""
    if not _native._torch_attach():
        return False
    hosts.install()
    with contextlib.suppress(AttributeError):  # a torch without these: names only
        show_tensors()
    return True


def show_tensors() -> None:
    """Some whose sizes and types are known, for the collector to learn where they are."""
    keys = torch._C
    avoided = 0
    for name in AVOIDED:
        key = getattr(keys.DispatchKey, name, None)
        if key is not None:
            avoided |= keys.DispatchKeySet(key).raw_repr()
    tensors = [
        torch.zeros(2),
        torch.zeros(2, 3, dtype=torch.int64),
        torch.zeros(1).requires_grad_(),
    ]
    for tensor in tensors:
        if _native._torch_guard(tensor._cdata, keys._dispatch_keys(tensor).raw_repr(), avoided):
            break
    if _native._torch_learn(True):
        try:
            for value in 7, 7.25, 7j:
                torch.full([3, 5], value, device="cpu")
            torch.sum(torch.zeros(1, 1, device="cpu"), [1], True)
        finally:
            _native._torch_learn(False)


def settings(say):
    """What `gait run --profile`, or a variable by any of its names, says of the ops; None
    where nothing asks for them."""
    if not any(name.startswith("GAIT_PROFILING_") for name in os.environ):
        return None
    from ..config import Config

    try:
        config = Config.from_environment()
    except ValueError as error:
        say(f"settings: {error}")
        return None
    return config if config.enabled else None


def wanted(say, config):
    """The schedule of the windows that the environment asks for, as _native has it."""
    text = os.environ.get("GAIT_TORCH_WINDOWS", "")
    try:
        if not text and config is not None:
            return of_settings(config)
        return _native._schedule_parse(text or DEFAULT)
    except ValueError as error:
        say(f"{'GAIT_TORCH_WINDOWS' if text else 'settings:'} {error}")
        return _native._schedule_parse(DEFAULT)


def of_settings(config):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warmup 0 is what was asked for
        return config.schedule()._packed


def has_devices() -> bool:
    """Whether this torch can record devices; then their module is loaded, else never."""
    if getattr(torch._C, "_autograd", None) is None:
        return False
    names = {getattr(item, "name", "") for item in torch._C._autograd._supported_activities()}
    if not names - {"CPU"}:
        return False
    from . import devices

    attempt(lambda: devices.install(torch))
    return True


def levels(config):
    """What is recorded of each op."""
    on_devices = DEVICES * has_devices()
    if config is None:
        return SHAPES | MEMORY | on_devices
    besides = on_devices | STACKS * config.with_stack | NSIGHT * config.nsight_enabled
    return SHAPES * config.record_shapes | MEMORY * config.profile_memory | besides


def label_modules() -> None:
    """In all steps, since a window has no say in Python."""
    from .modules import Labels

    labels = Labels()
    module = torch.nn.modules.module
    why = "which module is in forward or backward"
    _patches.note(module, "_global_forward_hooks", labels, why, labels.remove)


def install() -> None:
    config = settings(say)
    schedule = wanted(say, config)
    active = _native._schedule_needs(schedule, 1) < 1 << 62
    # Ranges alone are on record outside of windows only where they are asked for:
    # a program may make any number of them.
    has_ranges = os.environ.get("GAIT_TORCH_RANGES", "0") != "0"
    if not active and not has_ranges:
        # for triggers: then attach() is called late
        _native._windows(schedule, levels(config), False)
        return
    is_attached = attach()
    lacks = _native._torch_lacks() if is_attached else _native.last_error()
    if lacks:
        say(lacks)
    if not is_attached:
        return
    if has_ranges:
        _native._torch_ranges(True)
    if config is not None and config.with_modules:
        attempt(label_modules)
    _native._windows(schedule, levels(config), config is not None)
    if _native._windows_spare(False):
        from .spare import Watch

        Watch(lambda: _native._windows_spare(True), lambda: _native._windows_spare(False))
