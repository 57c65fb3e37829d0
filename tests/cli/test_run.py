# SPDX-License-Identifier: Apache-2.0
"""`gait run` with real processes: exit codes, signals, directories, nesting."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from terminals import fork_in_terminal

from tests.support.small_disk import small_disk_at

LAUNCHER = re.compile(r"^(GAIT|SLURM|PMI|PMIX|OMPI|FLUX|PALS|HOROVOD|MV2|LSB|JSM)_|^RANK$")


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in list(os.environ):
        if LAUNCHER.match(name):
            monkeypatch.delenv(name)


def python(code):
    return [sys.executable, "-c", code]


def show_environment(*names):
    return python(f"import os, json; print(json.dumps([os.environ.get(n) for n in {names!r}]))")


@pytest.mark.parametrize("code", [0, 1, 3, 125, 255])
def test_the_exit_code_is_the_programs(gait, code):
    assert gait("run", "--", *python(f"raise SystemExit({code})")).returncode == code


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGSEGV", "SIGABRT", "SIGHUP"])
def test_a_signal_that_ends_the_program_is_told_as_shells_do(gait, name):
    number = getattr(signal, name)
    code = f"import os, signal; signal.signal({number}, 0) if {number} != 9 else 0"
    done = gait("run", "--", *python(f"{code}; os.kill(os.getpid(), {number})"))
    assert done.returncode == 128 + number
    assert f"killed by signal {int(number)}" in done.stderr


def test_a_program_that_is_missing_is_127_and_leaves_nothing(gait, tmp_path):
    done = gait("run", "-o", "named", "--", "no-such-program")
    assert (done.returncode, os.listdir(tmp_path)) == (127, [])
    done = gait("run", "no-such-program")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "gait: cannot run 'no-such-program': no such program\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["run", "record"])
@pytest.mark.parametrize(
    "mode, typed, meant",
    [
        (0o644, "train.py", "python train.py"),
        (0o644, "./train.py", "python ./train.py"),
        (0o755, "prog", "./prog"),
    ],
)
def test_a_file_in_the_folder_is_what_was_meant(gait, tmp_path, command, mode, typed, meant):
    file = tmp_path / typed
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    done = gait(command, "--", typed)
    assert done.returncode in (126, 127)
    assert done.stderr.startswith(f"gait: cannot run '{typed}': ")
    assert done.stderr.endswith(f"; did you mean '{meant}'?\n")


def test_a_program_that_cannot_be_executed_is_126(gait, tmp_path):
    (tmp_path / "data").write_text("x")
    done = gait("run", "./data")
    assert done.returncode == 126
    assert done.stderr == "gait: cannot run './data': Permission denied\n"


@pytest.mark.parametrize(
    "line",
    [["--outptu", "x", "true"], ["-o"], [], ["--ring", "1", "true"]]
    + [["--windows", windows, "true"] for windows in ("on", "5", "5/3/100/", "5//1", "-1/3/100")],
)
def test_wrong_usage_is_125_and_starts_nothing(gait, tmp_path, line):
    done = gait("run", *line)
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("windows", ["off", "all", "5/3", "0/1/1"])
def test_windows_are_passed_on(gait, windows):
    line = ["sh", "-c", 'echo "$GAIT_TORCH_WINDOWS"']
    assert gait("run", "-q", "--windows", windows, "--", *line).stdout == windows + "\n"


def test_the_programs_own_options_are_its_own(gait):
    done = gait("run", "-q", "echo", "-n", "--quiet", "--", "-o")
    assert done.stdout == "--quiet -- -o"


def test_output_and_input_pass_through_untouched(gait):
    done = gait("run", "-q", "--", "cat", input="text\n", stdin=None)
    assert done.stdout == "text\n"
    assert done.stderr == ""


def test_the_program_sees_the_directory_and_one_run_id(gait, tmp_path):
    line = show_environment("GAIT_DIR", "GAIT_RUN_ID", "GAIT_OVERFLOW", "GAIT_RING")
    done = gait("run", "-o", "a/b", "--overflow=block", "--ring=16M", "--", *line)
    directory, run_id, overflow, ring = json.loads(done.stdout)
    assert directory == str(tmp_path / "a" / "b")
    assert re.fullmatch("[0-9a-f]{32}", run_id)
    assert (overflow, ring) == ("block", "16777216")


def test_two_runs_have_two_directories_and_two_ids(gait):
    line = ["run", "--", *python("import os; open(os.environ['GAIT_DIR'] + '/x.gait', 'w')")]
    first, second = gait(*line), gait(*line)
    paths = [re.search(r"gait report (\S+)", done.stderr).group(1) for done in (first, second)]
    assert paths[0] != paths[1]


def test_the_default_directory_is_named_after_the_script(gait, tmp_path):
    (tmp_path / "train.py").write_text("import os; open(os.environ['GAIT_DIR'] + '/x.gait', 'w')")
    gait("run", sys.executable, "train.py")
    (name,) = [name for name in os.listdir(tmp_path) if name.startswith("gait-")]
    assert re.fullmatch(r"gait-train-\d{8}T\d{6}Z", name)


def test_a_recording_is_told_in_one_line(gait, tmp_path):
    line = python("import os; open(os.environ['GAIT_DIR'] + '/x.gait', 'w').write('abc')")
    done = gait("run", "-o", "it's here", "--", *line)
    quoted = "'it'\\''s here'"
    assert done.stderr == f"gait: 1 shard, 3 B in {quoted}; next: gait report {quoted}\n"
    assert gait("run", "-q", "-o", "quiet", "--", *line).stderr == ""


def needs_package(build):
    if not (build / "python" / "gait").is_dir():
        pytest.skip("this build has no Python package")


def test_nothing_recorded_is_said_with_a_reason(gait, build, tmp_path):
    needs_package(build)
    done = gait("run", "true")
    assert done.stderr == (
        "gait: nothing was recorded: no process imported torch or gait or called "
        "gait_start(), or starting failed; gait record samples any Python program\n"
    )
    assert os.listdir(tmp_path) == []
    assert " in named:" in gait("run", "-o", "named", "true").stderr
    assert (tmp_path / "named").is_dir()


def test_a_disk_that_is_full_is_why_nothing_was_recorded(gait, build, tmp_path):
    needs_package(build)
    with small_disk_at(tmp_path / "disk", "4k"):
        done = gait("run", "-o", "disk/x", "--", *python(STEPS), env=with_gait(build))
    assert done.returncode == 0
    assert done.stderr == (
        "gait: nothing was recorded in disk/x: cannot write to 'disk/x': No space left on device\n"
    )


@pytest.mark.parametrize("option", ["-q", "--profile"])
def test_a_program_that_fails_without_a_recording_leaves_no_folder(gait, tmp_path, option):
    done = gait("run", option, "--", *python("import nothing_of_that_name"))
    assert done.returncode == 1 and os.listdir(tmp_path) == []
    assert "no traces" not in done.stderr


def test_a_directory_that_holds_something_is_refused(gait, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x.gait").write_text("")
    done = gait("run", "-o", "old", "--", "touch", "ran")
    assert done.returncode == 125
    assert done.stderr == (
        "gait run: 'old' is not empty; name another directory, or add to it with --append\n"
    )
    assert not (tmp_path / "ran").exists()


def test_an_empty_directory_is_taken_and_append_keeps_the_id(gait, tmp_path):
    (tmp_path / "new").mkdir()
    line = show_environment("GAIT_RUN_ID")
    first = gait("run", "-o", "new", "--", *line)
    (tmp_path / "new" / "x.gait").write_text("")
    second = gait("run", "-o", "new", "--append", "--", *line)
    assert (first.returncode, second.returncode) == (0, 0)
    assert json.loads(first.stdout) == json.loads(second.stdout)


@pytest.mark.parametrize("path", ["/proc/none/x", "/dev/null", "file", "file/below", "x" * 5000])
def test_an_impossible_directory_does_not_keep_the_program_from_running(gait, tmp_path, path):
    (tmp_path / "file").write_text("")
    done = gait("run", "-o", path, "--", *show_environment("GAIT_DIR", "GAIT_ENABLE"))
    assert done.returncode == 0
    assert json.loads(done.stdout) == [None, "0"]
    said = " ".join(done.stderr.split())
    assert said.startswith("gait: nothing is recorded: ") and said.count("gait: ") == 1
    assert said.endswith("; name another directory with -o")


def test_a_read_only_directory_does_not_keep_the_program_from_running(as_nobody):
    run, home = as_nobody
    (home / "closed").mkdir(mode=0o555)
    done = run("run", "-o", "closed", "--", "sh", "-c", "exit 9")
    assert done.returncode == 9
    assert done.stderr == (
        "gait: nothing is recorded: cannot write to 'closed': Permission denied; name "
        "another directory with -o\n"
    )
    home.chmod(0o555)
    done = run("run", "--", "sh", "-c", "exit 8")
    home.chmod(0o755)
    assert done.returncode == 8
    assert done.stderr.startswith("gait: nothing is recorded: cannot make 'gait-sh-")
    said = " ".join(done.stderr.split())
    assert said.endswith("': Permission denied; name a directory with -o")


def test_gait_enable_0_records_nothing(gait, tmp_path, monkeypatch):
    monkeypatch.setenv("GAIT_ENABLE", "0")
    done = gait("run", "--", *show_environment("GAIT_DIR"))
    assert json.loads(done.stdout) == [None]
    assert done.stderr == "gait: GAIT_ENABLE=0: nothing is recorded\n"
    assert os.listdir(tmp_path) == []


def test_a_run_inside_a_run_joins_it_silently(gait, build, tmp_path):
    inner = [build / "gait", "run", "--", *show_environment("GAIT_DIR", "GAIT_RUN_ID")]
    outer = gait(
        "run", "-o", "out", "--", "sh", "-c", 'echo "$GAIT_RUN_ID"; exec "$@"', "-", *inner
    )
    run_id, below = outer.stdout.splitlines()
    assert json.loads(below) == [str(tmp_path / "out"), run_id]
    assert outer.stderr.count("gait: ") == 1


def test_gait_dir_is_used_when_no_output_is_given(gait, tmp_path, monkeypatch):
    monkeypatch.setenv("GAIT_DIR", "mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x.gait").write_text("")
    done = gait("run", "--", *show_environment("GAIT_DIR"))
    assert json.loads(done.stdout) == [str(tmp_path / "mine")]
    done = gait("run", "-o", "other", "--", *show_environment("GAIT_DIR"))
    assert json.loads(done.stdout) == [str(tmp_path / "other")]


@pytest.mark.parametrize("output", [[], ["-o", "shared"]])
def test_the_ranks_of_a_job_meet_in_one_directory(gait, monkeypatch, output):
    code = (
        "import os; d = os.environ['GAIT_DIR']; print(d, os.environ['GAIT_RUN_ID']); "
        "open(d + '/' + os.environ['SLURM_PROCID'] + '.gait', 'w')"
    )
    seen, said = set(), []
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    for rank in ("1", "0"):
        monkeypatch.setenv("SLURM_PROCID", rank)
        done = gait("run", *output, "--", *python(code))
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
        said.append(done.stderr)
    assert len(seen) == 1
    assert said[0] == ""
    assert said[1].startswith("gait: 2 shards")


# What follows speaks with a running program: it writes its pid, then a line for
# each signal it gets, and ends after so many.
LISTENER = """
import os, signal, sys
signals = {1, 2, 3, 10, 12, 15}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
os.write(1, b"%d\\n" % os.getpid())
for _ in range(int(sys.argv[1])):
    os.write(1, b"%d\\n" % signal.sigwait(signals))
