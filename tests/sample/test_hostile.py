# SPDX-License-Identifier: Apache-2.0
"""Processes, rights, places and ends that are against it: one sentence, nothing else is lost."""

import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from tests.sample.test_dump import dump, may_unshare, names
from tests.sample.test_native import needs_library
from tests.support.sampled_programs import PROGRAMS, PYTHONS, read_folded, until
from tests.support.small_disk import small_disk_at

FILTERED = PROGRAMS / "programs" / "filtered.py"
SLEEPS = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"
BUSY = "def spin():\n while True: sum(range(99))\nprint('ready', flush=True)\nspin()\n"
NO_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]

needs_root = pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("setpriv") or not may_unshare(),
    reason="needs root, setpriv and namespaces",
)


@pytest.fixture(scope="module")
def tool(build):
    """gait where any user may run it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(shutil.copy(build / "gait", folder))


def run(*words, **options):
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def sentence(done, code=2):
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("gait") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def states(pid):
    return {
        path.read_text().rpartition(")")[2].split()[0]
        for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
    }


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def hold(process):
    process.send_signal(signal.SIGSTOP)
    assert until(lambda: states(process.pid) == {"T"})


# Rights


YAMA = """mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama || exit 77
echo $1 >/proc/sys/kernel/yama/ptrace_scope; shift; exec "$@" """


@needs_root
@pytest.mark.parametrize(
    "scope, words, cure",
    [
        (0, "CAP_SYS_PTRACE is missing", "--cap-add SYS_PTRACE"),
        (
            1,
            "ptrace_scope is 1, which allows only programs that gait started",
            "'gait record -- CMD'",
        ),
        (2, "ptrace_scope is 2, which allows only CAP_SYS_PTRACE", "sudo sysctl"),
        (3, "ptrace_scope is 3, which forbids all tracing", "/etc/sysctl.d"),
    ],
)
def test_the_value_of_yama_is_named_with_its_cure(tool, start, scope, words, cure):
    process = start([*NO_RIGHTS, sys.executable, "-c", SLEEPS])
    # the system here may have no Yama: its file is made up, and the refusal is a filter's
    done = run("unshare", "-m", "sh", "-c", YAMA, "sh", scope, *NO_RIGHTS, sys.executable, FILTERED,
               f"310:{process.pid}", tool, "dump", process.pid)  # fmt: skip
    if done.returncode == 77:
        pytest.skip("no seccomp filter or no file system can be had here")
    said = sentence(done)
    assert words in said and cure in said
    assert ("record -- CMD" in said) == (scope == 1), "which helps nobody else"


@needs_root
def test_what_hides_processes_is_named(tool, tmp_path):
    hidden = (
        "mount -t proc -o hidepid=2 none /proc; setpriv --reuid 65533 --regid 65533 --clear-groups "
    )
    none = "mount -t tmpfs none /proc; exec "
    record = f"{tool} record -o {tmp_path}/x.gait -- {sys.executable} -c 'exit(9)'"
    for flags, line, code, words in (
        ("-mpf", f"{hidden} {tool} dump 1; exit 2", 2, "/proc hides it (hidepid)"),
        ("-m", f"{none} {tool} top {os.getpid()}", 2, "/proc is not mounted"),
        ("-m", none + record, 9, "nothing was sampled: cannot read process"),
        ("-pf", f"{tool} dump 1; exit 2", 2, "/proc belongs to another pid namespace"),
        ("-pf", f"{record}; exit 9", 9, "/proc belongs to another pid namespace"),
    ):
        assert words in sentence(run("unshare", flags, "sh", "-c", line), code)
    assert os.listdir(tmp_path) == []


@needs_root
def test_a_process_that_is_not_dumpable_is_told(tool, start):
    lose = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    process = start([sys.executable, "-c", lose + SLEEPS])
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    for command in ("dump", "top"):
        said = sentence(run(tool, command, process.pid, **user))
        assert "not dumpable" in said and "PR_SET_DUMPABLE" in said
        assert "gait record" not in said, "that would change nothing"


@needs_root
def test_root_of_a_container_is_told_what_cures(tool, start):
    process = start([sys.executable, "-c", SLEEPS])
    said = sentence(run(*NO_RIGHTS, tool, "dump", process.pid))
    assert "capabilities that gait lacks" in said and "--cap-add SYS_PTRACE" in said


@needs_library
def test_a_filter_against_ptrace_keeps_the_stacks_of_python(build, start, tmp_path):
    process = start([sys.executable, "-c", BUSY])
    out = tmp_path / "run.txt"

    def told():
        done = run(sys.executable, FILTERED, 101, build / "gait", "record", "--native",
                   "--native-rate", 1000, "-d", 1, "-o", out, "--pid", process.pid)  # fmt: skip
        if done.returncode == 77:
            pytest.skip("no seccomp filter can be had here")
        return done.stderr if "Python frames only" in done.stderr else None

    assert "a seccomp filter around gait forbids ptrace" in until(told)
    assert "spin" in out.read_text()


# Processes


HEADLESS = """
import ctypes, sys, threading
def run_on():
    print("ready", flush=True)
    while True: sum(range(99))
