# SPDX-License-Identifier: Apache-2.0
"""The bench programs run, account for every event, and give valid JSON.

How fast they found anything is no matter here: other tests share the machine.
"""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def bench(build, tmp_path):
    def run(program, *arguments):
        command = [str(build / "bench" / program), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return run


@pytest.mark.parametrize("policy", ["overwrite", "drop", "block"])
@pytest.mark.parametrize("threads", [1, 2])
def test_event_cost_accounts_for_every_event(bench, policy, threads):
    sizes = ("--repeats", 2, "--count", 4000, "--ring", "64K")
    done = bench(
        "event_cost", "--directory", "run", "--policy", policy, "--threads", threads, *sizes
    )
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["policy"] == policy and result["threads"] == threads
    assert {probe["name"] for probe in result["probes"]} >= {"span", "next", "mark", "span_off"}
    assert all(probe["cpu_ns"] > 0 and probe["floor_ns"] > 0 for probe in result["probes"])
    assert result["recorded"] + result["dropped"] == result["made"]
    assert result["damage"] == 0
    if policy == "block":
        assert result["dropped"] == 0


def test_stream_load_keeps_all_spans_and_decode_speed_reads_them(bench):
    done = bench("stream_load", "--directory", "run", "--seconds", 0.2, "--rate", 200000)
    assert (done.returncode, done.stderr) == (0, "")
    stream = json.loads(done.stdout)
    assert stream["made"] >= 40000
    assert (stream["recorded"], stream["dropped"]) == (stream["made"], 0)
    done = bench("decode_speed", "run", 2)
    assert (done.returncode, done.stderr) == (0, "")
    decoded = json.loads(done.stdout)
    assert decoded["spans"] == decoded["events"] == stream["made"]
    assert decoded["busy_ns"] > 0


@pytest.mark.parametrize(
    "command",
    [
        ("event_cost",),
        ("event_cost", "--directory", "run", "--threads", "0"),
        ("event_cost", "--directory", "run", "--count", "many"),
        ("stream_load", "--directory"),
        ("stream_load", "--directory", "run", "--rate", "-1"),
        ("decode_speed",),
    ],
)
def test_bad_options_are_a_usage_line_and_exit_code_2(bench, command):
    done = bench(*command)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.startswith("usage: ")


def test_decode_speed_says_what_it_cannot_open(bench):
    done = bench("decode_speed", "no-such-run")
    assert done.returncode == 1
    assert "no-such-run" in done.stderr


def test_run_bench_prints_a_table_and_writes_the_result(root, build, tmp_path):
    command = [sys.executable, root / "bench/run_bench.py", build, "--quick"]
    command += [
        "--output",
        tmp_path / "result.json",
        "--only",
        "events",
        "stream",
        "decode",
        "ranks",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert (done.returncode, done.stderr) == (0, "")
    table = [line for line in done.stdout.splitlines() if not line.startswith("written to ")]
    assert max(map(len, table)) <= 78
    for name in ("two clock reads", "span: begin + end", "on disk, examples/train_c", "open"):
        assert name in done.stdout
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["quick"] and result["events"]["overwrite-1"]["probes"]
    assert result["stream"]["stream"]["made"] > 0 and result["decode"]["spans"] > 0
    assert all(cpu > 0 and peak > 1e6 for cpu, _, peak in result["ranks"].values())
