# SPDX-License-Identifier: Apache-2.0
"""`gait modules` and `gait comms --debug` of traces that can be worked out by hand."""

import json

THREAD = 9


def span(category, name, start, us, tid=THREAD, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": tid, "ts": start,
            "dur": us, "args": args}  # fmt: skip


def op(name, start, us, number, seq=None, forward=None, tid=THREAD, **more):
    args = {"External id": number, **more}
    if seq is not None:
        args["Sequence number"] = seq
        args["Fwd thread id"] = forward or 0
    return span("cpu_op", name, start, us, tid, **args)


def module(name, start, us, tid=THREAD):
    return span("python_function", "nn.Module: " + name, start, us, tid)


def kernel(name, start, us, called=None, tid=THREAD):
    """A kernel and the call that launched it. Its External id is the correlation, as it is where
    old versions of Kineto wrote it, and so the number of some op that has nothing to do with it."""
    link = start % 16
    row = span("kernel", name, start, us, 7, stream=7, correlation=link, **{"External id": link})
    call = span("cuda_runtime", "cudaLaunchKernel", called, 1, tid, correlation=link)
    return [row] if called is None else [call, row]


# A step of 1000 us. Net (100 to 500) calls Linear_0 twice and Block_0, which is checkpointed: its
# forward, with Linear_1 in it, is made anew in the backward, on a thread of its own.
STEP = [
    span("user_annotation", "ProfilerStep#4", 0, 1000),
    module("Net_0", 100, 400),
    module("Linear_0", 110, 90),
    op("aten::linear", 120, 60, 1, seq=5, **{"Input Dims": [[4, 8], [8, 8]]}),
    op("aten::addmm", 130, 40, 2, seq=5),
    module("Linear_0", 210, 50),
    op("aten::linear", 220, 30, 3, seq=6),
    op("CheckpointFunction", 300, 150, 4, seq=7),
    module("Block_0", 310, 130),
    module("Linear_1", 320, 100),
    op("aten::linear", 330, 80, 5),
    op("c10d::allreduce_", 345, 20, 6, **{"Input Dims": [[[4, 8]], []]}),
    op("CheckpointFunctionBackward", 600, 200, 7, seq=7, forward=1, tid=10),
    module("Block_0", 610, 100, tid=10),
    module("Linear_1", 620, 80, tid=10),
    op("aten::linear", 630, 60, 8, seq=20, tid=10),
    op("c10d::allreduce_", 640, 20, 9, tid=10),
    op("AddmmBackward0", 720, 50, 10, seq=20, forward=1, tid=10),
    op("aten::mm", 725, 40, 11, tid=10),
    op("AddmmBackward0", 810, 70, 12, seq=6, forward=1, tid=10),
    op("aten::mm", 815, 60, 13, tid=10),
    op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 900, 30, 14, tid=10),
    op("c10d::allreduce_", 905, 20, 15, tid=10),
    *kernel("gemm", 135, 45, 133),
    *kernel("gemm", 664, 35, 635, tid=10),
    *kernel("gemm", 730, 15, 728, tid=10),
    *kernel("lost", 989, 5),
]


def write(tmp_path, events=STEP, name="trace.json"):
    (tmp_path / name).write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return name


