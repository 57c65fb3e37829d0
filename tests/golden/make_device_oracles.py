#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small trace of one device, in words of today and of 2021, and what others say of it.

usage: PYTHONPATH=TRACELENS .venv/bin/python tests/golden/make_device_oracles.py

Writes both and device_oracles.json beside itself, which tests/accuracy/test_device_oracles.py
reads: what painting, HTA, TensorBoard's plugin and TraceLens say. `make setup-torch` brings
HTA and the plugin; TRACELENS is a checkout of its sources. Times are whole us, for HTA rounds
others inwards. Stands for the large traces where they are not.
"""

import json
import logging
import pathlib
import tempfile

GOLDEN = pathlib.Path(__file__).parent
STEP_US, STEPS = 100, 3
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
# what each step launches: op, call, category, kernel, stream, from, to, blocks per SM, occupancy
WORK = [
    ("aten::mm", "cudaLaunchKernel", "kernel", "sm80_gemm", 7, 10, 40, 0.5, 25),
    ("aten::relu", "cudaLaunchKernel", "kernel", "relu<float>", 7, 40, 48, 4.0, 80),
    ("c10d::allreduce_", "cudaLaunchKernelExC", "kernel", NCCL, 20, 30, 60, 0.25, 5),
    ("aten::copy_", "cudaMemcpyAsync", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 21, 36, 44),
    ("aten::copy_", "cudaMemcpyAsync", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 21, 56, 66),
    ("aten::mm", "cudaLaunchKernel", "kernel", "sm80_gemm", 7, 62, 70, 1.5, 50),
    ("aten::zero_", "cudaMemsetAsync", "gpu_memset", "Memset (Device)", 7, 82, 84),
    ("aten::to", "cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 86, 92),
]


# the words of torch's traces in 2021, which alone tell the plugin what launched a kernel
OLD = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel"}
OLD |= {"gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "user_annotation": "Operator"}


def events():
    ids = 0
    for step in range(STEPS):
        start = 1000 + STEP_US * step
        yield "user_annotation", f"ProfilerStep#{step + 4}", 1, start, STEP_US, {}
        yield "user_annotation", "forward", 1, start + 1, 10, {}
        for place, (op, call, category, kernel, stream, since, until, *told) in enumerate(WORK):
            ids += 1
            yield "cpu_op", op, 1, start + 1 + 5 * place, 4, {"External id": ids}
            linked = {"External id": ids, "correlation": ids}
            yield "cuda_runtime", call, 1, start + 2 + 5 * place, 2, linked
            until += step if kernel.startswith("relu") else 0
            args = {"device": 0, "context": 1, "stream": stream, **linked}
            if told:
                args |= {"blocks per SM": told[0], "est. achieved occupancy %": told[1]}
            yield category, kernel, stream, start + since, until - since, args


def trace(words):
    rows = []
    for category, name, thread, start, length, args in events():
        place = {"pid": 0 if "stream" in args else 100, "tid": thread, "ts": start, "dur": length}
        rows.append(
            {"ph": "X", "cat": words.get(category, category), "name": name, **place, "args": args}
        )
    arrows = []
    for row in rows:
        if "correlation" in row["args"]:
            end = {"ph": "f", "bp": "e"} if "stream" in row["args"] else {"ph": "s"}
            place = {key: row[key] for key in ("pid", "tid", "ts")}
            arrows.append(
                {**end, "cat": "ac2g", "name": "ac2g", "id": row["args"]["correlation"], **place}
            )
    about = {"id": 0, "name": "A device", "numSms": 100, "maxThreadsPerMultiprocessor": 2048}
    rank = {"backend": "nccl", "rank": 0, "world_size": 1}
    return {"schemaVersion": 1, "deviceProperties": [about], "distributedInfo": rank,
            "traceEvents": sorted(rows + arrows, key=lambda row: row["ts"])}  # fmt: skip


def painted(rows, since, until):
    """How many ns each set of classes lasts, us by us."""
    names = ["idle", "compute", "comm", "compute+comm", "mem", "compute+mem", "comm+mem"]
    names += ["compute+comm+mem"]
    states = dict.fromkeys(names, 0)
    for at in range(since, until):
        state = 0
        for kind, name, start, end in rows:
            if start <= at < end:
                state |= 4 if kind.lower() != "kernel" else 2 if "nccl" in name else 1
        states[names[state]] += 1000
    return {"span": (until - since) * 1000, **states}


def exact(document, file):
    spans = [row for row in document["traceEvents"] if row["ph"] == "X"]
    rows = [
        (row["cat"], row["name"], row["ts"], row["ts"] + row["dur"])
        for row in spans
        if "stream" in row["args"]
    ]
    steps = [row for row in spans if row["name"].startswith("ProfilerStep#")]
    return {
        "file": file,
        "whole": painted(rows, min(row[2] for row in rows), max(row[3] for row in rows)),
        "steps": [
            {"name": row["name"], **painted(rows, row["ts"], row["ts"] + row["dur"])}
            for row in steps
        ],
        "device_events": {"all": len(rows)},
    }


def rows_of(frame):
    return json.loads(frame.to_json(orient="records")) if frame is not None else []


def of_hta(path):
    logging.disable(logging.WARNING)
    from hta.trace_analysis import TraceAnalysis

    made = TraceAnalysis(trace_files={0: str(path)}, include_last_profiler_step=True)
    everything = {"duration_ratio": 1.0, "num_kernels": 1000, "include_memory_kernels": True}
    kernels = made.get_gpu_kernel_breakdown(visualize=False, **everything)[1]
    ranges = made.get_gpu_user_annotation_breakdown(
        use_gpu_annotation=False, visualize=False, allowlist_patterns=[".*"]
    )
    return {
        "temporal_breakdown": rows_of(made.get_temporal_breakdown(visualize=False)),
        "comm_comp_overlap": rows_of(made.get_comm_comp_overlap(visualize=False)),
        "gpu_user_annotation_breakdown": {"cpu": rows_of(ranges)},
        "gpu_kernel_breakdown": {"all": {"kernels": rows_of(kernels)}},
    }


def of_tensorboard(path):
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.event_parser import ProfileRole

    with tempfile.TemporaryDirectory() as cache:
        made = RunProfileData.parse("w", "s", str(path), cache)
    made.process()
    gpus = made.gpu_metrics_parser
    steps = zip(made.steps_names, made.steps_costs, strict=True)
    return {
        "steps": [
            {"name": name, **{role.name: cost.costs[role] for role in ProfileRole}}
            for name, cost in steps
        ],
        "operators": [
            {
                "name": op.name,
                "calls": op.calls,
                "host_total": op.host_duration,
                "device_total": op.device_duration,
                "device_self": op.self_device_duration,
            }
            for op in made.op_list_groupby_name
        ],
        "flags": {"has_runtime": made.has_runtime},
        "kernels": rows_of(made.kernel_stat.reset_index()),
        "gpus": {
            "0": {
                "gpu_utilization": gpus.gpu_utilization[0],
                "est_sm_efficiency": gpus.avg_approximated_sm_efficiency_per_device[0],
                "est_achieved_occupancy_pctg": gpus.avg_occupancy_per_device[0],
            }
        },
    }


def of_tracelens(document):
    from TraceLens.TreePerf.gpu_event_analyser import PytorchGPUEventAnalyser

    spans = [row for row in document["traceEvents"] if row["ph"] == "X"]
    numbered = [{**row, "UID": place} for place, row in enumerate(spans)]
    return PytorchGPUEventAnalyser(numbered).compute_metrics()


def answers(words, file):
    document, path = trace(words), GOLDEN / file
    path.write_text(json.dumps(document) + "\n")
    told = {
        "exact": {"ranks": {"0": exact(document, file)}},
        "hta": {"include_last_profiler_step": of_hta(path)},
        "tb": {"ranks": {"0": of_tensorboard(path)}},
    }
    if words:  # categories that TraceLens does not know
        return {**told, "tracelens": {"ranks": {"0": {"error": "No GPU events found"}}}}
    timeline = {key: us / 1000 for key, us in of_tracelens(document).items()}
    return {**told, "tracelens": {"ranks": {"0": {"gpu_timeline": timeline}}}}


def main():
    told = {
        "own": answers({}, "device_trace.json"),
        "own-2021": answers(OLD, "device_trace_2021.json"),
    }
    (GOLDEN / "device_oracles.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
