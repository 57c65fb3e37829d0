# SPDX-License-Identifier: Apache-2.0
"""The extension on every CPython with headers that this machine happens to have."""

import os
import pathlib
import subprocess

import pytest
from minors import build_package, other_pythons

PROGRAM = """
import asyncio, contextlib, copy, inspect, pickle, sys, threading
import gait, gait._native

class Model:
    @gait.span("method")
    def method(self, x, *, y=1):
        "doc"
        return x + y

@gait.span("generator")
def generate(n):
    for i in range(n):
        yield i

@gait.span("echo")
def echo():
    return (yield)

def sent(value):
    running = echo()
    next(running)
    try:
        running.send(value)
    except StopIteration as end:
        return end.value

@gait.span("coroutine")
async def coroutine(x):
    await asyncio.sleep(0)
    return x

@gait.span("rows")
async def rows():
    yield 1

async def main():
    return await asyncio.gather(coroutine(1), coroutine(2)), [row async for row in rows()]

def turn(i):
    with gait.span("outer") as outer, gait.step(), outer.args(i=i, big=2 ** 70):
        assert Model().method(1, y=i) == 1 + i and Model.method(Model(), 2) == 3
        assert list(generate(2)) == [0, 1]
        gait.begin(gait.site("a", "b")); gait.next("c"); gait.end()
        gait.count("n", i); gait.count("n", 0.5)
    with contextlib.ExitStack() as stack:
        stack.enter_context(gait.span("stacked", category="data"))

assert Model.method.__doc__ == "doc" and str(inspect.signature(Model.method)) == "(self, x, *, y=1)"
assert inspect.isgeneratorfunction(generate) and inspect.iscoroutinefunction(coroutine)
assert pickle.loads(pickle.dumps(generate)) is generate
assert copy.copy(gait.span("x")) is gait.span("x")
assert asyncio.run(main()) == ([1, 2], [1])
assert [sent(value) for value in ((1, 2), (), 3)] == [(1, 2), (), 3]
for wrong in (1.5, -1, 2 ** 70, None, True):
    try:
        gait.begin(wrong)
    except (TypeError, ValueError):
        continue
    raise AssertionError(wrong)
for i in range(50):
    turn(i)
before = sys.getallocatedblocks()
for i in range(2000):
    turn(0)
grown = sys.getallocatedblocks() - before
assert grown < 200, grown
thread = threading.Thread(target=turn, args=(-1,), name="other")
thread.start()
thread.join()
"""


FORKS = """
import os, sys, threading
import gait
if sys.argv[1:]:  # a thread of the program's own
    threading.Thread(target=threading.Event().wait, daemon=True).start()
for _ in range(2):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
assert gait.recording() == ("GAIT_DIR" in os.environ)
"""


def forks(python, folder, *words, **env):
    """(exit status, how often it was warned) of a program that forks twice."""
    env = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", **env}
    line = [python, *words[:2], "-c", FORKS, *words[2:]]
    done = subprocess.run(line, env=env, capture_output=True, text=True)
    return done.returncode, done.stderr.count("is multi-threaded")


@pytest.fixture(scope="module")
def pythons():
    return other_pythons()


@pytest.mark.skipif(bool(os.environ.get("GAIT_SANITIZE")), reason="these Pythons are not sanitized")
@pytest.mark.parametrize("minor", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def test_another_minor_builds_and_records(minor, pythons, root, build, tmp_path, read):
    if minor not in pythons:
        pytest.skip(f"no other CPython {minor} with headers")
    python, include, suffix = pythons[minor]
    build_package(root, build, tmp_path, include, suffix)
    script = pathlib.Path(tmp_path / "program.py")
    script.write_text(PROGRAM)
    env = {
        "PYTHONPATH": str(tmp_path),
        "GAIT_DIR": str(tmp_path / "run"),
        "GAIT_OVERFLOW": "block",
        "PYTHONDEVMODE": "1",
    }
    done = subprocess.run([python, str(script)], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    with read.open(tmp_path / "run") as trace:
        names = [event.name for event in trace.events(kind="span")]
        assert {"MainThread", "other"} <= {track["name"] for track in trace.tracks}
    turns = 50 + 2000 + 1
    expected = {"outer": 2 * turns, "method": 2 * turns, "generator": 3 * turns, "stacked": turns}
    assert {name: names.count(name) for name in expected} == expected
    assert names.count("coroutine") == 4
    run = {"GAIT_DIR": str(tmp_path / "forks")}
    for action in "always", "error":
        assert forks(python, tmp_path, "-W", action, **run) == (0, 0)
    bare = forks(python, tmp_path, "-W", "always", "own")
    assert forks(python, tmp_path, "-W", "always", "own", **run) == bare
    assert bare[1] == (2 if tuple(map(int, minor.split("."))) >= (3, 12) else 0)
    env = {"PYTHONPATH": str(tmp_path), "PYTHONDEVMODE": "1"}
    for program in ("same_counts.py", "same_stacks.py"):
        script = root / "tests/python/programs" / program
        done = subprocess.run([python, str(script)], env=env, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("the same\n", ""), program
