# SPDX-License-Identifier: Apache-2.0
"""Gradients of four batches make one step, then LBFGS finishes on all the data."""

import torch
from plants import SlowGradient, SlowToSave, collect, delay, tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate

torch.manual_seed(4)
accumulation_steps = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        delay("forward")
        return SlowGradient.apply(self.body(x))


def collate(samples):
    delay("collate")
    return default_collate(samples)


x = torch.randn(208, 8)
y = x.pow(2).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, collate_fn=collate)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
steps, losses = 0, []
for _ in range(2):
    for i, (inputs, targets) in enumerate(loader):
        loss = nn.functional.mse_loss(net(inputs), targets) / accumulation_steps
        loss.backward()
        losses.append(loss.item())
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            collect()
            steps += 1
    for _ in range(6):
        torch.save([net.state_dict(), optimizer.state_dict(), SlowToSave()], "last.ckpt")

lbfgs = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)


def closure():
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    losses.append(loss.item())
    return loss


for _ in range(6):
    lbfgs.step(closure)
    steps += 1
tell(steps, losses)
