# SPDX-License-Identifier: Apache-2.0
"""One step of a model under torch.profiler and under gait, together or apart.

usage: compare_ops.py KIND together|apart OUTPUT

Writes what torch.profiler saw to OUTPUT as JSON; gait's record goes to GAIT_DIR.
"""

import json
import sys

import collector
import models
import torch
from torch.profiler import ProfilerActivity, profile, record_function


def as_dict(event):
    return {
        "name": event.name(),
        "thread": event.start_thread_id(),
        "start": event.start_ns(),
        "duration": event.duration_ns(),
        "seq": event.sequence_nr(),
        "fwd_thread": event.fwd_thread_id(),
        "scope": event.scope(),
        "shapes": event.shapes(),
        "dtypes": event.dtypes(),
        "bytes": event.nbytes(),
    }


def main(kind, way, output):
    torch.set_num_threads(1)
    step = models.make_step(kind)
    for _ in range(3):
        step()
    collector.attach()
    collector.start()
    options = {"record_shapes": True, "profile_memory": True}
    if way == "apart":
        collector.open_window(collector.SHAPES | collector.MEMORY)
        with record_function("a range: äü"):
            step()
        collector.close_window()
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        if way == "together":
            collector.open_window(collector.SHAPES | collector.MEMORY)
        with record_function("a range: äü"):
            step()
        if way == "together":
            collector.close_window()
    collector.stop()
    events = [as_dict(event) for event in profiler.profiler.kineto_results.events()]
    with open(output, "w", encoding="utf-8") as stream:
        json.dump(events, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
