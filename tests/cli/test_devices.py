# SPDX-License-Identifier: Apache-2.0
"""`gait comms` and `gait kernels` of runs that can be worked out by hand."""

import json

import pytest

from tests.support.shard_maker import ShardMaker

REDUCE = {
    "Collective name": "allreduce", "Process Group Name": "0", "dtype": "Float",
    "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 4,
}  # fmt: skip


def kernel(start_us, us, name, link, **args):
    """Its External id is the correlation, as it is where old versions of Kineto wrote it."""
    args = {"External id": link, "correlation": link, "stream": 20, "device": 0, **args}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 20, "ts": start_us,
            "dur": us, "args": args}  # fmt: skip


def on_host(category, start_us, us, name, tid=9, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": tid, "ts": start_us,
            "dur": us, "args": args}  # fmt: skip


def make_ranks(gait, folder):
    """Three all-reduces of four ranks; rank 2 is late by 30 us twice, and once rank 0 by 5."""
    reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    for rank in range(4):
        late = {2: (30, 30, 0), 0: (0, 0, 5)}.get(rank, (0, 0, 0))
        events = []
        for at, name, link in [(1, "c10d::allreduce_", 7), (2, "aten::mm", 8), (3, "aten::mm", 9)]:
            call = on_host("cuda_runtime", at, 1, "cudaLaunchKernel", correlation=link)
            events += [on_host("cpu_op", at, 1, name, **{"External id": 10 - at}), call]
        for call, most in enumerate((30, 30, 5)):
            start, length = 1000 * call + late[call], 100 + most - late[call]
            events.append(kernel(start, length, reduce, 7, **REDUCE))
        for start, length, link, percent in [(5000, 40, 8, 50), (6000, 20, 9, 20)]:
            percent = {"est. achieved occupancy %": percent}
            events.append(kernel(start, length, "sm90_xmma_gemm", link, **percent))
        trace = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 4}}
        text = json.dumps({**trace, "traceEvents": events})
        (folder / f"rank{rank}.json").write_text(text)
    done = gait("import", *(f"rank{rank}.json" for rank in range(4)), "-o", "run")
    assert done.returncode == 0, done.stderr


def test_the_late_rank_is_named_and_its_peers_waited(gait, tmp_path):
    make_ranks(gait, tmp_path)
    (row,) = json.loads(gait("comms", "run", "--json").stdout)["collectives"]
    assert (row["name"], row["calls"], row["ranks"], row["unmatched"]) == ("allreduce", 3, 4, 0)
    assert (row["last_rank"], row["last_calls"]) == (2, 2)
    # the transfer is 100 us each time; three ranks waited 30 us twice, and 5 us once
    assert (row["transfer_ns"], row["waiting_ns"]) == (300_000, 3 * (30_000 * 2 + 5_000))
    assert row["bytes"] == 3 * 4000
    assert row["algbw"] == pytest.approx(12_000 / 300e-6, abs=2)
    assert row["busbw"] == pytest.approx(row["algbw"] * 2 * 3 / 4, abs=2)
    screen = gait("comms", "run").stdout
    assert "3 collectives of 1 kind" in screen and "One rank alone" not in screen


def test_one_rank_alone_says_what_it_cannot_tell(gait, tmp_path):
    make_ranks(gait, tmp_path)
    assert gait("import", "rank1.json", "-o", "one").returncode == 0
    (row,) = json.loads(gait("comms", "one", "--json").stdout)["collectives"]
    assert (row["ranks"], row["last_rank"], row["waiting_ns"]) == (1, None, None)
    assert "One rank alone" in gait("comms", "one").stdout


