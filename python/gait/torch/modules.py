# SPDX-License-Identifier: Apache-2.0
"""Labels for what belongs to which module: each forward is a span, each backward an
async event, because it begins in the middle of one autograd node and ends in another.

Category `module`; the name is the module's path in the model it was called through
(of the model itself, its class); a span has the argument `class`. They are there only
while a window is open: hooks that all modules have cost each call some 2 us.

A backward begins with the first gradient of the module's results and ends with the
last one of its inputs. Where no input wants one it ends with the module around it, or
with the backward pass.
"""

import threading
import weakref

import torch

from .. import _native
from .._vocabulary import ANNOTATION, MODULE, MODULE_BACKWARD

_module = torch.nn.modules.module


class _Call:
    """One call of a module, for its backward."""

    __slots__ = ("name", "outer", "task", "left", "number")

    def __init__(self, name, outer) -> None:
        self.name = name
        self.outer = outer  # the call it was made in, or None
        self.task = None  # the backward pass that it has begun in
        self.left = None  # inputs whose gradient is still to come; None: it has not returned
        self.number = 0  # of its event, 0: not open

    def is_inside(self, other) -> bool:
        at = self.outer
        while at is not None and at is not other:
            at = at.outer
        return at is not None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.forward = []  # calls that have not returned


def _tensors(value, depth: int = 3):
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item, depth - 1)


class Labels:
    """Hooks on all modules, until remove(). Of a root that is given the paths are known."""

    FORWARD = BACKWARD = MODULE  # categories
    BACKWARD_NAME = "{}"

    def __init__(self, root=None) -> None:
        self._thread = _Thread()
        self._names = {}  # id → (weak reference, name)
        self._hooks = [_module.register_module_forward_pre_hook(self._before)]
        try:
            after = _module.register_module_forward_hook(self._after, always_call=True)
        except TypeError:  # before torch 2.1
            after = _module.register_module_forward_hook(self._after)
        self._hooks.append(after)
        self._backward = []  # calls whose backward has begun and not ended
        self._tasks = set()  # backward passes whose end is waited for
        self._lock = threading.RLock()
        self._number = 0
        self._is_on = True
        if root is not None:
            self._learn(root)

    def remove(self) -> None:
        self._is_on = False
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        with self._lock:
            for call in list(self._backward):
                self._end(call)

    # --- names ---

    def _name(self, module):
        known = self._names.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        self._learn(module)
        return self._names[id(module)][1]

    def _learn(self, root) -> None:
        """Everything below a module that nobody has called from above."""
        for path, module in root.named_modules():
            name = self._title(module, path or type(module).__name__)
            self._names[id(module)] = weakref.ref(module), name

    @staticmethod
    def _title(_module, path):
        return path

    # --- forward ---

    def _before(self, module, _inputs) -> None:
        if torch.jit.is_tracing() or not self._is_on:
            return
        calls = self._thread.forward
        call = _Call(self._name(module), calls[-1] if calls else None)
        calls.append(call)
        _native.begin(_native.site(self.FORWARD, call.name))
        _native.arg("class", type(module).__name__)

    def _after(self, _module, inputs, outputs) -> None:
        calls = self._thread.forward
        if not calls:  # it was called before there were labels
            return
        call = calls.pop()
        _native.end()
        if self._is_on and torch.is_grad_enabled():
            self._follow(call, inputs, outputs)

    # --- backward ---

    def _backward_site(self, call):
        return _native.site(self.BACKWARD, self.BACKWARD_NAME.format(call.name))

    def _follow(self, call, inputs, outputs) -> None:
        results = [one for one in _tensors(outputs) if one.requires_grad]
        sources = [one for one in _tensors(inputs) if one.requires_grad]
        # what a module hands through has its gradient at both ends at once
        sources = [one for one in sources if all(one is not other for other in results)]
        call.left = len(sources)
        for one in results:
            one.register_hook(lambda _grad: self._begin(call))
        for one in sources:
            one.register_hook(lambda _grad: self._has_one(call))

    def _begin(self, call) -> None:
        """With those around it first: of one result, the hook of the innermost comes first."""
        task = torch._C._current_graph_task_id()
        if not self._is_on or call.task == task:
            return
        if call.outer is not None and call.outer.left is not None:
            self._begin(call.outer)
        with self._lock:
            call.task = task
            self._number += 1
            call.number = self._number
            self._backward.append(call)
            _native.async_begin(self._backward_site(call), call.number)
            if task in self._tasks:
                return
            self._tasks.add(task)
        torch.autograd.Variable._execution_engine.queue_callback(lambda: self._over(task))

    def _has_one(self, call) -> None:
        with self._lock:
            call.left -= 1
            if call.left == 0 and call.number:
                for other in list(self._backward):
                    if other.is_inside(call):
                        self._end(other)
                self._end(call)

    def _end(self, call) -> None:
        self._backward.remove(call)
        _native.async_end(self._backward_site(call), call.number)
        call.number = 0

    def _over(self, task) -> None:
        """That backward pass has ended."""
        with self._lock:
            self._tasks.discard(task)
            for call in list(self._backward):
                if call.task == task:
                    self._end(call)


class ListedLabels(Labels):
    """The same under the names of Lightning's RegisterRecordFunction, and in tables of ops."""

    FORWARD, BACKWARD = ANNOTATION, MODULE_BACKWARD
    BACKWARD_NAME = "{} (backward)"

    @staticmethod
    def _title(module, path) -> str:
        return f"[pl][module]{type(module).__module__}.{type(module).__name__}: {path}"
