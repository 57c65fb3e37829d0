# SPDX-License-Identifier: Apache-2.0
"""Lightning's emit_nvtx: each op, action and module is an NVTX range, which nsys or
nvprof records; there is no table then, and nothing on gait's record."""

from .._say import say


class Ranges:
    """From the first action to end(), between cudaProfilerStart and cudaProfilerStop."""

    def __init__(self, has_modules, with_shapes) -> None:
        self._has_modules = has_modules
        self._with_shapes = with_shapes
        self._entered = []  # what ends with it, the last one first
        self._hooks = []  # of modules
        self._open = {}  # action → its range
        self._has_begun = False

    def start(self, action, root=None) -> None:
        from torch.autograd.profiler import record_function

        if not self._has_begun:
            self._has_begun = True
            self._begin()
        if self._entered and root is not None and self._has_modules and not self._hooks:
            self._label(root)
        if self._entered and action not in self._open:
            self._open[action] = record_function("[pl][profile]" + action)
            self._open[action].__enter__()

    def stop(self, action) -> None:
        label = self._open.pop(action, None)
        if label is not None:
            label.__exit__(None, None, None)

    def end(self) -> None:
        for action in reversed(list(self._open)):
            self.stop(action)
        while self._hooks:
            self._hooks.pop().remove()
        while self._entered:
            self._entered.pop().__exit__(None, None, None)
        self._has_begun = False

    def _begin(self) -> None:
        from torch.autograd.profiler import emit_nvtx
        from torch.cuda.profiler import profile

        try:
            for each in (emit_nvtx(record_shapes=self._with_shapes), profile()):
                each.__enter__()
                self._entered.append(each)
        except (AssertionError, OSError, RuntimeError) as error:
            self.end()
            self._has_begun = True  # it is said once, and the training goes on
            say(f"emit_nvtx: no NVTX ranges: {error}", once="nvtx")

    def _label(self, root) -> None:
        from torch.autograd.profiler import record_function

        def label(module, name) -> None:
            ranges = []

            def enter(*_) -> None:
                ranges.append(record_function(name))
                ranges[-1].__enter__()

            def leave(_module, _inputs, result):
                if ranges:
                    ranges.pop().__exit__(None, None, None)
                return result

            self._hooks.append(module.register_forward_pre_hook(enter))
            self._hooks.append(module.register_forward_hook(leave))

        for path, module in root.named_modules():
            if path:
                kind = type(module)
                label(module, f"[pl][module]{kind.__module__}.{kind.__name__}: {path}")