def test_kernels_are_summed_by_name_and_launching_op(gait, tmp_path):
    make_ranks(gait, tmp_path)
    rows = json.loads(gait("kernels", "run", "--json").stdout)["kernels"]
    gemm = {row["name"]: row for row in rows}["sm90_xmma_gemm"]
    assert (gemm["op"], gemm["calls"], gemm["total_ns"]) == ("aten::mm", 8, 4 * 60_000)
    assert (gemm["min_ns"], gemm["max_ns"], gemm["mean_ns"]) == (20_000, 40_000, 30_000)
    assert gemm["occupancy_pctg"] == pytest.approx((40 * 50 + 20 * 20) / 60)
    assert gemm["tensor_cores"] is True and sum(row["share"] for row in rows) == pytest.approx(1)
    trace = json.loads((tmp_path / "rank0.json").read_text())
    for row in trace["traceEvents"]:
        row["name"] = row["name"] * 9
    (tmp_path / "long.json").write_text(json.dumps(trace))
    screen = gait("kernels", "long.json", env={"GAIT_CACHE_DIR": str(tmp_path / "cache")}).stdout
    assert "aten::mm" in screen and max(map(len, screen.splitlines()[1:])) <= 78


LAUNCHES = [
    # name of the kernel, its call's thread and time, and the op that it is of
    ("in the inner one", 1, 15, "inner"),
    ("behind the inner one", 1, 20, "outer"),
    ("on another thread", 2, 15, "other"),
    ("when one began", 1, 60, "same time, inner"),
    ("in none", 1, 100, None),
    ("on a thread without ops", -3, 12, "inner"),  # the open one that began last
    ("not on record", None, None, None),
]


def make_launches(folder):
    """Two threads with ops, and one that CUPTI calls by a negative number."""
    ops = [(0, 100, "outer", 1), (10, 10, "inner", 1), (5, 50, "other", 2),
           (60, 9, "same time, outer", 1), (60, 9, "same time, inner", 1)]  # fmt: skip
    events = [
        on_host("cpu_op", at, us, name, tid, **{"External id": number})
        for number, (at, us, name, tid) in enumerate(ops, 1)
    ]
    for link, (name, tid, at, _) in enumerate(LAUNCHES, 1):
        events.append(kernel(200 + link, 1, name, link))
        if tid:
            events.append(on_host("cuda_runtime", at, 1, "cudaLaunch", tid, correlation=link))
    events += [on_host("cuda_runtime", at, 1, "cudaEventQuery", -3) for at in (30, 32)]
    (folder / "trace.json").write_text(json.dumps({"traceEvents": events}))


def test_a_kernel_is_of_the_innermost_op_open_on_the_calling_thread(gait, tmp_path):
    make_launches(tmp_path)
    rows = json.loads(gait("kernels", "trace.json", "--json").stdout)["kernels"]
    assert {row["name"]: row["op"] for row in rows} == {name: op for name, *_, op in LAUNCHES}
    rows = json.loads(gait("ops", "trace.json", "--json").stdout)["ops"]
    names = {op for *_, op in LAUNCHES}
    us = {row["name"]: row["device_self_ns"] // 1000 for row in rows if row["name"] in names}
    assert us == {"outer": 1, "inner": 2, "other": 1, "same time, inner": 1}


def test_threads_with_negative_numbers_are_among_the_ops(gait, tmp_path):
    make_launches(tmp_path)
    rows = json.loads(gait("ops", "trace.json", "--json").stdout)["ops"]
    calls = {row["name"]: row["calls"] for row in rows}
    assert (calls["cudaEventQuery"], calls["cudaLaunch"]) == (2, len(LAUNCHES) - 1)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            ["nvjet_tst_128x128_64x4", "cub::scan", "attn_fwd", "attn_fwd"],
            "50 % of the known, 50 %",
        ),
        (["nvjet_tst_128x128_64x4", "cub::scan", "cub::scan", "cub::scan"], "25 % of it"),
        (["attn_fwd"], "no name tells of tensor cores"),
    ],
)
def test_a_share_of_tensor_cores_is_of_what_names_tell(gait, tmp_path, names, told):
    events = [kernel(10 * at, 4, name, at + 1) for at, name in enumerate(names)]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    assert told in gait("kernels", "trace.json").stdout.splitlines()[1]
    rows = json.loads(gait("kernels", "trace.json", "--json").stdout)["kernels"]
    uses = {"nvjet_tst_128x128_64x4": True, "cub::scan": False, "attn_fwd": None}
    assert {row["name"]: row["tensor_cores"] for row in rows} == {
        name: uses[name] for name in names
    }


