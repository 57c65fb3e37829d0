# SPDX-License-Identifier: Apache-2.0
"""What the collector must live with, one case after another in one process.

usage: cases.py FOLDER

Each case records to FOLDER/CASE; what it has to say goes to FOLDER/said.json.
"""

import json
import os
import pathlib
import random
import sys
import threading
import time

import collector
import models
import torch
from torch.profiler import record_function

LEVELS = collector.SHAPES | collector.MEMORY | collector.STRIDES


def strided():
    """Strides stand where a tensor is not contiguous."""
    tensor = torch.zeros(4, 6)
    collector.open_window(LEVELS)
    torch.neg(tensor.t())
    torch.neg(tensor)
    collector.close_window()


def exotic():
    """Tensors that must not be asked for their sizes; their ops still run."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    calls = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, dispatch_sizes_strides_policy="sizes"
            )

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            calls.append(str(function))
            if "sym_size" in str(function) or "aten.size" in str(function):
                return args[0].inner.shape
            args = [a.inner if isinstance(a, cls) else a for a in args]
            return function(*args, **(kwargs or {}))

    wrapped = Wrapper(torch.ones(3, 3))
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    sparse = torch.eye(4).to_sparse()
    rows = torch.eye(4).to_sparse_csr()
    quantized = torch.quantize_per_tensor(torch.ones(3, 2), 0.1, 0, torch.quint8)
    collector.open_window(LEVELS)
    rows @ torch.ones(4, 4)
    quantized.dequantize()
    torch.ones(2, 2).to_mkldnn().to_dense()
    torch.add(wrapped, 1)
    torch.add(nested, 1)
    torch.add(sparse, sparse)
    torch.func.vmap(torch.sin)(torch.ones(3, 2))
    torch.func.grad(lambda x: x.sin().sum())(torch.ones(3))
    torch.empty(5, 7, device="meta").add(1)
    with FakeTensorMode():
        torch.empty(5, 9).add(1)
    collector.close_window()
    return calls


def losses():
    """[without, with]: the same numbers, bit for bit."""
    both = []
    for is_on in (False, True):
        row = []
        for kind in models.KINDS:
            step = models.make_step(kind)
            for _ in range(4):
                if is_on:
                    collector.open_window(LEVELS)
                row.append(step().hex())
                if is_on:
                    collector.close_window()
        both.append(row)
    return both


def outside():
    """Nothing is on record before a window and after it."""
    tensor = torch.zeros(8)
    tensor.add_(1)
    collector.open_window(LEVELS)
    tensor.mul_(2)
    collector.close_window()
    tensor.sub_(3)
    for _ in range(100):
        collector.open_window()
        collector.close_window()
    tensor.sub_(3)


def ranges():
    """User ranges stay on record out of windows, once in them, ops do not."""
    collector.ranges(True)
    with record_function("outside"):
        torch.zeros(3)
    collector.open_window()
    with record_function("inside"):
        torch.zeros(3)
    collector.close_window()
    collector.ranges(False)
    with record_function("after"):
        torch.zeros(3)


def halves():
    """A window opens and closes in the middle of ranges; one ends elsewhere."""
    with record_function("before the window"):
        collector.open_window()
        with record_function("whole"):
            torch.zeros(3)
        torch.ones(3)
    left = record_function("left open")
    left.__enter__()
    torch.ones(4)
    other = threading.Thread(target=left.__exit__, args=(None, None, None))
    other.start()
    other.join()
    outer, inner = record_function("outer"), record_function("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    with record_function("past the window"):
        collector.close_window()


def backward_thread():
    """The forward's thread is told by a backward in another one."""
    leaf = torch.ones(3, requires_grad=True)
    collector.open_window(LEVELS)
    box = []
    forward = threading.Thread(target=lambda: box.append((leaf * leaf).sum()))
    forward.start()
    forward.join()
    backward = threading.Thread(target=lambda: box[0].backward())
    backward.start()
    backward.join()
    collector.close_window()


