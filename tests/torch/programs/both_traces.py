# SPDX-License-Identifier: Apache-2.0
"""Steps of each model under torch.profiler and under gait's profile at once.

usage: both_traces.py FOLDER

FOLDER/KIND-{torch,gait}.json are the two traces of the same ops;
FOLDER/scheduled-{torch,gait} what their handlers write of three steps out of eight.
"""

import pathlib
import sys

import gait.torch
import models
import torch
from torch.profiler import ProfilerActivity, profile, record_function

OPTIONS = {"record_shapes": True, "profile_memory": True}
STEPS = 3


def run(step):
    for _ in range(STEPS):
        with record_function("a range"):
            step()


def scheduled(profiler, folder, step):
    plan = profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
    handler = profiler.tensorboard_trace_handler(str(folder))
    activities = [profiler.ProfilerActivity.CPU]
    with profiler.profile(activities=activities, schedule=plan, on_trace_ready=handler) as running:
        for _ in range(8):
            step()
            running.step()


def main(folder):
    torch.set_num_threads(1)
    with gait.torch.profile(**OPTIONS):  # what is found out once, is found out here
        torch.ones(1).sum()
    for kind in models.KINDS:
        step = models.make_step(kind)
        for _ in range(2):
            step()
        theirs = profile(activities=[ProfilerActivity.CPU], **OPTIONS)
        ours = gait.torch.profile(**OPTIONS)
        with theirs, ours:
            run(step)
        theirs.export_chrome_trace(str(folder / f"{kind}-torch.json"))
        for name in f"{kind}-gait.json", f"{kind}-again.json", f"{kind}-third.json":
            ours.export_chrome_trace(str(folder / name))
    scheduled(torch.profiler, folder / "scheduled-torch", step)
    scheduled(gait.torch, folder / "scheduled-gait", step)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