threading.Thread(target=run_on).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_main_thread_ended_is_no_zombie(gait, start):
    process = start([sys.executable, "-c", HEADLESS])
    assert until(lambda: state_of(process.pid) == "Z")
    for words in (["dump", process.pid], ["top", process.pid], ["record", "--pid", process.pid]):
        said = sentence(gait(*words))
        assert "its main thread has ended while others still run" in said and "zombie" not in said
    process.kill()
    assert until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 1)
    assert "is a zombie" in sentence(gait("dump", process.pid))


def test_what_is_no_python_is_named(gait, start):
    process = start(["sh", "-c", "echo ready; read x"], stdin=subprocess.PIPE)
    program = os.readlink(f"/proc/{process.pid}/exe")
    for words in (["dump", process.pid], ["top", process.pid], ["record", "--pid", process.pid]):
        said = sentence(gait(*words))
        assert f"'{program}' has no interpreter mapped" in said


FAKE = """#include <stdio.h>
#include <unistd.h>
%s
int main(int count, char **words)
{
    puts("ready");
    fflush(stdout);
    sleep(count > 1 ? 0 : 600);
    (void)words;
    return 0;
}
"""

# what a free-threaded 3.13 tells about itself, behind "xdebugpy"
FREE_THREADED = "unsigned long long _PyRuntime[400] = {0x7970677562656478, 0x030d00f0, 1};"
NOT_SUPPORTED = "it is a free-threaded Python, which gait does not support yet"


@pytest.mark.parametrize(
    ("name", "symbol", "wanted"),
    [
        ("python2.7", "void Py_Initialize(void) {}", "runs Python 2.7, and gait knows 3.8, "),
        ("python3.6m", "void Py_Initialize(void) {}", "runs Python 3.6, and gait knows 3.8, "),
        ("python", "void Py_Initialize(void) {}", "runs Python before 3.7, and gait knows 3.8"),
        ("python3", "", "has not started Python yet, or has already ended it"),
        ("cobra", "", "is not Python: '"),
        ("python3.13t", FREE_THREADED, NOT_SUPPORTED),
        ("python3.14t", FREE_THREADED.replace("030d", "030e"), NOT_SUPPORTED),
    ],
)
def test_a_python_that_is_not_known_is_told_from_none(gait, start, tmp_path, name, symbol, wanted):
    (tmp_path / "fake.c").write_text(FAKE % symbol)
    run("cc", "-rdynamic", "-o", tmp_path / name, tmp_path / "fake.c", check=True)
    process = start([tmp_path / name])
    for words in (["dump", process.pid], ["top", process.pid], ["record", "--pid", process.pid]):
        assert wanted in sentence(gait(*words)).replace(str(process.pid), "N")
    # one that a shell starts: the same, at the end
    line = f"{tmp_path / name} & sleep 0.3; kill $!"
    done = gait("record", "-s", "-o", tmp_path / "run.gait", "--", "sh", "-c", line)
    told = "nothing was sampled: " if symbol else "no Python ran: nothing was sampled"
    assert told in done.stderr and (not symbol or wanted in done.stderr)
    assert not (tmp_path / "run.gait").exists()


