# SPDX-License-Identifier: Apache-2.0
"""Data parallel training under torchrun, on gloo."""

import os

import torch
import torch.distributed as dist
from plants import SlowGradient, SlowToSave, collect, delay, tell
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, default_collate
from torch.utils.data.distributed import DistributedSampler


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(32, 5)

    def forward(self, x):
        delay("forward")
        # late on the way back: before any gradient of a parameter is there
        return SlowGradient.apply(self.net2(self.relu(self.net1(x))))


def collate(samples):
    delay("collate")
    return default_collate(samples)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(6)
    x = torch.randn(320, 10)
    dataset = TensorDataset(x, x[:, :5] * 2)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler, collate_fn=collate)
    ddp_model = DDP(ToyModel())
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.SGD(ddp_model.parameters(), lr=0.01)
    steps, losses = 0, []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = loss_fn(ddp_model(inputs), labels)
            loss.backward()
            optimizer.step()
            collect()
            losses.append(loss.item())
            steps += 1
        for _ in range(6):
            torch.save([ddp_model.state_dict(), SlowToSave()], f"checkpoint{rank}.pt")
        dist.barrier()
    assert int(os.environ["WORLD_SIZE"]) == dist.get_world_size()
    tell(steps, losses)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
