# SPDX-License-Identifier: Apache-2.0
"""A WGAN with weight clipping.

`--style same`: the critic steps five times on each batch, then the generator;
`--style fresh`: the critic takes a new batch each time; `--style skip`: one
critic step a batch, the generator at every fifth.
"""

import sys

import torch
from plants import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
style = sys.argv[1] if len(sys.argv) > 1 else "same"
n_critic = 5
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer_G = torch.optim.RMSprop(G.parameters(), lr=5e-5)
optimizer_D = torch.optim.RMSprop(D.parameters(), lr=5e-5)
loader = DataLoader(TensorDataset(torch.randn(160, 2)), batch_size=8, shuffle=True)
losses = []


def critic_step(real):
    optimizer_D.zero_grad()
    fake = G(torch.randn(len(real), 4)).detach()
    loss = -D(real).mean() + D(fake).mean()
    loss.backward()
    optimizer_D.step()
    for p in D.parameters():
        p.data.clamp_(-0.01, 0.01)
    losses.append(loss.item())


def generator_step():
    optimizer_G.zero_grad()
    loss = -D(G(torch.randn(8, 4))).mean()
    loss.backward()
    optimizer_G.step()
    losses.append(loss.item())


steps = 0
for _epoch in range(2):
    if style == "same":
        for (real,) in loader:
            for _ in range(n_critic):
                critic_step(real)
            generator_step()
            steps += 1
    elif style == "skip":
        for i, (real,) in enumerate(loader):
            critic_step(real)
            if i % n_critic == 0:
                generator_step()
            steps += 1
    else:
        data_iter = iter(loader)
        i = 0
        while i < len(loader):
            for _ in range(n_critic):
                if i < len(loader):
                    (real,) = next(data_iter)
                    i += 1
                    critic_step(real)
                    steps += 1
            generator_step()
tell(steps, losses)
