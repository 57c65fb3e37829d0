# SPDX-License-Identifier: Apache-2.0
"""What the tool says about itself, and about lines it cannot follow."""

import os
import pathlib
import platform
import re
import subprocess
import sys

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
    names = "version, clock, shared memory, buffers, limits, directory, rights, sampling, energy, "
    names += "package, torch, python, nsight, devices"
    assert list(checks) == names.split(", ")
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


@pytest.fixture
def doctor(gait):
    """Its check of that name under other variables, or behind another command."""

    def ask(name, *before, **variables):
        import json

        env = {**os.environ, **{key: str(value) for key, value in variables.items()}}
        if before:
            line = [*map(str, before), gait("help").args[0], "doctor", "--json"]
            done = subprocess.run(line, env=env, capture_output=True, text=True)
        else:
            done = gait("doctor", "--json", env=env)
        if done.returncode == 77:
            pytest.skip("no seccomp filter can be had here")
        check = json.loads(done.stdout)[name]
        return check["fine"], check["text"]

    return ask


@pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="a sanitized build has no Python package"
)
def test_the_doctor_tells_which_pythons_the_package_is_for(doctor, tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    minors = {own: sys.version_info[1], other: 63}
    for folder, minor in minors.items():
        folder.mkdir()
        (folder / f"python3.{minor}").write_text("#!/bin/sh\n")
        (folder / f"python3.{minor}").chmod(0o755)
        (folder / "python3").symlink_to(f"python3.{minor}")
    fits = f"gait's package is for Python 3.{minors[own]}"
    assert doctor("package", PATH=own) == (True, fits)
    lacks = (
        "; programs of 3.63, also in PATH, are sampled, but not recorded: install gait there, too"
    )
    assert doctor("package", PATH=f"{own}:{other}") == (True, fits + lacks)
    assert doctor("package", PATH=f"{other}:{own}") == (False, fits + lacks)
    assert doctor("package", PATH=tmp_path) == (True, fits + "; none is in PATH")


def test_the_doctor_tells_what_tells_energy(doctor, tmp_path):
    fine, text = doctor("energy", GAIT_METER_ROOT=tmp_path)
    if "by nvml" not in text:
        assert not fine and f"{tmp_path}/sys/class/powercap has no energy counters" in text
    zone = tmp_path / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, content in (("name", "package-0"), ("energy_uj", 5), ("max_energy_range_uj", 9999)):
        (zone / name).write_text(f"{content}\n")
    fine, text = doctor("energy", GAIT_METER_ROOT=tmp_path)
    assert fine and "1 by rapl" in text


def test_the_doctor_tells_what_may_be_sampled_and_what_allows_more(doctor, root):
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    rights = re.search("CapEff:\t(.*)", pathlib.Path("/proc/self/status").read_text())[1]
    if "seccomp" in doctor("sampling")[1]:
        pytest.skip("a seccomp filter is around the tests")
    if int(rights, 16) >> 19 & 1:  # CAP_SYS_PTRACE
        assert doctor("sampling")[1] == "all programs here can be sampled"
    elif not scope.exists() or scope.read_text() == "0\n":
        assert doctor("sampling") == (True, "your own programs can be sampled")
    else:
        assert f"kernel.yama.ptrace_scope is {scope.read_text().strip()}" in doctor("sampling")[1]
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of calls are of x86-64")
    filtered = [sys.executable, root / "tests/sample/programs/filtered.py"]
    cure = "; in a container: --cap-add SYS_PTRACE"
    forbidden = "nothing can be sampled: a seccomp filter forbids process_vm_readv"
    assert doctor("sampling", *filtered, 310) == (False, forbidden + cure)
    fine, text = doctor("sampling", *filtered, 101)
    assert not fine and text.endswith("not with --native: a seccomp filter forbids ptrace" + cure)


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
