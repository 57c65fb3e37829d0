# SPDX-License-Identifier: Apache-2.0
"""What commands print for people fits a screen of 78 columns; what is to be typed, and
paths, stay whole."""

import contextlib
import os
import subprocess
import sys

import pytest
from terminals import open_terminal

COLUMNS = 78
DEEP = "a-run-directory-with-a-name-that-is-long/and-one-below-it-that-is-long-as-well"
COMMANDS = {
    "nothing recorded": ["run", "true"],
    "nothing recorded in a named one": ["run", "-o", DEEP, "--", "true"],
    "a profile of no torch": ["run", "--profile", "--", "true"],
    "an impossible directory": ["run", "-o", "/proc/nowhere/at/all/and/below/that", "--", "true"],
    "switched off notes": ["run", "profiling.store_traces=0", "profiling.output_dir=x", "true"],
    "what is not there yet": ["run", "profiling.activities=cpu,cuda", "--", "true"],
    "nsight": ["run", "--profiling.nsight_enabled", "true", "--", "true"],
    "a clipped schedule": ["run", "--windows", "5/3/2", "--", "true"],
    "plan": ["plan", "5/3/2"],
    "plan of a list": ["plan", "steps=" + ",".join(map(str, range(0, 60, 2)))],
    "plan of epochs": ["plan", "--wait", "9", "--epochs", "3"],
    "plan of large numbers": ["plan", "--wait", "1099511627776", "--skip-first", "1099511627776"],
    "explain": ["config", "explain", "profiling.py_spy_rate=9", "profiling.epochs=4"],
    "check": ["config", "check", "theirs.yaml"],
    "settings": ["config", "list"],
    "no source": ["leaf", "--source", "a-source-that-is-nowhere-to-be-found.py", "stacks.txt"],
    "lines that are not stacks": ["flame", "-f", "speedscope", "-o", "graph.json", "stacks.txt"],
    "no action ran": ["run", "--profiler", "simple", "--", "true"],
    "doctor": ["doctor"],
    "help": ["help"],
    **{f"help of {name}": [name, "--help"] for name in ("run", "plan", "trigger", "config")},
}


def too_wide(text):
    """Lines that are longer and could be broken: with a blank behind the indent."""
    for line in text.splitlines():
        to_type = line.startswith("  gait ")
        if len(line) > COLUMNS and " " in line.strip() and not to_type:
            yield line


@pytest.fixture
def here(tmp_path):
    (tmp_path / "theirs.yaml").write_text("profiling: {epochs: 9, unit: step, wait_steps: 3}\n")
    stack = "f (a-source-that-is-nowhere-to-be-found.py:1) 3"
    (tmp_path / "stacks.txt").write_text(f"{stack}\nno stack\n")
    return tmp_path


@pytest.fixture
def on_terminal(build, here):
    """What a command says where stderr is a terminal, and what it answers."""

    def run(*line):
        ours, theirs = open_terminal()
        done = subprocess.run(
            [build / "gait", *line], cwd=here, stdin=subprocess.DEVNULL, stdout=-1, stderr=theirs
        )
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # a terminal that nobody writes to any more
            while more := os.read(ours, 65536):
                said += more
        os.close(ours)
        return done.stdout.decode(), said.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_what_is_said_fits_a_screen_and_is_a_line_each_in_a_log(gait, on_terminal, line):
    answer, said = on_terminal(*line)
    assert answer + said
    assert list(too_wide(answer + said)) == []
    log = gait(*line).stderr.splitlines()
    for row in log:
        assert row.startswith(("gait: ", f"gait {line[0]}: ", "  gait ", "example: ", "  "))
    first = "gait: recording into"  # said at a terminal alone
    rows = [row for row in said.splitlines() if row.startswith("gait")]
    assert len([row for row in rows if not row.startswith(first)]) == len(
        [row for row in log if row.startswith("gait")]
    )


def test_what_to_type_next_is_a_line_of_its_own_where_it_is_long(gait, here):
    recorder = [sys.executable, "-c", "import gait\nwith gait.span('a'): pass"]
    done = gait("run", "-o", DEEP, "--", *recorder)
    assert done.stderr.splitlines()[-1] == f"  gait report {DEEP}"
    done = gait("run", "-o", "short", "--", *recorder)
    assert done.stderr.endswith("in short; next: gait report short\n")


def test_a_refusal_is_one_line_and_on_a_terminal_as_many_as_it_takes(gait, on_terminal):
    line = ["plan", "steps=1", "--wait", "1", "--active", "nonsense-that-is-longer-than-anything"]
    done = gait(*line)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    _, said = on_terminal(*line)
    assert said.startswith("gait plan: ") and list(too_wide(said)) == []
    assert said.split() == done.stderr.split()
