# SPDX-License-Identifier: Apache-2.0
"""gait trigger: who is asked, and who is left alone."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

# Takes what is asked for, and says so; dies of any signal.
RECORDS = """
import sys, gait
from gait import _native
assert gait.start(sys.argv[1])
print(gait.recording(), flush=True)
for line in sys.stdin:
    print(_native._trigger_take(), flush=True)
"""


@pytest.fixture
def started(build, tmp_path):
    """started(program, arguments…) gives a process that has said its first line."""
    processes = []

    def start(source, *arguments, under=()):
        path = tmp_path / f"program{len(processes)}.py"
        path.write_text(textwrap.dedent(source))
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        process = subprocess.Popen(
            [*under, sys.executable, str(path), *map(str, arguments)],
            env={**env, "PYTHONPATH": str(build / "python")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout.readline()
        return process

    yield start
    for process in processes:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def taken(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def test_a_process_that_records_gets_what_was_asked_for_once(gait, started, tmp_path):
    process = started(RECORDS, tmp_path / "run")
    assert taken(process) == 0
    done = gait("trigger", process.pid, "--steps", "7")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == f"asked process {process.pid} for 7 steps; they begin with the next step\n"
    )
    assert [taken(process), taken(process)] == [7, 0]
    answer = json.loads(gait("trigger", process.pid, "--json").stdout)
    assert answer == {"asked": [process.pid], "steps": 0}
    assert [taken(process), taken(process)] == [-1, 0]


def test_of_a_launcher_all_that_record_below_it_are_asked(gait, started, tmp_path):
    launcher = """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        print(child.pid, flush=True)
        for line in sys.stdin:
            child.stdin.write(line); child.stdin.flush()
            print(child.stdout.readline(), end="", flush=True)
        child.stdin.close(); child.wait()
    """
    (tmp_path / "inner.py").write_text(RECORDS)
    process = started(launcher, tmp_path / "inner.py", tmp_path / "run")
    assert gait("trigger", process.pid, "-n", "3").returncode == 0
    assert taken(process) == 3


def test_a_process_without_gait_is_left_alone(gait, started):
    # any signal but an ignored one would end it
    process = started(
        "import sys\nprint(1, flush=True)\nfor line in sys.stdin: print(5, flush=True)"
    )
    done = gait("trigger", process.pid)
    assert (done.returncode, done.stdout) == (2, "")
    assert "do not record with gait" in done.stderr and "gait sent nothing" in done.stderr
    assert taken(process) == 5 and process.poll() is None


def test_gait_loaded_and_not_recording_is_left_alone_too(gait, started):
    source = "import sys, gait\nprint(1, flush=True)\nfor line in sys.stdin: print(5, flush=True)"
    process = started(source)
    assert gait("trigger", process.pid).returncode == 2
    assert taken(process) == 5


def test_the_signal_is_nobodys_unless_asked_for(started, tmp_path):
    process = started(RECORDS, tmp_path / "run")
    process.send_signal(signal.SIGUSR2)
    assert process.wait(60) == -signal.SIGUSR2


@pytest.mark.parametrize("pid", ["0", "-1", "x", "12x", "", "99999999999", "4194304999"])
def test_what_is_no_process_is_refused(gait, pid):
    done = gait("trigger", pid)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_process_that_is_gone(gait):
    process = subprocess.Popen(["true"])
    process.wait(60)
    done = gait("trigger", process.pid)
    assert done.returncode == 2 and f"process {process.pid} does not exist" in done.stderr
