# SPDX-License-Identifier: Apache-2.0
"""`gait run --sample`: stacks in the same run as the steps they belong to."""

import json
import sys

PROGRAM = """
import os, sys, time, gait
def busy(end):
    while time.process_time() < end: pass
def step():
    busy(time.process_time() + .02)
if os.fork() == 0:
    busy(time.process_time() + .8)
    os._exit(0)
for _ in range(50):
    with gait.step():
        step()
os.wait()
sys.exit(3)
"""


def shards(gait, path):
    return json.loads(gait("info", "--json", path).stdout)


def test_a_run_holds_samples_beside_its_steps(gait, tmp_path):
    done = gait("run", "--sample", 500, "-o", "run", "--", sys.executable, "-c", PROGRAM)
    assert done.returncode == 3, done.stderr
    said = " ".join(done.stderr.split())
    assert said.endswith("next: gait report run, gait leaf or gait flame for the samples")
    info = shards(gait, "run")
    by_role = {shard["role"]: shard for shard in info["shards"]}
    sampler, program = by_role["sampler"], by_role["program"]
    assert sampler["subject_pid"] == program["pid"]
    assert sampler["run_id"] == program["run_id"]
    assert sampler["complete"] and info["sampler"]["samples"] > 50
    assert sampler["start_ns"] < program["end_ns"]
    assert info["sampler"]["rate_asked_hz"] == 500 and info["sampler"]["processes"] == 2
    rows = json.loads(gait("leaf", "--json", "-a", "-n", "all", "run").stdout)["rows"]
    assert sum(row["samples"] for row in rows if row["name"] == "busy") > 50
    report = gait("report", "--json", "run")
    assert report.returncode == 0, report.stderr


def test_the_setting_py_spy_asks_for_the_same(gait, tmp_path):
    (tmp_path / "gait.yaml").write_text("profiling:\n  py_spy: true\n  py_spy_rate: 400\n")
    words = ["run", "-q", "-c", "gait.yaml", "-o", "run", "--", sys.executable, "-c", PROGRAM]
    done = gait(*words)
    assert done.returncode == 3, done.stderr
    assert shards(gait, "run")["sampler"]["rate_asked_hz"] == 400


def test_without_a_python_there_is_no_shard_of_samples(gait, tmp_path):
    done = gait("run", "--sample", 100, "-o", "run", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert "not all was sampled: no Python ran" in done.stderr
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").glob("*.gait"))