raise SystemExit(5)
"""


def start(build, tmp_path, count, **options):
    line = [build / "gait", "run", "-q", "--", sys.executable, "-c", LISTENER, str(count)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, cwd=tmp_path, text=True, **options)
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_a_signal_for_gait_run_reaches_the_program_once(build, tmp_path, name):
    number = getattr(signal, name)
    process, _ = start(build, tmp_path, 2)
    process.send_signal(number)
    assert process.stdout.readline() == f"{int(number)}\n"
    end = signal.SIGTERM if name != "SIGTERM" else signal.SIGINT
    process.send_signal(end)
    assert process.stdout.read() == f"{int(end)}\n"
    assert process.wait(30) == 5


def test_a_signal_for_the_whole_group_arrives_once(build, tmp_path):
    """As `timeout` and job managers send it; the next one for gait run alone is passed on."""
    process, _ = start(build, tmp_path, 4, start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "2\n"
    process.send_signal(signal.SIGUSR2)  # gait run looks at SIGINT first
    assert process.stdout.readline() == "12\n"
    os.killpg(process.pid, signal.SIGTERM)
    assert process.stdout.readline() == "15\n"
    process.send_signal(signal.SIGINT)  # not taken for the one before
    assert process.stdout.read() == "2\n"
    assert process.wait(30) == 5


def test_the_programs_signal_to_its_own_group_does_not_come_back(build, tmp_path):
    code = LISTENER.replace("for _", "os.kill(0, 15)\nfor _")
    line = [build / "gait", "run", "-q", "--", sys.executable, "-c", code, "2"]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, cwd=tmp_path, text=True, start_new_session=True
    )
    process.stdout.readline()
    assert process.stdout.readline() == "15\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "2\n"
    assert process.wait(30) == 5


def in_terminal(build, tmp_path, count):
    """A run as the foreground of a new terminal: (pid, the terminal's other end)."""
    pid, end = fork_in_terminal()
    if pid == 0:
        os.chdir(tmp_path)
        tool = str(build / "gait")
        os.execv(tool, [tool, "run", "-q", "--", sys.executable, "-c", LISTENER, str(count)])
    return pid, end


def read_until(end, text):
    seen = b""
    while text not in seen:
        try:
            got = os.read(end, 1000)
        except OSError as error:  # the terminal is gone with its last process
            if error.errno != errno.EIO:
                raise
            break
        if not got:
            break
        seen += got
    return seen


def test_control_c_in_a_terminal_arrives_once(build, tmp_path):
    pid, end = in_terminal(build, tmp_path, 3)
    read_until(end, b"\n")
    os.write(end, b"\x03")
    assert read_until(end, b"2\r\n").count(b"2\r\n") == 1
    os.write(end, b"\x03")
    assert read_until(end, b"2\r\n").count(b"2\r\n") == 1
    os.write(end, b"\x1c")
    rest = read_until(end, b"never")
    assert rest.count(b"3\r\n") == 1 and b"2\r\n" not in rest
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    os.close(end)


# What a shell does: puts the run into the foreground and tells how it fares.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)
    if os.WIFSTOPPED(status):
        os.write(1, b"stopped %d %d\\n" % (pid, os.WSTOPSIG(status)))
    elif os.WIFCONTINUED(status):
        os.write(1, b"continued\\n")
    else:
        sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_control_z_stops_both_and_continuing_goes_on(build, tmp_path):
    shell, end = fork_in_terminal()
    if shell == 0:
        os.chdir(tmp_path)
        line = [build / "gait", "run", "-q", "--", sys.executable, "-c", LISTENER, "1"]
        os.execv(sys.executable, [sys.executable, "-c", SHELL, *map(str, line)])
    program = int(read_until(end, b"\n").split()[0])
    os.write(end, b"\x1a")
    said = read_until(end, b" %d\r\n" % signal.SIGTSTP).decode()
    group, number = map(int, said.split("stopped")[1].split())
    assert number == signal.SIGTSTP
    while state_of(program) != "T":
        time.sleep(0.01)  # the second of the group may be stopped a moment later
    os.killpg(group, signal.SIGCONT)
    read_until(end, b"continued")
    os.kill(program, signal.SIGTERM)
    read_until(end, b"never")
    assert os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]) == 5
    os.close(end)


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def test_ignored_signals_stay_ignored_and_masks_stay_masks(gait):
    code = (
        "import signal as s; print(s.getsignal(1) == s.SIG_IGN, s.getsignal(17), "
        "sorted(s.pthread_sigmask(s.SIG_BLOCK, [])))"
    )
    line = ["sh", "-c", 'trap "" HUP; exec "$@"', "-"]
    bare = subprocess.run(line + python(code), capture_output=True, text=True).stdout
    done = gait("run", "-q", "--", *line, *python(code))
    assert done.stdout == bare
    assert bare.startswith("True")


