# SPDX-License-Identifier: Apache-2.0
"""`gait dump`: every thread's stack, state and line, and why not."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import pytest

from tests.support.sampled_programs import PROGRAMS, until

STACK = ["down"] * 11
SLEEPER = "import time, sys\nprint('ready', flush=True)\ntime.sleep(600)\n"


def dump(gait, pid):
    done = gait("dump", "--json", pid)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("}\n") and "\n\n" not in done.stdout
    return json.loads(done.stdout)


def names(thread):
    return [frame["name"].rpartition(".")[2] for frame in thread["frames"]]


def test_every_thread_is_there_with_its_stack(python, gait, alternating):
    process = alternating(python, busy=2, idle=3)

    def answer():
        got = dump(gait, process.pid)
        held = [t["state"] for t in got["threads"] if "wait_here" in names(t)]
        return got if held == ["blocked"] * 3 and len(got["threads"]) == 5 else None

    got = until(answer)
    assert got["pid"] == process.pid
    assert python.endswith("python") or got["python"].startswith("3.")
    lines = (PROGRAMS / "programs" / "alternating.py").read_text().splitlines()
    for thread in got["threads"]:
        called = names(thread)
        if "wait_here" not in called:
            continue
        at = called.index("wait_here")
        assert called[at + 1 : at + 12] == STACK, called
        assert thread["tid"] != process.pid
        for frame in thread["frames"][at : at + 12]:
            assert frame["file"].endswith("alternating.py")
            word = "STOP.wait" if frame["name"].endswith("wait_here") else "return"
            assert word in lines[frame["line"] - 1]
    main = next(t for t in got["threads"] if t["tid"] == process.pid)
    assert names(main)[-1] == "<module>"
    assert main["state"] in ("python", "waiting", "native")


def test_a_stack_of_thousands_of_frames_is_read(python, gait, start):
    script = (
        "import sys, threading, time\n"
        "sys.setrecursionlimit(10**6)\n"
        "threading.stack_size(1 << 28)\n"
        "def down(depth):\n"
        "    if depth:\n"
        "        return down(depth - 1)\n"
        "    deep.set()\n"
        "    time.sleep(600)\n"
        "deep = threading.Event()\n"
        "threading.Thread(target=down, args=(6000,), daemon=True).start()\n"
        "deep.wait()\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    process = start([python, "-c", script])

    def asleep():
        got = dump(gait, process.pid)
        return got if all(t["state"] == "blocked" for t in got["threads"]) else None

    got = until(asleep)
    deep = next(t for t in got["threads"] if t["tid"] != process.pid)
    assert deep["is_certain"] and deep["state"] == "blocked"
    assert names(deep)[:-1] == ["down"] * 4096
    assert [frame["line"] for frame in deep["frames"][:3]] == [8, 6, 6]
    main = next(t for t in got["threads"] if t["tid"] == process.pid)
    assert names(main) == ["<module>"]
    text = gait("dump", process.pid).stdout
    assert text.count("down (<string>:6)") == 3 and "\n    (the same 4092 times more)\n" in text


QUICK = """
def leaf(n): return n
def busy():
    for n in range(10 ** 9): leaf(max([n, 1], key=leaf))
