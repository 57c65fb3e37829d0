# SPDX-License-Identifier: Apache-2.0
"""Processes of another pid namespace, of a number that is used again, and in a cgroup that
has no memory left."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest
from ring_files import has_shared_memory
from sampled_programs import until
from told_program import Program

PROGRAMS = pathlib.Path(__file__).with_name("programs")
INNER = ["unshare", "-pf", "--mount-proc"]

needs_namespaces = pytest.mark.skipif(
    bool(os.geteuid()) or subprocess.run([*INNER, "true"], capture_output=True).returncode != 0,
    reason="needs the rights to make a pid namespace",
)
pytestmark = pytest.mark.skipif(
    not has_shared_memory(), reason="no /dev/shm, or less than half of it is free"
)


@pytest.fixture
def steady(compile_c):
    return compile_c((PROGRAMS / "steady.c").read_text(), name="steady")


def info_of(gait, run):
    done = gait("info", run, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- namespaces -----------------------------------------------------------------------


@needs_namespaces
def test_a_process_of_another_namespace_is_not_taken_for_dead(gait, tmp_path, steady):
    run = tmp_path / "run"
    program = Program([*INNER, steady], run, env={"GAIT_OVERFLOW": "block"})
    program.do("spans 700", "flush", "spans 300")
    for words in (["report"], ["info"], ["report", "--json"]):
        assert gait(*words, run).returncode == 0
    (shard,) = info_of(gait, run)["shards"]
    assert shard["pid"] == 1 and not shard["complete"]
    assert os.path.exists(shard["metadata"]["ring"])
    program.do("spans 200").end()
    info = info_of(gait, run)
    assert (info["events"], info["damage"]) == (2400, []) and info["shards"][0]["complete"]


@needs_namespaces
def test_neither_is_one_that_closed_our_descriptors(gait, tmp_path, compile_c):
    """Its lock is gone with them: its number there and its start say that it lives."""
    run = tmp_path / "run"
    program = Program([*INNER, compile_c((PROGRAMS / "close_all.c").read_text())], run)
    assert program.process.stdout.readline() == "ready\n"
    (shard,) = run.glob("*.gait")
    before = shard.read_bytes()
    assert not info_of(gait, run)["shards"][0]["complete"]
    assert shard.read_bytes() == before
    assert program.process.communicate("\n", timeout=60)[0] == ""
    assert (info_of(gait, run)["events"], info_of(gait, run)["damage"]) == (2, [])


@needs_namespaces
def test_a_process_that_was_killed_in_another_namespace_is_completed(gait, tmp_path, steady):
    run = tmp_path / "run"
    program = Program([*INNER, "--kill-child", steady], run, env={"GAIT_OVERFLOW": "block"})
    program.do("spans 700", "flush", "spans 300").kill()
    # who killed it may be gone a moment before it is
    info = until(lambda: (told := info_of(gait, run))["shards"][0]["complete"] and told)
    assert (info["events"], info["damage"]) == (2000, [])


@needs_namespaces
def test_a_run_goes_into_no_folder_of_a_run_of_another_namespace(gait, build, tmp_path):
    line = [*INNER, build / "gait", "run", "-q", "-o", "run", "--", "sh", "-c", "echo up; read x"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(line, cwd=tmp_path, **pipes) as inner:
        assert inner.stdout.readline() == "up\n"
        assert gait("run", "-q", "-o", "run", "--", "true").returncode == 0
        assert (tmp_path / "run-2" / ".gait-run").exists()
        inner.communicate("\n", timeout=60)
    assert gait("run", "-q", "-o", "run", "--", "true").returncode == 0  # it left nothing
    assert not (tmp_path / "run-3").exists()


# --- a number that is used again --------------------------------------------------------

USED_AGAIN = """
import json, os, shutil, subprocess, sys
sys.path.insert(0, sys.argv[1])
from told_program import Program
tool, steady, other = sys.argv[2:]

