# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler with steps that a test may choose of."""

import random

STEPS, STEP_US, TURN_US, RANKS = range(3, 9), 1000, 1100, (0, 1, 3)
BASE_NS = 1_700_000_000_000_000_000  # what the times in the files count from
REDUCE = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10,
          "Out msg nelems": 10, "Group size": 3}  # fmt: skip


def span(category, name, start, us, tid=9, pid=9, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
            "dur": us, "args": args}  # fmt: skip


def rank_events(rank):
    """Steps with gaps between them; work that runs long after its launch, or has none."""
    draw = random.Random(f"rank {rank}")
    events = [] if rank == 3 else [span("user_annotation", "init", 0, 10)]  # it comes later
    for index, number in enumerate(STEPS):
        at = 100 + TURN_US * index
        events.append(span("user_annotation", f"ProfilerStep#{number}", at, STEP_US))
        events.append(span("user_annotation", "loss", at + 300, 200))
        events.append(span("gpu_user_annotation", "loss", at + 320, 900, tid=7, pid=0))
    free = 150
    for link in range(1, 160):
        launch = 50 + link * (TURN_US * len(STEPS) + 100) // 160
        free = max(free, launch + draw.randrange(2, 400)) + draw.randrange(3)
        us = draw.randrange(1, 60)
        args = {"correlation": link, "device": 0, "stream": 7}
        name = f"gemm {draw.randrange(4)}"
        if link % 9 == 0:
            name, args = "ncclDevKernel_AllReduce_Sum_f32", {**args, **REDUCE}
        events.append(span("kernel", name, free, us, tid=7, pid=0, **args))
        if link % 7:
            events.append(span("cuda_runtime", "cudaLaunchKernel", launch, 1, correlation=link))
        free += us
    return events
