# SPDX-License-Identifier: Apache-2.0
"""Clocks: the slow one when there is no other, and one that somebody sets."""

import csv
import io
import json
import os
import time

import pytest

# A sanitizer wants to be loaded first, and much memory.
plain_build = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="not in a build with a sanitizer"
)

STEPPED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include <gait/record.h>

static void pause_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static void span(const char *name)
{
    gait_begin(gait_site("clock", name));
    pause_ms(20);
    gait_mark(gait_site("clock", "mark"));
    gait_end();
}

int main(void)
{
    void (*step)(long) = (void (*)(long))dlsym(RTLD_DEFAULT, "step_clock");
    gait_start(NULL);
    span("before");
    if (step)
        step(3600);
    gait_begin(gait_site("clock", "across"));
    pause_ms(150); // anchors are not read more often than each 100 ms
    gait_flush();
    if (step)
        step(-7200);
    pause_ms(150);
    gait_flush();
    gait_end();
    span("after");
    gait_stop();
    return 0;
}
"""

PRELOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static long offset;

void step_clock(long seconds);

void step_clock(long seconds)
{
    __atomic_add_fetch(&offset, seconds, __ATOMIC_SEQ_CST);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += __atomic_load_n(&offset, __ATOMIC_SEQ_CST);
    return status;
}
"""


@pytest.fixture
def stepped(compile_c):
    return compile_c(STEPPED, "-ldl", name="stepped")


@pytest.fixture
def preload(compile_c):
    return compile_c(PRELOAD, "-shared", "-fPIC", name="preload.so", library="dl")


def record(gait, program, **variables):
    """The rows of a run by name, and the moments around it."""
    before = time.time_ns()
    done = gait("run", "-q", "-o", "run", "--", program, env={**os.environ, **variables})
    after = time.time_ns()
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader(io.StringIO(gait("export", "run", "--format", "csv").stdout))
    return {row["name"]: row for row in rows}, before, after


def check_times(rows, before, after):
    order = [rows["before"], rows["across"], rows["after"]]
    ends = [int(row["start_ns"]) + int(row["duration_ns"]) for row in order]
    starts = [int(row["start_ns"]) for row in order]
    assert before <= starts[0] < ends[0] <= starts[1] < ends[1] <= starts[2] < ends[2] <= after
    for row, least_ms in zip(order, (20, 300, 20)):
        assert least_ms <= int(row["duration_ns"]) / 1e6 < least_ms + 1000


@pytest.mark.parametrize("clock", ["", "raw"])
def test_durations_and_times_are_true(gait, stepped, clock):
    rows, before, after = record(gait, stepped, GAIT_CLOCK=clock)
    check_times(rows, before, after)
    metadata = json.loads(gait("info", "run", "--json").stdout)["shards"][0]["metadata"]
    assert abs(metadata["tick_hz"] - 10**9) < 10**6 or clock == ""


@plain_build
@pytest.mark.parametrize("clock", ["", "raw"])
def test_a_wall_clock_that_is_set_moves_nothing(gait, stepped, preload, clock):
    rows, before, after = record(gait, stepped, GAIT_CLOCK=clock, LD_PRELOAD=str(preload))
    check_times(rows, before, after)
