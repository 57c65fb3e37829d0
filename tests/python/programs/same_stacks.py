# SPDX-License-Identifier: Apache-2.0
"""Functions on record beside those that sys.setprofile tells of; any CPython."""

import os
import re
import sys
import tempfile
import threading
import warnings

import gait
from gait import _native, trace
from known_calls import fail, fib, generate, wait

warnings.simplefilter("ignore")  # fork() beside the recorder's thread
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Module:
    def __call__(self, x):
        return len(str(x))


def work():
    list(generate(3))
    left = generate(2)
    next(left)
    left.throw(KeyError)
    left.close()
    try:
        fail(3)
    except ValueError:
        pass
    coroutine = wait(1)
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass
    sorted([3, 1], key=lambda x: -x)
    fib(5)
    "a".join(sorted({}.get("x", "cb")))


def clean(name):
    return re.sub("0x[0-9a-f]+", "0x", name.replace(HERE, ""))


def oracle():
    """Each call with those that it is in, as the interpreter tells of them."""
    paths, stack = [], []

    def hear(frame, what, argument):
        if what in ("call", "c_call"):
            code = frame.f_code
            name = f"{code.co_filename}({frame.f_lineno}): {code.co_name}"
            stack.append(clean(repr(argument) if what == "c_call" else name))
            paths.append(";".join(stack))
        elif stack:
            stack.pop()

    sys.setprofile(hear)
    work()
    sys.setprofile(None)
    return [path for path in paths if "work" in path]


def paths_of(events):
    """The same of what is in the file: by their times and nothing else."""
    found, stack = [], []
    for event in events:
        while stack and stack[-1][0] <= event.start_ns:
            stack.pop()
        assert not stack or event.start_ns + event.duration_ns <= stack[-1][0], event
        stack.append((event.start_ns + event.duration_ns, clean(event.name)))
        found.append(";".join(name for _, name in stack))
    return found


def functions(path):
    with trace.open(path) as opened:
        events = [e for e in opened.events(kind="async") if e.category == "python_function"]
    assert all(event.duration_ns is not None for event in events), "one has no end"
    return events


def record(folder, call):
    gait.start(folder, overflow="block")
    _native._frames_hold()
    call()
    _native._frames_leave()
    path = gait.shard_path()
    gait.stop()
    return functions(path)


def is_off():
    if sys.version_info >= (3, 12):
        return all(sys.monitoring.get_tool(number) != "gait" for number in range(6))
    return sys.getprofile() is None and threading._profile_hook is None


def in_thread():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_same(folder):
    expected = oracle()
    events = record(os.path.join(folder, "a"), work)
    found = [path for path in paths_of(events) if ": work" in path]
    outer = found[0].rpartition(";")[0]
    assert ": test_same;" in found[0] and outer.startswith("same_stacks.py("), found[0]
    assert all(path.startswith(outer) for path in found)
    assert [path[len(outer) + 1 :] for path in found] == expected, (found, expected)


def test_thread(folder):
    events = record(os.path.join(folder, "b"), in_thread)
    own = [event for event in events if event.tid != os.getpid()]
    found = [path.partition(": run;")[2] for path in paths_of(own) if ": work" in path]
    assert found == oracle(), found


def test_nested(folder):
    """Who begins inside of another sees what runs already."""

    def inner():
        _native._frames_hold()
        fib(1)
        _native._frames_leave()

    events = record(os.path.join(folder, "c"), inner)
    found = [path for path in paths_of(events) if path.endswith(": fib")]
    assert len(found) == 1 and ": test_nested;" in found[0] and ": inner;" in found[0], found


def test_module(folder):
    one, two = Module(), Module()

    def call():
        two(1), one(1), two(2)

    _native._frames_configure(Module.__call__.__code__, gait.__path__[0] + os.sep, (HERE,))
    events = record(os.path.join(folder, "d"), call)
    found = [event.name for event in events if "Module" in event.name]
    assert found == ["nn.Module: Module_0", "nn.Module: Module_1", "nn.Module: Module_0"], found


def test_forked(folder):
    if not hasattr(os, "fork"):
        return

    def call():
        child = os.fork()
        if child == 0:
            _native._frames_forget()
            work()
            os._exit(0 if is_off() else 1)
        assert os.waitpid(child, 0)[1] == 0

    record(os.path.join(folder, "e"), call)


with tempfile.TemporaryDirectory() as place:
    _native._frames_configure(None, gait.__path__[0] + os.sep, (HERE,))
    assert is_off()
    for test in (test_same, test_thread, test_nested, test_module, test_forked):
        test(place)
        assert is_off(), test.__name__
print("the same")
