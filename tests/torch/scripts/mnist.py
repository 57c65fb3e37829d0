# SPDX-License-Identifier: Apache-2.0
"""In the style of the first example everybody runs: train() and test(), a scheduler."""

import argparse

import torch
import torch.nn.functional as F
from plants import delay, tell
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR

losses = []
steps = 0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(8 * 6 * 6, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        delay("forward" if self.training else "evaluation")
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def train(args, model, device, train_loader, optimizer, epoch):
    global steps
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        steps += 1
        if batch_idx % args.log_interval == 0:
            losses.append(loss.item())
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}]\tLoss: {loss.item():.6f}")


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(1, keepdim=True).eq(target.view(-1, 1)).sum().item()
    losses.append(test_loss)
    print(f"\nTest set: Accuracy: {correct}/{len(test_loader.dataset)}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--log-interval", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    images = torch.randn(200, 1, 16, 16)
    labels = images.mean((1, 2, 3)).mul(1000).long().remainder(10)
    dataset1 = torch.utils.data.TensorDataset(images[:140], labels[:140])
    dataset2 = torch.utils.data.TensorDataset(images[140:], labels[140:])
    kwargs = {"num_workers": args.workers, "persistent_workers": args.workers > 0}
    train_loader = torch.utils.data.DataLoader(dataset1, batch_size=14, shuffle=True, **kwargs)
    test_loader = torch.utils.data.DataLoader(dataset2, batch_size=20, **kwargs)

    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()
    torch.save(model.state_dict(), "mnist_cnn.pt")
    tell(steps, losses, evaluations=args.epochs)


if __name__ == "__main__":
    main()