def test_who_ignores_children_still_gets_the_exit_code(build, tmp_path):
    code = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    line = [*python(code), build / "gait", "run", "-q", "sh", "-c", "exit 6"]
    assert subprocess.run(line, cwd=tmp_path).returncode == 6


def test_orphans_do_not_keep_a_run_open(gait):
    done = gait("run", "-q", "sh", "-c", "sleep 30 >/dev/null 2>&1 & exit 4", timeout=20)
    assert done.returncode == 4


def test_kernels_of_the_inductor_are_asked_for_and_it_is_said(gait):
    variable = "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"
    line = ["--", "sh", "-c", f"echo ${{{variable}-unset}}"]
    asked = gait("run", "-q", "--inductor-kernels", *line)
    assert asked.stdout == "1\n"
    told = "gait: torch.compile will recompile so that fused CPU kernels have names\n"
    assert told in asked.stderr
    plain = gait("run", "-q", *line)
    assert plain.stdout == "unset\n" and "will recompile" not in plain.stderr


STEPS = "import gait\nfor _ in gait.steps(range(9)):\n    with gait.span('work'): sum(range(999))\n"


def with_gait(build):
    return {**os.environ, "PYTHONPATH": str(build / "python")}


def test_a_program_with_steps_and_without_torch_ends_with_its_report(gait, build):
    done = gait("run", "-o", "x", "--", *python(STEPS), env=with_gait(build))
    report = gait("report", "x").stdout
    assert "Steps  9" in report and report in done.stderr
    spans = "import gait; gait.start()\nwith gait.span('work'): pass"
    done = gait("run", "-o", "y", "--", *python(spans), env=with_gait(build))
    assert done.stderr.count("\n") == 1  # of the whole run there is a report on demand


