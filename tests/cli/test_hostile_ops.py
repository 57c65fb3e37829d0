# SPDX-License-Identifier: Apache-2.0
"""A PyTorch run whose shapes, numbers and memory events make no sense: the report
is made all the same, and says what can be said (under `make check` with sanitizers)."""

import json
import random

import pytest

from tests.support.shard_maker import ShardMaker

MS = 1_000_000
HUGE = (1 << 63) - 1
OPS = (
    "mm addmm bmm baddbmm convolution convolution_backward mul conv2d "
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_backward"
).split()
RANGES = ["Optimizer.step#SGD.step", "autograd::engine::evaluate_function: X", "ProfilerStep#1"]
WORDS = (
    f"f32[2,3] f32[3,4] bf16[5,2,3] f32[5,3,4] ? - s s1 s-5 S S[1,1] S[0,0] S[] ( f32[ ] {{1}} "
    f"f32[{HUGE},{HUGE}] f32[-1,2] f32[1,1,4,4] f32[8,1,3,3] S[{HUGE},1] s{HUGE} S[1,1,0] f64[]"
).split() + ["(f32[1] ...)", "x" * 3000, "f32[" + ",".join("1" * 70) + "]"]


def some_args(chance, shard):
    args = [("shapes", " ".join(chance.choices(WORDS, k=chance.randrange(13))))]
    if chance.random() < 0.3:
        args.append(("seq", chance.choice([0, 1, 5, -3, 1 << 62])))
    if chance.random() < 0.3:
        args.append(("scope", 1))
    return shard.args(args)


def some_op(chance, shard, begin):
    name = chance.choice(["aten::" + op for op in OPS] + RANGES)
    site = shard.site(chance.choice(["cpu_op", "cpu_op", "module", "user_annotation"]), name)
    length = chance.choice([0, 10, 1000, 300_000, 1 << 32])
    return begin, length, site, chance.randrange(4), some_args(chance, shard)


def some_memory(chance, shard, begin):
    size = chance.choice([10, -10, 0, HUGE, -HUGE - 1])
    address = chance.choice([1, 2, 3, 1 << 63])
    total = chance.choice([0, 5, HUGE, -1])
    site = shard.site("memory", chance.choice(["cpu", "cuda:0"]))
    return begin, chance.choice([1, 2, 9]), address, size, total, site


def make_run(chance, folder):
    shard = ShardMaker(pid=100, torch={"version": "2"}, device_name=chance.choice(["x", 5, '"']))
    thread = shard.track(key="100", os_id=100)
    spans, memory, start = [], [], shard.start_ns
    for step in range(12):
        begin = start + step * MS
        facts = (("forward", 0, "module"), ("backward", 500, ""), ("optimizer", 800, "steps"))
        for name, at, word in facts:
            args = shard.args([(word, 1)] if word else [])
            spans.append((begin + at * 1000, 100_000, shard.site("phase", name), 0, args))
        for _ in range(chance.randrange(12)):
            spans.append(some_op(chance, shard, begin + chance.randrange(900_000)))
            memory.append(some_memory(chance, shard, begin + chance.randrange(900_000)))
    shard.spans(thread, sorted(spans))
    shard.rows("memory", thread, sorted(memory))
    window = shard.site("torch", "window")
    shard.rows("async", thread, [(start, window, 1, 0), (start + 8 * MS, window, 1, 1)])
    shard.write(folder)


@pytest.mark.parametrize("seed", range(12))
def test_a_report_is_made_of_it(gait, tmp_path, seed):
    make_run(random.Random(seed), tmp_path / "run")
    told = gait("report", tmp_path / "run", "--json", "--peak-flops", "1T")
    assert (told.returncode, told.stderr) == (0, "")
    report = json.loads(told.stdout)
    assert report["steps"] == 12 and set(report["memory"]) >= {"rss_peak_bytes", "window"}
    flops = report["flops"]
    if flops:
        assert sum(op["flops"] for op in flops["by_op"]) % (1 << 64) == flops["total"]
    shown = gait("report", tmp_path / "run")
    assert shown.returncode == 0
    lines = [line for line in shown.stdout.splitlines() if not line.startswith("more: ")]
    assert max(map(len, lines)) <= 78
