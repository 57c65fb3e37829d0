# SPDX-License-Identifier: Apache-2.0
"""One step of each model under torch.profiler and under gait, together and apart.

usage: compare_ops.py FOLDER

FOLDER/KIND-WAY/torch.json has what torch.profiler saw, FOLDER/KIND-WAY/run
gait's record. Why each model has its process: forked.py.
"""

import json
import os
import pathlib
import sys

import collector
import forked
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


def run(step):
    with record_function("a range: äü"):
        step()


def compare(step, way, folder):
    os.environ["GAIT_DIR"] = str(folder / "run")
    collector.start()
    if way == "apart":
        collector.open_window(collector.SHAPES | collector.MEMORY)
        run(step)
        collector.close_window()
    options = {"record_shapes": True, "profile_memory": True}
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        if way == "together":
            collector.open_window(collector.SHAPES | collector.MEMORY)
        run(step)
        if way == "together":
            collector.close_window()
    collector.stop()
    events = [as_dict(event) for event in profiler.profiler.kineto_results.events()]
    (folder / "torch.json").write_text(json.dumps(events), encoding="utf-8")


def compare_kind(kind, folder):
    collector.attach()
    step = models.make_step(kind)
    for _ in range(3):
        step()
    for way in ("together", "apart"):
        case = pathlib.Path(folder, f"{kind}-{way}")
        case.mkdir()
        compare(step, way, case)


def main(folder):
    torch.set_num_threads(1)
    return forked.run_each(lambda kind: compare_kind(kind, folder), models.KINDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