def modules_of(gait, *options):
    done = gait("modules", "--json", *options, "trace.json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_modules_are_a_tree_with_their_times(gait, tmp_path):
    write(tmp_path)
    told = modules_of(gait)
    rows = {row["name"]: row for row in told["modules"]}
    assert [(row["name"], row["depth"]) for row in told["modules"]] == [
        ("Net_0", 1), ("Linear_0", 2), ("Block_0", 2), ("Linear_1", 3)]  # fmt: skip
    assert (told["steps"], told["whole_ns"]) == (1, 1_000_000)
    us = {name: row["forward_ns"] // 1000 for name, row in rows.items()}
    assert us == {"Net_0": 400, "Linear_0": 140, "Block_0": 130, "Linear_1": 100}
    us = {name: row["self_ns"] // 1000 for name, row in rows.items()}
    assert us == {"Net_0": 130, "Linear_0": 140, "Block_0": 30, "Linear_1": 100}
    # of the checkpoint's backward 50 us are the backward of Linear_1, which lies within
    us = {name: row["backward_ns"] // 1000 for name, row in rows.items()}
    assert us == {"Net_0": 270, "Linear_0": 70, "Block_0": 50, "Linear_1": 50}
    us = {name: row["backward_self_ns"] // 1000 for name, row in rows.items()}
    assert us == {"Net_0": 150, "Linear_0": 70, "Block_0": 0, "Linear_1": 50}
    assert [rows[name]["recomputed_ns"] for name in ("Block_0", "Linear_1")] == [100_000, 80_000]
    assert [rows[name]["calls"] for name in rows] == [1, 2, 1, 1]
    assert rows["Net_0"]["share"] == 0.67
    assert told["outside_backward_ns"] == 30_000


def test_a_kernel_belongs_to_the_module_of_the_op_that_began_it(gait, tmp_path):
    write(tmp_path)
    told = modules_of(gait)
    rows = {row["name"]: row for row in told["modules"]}
    us = {name: row["device_ns"] // 1000 for name, row in rows.items()}
    assert us == {"Net_0": 95, "Linear_0": 45, "Block_0": 50, "Linear_1": 50}
    assert rows["Net_0"]["device_self_ns"] == 0
    assert told["outside_device_ns"] == 5_000  # of a kernel whose launch is on no record


def test_an_op_of_another_process_whose_thread_has_the_same_number_began_nothing(gait, tmp_path):
    other = op("aten::mm", 130, 60, 2)
    events = [module("Net_0", 100, 400), op("aten::mm", 120, 90, 1), {**other, "pid": 10}]
    write(tmp_path, [*events, *kernel("gemm", 170, 7, 140)])
    told = modules_of(gait)
    assert [row["device_ns"] for row in told["modules"]] == [7_000]
    assert told["outside_device_ns"] == 0


def test_people_see_the_tree(gait, tmp_path):
    write(tmp_path)
    told = gait("modules", "trace.json").stdout
    assert "180 us" not in told
    lines = [line for line in told.splitlines() if "_" in line]
    assert [line.split("_")[0] for line in lines] == [
        "  Net",
        "   Linear",
        "   Block",
        "    Linear",
    ]
    assert "100 us of the backward are forwards made anew" in told
    assert (
        len(gait("modules", "--json", "--depth", "1", "trace.json").stdout.split("forward_ns")) == 2
    )


def test_what_has_no_modules_says_how_to_get_them(gait, tmp_path):
    write(tmp_path, [op("aten::mm", 0, 5, 1)])
    done = gait("modules", "trace.json")
    assert done.returncode == 2
    assert "with_stack=True" in done.stderr


def debugged(gait, level):
    done = gait("comms", "--json", "--debug", str(level), "trace.json")
    assert done.returncode == 0, done.stderr
    return {row["fqn"]: row for row in json.loads(done.stdout)["modules"]}


def names_of(row, key):
    return {entry["name"]: entry["count"] for entry in row[key]}


def test_collectives_are_told_by_module_and_pass(gait, tmp_path):
    write(tmp_path)
    rows = debugged(gait, 0)
    block = "Net_0.Block_0.Linear_1"
    assert list(rows) == ["Global", "Net_0", "Net_0.Linear_0", "Net_0.Block_0", block]
    passes = {"collectives_forward": 1, "collectives_checkpointing": 1}
    for fqn, row in rows.items():
        told = {key: names_of(row, key)["c10d::allreduce_"] for key in row
                if key.startswith("collectives_") and row[key]}  # fmt: skip
        if fqn == "Net_0.Linear_0":
            assert not told
        elif fqn == "Global":
            assert told == {**passes, "collectives_backward": 1}
        else:
            assert told == passes, fqn  # the block's, and so those of all that is around it
        own = [entry["own_count"] for key in told for entry in row[key]]
        assert sum(own) == {"Global": 1, block: 2}.get(fqn, 0)
        assert not any(row[key] for key in row if key.startswith("operations_"))


def test_each_level_tells_more(gait, tmp_path):
    write(tmp_path, [*STEP, op("aten::t", 140, 5, 16)])
    assert debugged(gait, 0)["Net_0"]["module_type"] is None
    assert debugged(gait, 1)["Net_0"]["module_type"] == "Net"
    ops, all_ops = (debugged(gait, level)["Net_0.Linear_0"] for level in (2, 3))
    assert names_of(ops, "operations_forward") == {"aten::linear": 2, "aten::addmm": 1}
    assert names_of(all_ops, "operations_forward") == {
        "aten::linear": 2, "aten::addmm": 1, "aten::t": 1}  # fmt: skip
    told = gait("comms", "--debug", "2", "trace.json").stdout.splitlines()
    assert told[:3] == ["Global", "  FORWARD PASS", "    *c10d::allreduce_: 1, 20.0 us"]
    assert told[3:5] == ["  BACKWARD PASS", "    *c10d::allreduce_: 1, 20.0 us"]
    assert "        *module type: Linear" in told
    assert "              ACTIVATION CHECKPOINTING" in told
    assert "              shape: [[4, 8], [8, 8]]" in told


def test_what_a_collective_calls_says_what_it_moved(gait, tmp_path):
    about = {"Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 400,
             "dtype": "BFloat16", "Process Group Name": "7"}  # fmt: skip
    events = [
        op("c10d::allreduce_", 0, 50, 1),
        op("record_param_comms", 10, 30, 2, **about),
        op("record_param_comms", 60, 5, 3, **{**about, "Collective name": "send"}),
        op("record_param_comms", 70, 5, 4, **{**about, "Collective name": "wait"}),
        *kernel("ncclDevKernel_AllReduce", 20, 25, 15),
        *kernel("ncclDevKernel_AllReduce", 51, 5, 50),
    ]
    write(tmp_path, events)
    rows = debugged(gait, 0)["Global"]["collectives_forward"]
    rows = {row.pop("name"): row for row in rows}
    assert sorted(rows) == ["c10d::allreduce_", "send"]
    all_reduce = rows["c10d::allreduce_"]
    assert (all_reduce["bytes"], all_reduce["dtype"], all_reduce["group"]) == (800, "BFloat16", "7")
    assert (all_reduce["host_ns"], all_reduce["device_ns"]) == (50_000, 25_000)
    assert rows["send"]["count"] == 1
