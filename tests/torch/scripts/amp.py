# SPDX-License-Identifier: Apache-2.0
"""Mixed precision with a gradient scaler; one batch overflows and its step is skipped."""

import torch
from plants import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
device = "cpu"
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler(device)
x = torch.randn(160, 16)
x[40] = 3e38
train_loader = DataLoader(TensorDataset(x, x[:, :1].tanh()), batch_size=8)

steps, losses, skipped = 0, [], 0
for _ in range(2):
    for input, target in train_loader:
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
            output = net(input.to(device))
            loss = nn.functional.mse_loss(output.float(), target.to(device))
        opt.zero_grad(set_to_none=True)
        scale = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        skipped += scaler.get_scale() < scale
        steps += 1
        losses.append(loss.item())
assert skipped == 2
tell(steps, losses, skipped=skipped)
