#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a training program as it is, with a clock around the calls that make its steps.

usage: second_clock.py LOG PROGRAM [ARGUMENT ...]
       second_clock.py LOG -m MODULE [ARGUMENT ...]

Knows nothing of gait and uses nothing of it. LOG.RANK.json gets a list of
[kind, begin ns, end ns, whose, value] of the thread that trains, in order of begin:

  ask        a loader's iterator was asked for a batch; value: its samples, -1 at the end
  make       a loader's iterator was made
  outer      the same, of a loader that wraps another (accelerate's)
  forward    a module was called that no other module called; value: 1 in training mode,
             0 in eval mode, -1 without parameters
  backward   Tensor.backward
  step       Optimizer.step
  zero_grad  Optimizer.zero_grad
  save       torch.save
  eval       Module.eval() was called; train: Module.train()

CLOCK_FORWARD=compiled clocks compiled modules only: what they call is compiled, and a
clock in there would break the graph. CLOCK_CHILDREN=1 clocks the processes that the program
starts as well, each into a log of its own: LOG.RANK-1.json and so on, in order of start.
"""

import contextlib
import functools
import importlib
import itertools
import json
import os
import runpy
import sys
import threading
import time

now = time.perf_counter_ns  # the monotonic clock
log = []
local = threading.local()
iterators = itertools.count(1)  # an address may come again


def samples_of(batch):
    """The first dimension of the first tensor in a batch; 0 where there is none."""
    if hasattr(batch, "shape"):
        return int(batch.shape[0]) if len(batch.shape) else 1
    if hasattr(batch, "values"):
        batch = list(batch.values())
    if isinstance(batch, (list, tuple)):
        return next((n for n in map(samples_of, batch) if n), 0)
    return 0


# a call of the first kind inside one of the others is part of that one
PARTS = {"forward": ("backward", "ask", "outer"), "ask": ("outer",), "make": ("outer",)}


def is_part(kind):
    """Whether a call belongs to the one around it."""
    return any(getattr(local, name, False) for name in (kind, *PARTS.get(kind, ())))


def clocked(kind, function, value=lambda self: 0):
    """`function` with a clock around its outermost call on a thread."""

    @functools.wraps(function)
    def call(self, *args, **kwargs):
        if is_part(kind):
            return function(self, *args, **kwargs)
        setattr(local, kind, True)
        known, begin = value(self), now()
        try:
            return function(self, *args, **kwargs)
        finally:
            log.append((kind, begin, now(), id(self), known))
            setattr(local, kind, False)

    return call


def asked(kind, function):
    """A `__next__` with a clock around it."""

    def call(self):
        if is_part(kind):
            return function(self)
        if not hasattr(self, "clocked_as"):
            self.clocked_as = next(iterators)
        setattr(local, kind, True)
        begin, got = now(), -1
        try:
            batch = function(self)
            got = samples_of(batch)
            return batch
        finally:
            log.append((kind, begin, now(), self.clocked_as, got))
            setattr(local, kind, False)

    return call


class Outer:
    """The iterator of a loader that wraps another, clocked."""

    def __init__(self, made):
        self.made = made

    def __iter__(self):
        return self

    __next__ = asked("outer", lambda self: next(self.made))


def marked(kind, function):
    """`eval` or `train` of a module, which call themselves on the modules inside."""

    @functools.wraps(function)
    def call(self, *args, **kwargs):
        if getattr(local, "mode", False):
            return function(self, *args, **kwargs)
        local.mode = True
        try:
            begin, mode = now(), args[0] if args else kwargs.get("mode", True)
            log.append((kind if mode else "eval", begin, begin, id(self), 0))
            return function(self, *args, **kwargs)
        finally:
            local.mode = False

    return call


def mode_of(module):
    """1 in training mode, 0 in eval mode, -1 where there is nothing to train: a loss."""
    return int(module.training) if next(module.parameters(), None) is not None else -1


def hook_steps(optimizer):
    """Clocks `step` of each class of optimizers when one of it is made."""
    make, done = optimizer.__init__, set()

    @functools.wraps(make)
    def init(self, *args, **kwargs):
        make(self, *args, **kwargs)
        if type(self) not in done:
            done.add(type(self))
            type(self).step = clocked("step", type(self).step)

    optimizer.__init__ = init


# loaders that wrap torch's
OUTER = {
    "CLOCK_ACCELERATE": ("accelerate.data_loader", "DataLoaderShard", "DataLoaderDispatcher"),
    "CLOCK_FASTAI": ("fastai.data.load", "DataLoader"),
    "CLOCK_TIMM": ("timm.data.loader", "PrefetchLoader"),
}


def hook_frameworks():
    """Clocks what the frameworks asked for have of their own."""
    for asked, (module, *names) in OUTER.items():
        for name in names if os.environ.get(asked) else ():
            loader = getattr(importlib.import_module(module), name)
            loader.__iter__ = (lambda make: lambda self: Outer(make(self)))(loader.__iter__)
    if os.environ.get("CLOCK_FASTAI"):
        from fastai.optimizer import Optimizer

        Optimizer.step = clocked("step", Optimizer.step)
        Optimizer.zero_grad = clocked("zero_grad", Optimizer.zero_grad)
    if os.environ.get("CLOCK_KERAS"):
        from keras.src.backend.torch.optimizers.torch_optimizer import TorchOptimizer

        TorchOptimizer.apply = clocked("step", TorchOptimizer.apply)
    if os.environ.get("CLOCK_CHILDREN"):
        hook_children()


class Child:
    """What a child process runs, with a clock of its own around it."""

    def __init__(self, target, path):
        self.target, self.path = target, path

    def __call__(self, *args, **kwargs):
        set_up()
        with kept(self.path):
            self.target(*args, **kwargs)


def hook_children():
    from multiprocessing import process

    make, path, numbers = process.BaseProcess.__init__, sys.argv[1], itertools.count(1)
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    child = importlib.import_module("second_clock").Child  # __main__ will be the program

    @functools.wraps(make)
    def init(self, group=None, target=None, *args, **kwargs):
        if getattr(target, "__name__", "_worker_loop") != "_worker_loop":
            target = child(target, f"{path}.0-{next(numbers)}.json")
        make(self, group, target, *args, **kwargs)

    process.BaseProcess.__init__ = init


@contextlib.contextmanager
def kept(path):
    """Writes the log when the program has ended, however it did."""
    began = now()
    try:
        yield
    finally:
        log.append(("program", began, now(), 0, 0))
        with open(path, "w") as file:
            json.dump(sorted(log, key=lambda event: event[1]), file)


def set_up():
    import torch
    from torch.utils.data import dataloader

    mode = {"value": mode_of}
    base, loader = dataloader._BaseDataLoaderIter, dataloader.DataLoader
    loader.__iter__ = clocked("make", loader.__iter__)
    base.__next__ = asked("ask", base.__next__)
    torch.Tensor.backward = clocked("backward", torch.Tensor.backward)
    torch.nn.Module.eval = marked("eval", torch.nn.Module.eval)
    torch.nn.Module.train = marked("train", torch.nn.Module.train)
    if os.environ.get("CLOCK_FORWARD") == "compiled":
        module = torch._dynamo.eval_frame.OptimizedModule
    else:
        module = torch.nn.Module
    module.__call__ = clocked("forward", module.__call__, **mode)
    torch.optim.Optimizer.zero_grad = clocked("zero_grad", torch.optim.Optimizer.zero_grad)
    hook_steps(torch.optim.Optimizer)
    save = torch.save
    torch.save = lambda *args, **kwargs: clocked("save", lambda self: save(*args, **kwargs))(torch)
    hook_frameworks()


def main():
    path, program = sys.argv[1], sys.argv[2:]
    set_up()
    with kept(f"{path}.{os.environ.get('RANK', '0')}.json"):
        if program[0] == "-m":
            sys.argv = program[1:]
            sys.path[0] = os.getcwd()
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = program
            sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
            runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main()
