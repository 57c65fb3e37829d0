# SPDX-License-Identifier: Apache-2.0
"""The questions of docs/howto/sql.md: each is asked, and some answers are what the trace says."""

import collections
import json
import os
import pathlib
import re
import sys

import pytest
import stored_runs

pytest.importorskip("duckdb")
ROOT = pathlib.Path(__file__).parents[2]
QUESTIONS = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/howto/sql.md").read_text(), re.S)
ENV = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}


def trace_of(rank):
    """Two steps: an op in an op launches a kernel that outlives its step, and a copy."""
    host, stream = {"ph": "X", "pid": 7, "tid": 9}, {"ph": "X", "pid": 0, "tid": 7}
    events = []
    for step in range(2):
        at, link = 1000 * step, {"correlation": step + 1, "device": 0, "stream": 7}
        copy = {**link, "correlation": 10 + step, "bytes": 4096}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at,
             "dur": 900},
            {**host, "cat": "cpu_op", "name": "aten::linear", "ts": at + 10, "dur": 300,
             "args": {"Input Dims": [[2, 3], [3, 4]]}},
            {**host, "cat": "cpu_op", "name": "aten::mm", "ts": at + 20, "dur": 100,
             "args": {"Input Dims": [[2, 3]]}},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 30, "dur": 5,
             "args": {"correlation": step + 1}},
            {**host, "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": at + 200, "dur": 5,
             "args": {"correlation": 10 + step}},
            {**stream, "cat": "kernel", "name": "gemm", "ts": at + 950, "dur": 200 + step,
             "args": link},
            {**stream, "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": at + 400, "dur": 2,
             "args": copy},
        ]  # fmt: skip
    return {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir()
    for rank in range(2):
        (tmp_path / "run" / f"{rank}.json").write_text(json.dumps(trace_of(rank)))
    return "run"


def ask(gait, run, number):
    done = gait("sql", run, QUESTIONS[number - 1].replace("LIMIT 20", ""), "--json", env=ENV)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def test_each_question_has_an_answer(gait, run):
    assert len(QUESTIONS) == 10
    for number in range(1, 11):
        assert ask(gait, run, number), number


def test_answers_are_what_the_trace_says(gait, run):
    assert ask(gait, run, 1) == [
        {"op": "aten::mm", "kernel": "gemm", "calls": 4, "ns": 4 * 200_000 + 2_000}
    ]
    own = {row["name"]: row["own_ns"] for row in ask(gait, run, 2)}
    assert own == {"aten::linear": 4 * (300 - 100 - 5) * 1000, "aten::mm": 4 * 95 * 1000}
    assert ask(gait, run, 4) == [
        {"step": step, "p50_ns": 560_000.0, "most_ns": 920_000} for step in range(2)
    ]
    assert ask(gait, run, 5) == [
        {"step": step, "late": 2, "ns": 2 * (200 + step) * 1000} for step in range(2)
    ]
    path = [row["name"] for row in ask(gait, run, 6)]
    assert path == ["ProfilerStep#1", "aten::linear", "aten::mm", "cudaLaunchKernel"]
    assert [row["name"] for row in ask(gait, run, 7)] == ["aten::mm"]
    assert ask(gait, run, 8)[0]["shapes"].replace(" ", "") == "[[2,3]]"
    assert ask(gait, run, 9)[0]["at_step"] == 1
    copy = ask(gait, run, 10)[0]
    assert (copy["op"], copy["copies"], copy["bytes"]) == ("aten::linear", 4, 16384)
    assert abs(copy["gb_per_s"] - 2.048) < 1e-9


def test_answers_about_a_run_of_gaits_own_are_those_of_its_commands(gait, tmp_path):
    """On a real device, whose calls lie in a file of their own, apart from ops and phases."""
    stored_runs.unpack(tmp_path, only="h200")
    asked, told = collections.Counter(), collections.Counter()
    for row in ask(gait, "h200", 1):
        asked[row["kernel"]] += row["ns"]
    for row in json.loads(gait("kernels", "h200", "--json").stdout)["kernels"]:
        told[row["name"]] += row["total_ns"]
    assert asked == told
    own = {row["name"]: (row["calls"], row["own_ns"]) for row in ask(gait, "h200", 2)}
    told = {row["name"]: (row["calls"], row["self_cpu_ns"])
            for row in json.loads(gait("ops", "h200", "--json").stdout)["ops"]}  # fmt: skip
    # of the profiler's own work, which that op waited for, no thread is known
    assert {name for name in own if own[name] != told[name]} == {"aten::is_pinned"}
    path = [row["name"] for row in ask(gait, "h200", 6)]
    assert path == ["forward", "aten::linear", "aten::addmm", "cudaLaunchKernelExC"]
    steps = json.loads(gait("steps", "h200_input", "--json").stdout)["steps"]
    ends = {step["number"]: step["start_ns"] + step["host_ns"] for step in steps}
    sql = "SELECT step, start_ns, duration_ns FROM events WHERE launch_id IS NOT NULL"
    late = {}
    for row in json.loads(gait("sql", "h200_input", sql, "--json", env=ENV).stdout)["rows"]:
        if row["start_ns"] >= ends[row["step"]]:
            count, ns = late.get(row["step"], (0, 0))
            late[row["step"]] = (count + 1, ns + row["duration_ns"])
    assert {row["step"]: (row["late"], row["ns"]) for row in ask(gait, "h200_input", 5)} == late