def start_tick(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[19]

def info(run):
    done = subprocess.run([tool, "info", run, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)

def begin_at(pid):
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(pid - 1))
    if other == "records":
        shutil.rmtree("second", ignore_errors=True)
        return Program([steady], "second").do("spans 100", "flush", "spans 50")
    return Program(["cat"])

first = Program([steady], "first", env={"GAIT_OVERFLOW": "block"})
first.do("spans 700", "flush", "spans 300")
pid, tick = first.process.pid, start_tick(first.process.pid)
first.kill()
second = begin_at(pid)
while second.process.pid == pid and start_tick(pid) == tick:  # in the same hundredth of a second
    second.kill()
    second = begin_at(pid)
answers = [info("first")]
if other == "records":
    answers.append(info("second"))
    second.do("spans 10").end()
    answers.append(info("second"))
else:
    second.kill()
print(json.dumps([pid, second.process.pid, answers]))
"""


def used_again(build, tmp_path, steady, other):
    support = pathlib.Path(__file__).parents[1] / "support"
    line = [*INNER, sys.executable, "-c", USED_AGAIN, support, build / "gait", steady, other]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    pid, again, answers = json.loads(done.stdout)
    if pid != again:
        pytest.skip("numbers of processes cannot be chosen here")
    return answers


def check_first(info):
    (shard,) = info["shards"]
    assert (info["events"], info["damage"], shard["complete"]) == (2000, [], True)
    assert not os.path.exists(shard["metadata"]["ring"])


@needs_namespaces
def test_a_dead_process_whose_number_is_used_again_is_completed(build, tmp_path, steady):
    (first,) = used_again(build, tmp_path, steady, "other")
    check_first(first)


@needs_namespaces
def test_also_where_the_other_one_records(build, tmp_path, steady):
    first, during, after = used_again(build, tmp_path, steady, "records")
    check_first(first)
    assert not during["shards"][0]["complete"] and after["shards"][0]["complete"]
    assert (after["events"], after["damage"]) == (320, [])


# --- no memory left ---------------------------------------------------------------------

EATER = r"""
#include <gait/record.h>
#include <stdlib.h>
#include <string.h>

static void record(int count)
{
    for (int i = 0; i < count; i++) {
        gait_begin(GAIT_SITE("eater", "span"));
        gait_end();
    }
}

int main(void)
{
    gait_start(NULL);
    record(1000);
    gait_flush();
    for (;;) {
        record(1);
        char *block = malloc(1 << 20);
        if (block)
            memset(block, 1, 1 << 20);
    }
}
"""


@contextlib.contextmanager
def cgroup_of(megabytes):
    """A folder of a memory cgroup with that limit and no swap; None where there can be none."""
    for root, limit, swap in (
        ("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    ):
        folder = pathlib.Path(root, f"gait-test-{os.getpid()}")
        with contextlib.suppress(OSError):
            folder.mkdir()
        if not os.access(folder / limit, os.W_OK):
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        (folder / limit).write_text(str(megabytes << 20))
        if (folder / swap).exists():
            (folder / swap).write_text("0" if "max" in swap else str(megabytes << 20))
        yield folder
        folder.rmdir()
        return
    yield None


def test_what_was_recorded_before_the_memory_of_a_cgroup_ran_out_is_there(
    gait, build, tmp_path, compile_c
):
    """gait run is in it, too, and says how the program ended."""
    eater = compile_c(EATER, name="eater")
    script = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
    with cgroup_of(64) as folder:
        if folder is None:
            pytest.skip("no memory cgroup can be made here")
        line = ["sh", "-c", script, folder, build / "gait", "run", "-q", "-o", "run", "--", eater]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 137, done.stderr
    assert done.stderr.count("\n") <= 1
    info = info_of(gait, tmp_path / "run")
    (shard,) = info["shards"]
    assert (info["damage"], info["dropped"], shard["complete"]) == ([], 0, True)
    # a span for each block that found room, or one less
    assert 1000 + 30 < info["events"] < 1000 + 66
    assert "signal" in json.dumps(shard["metadata"]["exit"])