def test_without_a_path_the_newest_run_here_is_reported(gait, build, tmp_path):
    nowhere = gait("report")
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
    assert nowhere.stderr.startswith("gait report: this folder contains no run of 'gait run'")
    for name in "abc":
        gait("run", "-q", "-o", name, "--", *python(STEPS), env=with_gait(build))
    os.utime(tmp_path / "b" / ".gait-run", (4e9, 4e9))
    (tmp_path / "zzz").mkdir()
    done = gait("report")
    assert done.stderr == "gait: the newest run here is 'b'\n"
    assert done.stdout == gait("report", "b").stdout


def test_without_a_path_runs_in_which_nothing_is_recorded_are_passed_over(gait, build):
    silent = "import gait; gait.start()"
    for name, program in [("first", silent), ("full", STEPS), ("gone", None), ("silent", silent)]:
        line = python(program) if program else ["true"]
        gait("run", "-q", "-o", name, "--", *line, env=with_gait(build))
    assert "NOTHING RECORDED" in gait("report", "silent").stdout
    for command in ("report", "info"):
        done = gait(command)
        assert done.stdout == gait(command, "full").stdout
        assert done.stderr == (
            "gait: the newest run here is 'full'; "
            "'silent' is newer, but nothing is recorded in it\n"
        )


