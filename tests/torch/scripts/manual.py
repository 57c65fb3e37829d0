# SPDX-License-Identifier: Apache-2.0
"""Gradient descent by hand: no optimizer; with `loader`, batches come from one."""

import sys
import time

began_ns = time.time_ns()
time.sleep(0.3)  # a set-up that is no import of torch

import torch  # noqa: E402
from plants import tell  # noqa: E402

torch.manual_seed(8)
x = torch.linspace(-3, 3, 512)
y = torch.sin(x)
weights = [torch.randn((), requires_grad=True) for _ in range(4)]
whole = [(x, y)]
if "loader" in sys.argv:
    whole = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=128)
losses = []
loops_ns = time.time_ns()
for _ in range(40):
    for xb, yb in whole:
        a, b, c, d = weights
        loss = (a + b * xb + c * xb**2 + d * xb**3 - yb).pow(2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for w in weights:
                w -= 1e-3 * w.grad
                w.grad = None
tell(0, losses, began_ns=began_ns, loops_ns=loops_ns, told_ns=time.time_ns())
