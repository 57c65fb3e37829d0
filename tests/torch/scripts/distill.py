# SPDX-License-Identifier: Apache-2.0
"""A student learns from a teacher that only ever runs in eval mode; frozen norms."""

import torch
from plants import delay, tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)


class Teacher(nn.Sequential):
    def forward(self, x):
        delay("teacher")
        return super().forward(x)


teacher = Teacher(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 4))
teacher.eval()
student = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.Adam(student.parameters())
loader = DataLoader(TensorDataset(torch.randn(160, 8)), batch_size=8, drop_last=True)
steps, losses = 0, []
for _ in range(2):
    student.train()
    student[1].eval()  # the statistics of the norm stay as they are
    for (x,) in loader:
        with torch.no_grad():
            wanted = teacher(x).softmax(-1)
        loss = nn.functional.cross_entropy(student(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        steps += 1
tell(steps, losses)
