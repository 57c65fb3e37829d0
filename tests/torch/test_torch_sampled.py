# SPDX-License-Identifier: Apache-2.0
"""A training with loader workers and many threads of its own, sampled from outside."""

import json
import subprocess
import sys

import pytest

from tests.support.sampled_programs import RIGHT, until

pytestmark = pytest.mark.skipif(not RIGHT, reason="processes may not be read here")


def sampled(gait, path):
    """How many processes a recording has so far."""
    done = gait("info", "--json", path)
    return json.loads(done.stdout).get("sampler", {}).get("processes", 0) if done.stdout else 0


def test_no_worker_is_lost_and_nothing_stalls(gait, build, root, tmp_path):
    out = tmp_path / "run.gait"
    record = [build / "gait", "record", "-q", "-s", "-i", "-r", "1000", "-o", out, "--"]
    program = [sys.executable, root / "bench/torch_loader.py", "16", "4", "160", "wait"]
    running = subprocess.Popen(
        [str(word) for word in (*record, *program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        told = json.loads(running.stdout.readline())
        assert told["workers"] == [0, 1, 2, 3] and told["native"] == 160
        assert until(lambda: sampled(gait, out) == 5, 60)
        running.stdin.close()
        assert running.wait(timeout=60) == 0
    finally:
        running.kill()
        running.wait()
    rows = json.loads(gait("leaf", "-n", "all", "--by", "process", "--json", out).stdout)["rows"]
    assert len({row["process"] for row in rows}) == 5