def test_a_python_that_is_not_known_is_told_among_others(gait, tmp_path):
    (tmp_path / "fake.c").write_text(FAKE % FREE_THREADED)
    run("cc", "-rdynamic", "-o", tmp_path / "python3.13t", tmp_path / "fake.c", check=True)
    known = f"{sys.executable} -c 'sum(range(3 * 10**6))'"
    both = f"{tmp_path}/python3.13t & {known}; kill $!"
    told = "\ngait: some threads or processes were not sampled: cannot sample process "
    record = ["record", "-s", "-f", "raw", "-o", tmp_path / "run.txt", "--", "sh", "-c"]
    assert until(lambda: told in gait(*record, both).stderr)
    assert "not all was" not in gait(*record, known).stderr
    done = gait("run", "--sample", "1000", "-o", tmp_path / "run", "--", "sh", "-c", both)
    assert told[1:] in done.stderr


# its library is mapped, and the page of what it tells about itself is not
GOING = """#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
char _PyRuntime[65536] __attribute__((aligned(65536))) = "xdebugpy";
int main(void)
{
    munmap(_PyRuntime, sizeof _PyRuntime);
    puts("ready");
    fflush(stdout);
    _exit((int)sleep(600));
}
"""


def test_a_python_that_is_loaded_or_ends_is_not_told_as_a_strange_one(gait, start, tmp_path):
    (tmp_path / "fake.c").write_text(GOING)
    run("cc", "-rdynamic", "-o", tmp_path / "python3.13", tmp_path / "fake.c", check=True)
    process = start([tmp_path / "python3.13"])
    for words in (["dump", process.pid], ["top", process.pid], ["record", "--pid", process.pid]):
        assert "has not started Python yet, or has already ended it" in sentence(gait(*words))


def test_a_shell_without_a_python_leaves_no_file(gait, start, tmp_path):
    process = start(["sh", "-c", "echo ready; read x"], stdin=subprocess.PIPE)
    done = gait("record", "-s", "-d", "0.1", "-o", tmp_path / "no.gait", "--pid", process.pid)
    assert sentence(done) == "gait: no Python ran: nothing was sampled\n"
    assert not (tmp_path / "no.gait").exists()


def test_a_recording_begins_with_the_python_and_not_with_the_first_round(gait, tmp_path):
    words = ["record", "-r", "20", "-d", "1ms", "-o", tmp_path / "no.txt", "--", sys.executable]
    told = "gait: nothing was sampled: the program ended before the first round\n"
    # the first round is 50 ms later on average
    assert until(lambda: gait(*words, "-c", "import time; time.sleep(0.5)").stderr == told)


def test_children_of_a_shell_are_recorded(gait, start, tmp_path):
    line = '"$@" & read x'
    process = start(["sh", "-c", line, "sh", sys.executable, "-c", BUSY], stdin=subprocess.PIPE)
    out = tmp_path / "run.txt"
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    (child,) = map(int, until(children.read_text).split())
    try:
        done = gait("record", "-s", "-d", 0.5, "-o", out, "--pid", process.pid)
        assert done.returncode == 0, done.stderr
        stack = next(line for line in out.read_text().splitlines() if ";spin (" in line)
        assert stack.startswith(f'process {child}:"')
    finally:
        os.kill(child, signal.SIGKILL)


