# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, slow, gone or not ours: the program ends as it would have,
and every event is on record or counted."""

import csv
import io
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import pytest
from ring_files import has_shared_memory, rings_of
from small_disk import small_disk_at
from told_program import Program

# A sanitizer wants to be loaded first, and much memory.
plain_build = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="not in a build with a sanitizer"
)

PROGRAMS = pathlib.Path(__file__).with_name("programs")
KIB = 1024


@pytest.fixture
def steady(compile_c):
    return compile_c((PROGRAMS / "steady.c").read_text(), name="steady")


# What the disk did not take is in shared memory, for these.
needs_shared_memory = pytest.mark.skipif(
    not has_shared_memory(), reason="no /dev/shm, or less than half of it is free"
)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 512 KiB."""
    with small_disk_at(tmp_path / "disk", "512k") as path:
        yield path


def fill(disk):
    """Leaves no byte free; the file whose removal brings the disk back."""
    ballast = disk / "ballast"
    file = os.open(ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for block in (65536, 512, 1):
        try:
            while True:
                os.write(file, b"x" * block)
        except OSError:
            pass
    os.close(file)
    return ballast


def info_of(gait, run):
    done = gait("info", run, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(gait, run):
    done = gait("export", run, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def span_numbers(rows):
    # where a buffer was full the argument may be what found no room
    numbers = [
        json.loads(row["args"])["n"] for row in rows if row["kind"] == "span" and row["args"]
    ]
    assert numbers == sorted(set(numbers))
    return numbers


def remove_rings(gait, run):
    for shard in info_of(gait, run)["shards"]:
        ring = shard["metadata"].get("ring")
        if ring:
            pathlib.Path(ring).unlink(missing_ok=True)


# --- full, and back again ----------------------------------------------------------------


def drop_reasons(rows):
    return {row["name"] for row in rows if row["kind"] == "drop"}


@pytest.mark.parametrize("policy", ["drop", "block", "overwrite"])
def test_a_full_disk_costs_what_it_could_not_take(gait, small_disk, steady, policy):
    run = small_disk / "run"
    program = Program([steady], run, env={"GAIT_OVERFLOW": policy, "GAIT_RING": "64K"})
    program.do("spans 1000", "flush")
    ballast = fill(small_disk)
    for _ in range(5):
        program.do("spans 1000", "flush", "sites 50", "flush")
    ballast.unlink()
    program.do("name late", "spans 1000", "flush", "spans 10").end()
    info, rows = info_of(gait, run), rows_of(gait, run)
    assert info["events"] + info["dropped"] == 2 * 7010 + 250
    assert info["dropped"] > 2 * 4000  # the last page of the file takes a few
    assert info["damage"] == []
    assert info["shards"][0]["complete"]
    assert "disk full" in drop_reasons(rows)
    assert "2 the disk was full: free space" in " ".join(gait("report", run).stdout.split())
    if policy == "block":
        numbers = span_numbers(rows)
        assert numbers[:1000] == list(range(1000))
        assert numbers[-1010:] == list(range(6000, 7010))


def test_names_made_while_the_disk_was_full_are_not_lost(gait, small_disk, steady):
    """More of them than the journal holds: they are told again, and nobody waited."""
    run = small_disk / "run"
    program = Program([steady], run, env={"GAIT_OVERFLOW": "block"})
    program.do("spans 10", "flush")
    ballast = fill(small_disk)
    program.do("spans 10", "flush")  # it knows now
    before = program.waits()
    program.do("sites 12000", "name named on a full disk", "flush")
    assert program.waits() - before < 1000  # of thousands of names that there is no room for
    ballast.unlink()
    program.do("sites 10", "flush").end()
    info, rows = info_of(gait, run), rows_of(gait, run)
    assert info["events"] + info["dropped"] == 2 * 20 + 12010
    names = [row["name"] for row in rows if row["category"] == "sites"]
    prefix = "a site with a rather long name, number"
    assert names[-10:] == [f"{prefix} {i}" for i in range(12000, 12010)]
    assert "named on a full disk" in gait("export", run, "--format", "chrome").stdout


@needs_shared_memory
@pytest.mark.parametrize("policy", ["drop", "block", "overwrite"])
def test_killed_on_a_full_disk(gait, small_disk, steady, policy):
    run = small_disk / "run"
    program = Program([steady], run, env={"GAIT_OVERFLOW": policy, "GAIT_RING": "64K"})
    program.do("spans 1000", "flush")
    fill(small_disk)
    program.do("spans 1000", "flush", "spans 1000", "flush", "spans 100")
    program.kill()
    info = info_of(gait, run)
    assert info["events"] + info["dropped"] == 2 * 3100
    assert info["damage"] == []
    assert span_numbers(rows_of(gait, run))[-100:] == list(range(3000, 3100))
    remove_rings(gait, run)


@needs_shared_memory
@pytest.mark.parametrize("policy", ["drop", "block", "overwrite"])
def test_a_disk_that_stays_full_to_the_end(gait, build, small_disk, steady, policy):
    run = small_disk / "run"
    line = [build / "gait", "run", "-q", "-o", run, "--overflow", policy, "--ring", "64K", "--"]
    program = Program([*line, steady])
    program.do("spans 1000", "flush")
    ballast = fill(small_disk)
    program.do("spans 1000", "flush", "spans 400", "flush", "spans 100")
    program.process.stdin.write("quit\n")
    rest, errors = program.process.communicate(timeout=60)
    assert (rest, program.process.returncode) == ("bye\n", 6)
    assert errors.startswith("gait: ") and errors.count("\n") == 1
    # what the disk did not take lies in the ring file, and counts
    info = info_of(gait, run)
    assert info["events"] + info["dropped"] == 2 * 2500
    assert span_numbers(rows_of(gait, run))[-100:] == list(range(2400, 2500))
    # with room again, the next run in this directory completes it
    ballast.unlink()
    assert gait("run", "-q", "--append", "-o", run, "--", "true").returncode == 0
    (shard,) = info_of(gait, run)["shards"]
    assert shard["complete"] and not pathlib.Path(shard["metadata"]["ring"]).exists()
    assert info_of(gait, run)["events"] == info["events"]


def test_a_disk_that_is_full_from_the_start(gait, small_disk, steady):
    ballast = fill(small_disk)
    with open(small_disk / "ballast", "r+b") as file:
        file.truncate(os.path.getsize(ballast) - 4096)  # for the directory and the file
    program = Program([steady], small_disk / "run", env={"GAIT_OVERFLOW": "block"})
    program.do("spans 5000", "flush", "sites 300", "flush")
    ballast.unlink()
    program.do("spans 1000", "flush").end()
    info = info_of(gait, small_disk / "run")
    assert info["events"] + info["dropped"] == 2 * 6000 + 300
    assert span_numbers(rows_of(gait, small_disk / "run"))[-1000:] == list(range(5000, 6000))


# --- limits -----------------------------------------------------------------------------


def limit(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


@pytest.mark.parametrize("kib", [0, 1, 4, 8, 16, 64, 300, 1500])
@pytest.mark.parametrize("policy", ["drop", "block", "overwrite"])
def test_a_file_size_limit_kills_nobody(gait, tmp_path, steady, kib, policy):
    before, start = limit(resource.RLIMIT_FSIZE, kib * KIB), time.time()
    environment = {"GAIT_OVERFLOW": policy, "GAIT_RING": "64K"}
    program = Program([steady], tmp_path / "run", preexec_fn=before, env=environment)
    for _ in range(10):
        program.do("spans 3000", "flush", "sites 100")
    program.end()
    for shard in (tmp_path / "run").glob("*.gait"):
        assert 0 < shard.stat().st_size <= kib * KIB
    if kib < 8:  # not even who it was may find room
        return
    # what found none in the file, nor in a ring file under such a limit, is counted
    info = info_of(gait, tmp_path / "run")
    assert info["events"] + info["dropped"] == 2 * 30000 + 1000
    assert (info["events"] > 0) >= (kib >= 64)
    assert len(info["damage"]) == (not info["shards"][0]["complete"])
    assert rings_of([program.process.pid], start) == []


@pytest.mark.parametrize("descriptors", [4, 5, 6, 8])
def test_few_descriptors(gait, tmp_path, steady, descriptors):
    before = limit(resource.RLIMIT_NOFILE, descriptors)
    program = Program([steady], tmp_path / "run", preexec_fn=before)
    program.do("spans 1000", "flush").end()
    if descriptors >= 6:
        assert info_of(gait, tmp_path / "run")["events"] == 2000


@plain_build
def test_no_memory_for_rings(gait, tmp_path, steady):
    before = limit(resource.RLIMIT_AS, 200 << 20)
    program = Program([steady], tmp_path / "run", preexec_fn=before, env={"GAIT_RING": "1G"})
    program.do("spans 1000", "flush").end()
    shards = list((tmp_path / "run").glob("*.gait"))
    if shards:
        info = info_of(gait, tmp_path / "run")
        assert info["events"] + info["dropped"] == 2000


@plain_build
@pytest.mark.parametrize("mib", [8, 15, 20, 25, 30, 35, 40, 45, 50, 60, 100])
def test_a_start_that_finds_no_memory_leaves_no_file(gait, tmp_path, steady, mib):
    run, start = tmp_path / "run", time.time()
    program = Program([steady], run, preexec_fn=limit(resource.RLIMIT_AS, mib << 20))
    program.do("spans 100", "flush").end()
    for _ in run.glob("*.gait"):  # it is the whole story, or there is none
        info = info_of(gait, run)
        assert info["shards"][0]["complete"] and info["damage"] == []
        assert info["events"] + info["dropped"] == 200
    assert rings_of([program.process.pid], start) == []


# --- directories ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/dev/null", "/dev/null/run", "/proc/none", "x" * 300, "y" * 5000]
)
def test_a_run_directory_that_cannot_be(steady, tmp_path, path):
    Program([steady], path, cwd=tmp_path).do("spans 10", "flush").end()


def test_a_read_only_directory(gait, small_disk, steady):
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    Program([steady], small_disk / "run").do("spans 10", "flush").end()
    assert list(small_disk.iterdir()) == []


def test_a_directory_of_somebody_else(tmp_path, steady):
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != pathlib.Path("/") and folder != pathlib.Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)
    alone = subprocess.run([steady], user=65534, stdin=subprocess.DEVNULL, capture_output=True)
    if alone.returncode != 6:  # it finds no library
        pytest.skip("other users may not pass through the folders of this checkout")
    Program([steady], run, user=65534).do("spans 10", "flush").end()
    assert list(run.iterdir()) == []


def test_a_directory_that_goes_away_and_comes_back(gait, tmp_path, steady):
    run = tmp_path / "run"
    program = Program([steady], run).do("spans 100", "flush")
    shutil.rmtree(run)
    program.do("spans 100", "flush", "sites 10", "flush", "stop", "spans 10", "start")
    program.do("spans 50", "flush").end()  # a new session makes the directory anew
    assert info_of(gait, run)["events"] == 100


SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset);

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    const struct timespec pause = {0, 150000000};
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    nanosleep(&pause, NULL);
    return real(fd, bytes, count > 10000 ? 10000 : count, offset); // and in pieces
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    return pwrite(fd, bytes, count, offset);
}
"""


@pytest.fixture
def slow(tmp_path, compile_c):
    return compile_c(SLOW, "-shared", "-fPIC", name="slow.so", library="dl")


@plain_build
@pytest.mark.parametrize("policy", ["drop", "block", "overwrite"])
def test_a_slow_disk(gait, tmp_path, steady, slow, policy):
    environment = {"LD_PRELOAD": str(slow), "GAIT_OVERFLOW": policy, "GAIT_RING": "64K"}
    program = Program([steady], tmp_path / "run", env=environment)
    program.do("spans 3000", "sites 30", "spans 500", "flush").end()
    info = info_of(gait, tmp_path / "run")
    assert info["events"] + info["dropped"] == 2 * 3500 + 30
    assert (policy == "block") <= (info["dropped"] == 0)
    assert info["damage"] == []


# --- no shared memory -----------------------------------------------------------------------


def without_shared_memory(bytes_left):
    line = f'mount -t tmpfs -o size={bytes_left} none /dev/shm && exec "$@"'
    probe = ["unshare", "-m", "sh", "-c", line, "-", "true"]
    if os.geteuid() or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no mount namespace to be had here")
    return ["unshare", "-m", "sh", "-c", line, "-"]


@pytest.fixture
def bare_dev(tmp_path):
    """What begins a command where /dev has little in it, and no shared memory."""
    line = """mkdir "$0" && touch "$0/null" "$0/urandom" && mount --bind /dev/null "$0/null" &&
        mount --bind /dev/urandom "$0/urandom" && mount --rbind "$0" /dev && exec "$@" """
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace to be had here")
    return ["unshare", "-m", "sh", "-c", line, str(tmp_path / "dev")]


def test_where_there_is_no_shared_memory_it_is_said_and_all_is_recorded(
    build, gait, tmp_path, steady, bare_dev
):
    line = [*bare_dev, build / "gait", "run", "-o", "run", "--", steady]
    asked = {"input": "spans 2000\nquit\n", "capture_output": True, "text": True}
    done = subprocess.run(list(map(str, line)), cwd=tmp_path, timeout=60, **asked)
    first, last = done.stderr.splitlines()
    why = "/dev/shm: No such file or directory; the buffers were files in run, on its disk"
    assert (done.returncode, done.stdout, first) == (6, "done\nbye\n", "gait: " + why)
    assert last.startswith("gait: 1 shard, ")
    info = info_of(gait, tmp_path / "run")
    assert (info["events"], info["dropped"]) == (4000, 0)
    assert not list((tmp_path / "run").glob("*.ring"))


def test_the_doctor_says_that_there_is_no_shared_memory(build, tmp_path, bare_dev):
    line = [*bare_dev, str(build / "gait"), "doctor", "--json"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    checks = json.loads(done.stdout)
    assert (done.returncode, checks["shared memory"]["fine"]) == (0, False)
    assert "/dev/shm: No such file or directory; " in checks["shared memory"]["text"]
    assert checks["buffers"]["fine"]  # there is no place where they could be left


def test_without_shared_memory_the_ring_file_lies_in_the_run_directory(gait, tmp_path, steady):
    run = tmp_path / "run"
    program = Program([*without_shared_memory("64k"), steady], run, env={"GAIT_OVERFLOW": "block"})
    program.do("spans 2000")
    program.kill()
    assert len(list(run.glob("*.ring"))) == 1
    info = info_of(gait, run)
    assert (info["events"], info["dropped"]) == (4000, 0)


def test_without_any_room_rings_are_in_memory_and_the_file_says_so(gait, small_disk, steady):
    run = small_disk / "run"
    program = Program([*without_shared_memory("64k"), steady], run, env={"GAIT_OVERFLOW": "block"})
    program.do("spans 2000", "flush", "spans 100").end()
    info = info_of(gait, run)
    assert (info["events"], info["dropped"]) == (4200, 0)
    assert info["shards"][0]["metadata"]["ring"] == ""
    program = Program([*without_shared_memory("64k"), steady], small_disk / "killed")
    program.do("spans 2000", "flush", "spans 100")
    program.kill()
    info = info_of(gait, small_disk / "killed")
    assert info["events"] == 4000
    assert not info["shards"][0]["complete"]


def test_half_of_shared_memory_is_left_alone(gait, tmp_path, compile_c):
    """It is the training's. What finds no room there is reserved elsewhere before
    it is mapped: no SIGBUS, whatever is left."""
    source = (PROGRAMS / "many_alive.c").read_text()
    program = compile_c(source, name="many_alive")
    line = [*without_shared_memory("16m"), str(program), "60"]
    environment = {**os.environ, "GAIT_DIR": str(tmp_path / "run")}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    made, _, _, percent = map(int, done.stdout.split())
    assert made == 60
    assert 50 <= percent < 65
    info = info_of(gait, tmp_path / "run")
    assert info["events"] + info["dropped"] == 60 * 11
    assert info["dropped"] == 0


IN_MEMORY = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <gait/record.h>

static pthread_barrier_t done;

static void *record(void *none)
{
    for (int i = 0; i < 100; i++)
        gait_mark(GAIT_SITE("in", "memory"));
    pthread_barrier_wait(&done);
    pthread_barrier_wait(&done);
    return none;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    (void)argv;
    gait_start(NULL);
    pthread_barrier_init(&done, NULL, 9);
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, record, NULL);
    pthread_barrier_wait(&done);
    gait_flush();
    if (argc > 1)
        raise(SIGKILL);
    pthread_barrier_wait(&done);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_rings_without_a_file_are_told_of_where_it_matters(build, tmp_path, compile_c, is_killed):
    program = compile_c(IN_MEMORY, name="in_memory")
    # all in one namespace: its shared memory ends with it
    script = f"{program} {'killed' * is_killed}; {build}/gait info {tmp_path}/run --json"
    line = [*without_shared_memory("5m"), "sh", "-c", script]
    environment = {**os.environ, "GAIT_DIR": str(tmp_path / "run")}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)
    info = json.loads(done.stdout)
    assert info["events"] == 800
    assert ["private memory" in damage["what"] for damage in info["damage"]] == [True] * is_killed


# --- ring files that nobody comes for ---------------------------------------------------------

# In a world of its own: the machine's shared memory belongs to others too.
LEFT_BEHIND = """
import json, os, shutil, subprocess, sys
tool, steady = sys.argv[1:]

