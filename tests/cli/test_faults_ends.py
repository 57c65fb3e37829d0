# SPDX-License-Identifier: Apache-2.0
"""However a program ends or multiplies: it does so as without gait, and what it
recorded is there."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from ring_files import rings_of

PROGRAMS = pathlib.Path(__file__).with_name("programs")
ONCE = 1001  # spans of one record()


@pytest.fixture(autouse=True)
def silent_sanitizer(monkeypatch):
    """A forked child gives up what its parent's drainer was in the middle of, and
    a signal is to end the program, not the sanitizer."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:handle_abort=0")


@pytest.fixture
def ends(compile_c):
    return compile_c((PROGRAMS / "ends.c").read_text(), name="ends")


def plain(line, **variables):
    """The same program with gait switched off."""
    return subprocess.run(
        line,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "GAIT_ENABLE": "0", **variables},
    )


def recorded(gait, tmp_path, line, *options):
    """Run under gait; the CompletedProcess and what `gait info` says."""
    done = gait("run", "-q", "-o", "run", *options, "--", *line)
    told = gait("info", "run", "--json")
    assert told.returncode == 0, told.stderr
    info = json.loads(told.stdout)
    assert info["damage"] == []
    assert all(shard["complete"] for shard in info["shards"])
    return done, info


def same_end(done, bare):
    code = bare.returncode if bare.returncode >= 0 else 128 - bare.returncode
    assert done.returncode == code
    assert done.stdout == bare.stdout
    assert done.stderr == bare.stderr


# How it ends, shards, and spans in all of them.
WAYS = {
    "return": [ONCE],
    "exit": [ONCE],
    "_exit": [ONCE],
    "abort": [ONCE],
    "segv": [ONCE],
    "term": [ONCE],
    "int": [ONCE],
    "thread_exit": [2 * ONCE],
    "leave_main": [2 * ONCE],
    "exec": [ONCE, ONCE],
    "spawn": [ONCE, 2 * ONCE],
    "fork_silent": [2 * ONCE],
    "fork_record": [ONCE, 2 * ONCE],
    "fork_twice": [ONCE, ONCE],
    "close_all": [2 * ONCE],
    "stop_start": [ONCE, ONCE],
}


@pytest.mark.parametrize("policy", ["drop", "block"])
@pytest.mark.parametrize("how", WAYS)
def test_a_program_ends_as_it_would_have(gait, tmp_path, ends, how, policy):
    line = [str(ends), how]
    done, info = recorded(gait, tmp_path, line, "--overflow", policy)
    same_end(done, plain(line))
    assert sorted(shard["events"] for shard in info["shards"]) == WAYS[how]
    assert info["dropped"] == 0


@pytest.mark.parametrize("how", ["return", "_exit", "segv", "exec", "fork_record"])
def test_the_flight_recorder_keeps_all_that_fits(gait, tmp_path, ends, how):
    done, info = recorded(gait, tmp_path, [str(ends), how], "--overflow", "overwrite")
    same_end(done, plain([str(ends), how]))
    assert sorted(shard["events"] for shard in info["shards"]) == WAYS[how]


def test_forks_in_a_thread_while_another_records(gait, tmp_path, ends):
    options = ["--overflow", "block", "--ring", "16K"]
    done, info = recorded(gait, tmp_path, [str(ends), "fork_thread"], *options)
    same_end(done, plain([str(ends), "fork_thread"]))
    events = sorted(shard["events"] for shard in info["shards"])
    assert events[:-1] == [ONCE] * 20
    assert events[-1] > ONCE
    assert info["dropped"] == 0


def test_ring_files_go_with_their_processes(gait, tmp_path, ends):
    start = time.time()
    for how in ("return", "segv", "exec", "fork_record", "fork_thread", "_exit"):
        gait("run", "-q", "-o", how, "--", str(ends), how)
    pids = {int(shard.name.split(".")[-3]) for shard in tmp_path.glob("*/*.gait")}
    assert len(pids) >= 7  # fork_record leaves two
    assert rings_of(pids, start) == []


