# SPDX-License-Identifier: Apache-2.0
"""Labels for what belongs to which module: a span for each forward and backward.

Category `module`; the name is the module's path in the model it was called through
(of the model itself, its class); arguments `class` and `backward`. They are there
only while a window is open: hooks that all modules have cost each call some 2 us.

A backward begins with the first gradient of the module's results and ends with the
last one of its inputs. Where no input wants one it ends with whatever is around it.
"""

import threading
import weakref

import torch

from .. import _gait

_module = torch.nn.modules.module


class _Call:
    """One call of a module, for its backward."""

    __slots__ = ("label", "task", "left")

    def __init__(self, label):
        self.label = label
        self.task = None  # the backward pass that it has begun in
        self.left = 0  # inputs whose gradient is still to come


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (what it is the span of, backward pass or None)
        self.tasks = set()  # backward passes whose end is waited for


def _tensors(value, depth=3):
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item, depth - 1)


class Labels:
    """Hooks on all modules, until remove()."""

    def __init__(self):
        self._thread = _Thread()
        self._names = {}  # id → (weak reference, name)
        self._hooks = [_module.register_module_forward_pre_hook(self._before)]
        try:
            after = _module.register_module_forward_hook(self._after, always_call=True)
        except TypeError:  # before torch 2.1
            after = _module.register_module_forward_hook(self._after)
        self._hooks.append(after)
        self._is_on = True

    def remove(self):
        self._is_on = False
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._close_above(0)

    # --- names ---

    def _name(self, module):
        known = self._names.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        self._learn(module)
        return self._names[id(module)][1]

    def _learn(self, root):
        """Everything below a module that nobody has called from above."""
        for path, module in root.named_modules():
            name = path or type(root).__name__
            self._names[id(module)] = weakref.ref(module), name

    # --- spans ---

    def _open(self, key, label, task):
        name, kind = label
        self._thread.open.append((key, task))
        _gait.begin(_gait.site("module", name))
        _gait.arg("class", kind)
        _gait.arg("backward", int(task is not None))

    def _close_above(self, depth):
        opened = self._thread.open
        while len(opened) > depth:
            opened.pop()
            _gait.end()

    def _close(self, key, task=None):
        opened = self._thread.open
        for depth in range(len(opened) - 1, -1, -1):
            if opened[depth] == (key, task):
                self._close_above(depth)
                return

    # --- forward ---

    def _before(self, module, _inputs):
        if not torch.jit.is_tracing() and self._is_on:
            self._open(id(module), (self._name(module), type(module).__name__), None)

    def _after(self, module, inputs, outputs):
        self._close(id(module))
        if self._is_on and torch.is_grad_enabled():
            self._follow(_Call((self._name(module), type(module).__name__)), inputs, outputs)

    # --- backward ---

    def _follow(self, call, inputs, outputs):
        results = [one for one in _tensors(outputs) if one.requires_grad]
        sources = [one for one in _tensors(inputs) if one.requires_grad]
        # what a module hands through has its gradient at both ends at once
        sources = [one for one in sources if all(one is not other for other in results)]
        for one in results:
            one.register_hook(lambda _grad: self._begins(call, len(sources)))
        for one in sources:
            one.register_hook(lambda _grad: self._has_one(call))

    def _begins(self, call, sources):
        task = torch._C._current_graph_task_id()
        if not self._is_on or call.task == task:
            return
        call.task = task
        call.left = sources
        if task not in self._thread.tasks:
            self._thread.tasks.add(task)
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._over(task))
        self._open(id(call), call.label, task)

    def _has_one(self, call):
        call.left -= 1
        if call.left == 0 and call.task is not None:
            self._close(id(call), call.task)

    def _over(self, task):
        """That backward pass has ended, and with it what it began on this thread."""
        self._thread.tasks.discard(task)
        opened = self._thread.open
        for depth, (_key, of) in enumerate(opened):
            if of == task:
                self._close_above(depth)
                return