print("ready", flush=True)
busy()
"""


def ran_ticks(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def goes_on(pid):
    before = ran_ticks(pid)
    return until(lambda: ran_ticks(pid) > before)


def test_a_program_is_stopped_wherever_it_is_and_shows_its_stack(python, gait, start):
    process = start([python, "-c", QUICK])
    assert until(lambda: names(dump(gait, process.pid)["threads"][0])[-2:] == ["busy", "<module>"])
    shown = 0
    for _ in range(40):
        assert goes_on(process.pid)
        process.send_signal(signal.SIGSTOP)
        assert until(lambda: ") T " in pathlib.Path(f"/proc/{process.pid}/stat").read_text())
        (thread,) = dump(gait, process.pid)["threads"]
        process.send_signal(signal.SIGCONT)
        shown += names(thread)[-2:] == ["busy", "<module>"]
        assert thread["state"] == "stopped" and (thread["frames"] or not thread["is_certain"])
    assert shown >= 37  # the word that tells of the current frame may itself be half written


def may_unshare():
    words = ["unshare", "-mpf", "--mount-proc", "true"]
    try:
        return subprocess.run(words, capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


def test_a_process_in_a_container_is_read_from_outside(python, gait, start):
    if not may_unshare():
        pytest.skip("no rights to make namespaces")
    program = PROGRAMS / "programs" / "alternating.py"
    shell = start(["unshare", "-mpf", "--mount-proc", python, program, 2, 1, 5, 60])
    children = pathlib.Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
    pid = int(until(children.read_text).split()[0])
    try:

        def answer():
            threads = dump(gait, pid)["threads"]
            held = [t["state"] for t in threads if "wait_here" in names(t)]
            return threads if len(threads) == 3 and held == ["blocked"] else None

        tids = {thread["tid"] for thread in until(answer)}
        assert tids == set(map(int, os.listdir(f"/proc/{pid}/task")))
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_program_with_another_name_or_none_any_more(gait, start, tmp_path, is_deleted):
    python = "/usr/bin/python3"
    if not os.path.exists(python) or os.stat(python).st_size < 1 << 20:
        pytest.skip("no Python that is one file here")
    tool = tmp_path / "tool"
    tool.write_bytes(pathlib.Path(python).read_bytes())
    tool.chmod(0o755)
    process = start([tool, "-c", SLEEPER])
    if is_deleted:
        tool.unlink()
    (thread,) = dump(gait, process.pid)["threads"]
    assert names(thread) == ["<module>"]


def test_deep_stacks_names_in_all_alphabets_and_generators(python, gait, start, tmp_path):
    program = tmp_path / "names.py"
    program.write_text(
        "import sys, time\n"
        "sys.setrecursionlimit(9000)\n"
        "def größe(n):\n"
        "    if n: return größe(n - 1)\n"
        "    return 走る()\n"
        "def 走る():\n"
        "    return next(generator())\n"
        "def generator():\n"
        "    yield list(map(leaf, [1]))\n"
        "def leaf(_):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
        "größe(1500)\n",
        encoding="utf-8",
    )
    process = start([python, program])
    (thread,) = dump(gait, process.pid)["threads"]
    called = names(thread)
    assert called[:3] == ["leaf", "generator", "走る"]
    assert called[3:] == ["größe"] * 1501 + ["<module>"]


def test_text_names_the_thread_the_state_and_the_line(gait, start):
    process = start([sys.executable, "-c", SLEEPER])

    def blocked():
        done = gait("dump", process.pid)
        return done.stdout if "blocked" in done.stdout else None

    text = until(blocked)
    assert f"process {process.pid}, Python 3." in text
    assert f"\nthread {process.pid} MainThread: blocked in the system\n" in text
    assert "    <module> (<string>:3)\n" in text


def refused(gait, *words):
    done = gait("dump", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("gait dump: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_what_is_no_process_is_refused(gait):
    assert "not a process number" in refused(gait, "x1")
    assert "not a process number" in refused(gait, "0")
    assert "not a process number" in refused(gait, "99999999999999999999")
    assert "no process" in refused(gait, "4194304")


def test_what_is_no_python_is_refused(gait, start):
    process = start(["sh", "-c", "echo ready; read x"], stdin=subprocess.PIPE)
    assert "is not Python" in refused(gait, process.pid)


def test_a_zombie_is_refused(gait):
    process = subprocess.Popen([sys.executable, "-c", ""])
    stat = pathlib.Path(f"/proc/{process.pid}/stat")
    assert until(lambda: ") Z " in stat.read_text())
    assert "is a zombie" in refused(gait, process.pid)
    process.wait()


def test_a_process_that_ends_meanwhile_is_refused_or_read(gait):
    for wait in range(12):
        process = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({wait} / 500)"])
        time.sleep(0.02)
        done = gait("dump", process.pid)
        process.wait()
        assert done.returncode in (0, 2)
        assert (done.returncode == 2) == bool(done.stderr)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user to be forbidden something")
def test_a_foreign_process_is_refused_with_what_is_missing(build, start, tmp_path_factory):
    import shutil
    import tempfile

    process = start([sys.executable, "-c", SLEEPER])
    home = tempfile.mkdtemp()
    tool = shutil.copy(build / "gait", home)
    os.chmod(home, 0o755)
    try:
        done = subprocess.run(
            [tool, "dump", str(process.pid)],
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        shutil.rmtree(home)
    assert done.returncode == 2
    assert "belongs to user 0" in done.stderr
    assert "CAP_SYS_PTRACE" in done.stderr and "sudo" in done.stderr


def filtered(build, *words):
    """gait where a filter forbids to read any process."""
    program = PROGRAMS / "programs" / "filtered.py"
    command = [sys.executable, program, 310, build / "gait", *words]  # process_vm_readv
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("no seccomp filter can be had here")
    return done


def test_a_seccomp_filter_is_named_with_its_cure(build, start, tmp_path):
    process = start([sys.executable, "-c", SLEEPER])
    done = filtered(build, "dump", process.pid)
    assert done.returncode == 2 and done.stdout == ""
    assert "a seccomp filter around gait forbids" in done.stderr
    assert "--security-opt seccomp=unconfined" in done.stderr
    out = tmp_path / "x.gait"
    # a program that ends at once may be gone before gait first looks at it
    program = "import time; time.sleep(1); print('ran')"
    done = filtered(build, "record", "-o", out, "--", sys.executable, "-c", program)
    assert done.returncode == 0 and done.stdout == "ran\n"
    assert "nothing was sampled: may not read process" in done.stderr
    assert "a seccomp filter" in done.stderr and "no Python ran" not in done.stderr


def cpu_seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.skipif(bool(os.environ.get("GAIT_SANITIZE")), reason="time with a sanitizer in it")
def dump_seconds(gait, pid):
    begun = cpu_seconds_of_children()
    assert gait("dump", pid).returncode == 0
    return cpu_seconds_of_children() - begun


def test_the_whole_command_takes_milliseconds(gait, alternating):
    few, many = {}, {"busy": 8, "idle": 56}
    for threads, limit in ((few, 0.06), (many, 0.12)):  # twenty times what it takes alone
        process = alternating(sys.executable, **threads)
        assert any(dump_seconds(gait, process.pid) < limit for _ in range(9))
        process.kill()
