# SPDX-License-Identifier: Apache-2.0
"""Gloo ranks with a hang planted in one of them, or with slow work that is none.

hangs.py FOLDER WHAT RANK STEP: from step STEP on, rank RANK does WHAT; "none": nobody does.
Each rank writes its number into FOLDER, and a byte more for each step: who wants to know
whether it goes on looks at that file. FOLDER/planted is there when the work has begun.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

FOLDER, WHAT, RANK, STEP = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
FOREVER = 3600


class Samples(Dataset):
    hangs = False

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if self.hangs:
            hang_in_loader()
        return torch.randn(16), torch.randn(4)


class SlowToSave:
    def __reduce__(self):
        time.sleep(FOREVER)
        return str, ()


def hang_in_loader():
    read, _write = os.pipe()
    os.read(read, 1)  # as from a disk that does not answer


def hang_in_sleep():
    time.sleep(FOREVER)


def write_checkpoint(model):
    torch.save([model.state_dict(), SlowToSave()], f"checkpoint{dist.get_rank()}.pt")


def gather_metrics(tensor):
    dist.broadcast(tensor, src=RANK)  # the others are in an all_reduce
    dist.all_reduce(tensor)


def compute(seconds):
    end = time.monotonic() + seconds
    tensor = torch.randn(200, 200)
    while time.monotonic() < end:
        tensor = torch.mm(tensor, tensor).tanh()


def validate(model, seconds):
    model.eval()
    with torch.no_grad():
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            model(torch.randn(16))
    model.train()


def in_order(groups):
    for group in groups:
        dist.all_reduce(torch.ones(3), group=group)


def plant(model, samples, groups):
    """What the chosen rank does in the chosen step; true where it did the exchange."""
    tell_planted()
    if WHAT == "loader":
        samples.hangs = True
    elif WHAT == "sleep":
        hang_in_sleep()
    elif WHAT == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif WHAT == "collective":
        gather_metrics(torch.ones(3))
    elif WHAT == "order":
        in_order(groups[::-1])
        return True
    elif WHAT == "checkpoint":
        write_checkpoint(model)
    elif WHAT == "validation":
        validate(model, FOREVER)
    return False


def work_slowly(step):
    """Slow work that is no hang."""
    if step == STEP and WHAT in ("slow", "pause"):
        tell_planted()
    if WHAT == "slow":
        compute(3.0)
    elif WHAT == "pause":
        time.sleep(3.0)


def tell_planted():
    with open(os.path.join(FOLDER, "planted"), "w") as file:
        file.write(str(os.getpid()))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(6)
    model = nn.Linear(16, 4)
    samples = Samples()
    groups = [dist.new_group(), dist.new_group()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    progress = open(os.path.join(FOLDER, f"progress{rank}"), "wb", buffering=0)  # noqa: SIM115
    progress.write(f"{os.getpid():<16}".encode())
    for step, (x, y) in enumerate(DataLoader(samples, batch_size=4)):
        progress.write(b".")
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        if step >= STEP and rank == RANK:
            work_slowly(step)
        elif step == STEP and WHAT == "none" and rank == 0:
            tell_planted()
        is_done = step == STEP and rank == RANK and plant(model, samples, groups)
        if not is_done:
            in_order(groups)
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        time.sleep(0.01)  # two cores for all


if __name__ == "__main__":
    main()
