# SPDX-License-Identifier: Apache-2.0
"""What the always-on level costs: a step with gait's hooks against one without.

usage: gait run -q -o DIR -- python bench/torch_phases.py [PAIRS] [STEP_MS] [STEPS]

With 100 STEPS a block and --windows 5/3/105 it is the cost of a whole run with the
default windows, of which one is in each block; with --windows off that of the phases
alone. A line of JSON for each clock.

One process, one thread of torch. Blocks of steps with and without hooks take
turns; the difference of each pair is one number, of which the median and its
95 % interval are told. CPU is that of the training's thread.

Hooks are put into torch's classes and taken out of them, and each change of a class
empties Python's caches of its methods. So each block begins behind such a change and a
few steps that are not measured. Hooks inside functions of C (a batch's two copies)
stay in both.
"""

import gc
import json
import sys
import time

import gait
import torch
from gait.torch import wrap
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 10  # of one block: short, so that a pair sees the same machine
SETTLE = 5  # before it
FIRST = 24  # steps before the first block: windows are 3 steps from the 5th of a cycle on, and
# each step up to 16 behind one is clocked


def build(step_ms):
    """25 modules and a loss; wide enough for a step of about that many ms."""
    width = {0: 8, 1: 64, 20: 600}.get(step_ms, 64)
    layers = []
    for _ in range(12):
        layers += [nn.Linear(width, width), nn.ReLU()]
    data = TensorDataset(torch.randn(64 * 16, width), torch.randn(64 * 16, width))
    return nn.Sequential(*layers), DataLoader(data, batch_size=64 if step_ms else 4)


class Block:
    def __init__(self, step_ms):
        self.model, self.loader = build(step_ms)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.loss = nn.MSELoss()
        self.batches = iter(self.loader)

    def ask(self):
        batch = next(self.batches, None)
        if batch is None:
            self.batches = iter(self.loader)
            batch = next(self.batches)
        return batch

    def steps(self, count):
        for _ in range(count):
            x, y = self.ask()
            x, y = x.to("cpu"), y.to("cpu")
            self.optimizer.zero_grad()
            self.loss(self.model(x), y).backward()
            self.optimizer.step()

    def measure(self, count):
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        self.steps(count)
        cpu = time.thread_time_ns() - cpu
        return (time.perf_counter_ns() - wall) / count, cpu / count


def take_away():
    wrap.take_away()
    gc.callbacks.remove(gait._native._gc)


def put_back():
    wrap.put_back()
    gc.callbacks.append(gait._native._gc)


def measure(block, count, is_on):
    take_away()
    if is_on:
        put_back()
    block.steps(SETTLE)
    found = block.measure(count)
    if not is_on:
        put_back()
    return found


def middle(values):
    """Median and the 95 % interval of it, by ranks."""
    values = sorted(values)
    count = len(values)
    reach = int(0.98 * count**0.5) + 1
    return (
        values[count // 2],
        values[max(0, count // 2 - reach)],
        values[min(count - 1, count // 2 + reach)],
    )


def main(blocks=400, step_ms=0, count=STEPS):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    block = Block(step_ms)
    block.steps(count + SETTLE + FIRST)
    gc.collect()
    gc.freeze()
    pairs = []
    for index in range(blocks):
        turns = (True, False) if index % 2 else (False, True)
        found = {is_on: measure(block, count, is_on) for is_on in turns}
        pairs.append((found[True], found[False]))
    for index, name in enumerate(("wall", "thread_cpu")):
        base = middle([off[index] for _on, off in pairs])[0]
        more = middle([on[index] - off[index] for on, off in pairs])
        said = {"what": f"{name}, {count} steps a block", "step_us": round(base / 1e3, 1)}
        said["added_us"], said["low_us"], said["high_us"] = (round(ns / 1e3, 2) for ns in more)
        print(json.dumps(said))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