def test_exit_from_a_signal_handler_at_any_moment(gait, tmp_path, ends):
    for i in range(12):
        line = ["run", "-q", "-o", f"run{i}", "--overflow", ["block", "drop"][i % 2]]
        done = gait(*line, "--ring", "4K", "--", str(ends), "handler_exit", timeout=30)
        assert (done.returncode, done.stdout) == (9, "hello from handler_exit\n")
        info = json.loads(gait("info", f"run{i}", "--json").stdout)
        assert info["damage"] == []
        assert info["events"] > 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_files_are_not_mistaken_for_ours(gait, tmp_path, ends, closed):
    line = ["sh", "-c", f"exec {ends} return {closed}"]
    done, info = recorded(gait, tmp_path, line)
    assert done.returncode == 0
    assert info["events"] == ONCE
    for shard in info["shards"]:
        assert b"hello" not in pathlib.Path(tmp_path, shard["path"]).read_bytes()


# --- loaded by hand ----------------------------------------------------------------------

BY_HAND = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 0; i < 3 && argc > 1; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return printf("%s\n", dlerror()), 1;
        int (*start)(const void *) = (int (*)(const void *))dlsym(library, "gait_start");
        uint32_t (*site)(const char *, const char *) =
            (uint32_t (*)(const char *, const char *))dlsym(library, "gait_site");
        void (*begin)(uint32_t) = (void (*)(uint32_t))dlsym(library, "gait_begin");
        void (*end)(void) = (void (*)(void))dlsym(library, "gait_end");
        int (*stop)(void) = (int (*)(void))dlsym(library, "gait_stop");
        start(NULL);
        for (int j = 0; j < 100; j++) {
            begin(site("by hand", "span"));
            end();
        }
        if (i < 2)
            stop(); // the third time the end of the process does it
        dlclose(library);
    }
    return 4;
}
"""


def test_a_library_that_is_loaded_and_unloaded(gait, build, tmp_path, compile_c):
    flags = ["-Wno-pedantic"]
    program = compile_c(BY_HAND, *flags, name="by_hand", library="dl")
    done, info = recorded(gait, tmp_path, [str(program), str(build / "libgait.so")])
    assert (done.returncode, done.stdout) == (4, "")
    assert [shard["events"] for shard in info["shards"]] == [100, 100, 100]


def test_a_run_directory_shared_by_64_processes(gait, tmp_path, ends):
    shell = "for i in $(seq 64); do " + str(ends) + " return & done; wait"
    done, info = recorded(gait, tmp_path, ["sh", "-c", shell])
    assert done.returncode == 0
    assert [shard["events"] for shard in info["shards"]] == [ONCE] * 64
    assert len({shard["path"] for shard in info["shards"]}) == 64
    assert len({shard["run_id"] for shard in info["shards"]}) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_from_outside_ends_it_as_ever(gait, build, tmp_path, compile_c, number):
    source = """
    #include <gait/record.h>
    #include <stdio.h>
    int main(void)
    {
        gait_start(NULL);
        for (int i = 0; i < 500; i++) {
            gait_begin(GAIT_SITE("a", "b"));
            gait_end();
        }
        puts("ready");
        fflush(stdout);
        for (;;)
            getchar();
    }
    """
    program = compile_c(source, name="waits")
    line = [str(build / "gait"), "run", "-q", "-o", "run", "--", str(program)]
    with subprocess.Popen(
        line, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    info = json.loads(gait("info", "run", "--json").stdout)
    assert info["events"] == 500
    assert info["shards"][0]["complete"]


@pytest.mark.parametrize("how", ["return", "exit", "thread_exit", "term", "fork_silent"])
def test_the_code_of_a_program_that_failed_is_told(gait, tmp_path, ends, how):
    """Also where it closed its shard itself, and nobody else was there to see it."""
    line = [str(ends), how]
    bare = plain(line)
    subprocess.run(line, cwd=tmp_path, env={**os.environ, "GAIT_DIR": "run"}, timeout=60)
    told = json.loads(gait("report", "run", "--json").stdout)["ends"]
    screen = gait("report", "run").stdout
    if bare.returncode > 0:
        (end,) = told
        assert end["exit"] == {"code": bare.returncode}
        assert f"ended with exit code {bare.returncode}\n" in " ".join(screen.split(" "))
    elif bare.returncode == 0:
        assert told == [] and "exit code" not in screen
    else:
        assert told[0]["exit"] == {"unclosed": True}
