# SPDX-License-Identifier: Apache-2.0
"""Counted in iterations, not epochs: two loaders, each begun anew when it runs out."""

import torch
from plants import delay, tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate

torch.manual_seed(10)


def collate(samples):
    delay("collate")
    return default_collate(samples)


labeled = DataLoader(
    TensorDataset(torch.randn(40, 6), torch.arange(40) % 3), 8, shuffle=True, collate_fn=collate
)
unlabeled = DataLoader(TensorDataset(torch.randn(96, 6)), 16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
labeled_iter, unlabeled_iter = iter(labeled), iter(unlabeled)
losses = []
steps = 30
for _ in range(steps):
    try:
        x, y = next(labeled_iter)
    except StopIteration:
        labeled_iter = iter(labeled)
        x, y = next(labeled_iter)
    try:
        (u,) = next(unlabeled_iter)
    except StopIteration:
        unlabeled_iter = iter(unlabeled)
        (u,) = next(unlabeled_iter)
    guess = model(u).softmax(-1)
    loss = nn.functional.cross_entropy(model(x), y) - 0.1 * (guess * guess.log()).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
tell(steps, losses)
