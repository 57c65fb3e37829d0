# SPDX-License-Identifier: Apache-2.0
"""A loop of one's own with accelerate and tqdm; gradients of `argv[1]` batches."""

import sys

import torch
from accelerate import Accelerator
from plants import delay, tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

torch.manual_seed(13)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=int(sys.argv[1]))
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters())
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
loader = DataLoader(TensorDataset(torch.randn(88, 8), torch.randn(88, 1)), batch_size=8)
net, optimizer, loader, scheduler = accelerator.prepare(net, optimizer, loader, scheduler)
losses, epochs = [], []
for _ in range(2):
    epochs.append(0)
    bar = tqdm(loader, mininterval=0)
    for x, y in bar:
        with accelerator.accumulate(net):
            loss = nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(loss.item())
        bar.set_postfix(loss=losses[-1])
        epochs[-1] += accelerator.sync_gradients
    net.eval()
    with torch.no_grad():
        delay("evaluation")
        losses.append(nn.functional.mse_loss(net(x), y).item())
    net.train()
    accelerator.save_state("state")
tell(sum(epochs), losses, epochs=epochs)
