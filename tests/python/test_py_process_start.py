# SPDX-License-Identifier: Apache-2.0
"""From when on a process is told: what `gait run` started from its real start, a program that
records by itself from there. The programs tell their own clocks."""

import json
import subprocess
import sys
import time

import pytest

ERROR_NS = 12e6  # the system's tick of 10 ms, and a moment between two calls
CLOCK = """
import os, sys, time
def tell(name): print(name, time.time_ns(), flush=True)
def wait_out(ns):  # a set-up that takes its time
    until = time.perf_counter_ns() + ns
    while time.perf_counter_ns() < until: pass
tell("began")
"""
LATE = CLOCK + "wait_out(300_000_000)\nimport gait\ngait.start()\ngait.mark('a')\ntell('ends')\n"


class Ran:
    """A program that ended: its clocks, and when it was asked for."""

    def __init__(self, line, folder, env):
        self.asked = time.time_ns()
        done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=60)
        self.over = time.time_ns()
        assert (done.returncode, done.stderr) == (0, "")
        self.told = {}
        for text in done.stdout.splitlines():
            name, at = text.split()
            self.told.setdefault(name, []).append(int(at))

    def one(self, name):
        (at,) = self.told[name]
        return at


@pytest.fixture
def ran(build, tmp_path):
    """ran(source) under `gait run`, ran(source, by_gait=False) with GAIT_DIR alone."""

    def go(source, by_gait=True):
        (tmp_path / "program.py").write_text(source)
        line = [sys.executable, "program.py"]
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(build / "python")}
        env["PYTHONWARNINGS"] = "ignore::DeprecationWarning"  # of forks beside our writer's thread
        if by_gait:
            line = [str(build / "gait"), "run", "-q", "-o", "run", "--", *line]
        else:
            env["GAIT_DIR"] = "run"
        return Ran(line, tmp_path, env)

    return go


@pytest.fixture
def asked(gait):
    def ask(command):
        return json.loads(gait(command, "--json", "run").stdout)

    return ask


def lives(info):
    """By process: when it began, as its shard has it, and its recording's start."""
    return {
        shard["pid"]: (shard["metadata"]["process_start_ns"], shard["start_ns"], shard)
        for shard in info["shards"]
    }


def test_what_gait_run_starts_is_told_from_its_start(ran, asked):
    program = ran(LATE)
    report, ((start, recorded, shard),) = asked("report"), lives(asked("info")).values()
    error = shard["metadata"]["process_start_error_ns"]
    assert 0 < error <= ERROR_NS
    assert program.asked - error <= start <= program.one("began") + error
    assert recorded >= program.one("began") + 300e6
    assert report["whole_run"]["total_ns"] == report["wall_ns"]
    assert program.one("ends") - program.one("began") - error < report["wall_ns"]
    assert report["wall_ns"] < program.over - program.asked + error


def test_what_records_by_itself_is_told_from_there(ran, asked):
    program = ran(LATE, by_gait=False)
    assert asked("report")["wall_ns"] < program.over - program.one("began") - 300e6


def test_a_short_program_is_told_to_less_than_the_tick_of_the_system(ran, asked):
    """`gait run` knows when it began it."""
    ran(CLOCK + "import gait\ngait.start()\ngait.mark('a')\n")
    ((start, recorded, shard),) = lives(asked("info")).values()
    assert shard["metadata"]["process_start_error_ns"] <= max((recorded - start), 5.1e6)


def test_the_child_of_a_fork_began_with_the_fork(ran, asked):
    source = (
        CLOCK
        + """
import gait
gait.start()
gait.mark("parent")
wait_out(100_000_000)
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on: it has gait's thread
tell("forks")
child = os.fork()
if child == 0:
    tell("forked")
    wait_out(100_000_000)
    gait.mark("child")
    sys.exit(0)
os.waitpid(child, 0)
"""
    )
    program = ran(source)
    _, (start, recorded, _shard) = sorted(lives(asked("info")).values(), key=lambda one: one[1])
    assert program.one("forks") - ERROR_NS <= start <= program.one("forked") + ERROR_NS
    assert recorded >= program.one("forked") + 100e6


def test_a_later_session_of_a_process_has_no_start_of_its_own(ran, asked):
    ran(LATE + "gait.stop()\nwait_out(100_000_000)\ngait.start()\ngait.mark('b')\n")
    told = ["process_start_ns" in shard["metadata"] for shard in asked("info")["shards"]]
    assert sorted(told) == [False, True]


def test_nonsense_in_the_variable_is_no_bound(build, tmp_path, asked):
    """It may have been inherited from anywhere."""
    (tmp_path / "program.py").write_text(LATE)
    for bound in ("", "x", "-5", "9" * 30, str(10**18)):
        env = {"PYTHONPATH": str(build / "python"), "GAIT_DIR": "run", "GAIT_BEGAN": bound}
        program = Ran([sys.executable, "program.py"], tmp_path, env)
    starts = [start for start, _recorded, _shard in lives(asked("info")).values()]
    assert len(starts) == 5
    assert any(program.asked - ERROR_NS <= s <= program.one("began") + ERROR_NS for s in starts)
    assert max(starts) <= program.one("began") + ERROR_NS