def test_who_is_stopped_runs_nothing(python, gait, start):
    busy, asleep = start([python, "-c", BUSY]), start([python, "-c", SLEEPS])
    for process, words in ((busy, "stopped, holds the interpreter lock"), (asleep, "stopped")):
        hold(process)
        assert f"\nthread {process.pid} MainThread: {words}\n" in gait("dump", process.pid).stdout
        (thread,) = dump(gait, process.pid)["threads"]
        assert (thread["state"], thread["holds_lock"]) == ("stopped", process is busy)
        process.send_signal(signal.SIGCONT)
    wanted = "running, holds the interpreter lock"
    assert until(lambda: wanted in gait("dump", busy.pid).stdout)


def test_a_recording_of_who_is_stopped_counts_nothing(build, gait, alternating, tmp_path):
    process = alternating(sys.executable, busy=2, idle=1)
    hold(process)
    out = tmp_path / "run.gait"
    words = [build / "gait", "top", "-d", "1", str(process.pid)]
    top = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    done = gait("record", "-d", 1, "-o", out, "--pid", process.pid)
    assert done.returncode == 0 and "--idle records such threads too" in done.stderr
    told = json.loads(gait("info", "--json", out).stdout)["sampler"]
    assert told["samples"] == 0 < told["rounds"]
    text, _ = top.communicate(timeout=60)
    assert f"{process.pid} (stopped): " in text and "blocked 100 %" in text


@needs_root
def test_a_number_that_was_used_again_is_nobody_that_was_asked_for(gait, build, tmp_path):
    out = tmp_path / "run.gait"
    done = run("unshare", "-mpf", "--mount-proc", sys.executable,
               PROGRAMS / "programs" / "number_reused.py", build / "gait", out)  # fmt: skip
    assert done.stdout == "done True\n", done.stderr
    text = gait("leaf", "-n", "all", out).stdout
    assert " first " in text and " second " not in text


EXECS = """
import os, sys, time
def {0}():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: sum(range(99))
{0}()
os.execv({1!r}, [{1!r}, "-c", {2!r}])
"""


def test_a_program_that_becomes_others_is_followed(gait, tmp_path):
    oldest, newest = PYTHONS[min(PYTHONS)], PYTHONS[max(PYTHONS)]
    second = EXECS.format("second", "/bin/sh", "exit 7")
    first = EXECS.format("first", newest, second)

    def sampled():
        out = tmp_path / "run.txt"
        done = gait("record", "-o", out, "--", oldest, "-c", first)
        assert done.returncode == 7, done.stderr
        text = out.read_text()
        return "first (" in text and "second (" in text

    assert until(sampled, 60)


# Files that are not what they were


def without_rights(words):
    return [*NO_RIGHTS, *words] if os.getuid() == 0 else list(words)


def shared_library_of(python, start):
    """The libpython of a Python that has one, or a skip."""
    process = start([python, "-c", SLEEPS])
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    found = re.search(r"/.*/libpython3.*", maps)
    if not found or not shutil.which("setpriv"):
        pytest.skip("no Python with a shared library here, or no setpriv")
    return pathlib.Path(found.group())


def test_a_library_that_is_removed_or_replaced_is_still_read(python, tool, start, tmp_path):
    library = shared_library_of(python, start)
    copy = tmp_path / library.name
    shutil.copy(library, copy)
    process = start(without_rights([python, "-c", SLEEPS]),
                    env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})  # fmt: skip
    if str(copy) not in pathlib.Path(f"/proc/{process.pid}/maps").read_text():
        pytest.skip("this Python finds its library in one place only")
    copy.unlink()
    for content in (None, b"\x7fELF", None):  # removed; then another file has its name
        if content:
            copy.write_bytes(content)
        done = run(*without_rights([tool, "dump", process.pid]))
        assert done.returncode == 0 and "<module> (<string>:" in done.stdout, done.stderr


