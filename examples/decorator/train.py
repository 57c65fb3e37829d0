# SPDX-License-Identifier: Apache-2.0
"""A small image classifier whose steps can be profiled by one flag.

usage: train.py [--profile] [--nsight] [--steps N] [--num-nodes N] [--batch N]

python train.py --profile
torchrun --nproc-per-node 2 train.py --profile
nsys profile python train.py --nsight
"""

import argparse
import os
import sys

import gait
import torch
from torch import nn


def read_arguments():
    parser = argparse.ArgumentParser(description="Train on pictures of two stripes.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--num-nodes", type=int, default=1, help="for the launcher")
    parser.add_argument("--fail-at", type=int, default=-1, help="raise in that step")
    return gait.add_arguments(parser).parse_args()


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 8 * 8, 2),
    )


def make_batch(size):
    """Pictures of 16 x 16 with a stripe that lies or stands."""
    labels = torch.randint(2, (size,))
    pictures = torch.rand(size, 1, 16, 16) * 0.1
    for picture, label in zip(pictures, labels):
        at = int(torch.randint(16, ()))
        if label:
            picture[0, at, :] = 1
        else:
            picture[0, :, at] = 1
    return pictures, labels


def train_model(args):
    """What is to be profiled: nothing of it knows whether it is."""
    model = make_model()
    if torch.distributed.is_initialized():
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss = torch.tensor(0.0)
    for step in range(args.steps):
        pictures, labels = make_batch(args.batch)
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == args.fail_at:
            raise RuntimeError(f"failed in step {step}, as asked")
        gait.step_profiler()  # the end of each step
    return loss.item()


def main():
    args = read_arguments()
    torch.manual_seed(0)
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        torch.distributed.init_process_group("gloo")
    elif args.num_nodes > 1:
        nodes = f"--nnodes {args.num_nodes}"
        print(f"train.py: one process: 'torchrun {nodes} ... train.py' makes more", file=sys.stderr)
    profiled = gait.profiler(
        enabled=args.profile or args.nsight,
        output_dir="./profiler_logs",
        nsight_enabled=args.nsight,
    )(train_model)
    loss = profiled(args)
    if int(os.environ.get("RANK", 0)) == 0:
        print(f"loss {loss:.3f} after {args.steps} steps")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