def forked():
    """A child of fork records nothing of the parent's window, and may open its own."""
    collector.open_window(LEVELS)
    torch.ones(2).add_(1)
    for opens in (False, True):
        child = os.fork()
        if child == 0:
            torch.ones(2).mul_(2)
            if opens:
                collector.open_window(LEVELS)
                torch.ones(2).div_(2)
                collector.close_window()
                collector.stop()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit("a child of fork failed")
    torch.ones(2).sub_(1)
    collector.close_window()


def many_names():
    """Ranges with a new name each, deep ones, and names across lengths."""
    collector.open_window()
    for number in range(300):
        with record_function("range " + "x" * (number % 40) + str(number)):
            pass
    deep = [record_function(f"deep {number}") for number in range(600)]
    for each in deep:
        each.__enter__()
    for each in reversed(deep):
        each.__exit__(None, None, None)
    with record_function("after the deep ones"):
        pass
    collector.close_window()


def switched():
    """What a hook of a backward switches off, torch switches on for the next node."""
    switch = torch.autograd._enable_record_function
    leaf = torch.ones(3, requires_grad=True)
    sine = leaf.sin()
    product = sine * 2
    product.register_hook(lambda _gradient: switch(False))
    collector.open_window(LEVELS)
    product.exp().sum().backward()
    torch.erf(leaf)  # and as it was before for what comes behind
    switch(False)
    torch.tan(leaf)
    switch(True)
    torch.tanh(leaf)
    collector.close_window()


def own_callbacks():
    """A profiler of the thread alone, around a backward, sees all of it; so do we."""
    from torch.profiler import ProfilerActivity, profile

    profiler = profile(activities=[ProfilerActivity.CPU])
    leaf = torch.ones(3, requires_grad=True)
    product = leaf.sin() * 2
    collector.open_window(LEVELS)
    with profiler:
        product.exp().sum().backward()
    torch.erf(leaf)
    collector.close_window()
    return [event.name for event in profiler.events()]


def many_windows():
    """Resident bytes behind the 30th window and behind the 330th."""
    step, found = models.make_step("mlp"), []
    for window in range(330):
        collector.open_window(LEVELS)
        step()
        collector.close_window()
        if window in (29, 329):
            pages = pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
            found.append(int(pages) * os.sysconf("SC_PAGESIZE"))
    return found


def under_load():
    """Windows come and go while three threads train."""
    until = time.monotonic() + 3
    steps = [0, 0, 0]

    def train(index):
        step = models.make_step("mlp")
        while time.monotonic() < until:
            step()
            steps[index] += 1

    threads = [threading.Thread(target=train, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    windows = 0
    while time.monotonic() < until:
        collector.open_window(random.choice((0, LEVELS)))
        time.sleep(random.random() / 1000)
        collector.close_window()
        windows += 1
    for thread in threads:
        thread.join()
    return {"windows": windows, "steps": steps}


def compiled():
    """Compiled regions and what they call are on record."""

    def function(x):
        return torch.relu(x @ x).sum()

    quick = torch.compile(function, backend="aot_eager")
    leaf = torch.ones(4, 4, requires_grad=True)
    quick(leaf).backward()
    collector.open_window(LEVELS)
    quick(leaf).backward()
    torch.compile(function, backend="aot_eager", dynamic=True)(torch.ones(5, 5))
    collector.close_window()


CASES = (strided, exotic, losses, outside, ranges, halves, backward_thread, forked)
CASES += (many_names, switched, own_callbacks, many_windows, under_load, compiled)


def main(folder):
    torch.set_num_threads(1)
    collector.attach()
    said = {"lacks": collector.lacks(), "describe": collector.describe()}
    for case in CASES:
        os.environ["GAIT_DIR"] = str(pathlib.Path(folder, case.__name__))
        collector.start()
        said[case.__name__] = case()
        collector.stop()
    pathlib.Path(folder, "said.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
