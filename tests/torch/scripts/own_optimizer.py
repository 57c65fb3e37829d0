# SPDX-License-Identifier: Apache-2.0
"""Optimizers of one's own: `proper` calls super().__init__, `bare` does not."""

import sys

import torch
from plants import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Proper(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])
        return loss


class Bare(torch.optim.Optimizer):
    def __init__(self, params, lr):
        self.parameters, self.lr = list(params), lr
        self.param_groups = [{"params": self.parameters}]

    @torch.no_grad()
    def step(self):
        for p in self.parameters:
            p.sub_(self.lr * p.grad)

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None


torch.manual_seed(12)
model = nn.Linear(4, 1)
optimizer = (Bare if "bare" in sys.argv else Proper)(model.parameters(), lr=0.01)
x = torch.randn(96, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
steps, losses = 0, []
for _ in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = (model(inputs) - targets).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        steps += 1
tell(steps, losses)
