# SPDX-License-Identifier: Apache-2.0
"""Threads are called what the program itself says that Python calls them, wherever they show."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.sample.test_dump import dump
from tests.sample.test_top import Terminal
from tests.support.sampled_programs import PROGRAMS, until

PROGRAM = PROGRAMS / "programs" / "named_threads.py"
HOSTILE = ["\x1b[2J\x07\x9b1m", "x" * 100_000, "one;two (a.py:3) 4\nthree", "a\0b\ud800c", "'\"<&>"]
LONGEST = 127  # bytes


def told(line):
    return {int(tid): name for tid, name in json.loads(line).items()}


@pytest.fixture
def named(start):
    """named(python): a process of PROGRAM, with `names` of its threads; rename(names)."""

    def begin(python):
        process = start([python, PROGRAM], stdin=subprocess.PIPE)
        process.names = told(process.first_line)

        def rename(names):
            process.stdin.write(json.dumps(names) + "\n")
            process.stdin.flush()
            process.names = told(process.stdout.readline())

        process.rename = rename
        return process

    return begin


def dumped(gait, pid, key="name"):
    return {thread["tid"]: thread[key] for thread in dump(gait, pid)["threads"]}


def has_names(gait, process, wanted=lambda name: name or ""):
    want = {tid: wanted(name) for tid, name in process.names.items()}
    return until(lambda: dumped(gait, process.pid) == want, 5)


def test_dump_says_what_python_calls_each_thread(python, gait, named):
    process = named(python)
    assert process.names[process.pid] == "MainThread" and None in process.names.values()
    assert len(set(process.names.values())) == len(process.names) == 8
    assert has_names(gait, process), dumped(gait, process.pid)
    process.rename(["of the main one", "of another"])
    assert process.names[process.pid] == "of the main one"
    assert has_names(gait, process), dumped(gait, process.pid)
    for tid, name in dumped(gait, process.pid, "system_name").items():
        with open(f"/proc/{process.pid}/task/{tid}/comm") as comm:
            assert name == comm.read().rstrip("\n")
    process.rename(HOSTILE)
    assert has_names(gait, process, shown), dumped(gait, process.pid)


def shown(name):
    """A bounded piece of the name, without what is no text."""
    name = re.sub("[\0\ud800-\udfff]", "?", name or "")
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."


FORKING = """
import json, os, sys, threading, time
def work():
    if os.fork() == 0:
        threading.Thread(target=time.sleep, args=(600,), name="born in the child").start()
        print(os.getpid(), json.dumps([t.name for t in threading.enumerate()]))
        sys.stdout.flush()
    time.sleep(600)
threading.Thread(target=time.sleep, args=(600,), name="left behind").start()
threading.Thread(target=work, name="the one that forks").start()
"""


def test_a_forked_process_has_its_own_names(python, gait, start):
    process = start([python, "-c", FORKING])
    pid, _, names = process.first_line.partition(" ")
    try:
        want = dict(zip(sorted(os.listdir(f"/proc/{pid}/task"), key=int), json.loads(names)))
        assert len(want) == 2 and want[pid] == "the one that forks"
        assert until(lambda: dumped(gait, pid) == told(json.dumps(want)), 5), dumped(gait, pid)
    finally:
        os.kill(int(pid), signal.SIGKILL)


def test_no_name_moves_the_cursor(gait, named):
    process = named(sys.executable)
    process.rename(HOSTILE)
    text = gait("dump", process.pid).stdout
    assert "\\x1b[2J" in text and not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f]", text), text


def test_top_follows_a_new_name(build, named):
    process = named(sys.executable)
    top = Terminal([build / "gait", "top", "-i", str(process.pid)], 100)
    assert top.read_until("keys: f functions")
    os.write(top.leader, b"h")
    assert top.read_until(f"{process.pid} MainThread") and top.read_until("ThreadPoolExecutor-0_1")
    process.rename(["\x1b[2Jnew"])
    assert top.read_until(f"{process.pid} \\x1b[2Jnew"), top.text
    os.write(top.leader, b"q")
    assert top.end() == 0


def record_renaming(build, process, out, names):
    """Records the process; its threads are renamed meanwhile."""
    command = [build / "gait", "record", "-i", "--threads", "-o", out, "--pid", process.pid]
    recording = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    assert until(lambda: out.exists() and b"ThreadPoolExecutor-0_1" in out.read_bytes())
    process.rename(names)
    recording.send_signal(signal.SIGINT)
    said = recording.communicate(timeout=30)[1]
    assert recording.returncode == 0, said


def test_a_recording_has_the_names_of_its_end(python, build, gait, named, tmp_path):
    process = named(python)
    out = tmp_path / "run.gait"
    record_renaming(build, process, out, ["the main one", "renamed later than recorded"])
    want = {f"{tid} {name or ''}".strip() for tid, name in process.names.items()}
    rows = json.loads(gait("leaf", "-a", "--by", "thread", "--json", out).stdout)["rows"]
    assert {row["thread"] for row in rows} == want
    done = gait("export", "--format", "chrome", "-o", tmp_path / "trace.json", out)
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {name for name in process.names.values() if name} <= tracks
    done = gait("flame", "-f", "speedscope", "-o", tmp_path / "flame.json", out)
    assert done.returncode == 0, done.stderr
    frames = json.loads((tmp_path / "flame.json").read_text())["shared"]["frames"]
    want = {
        f"thread ({tid})" + (f": {name}" if name else "") for tid, name in process.names.items()
    }
    assert {f["name"] for f in frames if f["name"].startswith("thread (")} == want


def test_other_files_have_the_names_too(build, gait, named, tmp_path):
    for name in ("stacks.txt", "profile.json"):
        process = named(sys.executable)
        record_renaming(build, process, tmp_path / name, ["first", "second"])
        text = (tmp_path / name).read_text()
        assert f"thread ({process.pid}): first" in text
        assert "ThreadPoolExecutor-0_1" in text and "MainThread" not in text