def start(run):
    environment = {**os.environ, "GAIT_DIR": run}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([steady], env=environment, **pipes)
    for line in ("flush", "spans 100"):
        process.stdin.write(line + "\\n")
        process.stdin.flush()
        process.stdout.readline()
    return process

def doctor(*options):
    answer = subprocess.run([tool, "doctor", "--json", *options], capture_output=True, text=True)
    return json.loads(answer.stdout)["buffers"]

def rings():
    return sorted(name for name in os.listdir("/dev/shm"))

for run in ("gone", "kept"):
    process = start(run)
    process.kill()
    process.wait()
dead = rings()
shutil.rmtree("gone")
alive = start("alive")
told = [doctor(), doctor("--clean")]
left = rings()
info = subprocess.run([tool, "info", "kept", "--json"], capture_output=True, text=True).stdout
alive.communicate("quit\\n")
print(json.dumps([len(dead), told, len(set(left) & set(dead)), len(left), json.loads(info)]))
"""


def test_the_doctor_takes_away_what_dead_processes_left(build, tmp_path, steady):
    line = [
        *without_shared_memory("64m"),
        sys.executable,
        "-c",
        LEFT_BEHIND,
        build / "gait",
        steady,
    ]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    dead, (before, cleaned), dead_left, left, kept = json.loads(done.stdout)
    assert (dead, dead_left, left) == (2, 0, 1)
    assert (before["dead"], before["live"], before["fine"]) == (2, 1, False)
    assert before["dead_bytes"] > 2 * 700_000
    assert (cleaned["completed"], cleaned["removed"], cleaned["fine"]) == (1, 1, True)
    # the shard that was still there has everything
    assert (kept["events"], kept["shards"][0]["complete"]) == (200, True)


def test_a_process_that_closed_our_descriptors_is_not_taken_for_dead(gait, tmp_path, compile_c):
    """Its lock is gone with them, but it goes on writing its shard."""
    run = tmp_path / "run"
    program = Program([compile_c((PROGRAMS / "close_all.c").read_text())], run)
    assert program.process.stdout.readline() == "ready\n"
    (shard,) = run.glob("*.gait")
    before = shard.read_bytes()
    info = info_of(gait, run)
    assert not info["shards"][0]["complete"]
    assert shard.read_bytes() == before
    assert program.process.communicate("\n", timeout=60)[0] == ""
    assert (info_of(gait, run)["events"], info_of(gait, run)["damage"]) == (2, [])
