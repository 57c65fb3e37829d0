# SPDX-License-Identifier: Apache-2.0
"""From `gait run` to `gait report` with a program that really records."""

import json
import signal

import pytest

PROGRAM = """
#define _POSIX_C_SOURCE 200809L // kill()
#include <gait/record.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int steps = atoi(argv[1]), number = argc > 2 ? atoi(argv[2]) : 0;
    if (gait_start(NULL))
        return 99;
    gait_begin(GAIT_SITE("app", "train"));
    for (int i = 0; i <= steps; i++) {
        gait_step_begin((uint64_t)i);
        gait_begin(GAIT_SITE("app", "forward"));
        gait_next(GAIT_SITE("app", "backward"));
        gait_end();
        if (i == steps)
            break;
        gait_step_end();
    }
    if (number)
        kill(getpid(), number);
    gait_step_end();
    gait_end();
    return 7;
}
"""


@pytest.fixture
def program(compile_c):
    return compile_c(PROGRAM)


def test_a_recorded_run_is_reported(gait, program, tmp_path):
    done = gait("run", "-o", "out", "--", program, 20)
    assert done.returncode == 7
    assert gait("report", "out").stdout in done.stderr  # it made steps
    assert done.stderr.splitlines()[-1].startswith("gait: 1 shard, ")
    assert done.stderr.endswith(" in out; next: gait report out\n")
    (shard,) = json.loads(gait("info", "out", "--json").stdout)["shards"]
    assert shard["complete"] and shard["role"] == "program"
    report = json.loads(gait("report", "out", "--json").stdout)
    assert (report["steps"], report["open_steps"], report["dropped"]) == (21, 0, 0)
    assert {phase["name"] for phase in report["phases"]} == {"forward", "backward", "other"}
    assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"]
    assert report["step_total_ns"] <= report["wall_ns"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_killed_program_is_completed_and_reported(gait, program, tmp_path, number):
    done = gait("run", "-o", "out", "--", program, 20, int(number))
    assert done.returncode == 128 + number
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"gait: killed by signal {int(number)}; 1 shard, ")
    info = json.loads(gait("info", "out", "--json").stdout)
    (shard,) = info["shards"]
    assert shard["complete"] and info["damage"] == []
    assert shard["metadata"]["exit"] == {"signal": number}
    report = json.loads(gait("report", "out", "--json").stdout)
    assert (report["steps"], report["open_steps"]) == (20, 1)
    # train and one step are open; spans, steps: each counts once
    assert report["events"] == 1 + 21 + 2 * 21
    assert f"was killed by signal {int(number)}\n" in gait("report", "out").stdout


def test_processes_of_one_run_share_it(gait, program, tmp_path):
    line = f"{program} 5; GAIT_RANK=1 {program} 9; exit 0"
    assert gait("run", "-o", "out", "--", "sh", "-c", line).returncode == 0
    shards = json.loads(gait("info", "out", "--json").stdout)["shards"]
    assert len(shards) == 2
    assert len({shard["run_id"] for shard in shards}) == 1
    assert sorted(shard["rank"] if shard["rank"] is not None else -1 for shard in shards) == [-1, 1]
    # a job's steps are not the sum over its processes
    assert json.loads(gait("report", "out", "--json").stdout)["steps"] == 10


def test_a_run_can_be_added_to(gait, program, tmp_path):
    assert gait("run", "-o", "out", "--", program, 5).returncode == 7
    assert gait("run", "-o", "out", "--append", "--", program, 5).returncode == 7
    shards = json.loads(gait("info", "out", "--json").stdout)["shards"]
    assert len(shards) == 2
    assert len({shard["run_id"] for shard in shards}) == 1
