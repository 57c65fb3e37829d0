# SPDX-License-Identifier: Apache-2.0
"""`gait dump --locals`: what variables hold, against what the program says itself."""

import json
import os
import re
import signal
import sys

from tests.support.sampled_programs import PROGRAMS, until

LONG = """
import time
def holds():
    numbers = list(range(1000))
    text = "x" * 5000
    many = {n: n for n in range(70000)}
    crowd = set(range(3000))
    huge = 1 << 20000
    circle = []
    circle.append(circle)
    print("ready", flush=True)
    time.sleep(600)
holds()
"""
MOVING = """
import sys
def leaf(n):
    return n * 1.5
def busy():
    count, text = 0, ""
    print("ready", flush=True)
    while True:
        count += 1
        text = str(leaf(count))
busy()
"""
HOSTILE = """
import time
def function():
    victim = 1
    print("ready", flush=True)
    time.sleep(600)
names = {"co_varnames": ("\\x1b[2Jname",), "co_name": "\\x1b]0;title\\x07"}
if hasattr(function.__code__, "co_qualname"):
    names["co_qualname"] = names["co_name"]
code = function.__code__.replace(**names)
type(function)(code, globals())()
"""


def frames_of(gait, pid):
    done = gait("dump", "--locals", "--json", pid)
    assert done.returncode == 0, done.stderr
    return [frame for t in json.loads(done.stdout)["threads"] for frame in t["frames"]]


def of_function(frames, name):
    (frame,) = [f for f in frames if f["name"].rpartition(".")[2] == name]
    assert frame["locals"] is not None and frame["locals_left_out"] == 0
    return {v["name"]: v for v in frame["locals"]}


def values(variables):
    assert all(v["is_certain"] for v in variables.values())
    return {name: v["value"] for name, v in variables.items()}


def is_sleeping(gait, pid, function):
    """The program has reached its sleep: what it holds does not change any more."""

    def answer():
        (thread,) = json.loads(gait("dump", "--json", pid).stdout)["threads"]
        names = [f["name"].rpartition(".")[2] for f in thread["frames"]]
        return thread["state"] == "blocked" and function in names

    return until(answer)


def test_a_program_holds_what_it_says(python, gait, start):
    process = start([python, PROGRAMS / "programs" / "knows_itself.py"])
    outer = json.loads(process.first_line)
    inner = json.loads(process.stdout.readline())
    assert is_sleeping(gait, process.pid, "inside")
    frames = frames_of(gait, process.pid)
    got = values(of_function(frames, "holds"))
    assert re.fullmatch(r"<function at 0x[0-9a-f]+>", got.pop("inside"))
    assert got.pop("mine").startswith("{")
    assert got == outer and len(got) > 35
    got = values(of_function(frames, "inside"))
    assert got.pop("used") == "([10], 3)"
    assert got == {name: value for name, value in inner.items() if name != "used"}
    module = values(of_function(frames, "<module>"))
    assert module["module_level"] == "'of the module'"
    assert module["Outer"] == "<class '__main__.Outer'>"


def test_types_are_told(gait, start):
    process = start([sys.executable, PROGRAMS / "programs" / "knows_itself.py"])
    process.stdout.readline()
    assert is_sleeping(gait, process.pid, "inside")
    held = of_function(frames_of(gait, process.pid), "holds")
    kinds = {name: held[name]["type"] for name in ("ten", "yes", "none", "raw", "thing", "text")}
    assert kinds == {
        "ten": "int",
        "yes": "bool",
        "none": "NoneType",
        "raw": "bytes",
        "thing": "__main__.Outer.Inner",
        "text": "__main__.Text",
    }


def test_long_values_are_cut_and_say_so(python, gait, start):
    process = start([python, "-c", LONG])
    assert is_sleeping(gait, process.pid, "holds")
    held = values(of_function(frames_of(gait, process.pid), "holds"))
    assert held["numbers"] == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9 ... 990 more]"
    assert held["text"] == "'" + "x" * 120 + "' ... 4880 more"
    assert held["many"].startswith("{0: 0, 1: 1, ") and held["many"].endswith(" ... 69990 more}")
    assert held["crowd"].endswith(" ... 2990 more}")
    assert held["huge"] == "<int of about 20010 bits>"
    assert held["circle"] == "[[[[...]]]]"


def stopped_function(gait, pid, name):
    """The variables of that function in a process that is stopped; None where it is not seen."""
    os.kill(pid, signal.SIGSTOP)
    try:
        assert until(lambda: ") T " in open(f"/proc/{pid}/stat").read())
        frames = frames_of(gait, pid)
    finally:
        os.kill(pid, signal.SIGCONT)
    is_seen = any(frame["name"].rpartition(".")[2] == name for frame in frames)
    return of_function(frames, name) if is_seen else None


def test_what_runs_is_read_as_it_is_or_said_to_have_changed(python, gait, start):
    process = start([python, "-c", MOVING])
    answers = [frames_of(gait, process.pid) for _ in range(8)]
    assert all(frame["name"] in ("leaf", "busy", "<module>", "str") for f in answers for frame in f)
    seen = 0
    for frames in answers:
        for frame in frames:
            for variable in frame["locals"] or [] if frame["name"] == "busy" else []:
                seen += 1
                if variable["is_certain"] and variable["name"] == "count":
                    assert variable["value"].isdigit()
                if variable["is_certain"] and variable["name"] == "text":
                    assert re.fullmatch(r"'[0-9.e+]*'", variable["value"])
    assert seen
    # a stop may fall into the moment in which a frame is made or cleared: then no stack is sure
    held = until(lambda: stopped_function(gait, process.pid, "busy"))
    before = float(held["text"]["value"].strip("'")) / 1.5 if held["text"]["value"] != "''" else 0
    assert held["count"]["is_certain"] and 0 <= int(held["count"]["value"]) - before <= 1


def test_names_cannot_move_the_cursor(gait, start):
    process = start([sys.executable, "-c", HOSTILE])
    text = gait("dump", "--locals", process.pid).stdout
    assert r"\x1b]0;title\x07 (<string>" in text
    assert "        \\x1b[2Jname = 1\n" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    assert "\x1b" not in gait("dump", "--locals", "--json", process.pid).stdout