def test_a_run_without_devices_has_neither(gait, tmp_path):
    shard = ShardMaker()
    shard.spans(shard.track(key="1", name=b"main"), [(shard.start_ns, 10, shard.site("a", "b"))])
    shard.write(tmp_path / "run")
    assert "No collective" in gait("comms", "run").stdout
    assert "No kernel" in gait("kernels", "run").stdout


def test_a_trace_of_the_host_alone_is_a_rank_without_a_whole(gait, tmp_path):
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 9}
    (tmp_path / "cpu.json").write_text(json.dumps({"traceEvents": [event]}))
    assert gait("import", "cpu.json", "-o", "run").returncode == 0
    (rank,) = json.loads(gait("breakdown", "run", "--steps", "--json").stdout)["ranks"]
    assert (rank["rank"], rank["whole"], rank["steps"]) == (0, None, [])
    (tmp_path / "one.json").write_text(
        json.dumps({"traceEvents": [event, {**event, "name": "ProfilerStep#3"}]})
    )
    assert gait("import", "one.json", "-o", "one").returncode == 0
    (rank,) = json.loads(gait("breakdown", "one", "--steps", "--json").stdout)["ranks"]
    step = rank["steps"][0]
    assert (step["span"], step["idle"], step["idle_causes"]["unknown"]) == (9000, 9000, 9000)
    (line,) = [x for x in gait("breakdown", "one", "--steps").stdout.splitlines() if "#3" in x]
    assert line.split() == ["ProfilerStep#3", "9.00", "us", *"-----"]


def test_of_ranks_that_come_together_none_was_last(gait, tmp_path):
    for rank in range(2):
        events = [kernel(5, 100, "ncclDevKernel_AllReduce", 7, **REDUCE)]
        trace = {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}
        (tmp_path / f"{rank}.json").write_text(json.dumps(trace))
    assert gait("import", "0.json", "1.json", "-o", "run").returncode == 0
    (row,) = json.loads(gait("comms", "run", "--json").stdout)["collectives"]
    assert (row["ranks"], row["waiting_ns"]) == (2, 0)
    assert (row["last_rank"], row["last_calls"]) == (None, None)


def test_threads_of_two_processes_may_have_one_number(gait, tmp_path):
    def span(category, name, pid, tid, start, length, **args):
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
        return {**event, "ts": start, "dur": length, "args": args}

    events = [
        span("cpu_op", "A", 1, 1, 0, 100),
        span("cpu_op", "B", 2, 1, 10, 80),  # the innermost op of a thread 1, but of another process
        span("cuda_runtime", "cudaLaunchKernel", 1, 1, 20, 5, correlation=7),
        span("kernel", "k", 0, 7, 30, 5, correlation=7, **{"blocks per SM": 2.5}),
        span("user_annotation", "ProfilerStep#1", 1, 1, 0, 100),
        span("cpu_op", "ProfilerStep#1", 1, 1, 0, 50),  # again, and shorter
    ]
    trace = tmp_path / "t.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    (kernel,) = json.loads(gait("kernels", "--json", trace).stdout)["kernels"]
    assert (kernel["op"], kernel["blocks_per_sm"], kernel["occupancy_pctg"]) == ("A", 2.5, None)
    (rank,) = json.loads(gait("breakdown", "--steps", "--json", trace).stdout)["ranks"]
    (step,) = json.loads(gait("steps", "--json", trace).stdout)["steps"]
    assert [row["span"] for row in rank["steps"]] == [step["host_ns"]] == [100_000]
