# SPDX-License-Identifier: Apache-2.0
"""Programs with several interpreters: a thread that runs code in another one is one
thread, with one stack, whose inner frames stand on those that called them."""

import json

import pytest

from tests.support.sampled_programs import minor_of, read_folded, until

BEGIN = """
import sys, threading, time
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def make(code):
    number = interpreters.create()
    interpreters.run_string(number, code)
    return number
def wait(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end: pass
"""
INSIDE = """
import time
def inside(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end: pass
def asleep():
    here = 'the inner one'
    time.sleep(600)
"""
BY_TURNS = f"""{BEGIN}
idle = make("pass")
number = make('''{INSIDE}''')
def enter():
    interpreters.run_string(number, "inside(.02)")
print("ready", flush=True)
while True:
    wait(.02)
    enter()
"""
ASLEEP = f"""{BEGIN}
number = make('''{INSIDE}''')
def enter():
    there = 'the outer one'
    print("ready", flush=True)
    interpreters.run_string(number, "asleep()")
enter()
"""
# inside() runs in the older of two interpreters, called by the newer one
RELAYED = f"""{BEGIN}
older = make('''{INSIDE}''')
newer = make('''
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def relay(number):
    interpreters.run_string(number, "inside(.001)")
''')
def enter():
    interpreters.run_string(newer, f"relay({{int(older)}})")
print("ready", flush=True)
while True:
    wait(.001)
    enter()
"""
BOTH_BUSY = f"""{BEGIN}
number = make('''{INSIDE}''')
def enter():
    print("ready", flush=True)
    interpreters.run_string(number, "inside(600)")
threading.Thread(target=enter, daemon=True).start()
wait(600)
"""


def tells_callers(python):
    """Up to 3.10 nothing tells which thread runs an inner interpreter."""
    return minor_of(python) >= 11


def names(frames):
    return [frame["name"].rpartition(".")[2] for frame in frames]


def threads_of(gait, pid, *options):
    done = gait("dump", "--json", *options, pid)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["threads"]


def is_inside(gait, pid, name):
    """Whether it got there: it cannot say so from where it is."""
    return any(name in names(thread["frames"]) for thread in threads_of(gait, pid))


def test_a_thread_in_another_interpreter_is_one_thread(python, gait, start, tmp_path):
    process = start([python, "-c", BY_TURNS])
    out = tmp_path / "stacks.txt"
    done = gait("record", "-d", "3", "-f", "raw", "-o", out, "--pid", process.pid)
    assert done.returncode == 0, done.stderr
    counts = {"inside": 0, "wait": 0}
    for frames, count in read_folded(out):
        stack = [name for name, _, _ in frames]
        if "inside" in stack:
            callers = ["<module>", "enter"] if tells_callers(python) else []
            assert stack[:-1] == [*callers, "<module>"], stack
            counts["inside"] += count
        elif "wait" in stack:
            assert stack == ["<module>", "wait"]
            counts["wait"] += count
    total = sum(counts.values())
    assert total > 1000
    assert abs(counts["inside"] / total - 0.5) < 0.05
    if tells_callers(python):
        assert sum(count for _, count in read_folded(out)) - total < 0.05 * total


def test_its_samples_are_one_for_each_round(python, gait, start, tmp_path):
    if not tells_callers(python):
        pytest.skip("up to 3.10 each state is a thread by itself")
    process = start([python, "-c", BY_TURNS])
    out = tmp_path / "run"
    done = gait("record", "-d", "2", "--idle", "-o", out, "--pid", process.pid)
    assert done.returncode == 0, done.stderr
    told = json.loads(gait("info", out, "--json").stdout)["sampler"]
    assert told["rounds"] > 500
    assert told["samples"] + told["no_stack"] == told["rounds"]
    assert told["no_stack"] < 0.05 * told["rounds"]
    rows = json.loads(gait("leaf", "--by", "thread", "--json", out).stdout)["rows"]
    assert {row["thread"] for row in rows} == {f"{process.pid} MainThread"}
    assert {"inside", "wait"} <= {row["name"] for row in rows}


def test_a_dump_shows_both_stacks_as_one(python, gait, start):
    process = start([python, "-c", ASLEEP])
    assert until(lambda: is_inside(gait, process.pid, "asleep"))
    threads = threads_of(gait, process.pid, "--locals")
    if not tells_callers(python):
        stacks = sorted(names(thread["frames"]) for thread in threads)
        assert stacks == [["asleep", "<module>"], ["enter", "<module>"]]
        return
    (thread,) = threads
    assert names(thread["frames"]) == ["asleep", "<module>", "enter", "<module>"]
    assert thread["state"] == "blocked" and not thread["holds_lock"]
    inner, outer = thread["frames"][0]["locals"], thread["frames"][2]["locals"]
    assert [(one["name"], one["value"]) for one in inner] == [("here", "'the inner one'")]
    assert [(one["name"], one["value"]) for one in outer] == [("there", "'the outer one'")]


def test_stacks_are_of_one_moment(python, gait, start, tmp_path):
    if minor_of(python) not in (11, 12):
        pytest.skip("the C stack tells who called whom on 3.11 and 3.12 alone")
    process = start([python, "-c", RELAYED])
    out = tmp_path / "stacks.txt"
    done = gait("record", "-d", "3", "-f", "raw", "-o", out, "--pid", process.pid)
    assert done.returncode == 0, done.stderr
    legal = ["<module>", "enter", "<module>", "relay", "<module>", "inside"]
    wrong = {}
    for frames, count in read_folded(out):
        stack = [name for name, _, _ in frames]
        if stack not in (["<module>", "wait"], legal[: len(stack)]):
            wrong[";".join(stack)] = count
    total = sum(count for _, count in read_folded(out))
    assert sum(wrong.values()) < 0.01 * total, wrong
    assert max(read_folded(out), key=lambda row: len(row[0]))[0][-1][0] == "inside"


def test_an_interpreter_may_have_a_lock_of_its_own(python, gait, start):
    process = start([python, "-c", BOTH_BUSY])
    assert until(lambda: is_inside(gait, process.pid, "inside"))
    has_own = minor_of(python) >= 12
    both = 0
    for _ in range(20):
        threads = threads_of(gait, process.pid)
        holding = [thread for thread in threads if thread["holds_lock"]]
        assert len(threads) == (2 if tells_callers(python) else 3)
        assert all(thread["state"] == "python" for thread in holding)
        assert has_own or len(holding) < 2
        both += len(holding) == 2
    assert both >= 10 if has_own else both == 0
    if tells_callers(python):
        inner, outer = sorted(names(thread["frames"]) for thread in threads)
        assert inner == ["inside", "<module>", "enter", "run", "_bootstrap_inner", "_bootstrap"]
        assert outer[-1] == "<module>" and "enter" not in outer
