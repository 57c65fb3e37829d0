# SPDX-License-Identifier: Apache-2.0
"""Train a small network to tell six kinds of shapes apart, on pictures it draws.

A PyTorch script as people write them. It knows nothing of gait.
"""

import argparse
import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE = 32


class Shapes(Dataset):
    """Noisy pictures of discs, squares, rings, crosses and bars; picture n is always the same."""

    kinds = ("disc", "square", "ring", "cross", "rows", "columns")

    def __init__(self, count, seed):
        self.count = count
        self.seed = seed
        self.axis = torch.arange(SIZE, dtype=torch.float32)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(self.seed + index)
        row, column, radius = torch.rand(3, generator=random).tolist()
        radius = 5 + 5 * radius
        x = self.axis[None, :] - (11 + 10 * column)
        y = self.axis[:, None] - (11 + 10 * row)
        kind = index % len(self.kinds)
        picture = self.draw(self.kinds[kind], x, y, radius).float()
        return (picture + 0.7 * torch.randn(SIZE, SIZE, generator=random))[None], kind

    @staticmethod
    def draw(kind, x, y, radius):
        inside = torch.maximum(x.abs(), y.abs()) < radius
        if kind == "disc":
            return x * x + y * y < radius * radius
        if kind == "ring":
            return (torch.hypot(x, y) - radius).abs() < 1.5
        if kind == "cross":
            return inside & ((x.abs() < 2) | (y.abs() < 2))
        if kind == "rows":
            return inside & (y % 4 < 2)
        if kind == "columns":
            return inside & (x % 4 < 2)
        return inside


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.classify = nn.Linear(128, len(Shapes.kinds))

    def forward(self, pictures):
        return self.classify(self.features(pictures))


def train(model, loader, optimizer):
    """One epoch; the mean loss."""
    model.train()
    total = 0.0
    for pictures, kinds in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pictures), kinds)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    """The share of pictures that the model knows."""
    model.eval()
    right = sum((model(pictures).argmax(1) == kinds).sum().item() for pictures, kinds in loader)
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--pictures", type=int, default=64 * 120, help="in an epoch")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw pictures")
    parser.add_argument("--threads", type=int, default=1, help="of torch; such pictures need one")
    parser.add_argument("--checkpoint", type=pathlib.Path, default=pathlib.Path("plain.pt"))
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    options = {"batch_size": args.batch, "num_workers": args.workers}
    pictures = DataLoader(Shapes(args.pictures, seed=0), shuffle=True, **options)
    unseen = DataLoader(Shapes(600, seed=1_000_000), **options)
    model = Network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for epoch in range(1, args.epochs + 1):
        loss = train(model, pictures, optimizer)
        known = evaluate(model, unseen)
        print(f"epoch {epoch}: loss {loss:.4f}, {known:.1%} of unseen pictures known", flush=True)
        torch.save({"epoch": epoch, "model": model.state_dict()}, args.checkpoint)


if __name__ == "__main__":
    main()
