# SPDX-License-Identifier: Apache-2.0
"""Trains a model for some steps, then has torch's FlopCounterMode count one more
and torch.profiler look at the memory of another.

usage: gait run … -- count_flops.py KIND FILE

FILE gets what they say, as JSON.
"""

import importlib.util
import json
import sys

import gait.torch
import models
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


class Convolutions(nn.Module):
    """Convolutions of each dimension, with groups, strides, dilation, transposed;
    products of batches, attention."""

    def __init__(self):
        super().__init__()
        self.line = nn.Conv1d(3, 6, 3, stride=2, padding=1)
        self.picture = nn.Conv2d(6, 12, (3, 2), groups=3, dilation=(1, 2), padding="valid")
        self.depthwise = nn.Conv2d(12, 12, 3, groups=12, padding=1, bias=False)
        self.volume = nn.Conv3d(2, 4, 2, stride=(1, 2, 1))
        self.up = nn.ConvTranspose2d(12, 5, 3, stride=2, output_padding=1)
        self.up_line = nn.ConvTranspose1d(6, 4, 4, groups=2)

    def forward(self, inputs):
        line = self.line(inputs)
        picture = self.depthwise(self.picture(line.view(4, 6, 4, 4)))
        volume = self.volume(inputs.reshape(2, 2, 4, 4, 6))
        heads = torch.baddbmm(line[:, :1], line, line.transpose(1, 2).bmm(line))
        query = line.view(4, 2, 3, 16)
        attended = nn.functional.scaled_dot_product_attention(query, query, query)
        parts = [self.up(picture), self.up_line(line), volume, heads, attended]
        return torch.stack([part.mean() for part in parts]).sum().expand(4, 2) * line.mean()


def make_convolutions():
    model = Convolutions()
    return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(4, 3, 32), (4,), 2


def events_of(profiler):
    found = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    return [e.nbytes() for e in sorted(found, key=lambda event: event.start_ns())]


def main(kind, file):
    torch.manual_seed(7)
    torch.set_num_threads(1)
    make = make_convolutions if kind == "convolutions" else models.KINDS[kind]
    model, optimizer, inputs, target_shape, classes = make()
    targets = torch.randint(0, classes, target_shape)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    for _ in range(3):
        step()
    options = {"record_shapes": True, "profile_memory": True}
    can_label = importlib.util.find_spec("gait.torch.modules") is not None
    with gait.torch.profile(with_modules=can_label and kind != "convolutions", **options):
        with torch.profiler.profile(**options) as profiler:
            for _ in range(3):
                step()
    with FlopCounterMode(display=False) as counter:
        step()
    counts = counter.get_flop_counts()
    said = {
        "total": counter.get_total_flops(),
        "by_op": {str(op).replace(".", "::"): count for op, count in counts["Global"].items()},
        "by_module": {name: sum(ops.values()) for name, ops in counts.items()},
        "root": type(model).__name__,
        "has_modules": can_label,
        "memory": events_of(profiler),
    }
    with open(file, "w", encoding="utf-8") as out:
        json.dump(said, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
