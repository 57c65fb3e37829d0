# SPDX-License-Identifier: Apache-2.0
"""The phases of a step: input, copy, forward, backward, optimizer, evaluation."""

import contextlib
import functools
import weakref

import torch
import torch.utils.data

from .. import _native, _patches
from .wrap import WHY, Hook, beside, hook, instead, plain, put, replace, replace_all


def install() -> None:
    _native._tensor_type(torch.Tensor)
    _native._device_type(torch.device)
    install_loaders()
    install_modules()
    install_backward()
    install_optimizers()
    install_scalers()
    install_graphs()
    replace_all(torch.Tensor, "to cuda cpu", "copy")


def install_loaders() -> None:
    loader = torch.utils.data.dataloader
    replace(loader.DataLoader, "__iter__", "iterator")
    replace(loader._BaseDataLoaderIter, "__next__", "ask")


def install_modules() -> None:
    module = torch.nn.Module
    replace(module, "__call__", "forward")
    put(module, "train", told_of_train(module.train), "the phase evaluation", is_fixed=True)
    replace_all(module, "to cuda cpu", "copy")
    _native._wrapper_module(torch.nn.DataParallel, "module")
    _native._wrapper_module(torch.nn.parallel.DistributedDataParallel, "module")


def told_of_train(train):
    """A function, unlike all others here: guards of torch.compile read its defaults,
    in C, where only a function has any."""
    made = hook("train", train)

    @functools.wraps(train)
    def told(self, mode: bool = True):
        return made(self, mode)

    told._torchdynamo_inline = train  # type: ignore[attr-defined]
    return told


def install_backward() -> None:
    if replace(torch.autograd, "_engine_run_backward", "backward"):
        return
    # before 2.3 each of them calls the engine by itself
    replace_all(torch.autograd, "backward grad", "backward")
    replace(torch.Tensor, "backward", "backward")


# --- optimizers ---
#
# torch wraps `step` of a class when its first optimizer is made, in a function
# with the profiler's range and the hooks. We stand around that one. Classes that
# never call Optimizer.__init__() are hooked as they are.


def install_optimizers() -> None:
    base = torch.optim.Optimizer
    wrap_step = base.profile_hook_step

    def profile_hook_step(*functions, **named):
        named = {name: plain(function) for name, function in named.items()}
        return hook("step", wrap_step(*map(plain, functions), **named))

    remember_made(base)
    wrapped = staticmethod(instead(wrap_step, profile_hook_step))
    put(base, "profile_hook_step", wrapped, WHY["step"])
    of_classes = classmethod(beside("subclass", base.__init_subclass__, hook_class))
    put(base, "__init_subclass__", of_classes, "optimizers of which the class is made later")
    for cls in subclasses(base):
        hook_class(cls)
    replace(base, "zero_grad", "zero_grad")
    _patches.also(_patches.Moving(hooked_steps, take_steps_away, put_steps_back))


_made = weakref.WeakSet()


def remember_made(cls) -> None:
    put(cls, "__init__", beside("after", cls.__init__, remember), "how many optimizers there are")


def remember(optimizer) -> None:
    """Who was made: the first step of a training is over when all have stepped."""
    with contextlib.suppress(TypeError):  # of one that cannot be hashed
        _made.add(optimizer)


def optimizers():
    """How many there are; one that holds another is not counted with it."""
    return sum(not hasattr(made, "optimizer") for made in _made)


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def hook_class(cls) -> None:
    for name, kind in (("step", "step"), ("zero_grad", "zero_grad")):
        function = vars(cls).get(name)
        if callable(function) and not isinstance(function, (Hook, type)):
            hooked = _patches.Patch(cls, name, hook(kind, function), WHY[kind], function)
            hooked.set()  # listed where it is found again: torch hooks classes by itself, too


def hooked_steps():
    return [
        _patches.Patch(cls, name, vars(cls)[name], WHY[name], plain(vars(cls)[name]))
        for cls in subclasses(torch.optim.Optimizer)
        for name in ("step", "zero_grad")
        if isinstance(vars(cls).get(name), Hook)
    ]


_steps_away = []


def take_steps_away() -> None:
    for patch in hooked_steps():
        patch.take()
        _steps_away.append(patch)


def put_steps_back() -> None:
    while _steps_away:
        patch = _steps_away.pop()
        if vars(patch.owner).get(patch.name) is patch.original:
            patch.set()


def install_scalers() -> None:
    scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)  # since torch 2.3
    replace(scaler, "step", "scaler_step")
    replace_all(scaler, "unscale_ update", "optimizer")


# --- CUDA graphs ---
#
# The step that is captured happens with each replay, in which nothing of Python's is called.

_stepping = weakref.WeakSet()  # graphs with an optimizer's step in them


def install_graphs() -> None:
    graph = torch.cuda.CUDAGraph
    why = "a CUDA graph with an optimizer's step in it"
    put(graph, "capture_begin", beside("after", graph.capture_begin, begin_capture), why)
    put(graph, "capture_end", beside("finally", graph.capture_end, end_capture), why)
    replay = _native._hook("replay", graph.replay, _stepping.__contains__)
    put(graph, "replay", replay, WHY["step"])


def begin_capture(graph) -> None:
    _stepping.discard(graph)
    _native._capture(True)


def end_capture(graph) -> None:
    if _native._capture(False):
        _stepping.add(graph)
