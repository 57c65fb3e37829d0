# SPDX-License-Identifier: Apache-2.0
"""What the tool says about itself, and about lines it cannot follow."""

import os
import pathlib
import re
import subprocess

import pytest
from terminals import open_terminal

TABLE = pathlib.Path(__file__).resolve().parents[2] / "src/answer/answers.def"
ANSWERS = re.findall(r"^ANSWER\((\w+),", TABLE.read_text().replace("_", "-"), re.MULTILINE)
RARE = ["kernels", "comms", "steps", "modules", "energy", "memory", "gaps"]
RARE += [
    "critical-path",
    "what-if",
    "scale",
    "import",
    "plan",
    "trigger",
    "index",
    "diff-stacks",
    "trace-diff",
    "sql",
    "dump",
    "top",
    "stuck",
]
RARE += ["pstats", "completion", "help", "version"]
COMMANDS = ["run", "record", "report", *(name for name in ANSWERS if name not in RARE)]
COMMANDS += ["view", "compare", "export", "leaf", "flame", "config", "doctor"]


def is_a_screen(text):
    lines = text.split("\n")
    return len(lines) <= 24 and max(map(len, lines)) <= 78 and text.isascii()


@pytest.mark.parametrize("command", COMMANDS + RARE)
def test_the_help_of_a_command_fits_a_screen(gait, command):
    asked = [gait(command, "--help"), gait(command, "-h"), gait("help", command)]
    assert [done.returncode for done in asked] == [0, 0, 0]
    assert len({done.stdout for done in asked}) == 1
    assert is_a_screen(asked[0].stdout)
    assert asked[0].stdout.split()[:3] == ["usage:", "gait", command]


def test_the_help_of_the_tool_fits_a_screen_and_lists_all_commands(gait):
    help = gait("--help")
    assert (help.returncode, help.stderr) == (0, "")
    assert is_a_screen(help.stdout)
    listed = help.stdout.split("commands:\n")[1].split("\n\n")[0]
    explained, also = listed.split("  also ")
    assert [line.split()[0] for line in explained.splitlines()] == COMMANDS
    assert also.split() == ", ".join(RARE).split()


def test_without_a_command_the_help_goes_to_stderr(gait):
    done = gait()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == gait("--help").stdout


def test_the_version_is_told(gait):
    for option in ("--version", "-V", "version"):
        done = gait(option)
        assert done.returncode == 0
        assert done.stdout.startswith("gait ") and done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "line, sentence",
    [
        (["reprot", "x"], "gait: unknown command 'reprot'; did you mean 'report'?"),
        (["zebra"], "gait: unknown command 'zebra'; 'gait help' lists the commands"),
        (["help", "exprt"], "gait help: unknown command 'exprt'; did you mean 'export'?"),
        (["--verison"], "gait: unknown option '--verison'; did you mean '--version'?"),
        (["export"], "gait export: PATH is missing; see 'gait help export'"),
        (["info", "a", "b"], "gait info: 'b' is an extra argument; see 'gait help info'"),
        (["report", "--jsn", "x"], "gait report: unknown option '--jsn'; did you mean '--json'?"),
        (["report", "-x", "y"], "gait report: unknown option '-x'; see 'gait help report'"),
        (
            ["export", "x", "--format", "perfeto"],
            "gait export: '--format' cannot be 'perfeto'; did you mean 'perfetto'?",
        ),
        (
            ["export", "x", "-o", "x.trace"],
            "gait export: 'x.trace' does not end in .json, .pftrace or .csv: give --format "
            "chrome, perfetto, pt-trace, stacks, csv or parquet",
        ),
        (["diff-stacks", "a"], "gait diff-stacks: AFTER is missing; see 'gait help diff-stacks'"),
        (["help", "foo"], "gait help: unknown command 'foo'; 'gait help' lists the commands"),
        (["doctor", "x"], "gait doctor: unknown subject 'x'; the only one is 'torch'"),
    ],
)
def test_a_line_that_is_wrong_is_refused_in_one_sentence(gait, line, sentence):
    done = gait(*line)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence + "\n")


def test_the_help_names_the_formats_there_are(gait, tmp_path):
    offered = gait("export", "x", "--format", "-").stderr.split("it is one of: ")[1]
    for name in offered.strip().split(", "):
        assert f"'{name}'" not in gait("export", "missing", "--format", name).stderr
        assert name in gait("export", "--help").stdout


def test_an_answer_that_cannot_be_written_is_a_failure(build, tmp_path):
    with open("/dev/full", "w") as full:
        line = [build / "gait", "help"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "gait help: cannot write the answer: No space left on device\n"


def test_the_doctor_cleans_no_torch(gait):
    done = gait("doctor", "torch", "--clean")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'--clean' does not go with 'torch'" in done.stderr


def test_the_doctor_answers_in_text_and_json(gait):
    import json

    text, answer = gait("doctor"), gait("doctor", "--json")
    assert (text.returncode, answer.returncode) == (0, 0)
    assert is_a_screen(text.stdout)
    checks = json.loads(answer.stdout)
    names = "version, clock, shared memory, buffers, limits, directory, rights"
    assert list(checks) == [*names.split(", "), "torch", "python", "nsight", "devices"]
    assert all(isinstance(check["fine"], bool) and check["text"] for check in checks.values())


def test_the_doctor_asks_each_collector(gait, tmp_path):
    import json

    def nsight():
        environment = {**os.environ, "PATH": f"/none::{tmp_path}"}
        return json.loads(gait("doctor", "--json", env=environment).stdout)["nsight"]

    assert nsight()["fine"] is False and "no nsys in PATH" in nsight()["text"]
    (tmp_path / "nsys").write_text("#!/bin/sh\n")
    (tmp_path / "nsys").chmod(0o755)
    assert nsight()["fine"] is True and f"{tmp_path}/nsys starts" in nsight()["text"]


def test_binary_output_does_not_go_to_a_terminal(build, tmp_path):
    end, terminal = open_terminal()
    line = [build / "gait", "export", "-f", "perfetto", "x"]
    done = subprocess.run(line, stdout=terminal, stderr=subprocess.PIPE, text=True)
    os.close(terminal)
    os.close(end)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "gait export: this format is binary and not for a terminal; name a file"
    )
