# SPDX-License-Identifier: Apache-2.0
"""Small models of the three usual kinds, each with a step() that trains it."""

import torch
from torch import nn


class Block(nn.Module):
    """A residual block."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, images):
        return torch.relu(images + self.second(torch.relu(self.norm(self.first(images)))))


class Transformer(nn.Module):
    def __init__(self, width=32, words=50):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)

    def forward(self, words):
        return self.head(self.layers(self.embedding(words))).flatten(0, 1)


def make_mlp():
    layers = [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4)]
    model = nn.Sequential(*layers)
    return model, torch.optim.Adam(model.parameters()), torch.randn(8, 16), (8,), 4


def make_cnn():
    layers = [nn.Conv2d(3, 8, 3, padding=1), Block(8), nn.MaxPool2d(2), Block(8)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, optimizer, torch.randn(4, 3, 16, 16), (4,), 5


def make_transformer():
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return model, optimizer, torch.randint(0, 50, (2, 12)), (24,), 50


KINDS = {"mlp": make_mlp, "cnn": make_cnn, "transformer": make_transformer}


def make_step(kind):
    """A function that trains one step and returns the loss."""
    torch.manual_seed(7)
    model, optimizer, inputs, target_shape, classes = KINDS[kind]()
    targets = torch.randint(0, classes, target_shape)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step