@needs_root
def test_a_program_under_another_root_is_read_without_rights(tool, start, tmp_path):
    python = PYTHONS[max(PYTHONS)]
    library = shared_library_of(python, start)
    jail = tmp_path / "jail"
    jail.mkdir()
    line = f'mount --bind / {jail} && exec chroot {jail} "$@"'
    process = start(["unshare", "-m", "sh", "-c", line, "sh", *NO_RIGHTS, python, "-c", SLEEPS])
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    assert f"{jail}{library}" in maps
    done = run(*NO_RIGHTS, tool, "dump", process.pid)
    assert done.returncode == 0 and "<module> (<string>:" in done.stdout, done.stderr


# Outputs


@pytest.mark.parametrize("format", ["gait", "raw", "speedscope", "chrome", "pprof"])
def test_nothing_is_left_of_what_was_not_recorded(gait, tmp_path, format):
    for words, code in ((["--pid", 4194304], 2), (["--", "true"], 0), (["--", "./no"], 127)):
        done = gait("record", "-f", format, "-o", tmp_path / "out.x", *words)
        assert done.returncode == code
        assert os.listdir(tmp_path) == []


def test_what_is_there_is_not_lost(gait, tmp_path):
    out, text = tmp_path / "run.gait", tmp_path / "old.txt"
    words = ["--", sys.executable, "-c", "sum(range(10**6))"]
    assert gait("record", "-q", "-o", out, *words).returncode == 0
    before = out.read_bytes()
    for kind in ("gait", "raw", "pprof"):
        said = sentence(gait("record", "-f", kind, "-o", out, *words))
        assert "already" in said and out.read_bytes() == before
    assert "has the ending of a recording" in sentence(
        gait("record", "-f", "chrome", "-o", "n.gait", *words)
    )
    text.write_text("f (a.py:1) 3\n")
    assert gait("record", "-o", text, "--", "true").returncode == 0
    assert text.read_text() == "f (a.py:1) 3\n"


def test_a_name_that_is_a_folder_is_refused_and_none_is_made(gait, tmp_path):
    for name in ("new/", "made/new//"):
        done = gait("record", "-o", f"{tmp_path}/{name}", "--", "sh", "-c", "echo ran")
        assert "Is a directory" in sentence(done) and done.stdout == ""
    assert os.listdir(tmp_path) == ["made"] and os.listdir(tmp_path / "made") == []


@needs_root
def test_a_folder_that_cannot_be_written_is_told_before_it_begins(tool, tmp_path):
    (tmp_path / "old.txt").write_text("f (a.py:1) 3\n")
    tmp_path.chmod(0o555)
    for name in ("new.gait", "new.txt", "old.txt", "folder/new.gait"):
        out = tmp_path / name
        done = run(*NO_RIGHTS, tool, "record", "-o", out, "--", "sh", "-c", "echo ran")
        assert "Permission denied" in sentence(done) and done.stdout == ""
    assert (tmp_path / "old.txt").read_text() == "f (a.py:1) 3\n"


def test_stacks_that_a_full_disk_does_not_take_are_put_elsewhere(gait, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = (
        "import time\nend = time.thread_time() + 0.2\nwhile time.thread_time() < end: pass\nexit(5)"
    )
    with small_disk_at(tmp_path / "small", "8k") as disk:
        (disk / "fill").write_bytes(bytes(8192))
        done = gait("record", "-o", disk / "out.txt", "--", sys.executable, "-c", code,
                    env={**os.environ, "TMPDIR": str(elsewhere)})  # fmt: skip
        assert done.returncode == 5
        (saved,) = elsewhere.iterdir()
        assert f"No space left on device; its samples are in '{saved}'" in done.stderr
        assert any(frames[0][0] == "<module>" for frames, count in read_folded(saved))
        assert not (disk / "out.txt").exists()  # empty, it would say that there was nothing


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf", "1e9", "1000000001", "", "5x"])
def test_rates_that_make_no_sense_are_refused(gait, tmp_path, rate):
    done = gait("record", "-r", rate, "-o", tmp_path / "x.gait", "--", "sh", "-c", "echo ran")
    assert "rate" in sentence(done) and done.stdout == "" and os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["record", "top"])
