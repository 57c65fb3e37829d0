# SPDX-License-Identifier: Apache-2.0
"""`gait stuck` of processes that are not on record, and what it cannot look at."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from tests.support.sampled_programs import until

SLEEPS = """
import sys, time
def wait_for_ever():
    time.sleep(3600)
print("ready", flush=True)
wait_for_ever()
"""
COMPUTES = """
print("ready", flush=True)
while True:
    sum(range(10_000_000))
"""
# a main thread that waits for a child that computes: as one that waits for a loader's worker
WAITS_FOR_WORK = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
print("ready", flush=True)
try:
    child.wait()
finally:
    child.kill()
"""
BRIEF = ("--for", "0.2")


def answer(gait, *words):
    done = gait("stuck", *BRIEF, "--json", *words)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"] == "stuck") == (done.returncode == 1)
    return found


def hung(gait, *words):
    """The answer once they hang: what a process prints first comes before that."""

    def found():
        told = answer(gait, *words)
        return told if told["verdict"] == "stuck" else None

    return until(found)


def test_a_program_that_sleeps_is_named_with_its_function_and_its_call(gait, start):
    process = start([sys.executable, "-c", SLEEPS])
    found = hung(gait, process.pid)
    (rank,) = found["ranks"]
    assert (rank["pid"], rank["state"], rank["is_cause"]) == (process.pid, "stands", True)
    assert (rank["function"], rank["line"]) == ("wait_for_ever", 4)
    assert "nanosleep" in rank["system_call"] or sys.version_info < (3, 11)
    assert [frame["line"] for frame in rank["frames"]] == [4, 6]
    assert rank["still_ns"] >= 1e9  # five looks
    assert f"process {process.pid} has not moved for" in found["sentence"]


def test_who_computes_moves(gait, start):
    process = start([sys.executable, "-c", COMPUTES])
    found = answer(gait, process.pid)
    assert [rank["state"] for rank in found["ranks"]] == ["moves"]
    assert found["sentence"] == "the only process moves"


def test_who_waits_for_a_child_that_computes_moves(gait, start):
    process = start([sys.executable, "-c", WAITS_FOR_WORK])
    found = answer(gait, process.pid)
    assert (process.pid, "moves") in [(rank["pid"], rank["state"]) for rank in found["ranks"]]
    process.send_signal(signal.SIGINT)
    process.wait()


def test_a_stopped_process_is_named_at_once(gait, start):
    process = start([sys.executable, "-c", COMPUTES])
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    found = answer(gait, process.pid)
    assert [(rank["state"], rank["is_cause"]) for rank in found["ranks"]] == [("stopped", True)]
    assert "is stopped by a signal or a debugger" in found["sentence"]


def test_below_a_shell_the_python_is_found(gait, start):
    shell = start(["sh", "-c", '"$0" -c "$1"; true', sys.executable, SLEEPS])
    found = hung(gait, shell.pid)
    (rank,) = found["ranks"]
    assert rank["pid"] != shell.pid and rank["function"] == "wait_for_ever"


def test_ranks_have_the_numbers_that_their_launcher_gave_them(gait, start):
    processes = [
        start([sys.executable, "-c", SLEEPS], env={**os.environ, **variables})
        for variables in (
            {"RANK": "3", "WORLD_SIZE": "5"},
            {"OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_SIZE": "5", "RANK": "no number"},
        )
    ]
    pids = [process.pid for process in processes]
    words = "ranks 3, 4 have not moved"  # one may come to its sleep long before the other
    found = until(lambda: told if words in (told := hung(gait, *pids))["sentence"] else None)
    assert [rank["rank"] for rank in found["ranks"]] == [3, 4]
    assert found["world_size"] == 5


def test_every_format_says_the_same(gait, start):
    process = start([sys.executable, "-c", SLEEPS])
    assert hung(gait, process.pid)
    done = {
        form: gait("stuck", *BRIEF, "--format", form, process.pid)
        for form in ("text", "csv", "html", "md")
    }
    assert {one.returncode for one in done.values()} == {1}
    assert all("wait_for_ever" in one.stdout for one in done.values())
    assert all(len(line) <= 78 for line in done["text"].stdout.splitlines())
    assert "blocked in" in done["text"].stdout
    table = gait("stuck", *BRIEF, "--format", "csv", "--table", "ranks", process.pid).stdout
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["pid"], row["state"]) == (str(process.pid), "stands")


def refused(gait, *words):
    done = gait("stuck", *BRIEF, *words)
    assert done.returncode == 2 and not done.stdout, done.stdout
    assert done.stderr.startswith("gait stuck: ") and len(done.stderr.splitlines()) == 1
    return done.stderr


def test_what_cannot_be_looked_at_is_refused_in_a_sentence(gait, start, tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert "no process" in refused(gait, gone.pid)
    assert "is not Python" in refused(gait, start(["sleep", "600"], stdout=None).pid)
    assert "is not a process number" in refused(gait, "99999999999")
    assert "no-such-run" in refused(gait, tmp_path / "no-such-run")
    assert "file" in refused(gait, tmp_path)
    assert "PID" in gait("stuck").stderr


def test_a_run_that_is_over_is_said_to_be(gait, start, tmp_path, build):
    program = f"import gait; gait.start({str(tmp_path / 'run')!r}); gait.stop(); print('ready')"
    start(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(build / "python")}
    ).wait()
    assert "is over" in refused(gait, tmp_path / "run")


def test_a_process_that_died_unclosed_is_not_looked_at(gait, start, tmp_path, build):
    program = f"import gait, time; gait.start({str(tmp_path / 'run')!r})\n{SLEEPS}"
    process = start(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(build / "python")}
    )
    found = hung(gait, tmp_path / "run")
    assert [rank["function"] for rank in found["ranks"]] == ["wait_for_ever"]
    process.kill()
    process.wait()
    assert until(lambda: gait("stuck", *BRIEF, tmp_path / "run").returncode == 2)
    assert "is over" in refused(gait, tmp_path / "run")


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user to be forbidden something")
def test_processes_of_other_users_are_refused(build, start):
    process = start([sys.executable, "-c", SLEEPS])
    with tempfile.TemporaryDirectory() as home:  # whose parents are everybody's
        os.chmod(home, 0o755)
        done = subprocess.run(
            [shutil.copy(build / "gait", home), "stuck", *BRIEF, str(process.pid)],
            capture_output=True,
            text=True,
            user=65534,
            group=65534,
            extra_groups=[],
            cwd="/",
        )
    assert done.returncode == 2 and "belongs to user 0" in done.stderr, done.stderr
