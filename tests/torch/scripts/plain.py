# SPDX-License-Identifier: Apache-2.0
"""The loop of the tutorials: a loader, a model, an optimizer, a checkpoint each epoch."""

import time

import torch
from plants import SlowGradient, SlowToSave, collect, delay, tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate

torch.manual_seed(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        delay("forward")
        return SlowGradient.apply(self.layers(x))


def collate(samples):
    delay("collate")
    return default_collate(samples)


x = torch.randn(192, 16)
data = TensorDataset(x, (x[:, :4] * 3).argmax(1))
loader = DataLoader(data, batch_size=16, shuffle=True, collate_fn=collate)
model = Model()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

steps, losses = 0, []
begin = time.perf_counter_ns()
for _ in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        collect()
        losses.append(loss.item())
        steps += 1
    for _ in range(4):
        torch.save({"model": model.state_dict(), "more": SlowToSave()}, "plain.pt")
loop_ns = time.perf_counter_ns() - begin
tell(steps, losses, loop_ns=loop_ns)