@pytest.mark.parametrize(
    "length, sentence",
    [
        ("-1", "takes a time such as 10, 0.5, 500ms, 2m or 1.5h, not '-1'"),
        ("nan", "takes a time such as 10, 0.5, 500ms, 2m or 1.5h, not 'nan'"),
        ("5 parsecs", "takes a time such as 10, 0.5, 500ms, 2m or 1.5h"),
        ("", "takes a time such as 10, 0.5, 500ms, 2m or 1.5h, not ''"),
        ("0", "must be between 0.001 and 3162240000 seconds, not '0'"),
        ("1e300", "must be between 0.001 and 3162240000 seconds, not '1e300'"),
    ],
)
def test_lengths_of_time_that_make_no_sense_are_refused(gait, tmp_path, command, length, sentence):
    done = gait(command, "-d", length, os.getpid())
    assert done.returncode == 2 and done.stdout == "" and os.listdir(tmp_path) == []
    assert done.stderr.startswith(f"gait {command}: '--duration' {sentence}")


# Names, terminals


HOSTILE = """
import types
def spin():
    while True: sum(range(99))
name = "a\\u009b31mb\\u0085c\\x1b[2J\\u202e"
names = {word: name for word in ("co_name", "co_qualname") if hasattr(spin.__code__, word)}
code = spin.__code__.replace(co_filename=name + ".py", **names)
print("ready", flush=True)
types.FunctionType(code, {})()
"""


def test_no_name_moves_the_cursor(gait, start, tmp_path):
    process = start([sys.executable, "-c", HOSTILE])
    raw, shard = tmp_path / "run.txt", tmp_path / "run.gait"
    assert gait("record", "-q", "-d", 0.3, "-o", shard, "--pid", process.pid).returncode == 0
    name = "a\x9b31mb\x85c\x1b[2J\u202e"
    raw.write_text(f"{name} ({name}.py:3) 5\n", encoding="utf-8")
    seen = 0
    for words in (["dump", process.pid], ["dump", "--json", process.pid],
                  ["top", "-d", 0.5, process.pid], ["leaf", raw], ["leaf", shard],
                  ["leaf", "--functions", shard], ["leaf", "--json", shard],
                  ["diff-stacks", raw, shard], ["info", shard], ["report", shard]):  # fmt: skip
        done = gait(*words)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout), words
        seen += "\\x9b31m" in done.stdout or "\\u009b31m" in done.stdout
    assert seen >= 7
    (thread,) = dump(gait, process.pid)["threads"]
    assert names(thread)[-2].startswith("a\x9b31mb\x85c\x1b"), "JSON means the name as it is"


def test_a_reader_that_goes_ends_the_table(build, alternating):
    process = alternating(sys.executable)
    top = subprocess.Popen([build / "gait", "top", str(process.pid)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert str(process.pid) in top.stdout.readline()
    top.stdout.close()
    assert top.wait(60) == 2 and "Broken pipe" in top.stderr.read()


def test_a_full_pipe_does_not_hold_the_table_up(build, alternating):
    process = alternating(sys.executable)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    words = [build / "gait", "top", "-d", "1", str(process.pid)]
    assert subprocess.run(words, stdout=writer, timeout=60).returncode == 0
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_closed_descriptors_change_no_exit_code(build, tmp_path, closed):
    out = tmp_path / "run.gait"
    words = [build / "gait", "record", "-o", out, "--", sys.executable, "-c", "exit(9)"]
    close = functools.partial(lambda fds: [os.close(fd) for fd in fds], closed)
    done = subprocess.run([str(word) for word in words], preexec_fn=close, timeout=60)
    assert done.returncode == 9


def test_no_name_ends_a_sentence_or_moves_the_cursor(gait):
    for name in ("a\nb", "\x1b[31mred", "\x9b31m"):
        said = sentence(gait("leaf", name))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", said)
        assert "No such file or directory" in said
