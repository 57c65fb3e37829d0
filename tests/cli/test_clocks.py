# SPDX-License-Identifier: Apache-2.0
"""Work of a device whose clock is ahead, and threads whose spans lie far apart."""

import json
import time

import pytest


def write(path, events):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path.name


@pytest.mark.parametrize("ahead_us", [0, 3, 3000, 30_000])
def test_each_kernel_keeps_its_op(gait, tmp_path, ahead_us):
    """Of 20,000, of which 16,384 may wait for a call that comes in a later slice."""
    host, stream = {"ph": "X", "pid": 1, "tid": 1}, {"ph": "X", "pid": 0, "tid": 7}
    events = []
    for number in range(20_000):
        at, link = 100_000 + 4 * number, {"correlation": number + 1}
        events += [
            {**host, "cat": "cpu_op", "name": "aten::mul", "ts": at, "dur": 3},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 1, "dur": 1,
             "args": link},
            {**stream, "cat": "kernel", "name": "k", "ts": at + 2 - ahead_us, "dur": 1,
             "args": {**link, "device": 0, "stream": 7}},
        ]  # fmt: skip
    name = write(tmp_path / "t.json", events)
    kernels = json.loads(gait("kernels", name, "--json").stdout)["kernels"]
    assert [(row["op"], row["calls"]) for row in kernels] == [("aten::mul", 20_000)]
    for more in [], ["--stack", "1"]:
        ops = json.loads(gait("ops", name, "--json", *more).stdout)["ops"]
        assert {row["name"]: row["device_ns"] for row in ops}["aten::mul"] == 20_000_000


def test_many_threads_with_spans_far_apart_cost_no_square(gait, tmp_path):
    """Each thread's frame waits from its first span to its last: 20,000 took 39 s, now 0.1."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": thread + 1, "ts": at + thread,
         "dur": 1}
        for thread in range(20_000) for at in (10, 10_000_000)
    ]  # fmt: skip
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}
    name = write(tmp_path / "t.json", [kernel, *events])
    assert gait("import", name, "-o", "run").returncode == 0
    began = time.monotonic()
    assert json.loads(gait("kernels", "run", "--json").stdout)["kernels"][0]["calls"] == 1
    assert time.monotonic() - began < 10  # far from both
