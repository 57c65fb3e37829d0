# SPDX-License-Identifier: Apache-2.0
"""Epochs in the ways that people write them: those that are named, one after the other.
Each step leaves the ranges `began step N` and `was step N`; the end tells how many steps
each epoch had."""

import json
import sys

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
other = torch.optim.SGD(critic.parameters(), lr=0.01)
step = 0
epochs = []


def loader(batches, **options):
    return DataLoader(TensorDataset(torch.ones(2 * batches, 4)), batch_size=2, **options)


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(torch.ones(self.count, 4))


def mark(name):
    with torch.profiler.record_function(f"{name} step {step}"):
        torch.ones(1).exp()


def done():
    global step
    mark("was")
    epochs[-1] += 1
    step += 1


def learn(x, *more):
    mark("began")
    optimizer.zero_grad()
    sum(model(one).sum() for one in (x, *more)).backward()
    optimizer.step()
    done()


def check(batches, mode=True):
    model.train(not mode)
    with torch.no_grad():
        for (x,) in loader(batches):
            model(x)
    model.train()


def begin():
    epochs.append(0)


def plain():
    train = loader(3)
    for _ in range(3):
        begin()
        for (x,) in train:
            learn(x)


def anew():
    for _ in range(4):
        begin()
        for (x,) in loader(3):
            learn(x)


def anew_and_checked():
    for _ in range(4):
        begin()
        for (x,) in loader(3):
            learn(x)
        check(3)


def checked_in_train_mode():
    for _ in range(3):
        begin()
        for (x,) in loader(3):
            learn(x)
        check(3, mode=False)


def one_function_for_both():
    def run(batches, trains):
        if trains:
            begin()
        for (x,) in loader(batches):
            learn(x) if trains else model(x)

    for _ in range(3):
        run(3, True)
        run(3, False)


def checked_in_the_middle():
    train = loader(6)
    for _ in range(2):
        begin()
        for at, (x,) in enumerate(train):
            learn(x)
            if at % 2:
                check(2)


def stopped():
    train = loader(6)
    for _ in range(3):
        begin()
        for at, (x,) in enumerate(train):
            learn(x)
            if at == 2:
                break


def stopped_and_kept():
    train = loader(6)
    for _ in range(3):
        begin()
        iterator = iter(train)
        for _ in range(3):
            learn(next(iterator)[0])


def restarted():
    iterator, count = iter(loader(3)), 0
    begin()
    while count < 8:
        try:
            (x,) = next(iterator)
        except StopIteration:
            iterator = iter(loader(3))
            begin()
            continue
        learn(x)
        count += 1


def zipped():
    for _ in range(3):
        begin()
        for (x,), (y,) in zip(loader(3), loader(4)):
            learn(x, y)


def second_loader_restarts():
    spare = iter(loader(2))
    for _ in range(3):
        begin()
        for (x,) in loader(5):
            y = next(spare, None)
            if y is None:
                spare = iter(loader(2))
                y = next(spare)
            learn(x, y[0])


def nested():
    for _ in range(2):
        begin()
        for (x,) in loader(2):
            for (y,) in loader(3):
                learn(x, y)


def inner_epochs():
    for _ in range(3):
        rollout = torch.ones(8, 4)
        for _ in range(2):
            begin()
            for (x,) in DataLoader(TensorDataset(rollout), batch_size=4):
                learn(x)


def gan():
    for _ in range(3):
        begin()
        for (x,) in loader(3):
            other.zero_grad()
            critic(x).sum().backward()
            other.step()
            learn(x)


def gathered():
    for _ in range(3):
        begin()
        for at, (x,) in enumerate(loader(6)):
            model(x).sum().backward()
            if at % 2:
                optimizer.step()
                optimizer.zero_grad()
                done()


def stream():
    for _ in range(3):
        begin()
        for x in DataLoader(Stream(6), batch_size=2):
            learn(x)


def looked_at():
    train = loader(4)
    for _ in range(3):
        (x,) = next(iter(train))
        begin()
        for (x,) in train:
            learn(x)
        (x,) = next(iter(train))
        model(x)


def single_batches():
    train = loader(4)
    begin()
    for _ in range(6):
        learn(next(iter(train))[0])


def statistics_first():
    train = loader(4)
    sum(x.sum() for (x,) in train)
    kept = list(train)
    assert len(kept) == 4
    for _ in range(2):
        begin()
        for (x,) in train:
            learn(x)


def two_stages():
    for size in (3, 4):
        first, second = loader(size), loader(size + 1)
        begin()
        for (x,) in first:
            learn(x)
        begin()
        for (x,) in second:
            learn(x)


def attacked():
    for _ in range(3):
        begin()
        for (x,) in loader(3):
            learn(x)
        model.eval()
        for (x,) in loader(3):
            model(x.requires_grad_()).sum().backward()
            optimizer.zero_grad()
        model.train()


for style in sys.argv[1:]:
    globals()[style]()
print("TRUTH " + json.dumps({"rank": 0, "epochs": epochs}))