WAITS = """
print("began", flush=True)
input()
import gait
with gait.span("load"): pass
gait.flush()
print("loaded", flush=True)
input()
for _ in gait.steps(range(9)): pass
gait.flush()
print("trained", flush=True)
input()
"""


def test_a_report_tells_that_the_run_goes_on_and_advises_none_that_has_not_trained(
    gait, build, tmp_path
):
    line = [build / "gait", "run", "-q", "-o", "x", "--", *python(WAITS)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    told = []
    with subprocess.Popen(line, cwd=tmp_path, env=with_gait(build), **pipes) as run:
        for word in ("began", "loaded", "trained"):
            assert run.stdout.readline() == word + "\n"
            told.append(gait("report", "x"))
            markdown = gait("report", "x", "--format", "md").stdout
            assert ("try: " in markdown) == (word == "trained")
            run.stdin.write("\n")
            run.stdin.flush()
    goes_on = f"'x' is still running (process {run.pid})"
    assert told[0].stderr == f"gait report: {goes_on}, and has no record yet\n"
    for done in told[1:]:
        assert done.stderr == f"gait: {goes_on}: this is what it has recorded so far\n"
    assert "NO STEPS" in told[1].stdout and "  try  " not in told[1].stdout
    assert "Steps  9" in told[2].stdout and "  try  " in told[2].stdout
    assert gait("report", "x").stderr == ""


def test_a_run_says_first_where_it_records_at_a_terminal_alone(gait, build, tmp_path):
    line = ["run", "-o", "the run", "--", *python("print('program', flush=True)")]
    pid, end = fork_in_terminal()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(build / "gait", ["gait", *line])
    seen = read_until(end, b"never").decode()
    os.waitpid(pid, 0)
    first = "gait: recording into 'the run'; so far: gait report 'the run'"
    assert seen.split("\r\n")[:2] == [first, "program"]
    assert "recording into" not in gait(*line).stderr


def test_a_file_of_which_nothing_is_left_is_told_as_damaged(gait, build, tmp_path):
    gait("run", "-q", "-o", "x", "--", *python(STEPS), env=with_gait(build))
    (shard,) = (tmp_path / "x").glob("*.gait")
    shard.write_bytes(shard.read_bytes()[:200].ljust(shard.stat().st_size, b"\0"))
    report = gait("report", "x").stdout
    assert "\nDAMAGED: gait cannot read any of the run" in report
    assert "NOTHING RECORDED" not in report


@pytest.mark.parametrize("is_ranked", [False, True])
def test_processes_without_a_rank_are_not_told_as_ranks(gait, build, is_ranked):
    starts = [f'{"RANK=" + str(n) if is_ranked else ""} "$@" &' for n in range(2)]
    line = ["sh", "-c", " ".join([*starts, "wait"]), "-", *python(STEPS)]
    gait("run", "-q", "-o", "x", "--", *line, env=with_gait(build))
    said = " ".join(gait("report", "x").stdout.split())
    whose = "rank" if is_ranked else "process"
    assert f"on 2 {'ranks' if is_ranked else 'processes'}, " in said
    assert f"on average (slowest {whose})" in said


@pytest.mark.parametrize("below", [[], ["sh", "-c", 'python3=$1; shift; "$python3" "$@"; :', "-"]])
def test_a_killed_program_is_told_as_killed_on_the_screen(gait, build, below):
    code = STEPS + "    if _ == 5: import os; os.kill(os.getpid(), 9)\n"
    done = gait("run", "-o", "x", "--", *below, *python(code), env=with_gait(build))
    how = "did not end normally: it was killed, or it called" if below else "was killed by signal 9"
    for text in (done.stderr, gait("report", "x").stdout):
        assert how in " ".join(text.split())
    json_answer = json.loads(gait("report", "--json", "x").stdout)
    assert json_answer["ends"][0]["exit"] == ({"unclosed": True} if below else {"signal": 9})


def test_a_package_in_a_folder_of_its_own_is_found_and_a_missing_one_is_told(build, tmp_path):
    """As `pip install --target site` leaves it."""
    needs_package(build)
    tool = tmp_path / "site" / "bin" / "gait"
    tool.parent.mkdir(parents=True)
    shutil.copy(build / "gait", tool)
    line = [tool, "run", "-o", "alone", "--", sys.executable, "-c", "pass"]
    alone = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "nothing was recorded in alone: gait's Python package is not where" in alone.stderr
    shutil.copytree(build / "python" / "gait", tmp_path / "site" / "gait")
    line = [tool, "run", "-q", "-o", "both", "--", *python(STEPS)]
    subprocess.run(line, cwd=tmp_path, check=True)
    assert list((tmp_path / "both").glob("*.gait"))


def test_a_failed_program_tells_its_exception_and_where_it_was_raised(gait, build, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(STEPS + "def f():\n    raise ValueError('no \\x1b[2J')\nf()\n")
    done = gait("run", "-q", "-o", "x", "--", sys.executable, script, env=with_gait(build))
    assert (done.returncode, done.stderr.count("Traceback")) == (1, 1)
    report = json.loads(gait("report", "--json", "x").stdout)
    assert report["verdict_id"] == "failed"
    assert report["failure"] == {
        "exit_code": 1,
        "signal": None,
        "type": "ValueError",
        "text": "no \x1b[2J",
        "file": str(script),
        "line": 5,
        "function": "f",
        "phase": None,
        "rank": None,
        "step": 9,
    }
    text = " ".join(gait("report", "x").stdout.split())
    assert f"ValueError: no at {script}:5 in f" in text.replace("- ", "-")


def test_an_exception_of_a_megabyte_takes_a_few_lines(gait, build, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(STEPS + "raise ValueError('one\\n\\x1b[1mtwo\\x1b[0m ' + 'é' * 1000000)\n")
    gait("run", "-q", "-o", "x", "--", sys.executable, script, env=with_gait(build))
    (line,) = [one for one in gait("report", "x").stdout.splitlines() if "ValueError" in one]
    said = gait("report", "x").stdout.partition("ValueError: ")[2].partition("\n  at")[0]
    assert line.split()[:3] == ["ValueError:", "one", "two"]
    assert said.count("é") in range(140, 151) and said.split()[-1] == "..."


@pytest.mark.parametrize(
    "how, phase",
    [
        ("with gait.phase('load'): f()", "load"),
        ("@gait.phase('load')\ndef g(): f()\ng()", "load"),
        ("@gait.phase('load')\nasync def g(): f()\nimport asyncio\nasyncio.run(g())", "load"),
        ("with gait.phase('load'), gait.phase('decode'), gait.span('x'): f()", "decode"),
        ("try:\n with gait.phase('load'): f()\nexcept ValueError: f()", None),
    ],
)
def test_the_phase_of_its_own_in_which_a_program_failed_is_told(gait, build, how, phase):
    code = f"{STEPS}\ndef f(): raise ValueError('no')\n{how}"
    done = gait("run", "-q", "-o", "x", "--", *python(code), env=with_gait(build))
    failure, _ = failure_of(gait, "x")
    assert (done.returncode, failure["type"], failure["phase"]) == (1, "ValueError", phase)


RANKED = """
for rank in 0 1 2; do RANK=$rank WORLD_SIZE=3 "$@" $rank & ranks="$ranks $!"; done
for rank in $ranks; do wait $rank || code=$?; done
exit ${code:-0}
"""


def failure_of(gait, run):
    report = json.loads(gait("report", "--json", run).stdout)
    assert (report["verdict_id"] == "failed") == ("failure" in report)
    return report.get("failure"), report["verdict"]


@pytest.mark.parametrize(
    "end, how, word",
    [
        ("os.kill(os.getpid(), 9)", (137, None), "rank 1 was the first to break off"),
        ("os._exit(5)", (5, None), "rank 1 was the first to break off"),
        ("raise ValueError('no')", (1, "ValueError"), "rank 1 failed first"),
    ],
)
def test_the_rank_that_took_the_job_along_is_named(gait, build, end, how, word):
    code = f"import os, sys; {STEPS}\nif sys.argv[-1] == '1': {end}"
    gait("run", "-q", "-o", "x", "--", "sh", "-c", RANKED, "-", *python(code), env=with_gait(build))
    failure, verdict = failure_of(gait, "x")
    assert (failure["exit_code"], failure["type"], failure["rank"]) == (*how, 1)
    assert word in verdict


def test_of_a_rank_that_raised_and_one_that_was_killed_neither_is_said_to_be_first(gait, build):
    end = "if sys.argv[-1] == '1': os.kill(os.getpid(), 9)\n"
    end += "if sys.argv[-1] == '0': raise OSError('peer')"
    code = f"import os, sys; {STEPS}\n{end}"
    gait("run", "-q", "-o", "x", "--", "sh", "-c", RANKED, "-", *python(code), env=with_gait(build))
    failure, verdict = failure_of(gait, "x")
    assert (failure["type"], failure["rank"]) == ("OSError", 0)
    assert "rank 0 raised, and rank 1 ended without a word" in verdict


def test_a_program_with_helpers_that_raises_is_told(gait, build, tmp_path):
    script = tmp_path / "helped.py"
    script.write_text(
        "import multiprocessing, gait\ndef work():\n    gait.mark('here')\n"
        "if __name__ == '__main__':\n"
        "    for _ in range(2):\n"
        "        one = multiprocessing.Process(target=work); one.start(); one.join()\n"
        "    for _ in gait.steps(range(9)): pass\n"
        "    raise ValueError('batch 40')\n"
    )
    done = gait("run", "-q", "-o", "x", "--", sys.executable, script, env=with_gait(build))
    assert done.returncode == 1
    failure, verdict = failure_of(gait, "x")
    assert (failure["type"], failure["line"]) == ("ValueError", 8)
    assert "the command's own" not in verdict


def test_a_program_that_fails_in_front_of_a_pipe_is_told(gait, build):
    line = ("sh", "-c", '"$@" 2>&1 | cat', "-", *python(STEPS + "\nraise SystemExit(2)"))
    gait("run", "-q", "-o", "x", "--", *line, env=with_gait(build))
    assert failure_of(gait, "x")[0]["exit_code"] == 2


def test_a_command_that_fails_is_no_process_on_record(gait, build):
    line = ("sh", "-c", '"$@"; exit 3', "-", *python(STEPS))
    gait("run", "-q", "-o", "x", "--", *line, env=with_gait(build))
    failure, verdict = failure_of(gait, "x")
    assert (failure["exit_code"], failure["type"]) == (3, None)
    assert "the command's own" in verdict


def test_a_process_that_was_started_again_and_a_run_appended_are_no_failure(gait, build):
    again = '"$@" ; "$@"; exit 0'
    environment = {**with_gait(build), "RANK": "0", "WORLD_SIZE": "1"}
    once = "import os\nif not os.path.exists('again'): open('again', 'w'); raise SystemExit(2)"
    line = ("sh", "-c", again, "-", *python(f"{STEPS}\n{once}"))
    gait("run", "-q", "-o", "x", "--", *line, env=environment)
    assert failure_of(gait, "x")[0] is None
    gait("run", "-q", "-a", "-o", "x", "--", *python("raise SystemExit(2)"), env=environment)
    gait("run", "-q", "-a", "-o", "x", "--", *python(STEPS), env=environment)
    assert failure_of(gait, "x")[0] is None


@pytest.mark.parametrize(
    "planted", ["", "no", "{", '{"code": 1e300}', '{"code": -1}', "link", "fifo"]
)
def test_an_outcome_that_makes_no_sense_says_nothing(gait, build, tmp_path, planted):
    gait("run", "-q", "-o", "x", "--", *python(STEPS), env=with_gait(build))
    outcome = tmp_path / "x" / ".gait-end"
    assert json.loads(outcome.read_text()) == {"code": 0}
    outcome.unlink()
    if planted == "link":
        (tmp_path / "other").write_text('{"code": 7}')
        outcome.symlink_to(tmp_path / "other")
    elif planted == "fifo":
        os.mkfifo(outcome)
    else:
        outcome.write_text(planted)
    assert failure_of(gait, "x")[0] is None


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)", "import os; os._exit(4)"])
def test_a_program_that_did_not_raise_has_no_exception(gait, build, ending):
    done = gait("run", "-q", "-o", "x", "--", *python(STEPS + ending), env=with_gait(build))
    report = json.loads(gait("report", "--json", "x").stdout)
    assert report.get("failure", {}).get("type") is None
    assert (report["verdict_id"] == "failed") == (done.returncode != 0)
