# SPDX-License-Identifier: Apache-2.0
"""Two processes train together, each under torch.profiler and gait's profile at once.

usage: both_ddp.py FOLDER

FOLDER/{torch,gait}RANK.json are the traces.
"""

import pathlib
import sys

import gait.torch
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

STEPS = 4


def train(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(torch.ones(4))
        dist.barrier()

    with gait.torch.profile(record_shapes=True):  # what is found out once
        step()
    theirs = profile(activities=[ProfilerActivity.CPU], record_shapes=True)
    ours = gait.torch.profile(record_shapes=True)
    with theirs, ours:
        for _ in range(STEPS):
            step()
    theirs.export_chrome_trace(f"{folder}/torch{rank}.json")
    ours.export_chrome_trace(f"{folder}/gait{rank}.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (str(pathlib.Path(sys.argv[1]).resolve()),), 2)
