#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a run tells its own cost truly: what `gait report` says against what it was.

usage: torch_truth.py BUILD [--repeats N] [--models NAME ...] [--json]

Windows are forced on every step (`--windows all` leaves six of 61 out). Each model
trains in processes of its own, with gait and without in turn; a process tells the
middle one of its blocks of 32 steps, in CPU time of the training's thread and by
the wall clock. Truth is the middle one of the paired differences, with its 95 %
interval; beside it stands the middle one of what the reports say. Needs torch.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BLOCK = 32  # steps of an epoch
MODELS = {  # steps, so that each trains for some two seconds
    "mlp": 3200,
    "mlp_wide": 640,
    "cnn": 256,
    "transformer": 384,
}


def make_mlp(nn, torch):
    layers = [nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    return nn.Sequential(*layers), torch.randn(16 * BLOCK, 32), 16


def make_mlp_wide(nn, torch):
    layers = [nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), torch.randn(64 * BLOCK, 256), 64


def make_cnn(nn, torch):
    class Residual(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))

        def forward(self, x):
            y = torch.relu(self.norms[0](self.first(x)))
            return torch.relu(x + self.norms[1](self.second(y)))

    layers = [nn.Conv2d(3, 8, 3, padding=1), *(Residual(8) for _ in range(4))]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)]
    return nn.Sequential(*layers), torch.randn(8 * BLOCK, 3, 16, 16), 8


def make_transformer(nn, torch):
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(100, 64)
            layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
            self.encode = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
            self.head = nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.encode(self.embed(x)).mean(1))

    return Words(), torch.randint(0, 100, (8 * BLOCK, 16)), 8


def train(name, steps):
    """A training as people write it; says what a step of the middle block took."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    torch.manual_seed(0)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    model, inputs, size = globals()["make_" + name](nn, torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    loader = DataLoader(
        TensorDataset(inputs, torch.randint(0, 10, (len(inputs),))), batch_size=size, shuffle=True
    )
    blocks, done = [], 0
    while done < steps:
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
        done += BLOCK
        blocks.append((time.perf_counter_ns() - wall, time.thread_time_ns() - cpu))
    blocks = blocks[len(blocks) // 8 :]  # what warms up
    walls, cpus = zip(*blocks)
    wall, cpu = statistics.median(walls) / BLOCK, statistics.median(cpus) / BLOCK
    print(json.dumps({"wall_ns": wall, "cpu_ns": cpu}))


def clean_environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}


def run(build, name, steps, directory=None):
    """What the training says of itself and, with gait, what the report does."""
    command = [sys.executable, __file__, str(build), "--train", name, str(steps)]
    if directory:
        recorder = [str(build / "gait"), "run", "-q", "--windows", "all", "-o", str(directory)]
        command = [*recorder, "--", *command]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=clean_environment()
    )
    said = json.loads(done.stdout.splitlines()[-1])
    if directory:
        report = [str(build / "gait"), "report", str(directory), "--json"]
        shown = subprocess.run(report, stdout=subprocess.PIPE, check=True).stdout
        found = json.loads(shown)
        said["overhead"] = found["overhead"]
        said["steps"] = found["steps"]
    return said


def middle(values):
    """Median and the 95 % interval of it, by ranks (all of them when they are few)."""
    values = sorted(values)
    count = len(values)
    reach = int(0.98 * count**0.5) + 1
    low, high = max(0, (count - 1) // 2 - reach), min(count - 1, count // 2 + reach)
    return {"value": statistics.median(values), "low": values[low], "high": values[high]}


def measure(build, name, repeats, work):
    steps, pairs = MODELS[name], []
    for index in range(repeats):
        found = {}
        for is_on in (True, False) if index % 2 else (False, True):
            found[is_on] = run(build, name, steps, work / f"{name}{index}" if is_on else None)
        pairs.append((found[True], found[False]))
    base = statistics.median(off["cpu_ns"] for _on, off in pairs)
    result = {"steps": steps, "repeats": repeats, "step_ns": base}
    for kind in ("cpu_ns", "wall_ns"):
        result["true_" + kind] = middle([on[kind] - off[kind] for on, off in pairs])
    result["said_ns"] = middle([on["overhead"]["hooks_ns"] / on["steps"] for on, _off in pairs])
    result["ratio"] = result["said_ns"]["value"] / result["true_cpu_ns"]["value"]
    result["drainer_ns"] = middle([on["overhead"]["cpu_ns"] / on["steps"] for on, _off in pairs])
    return result


def put(results):
    print(f"{'':<14}{'step':>10}{'self-reported':>15}{'truth':>24}{'ratio':>8}{'drainer':>9}")
    for name, row in results.items():
        true = row["true_cpu_ns"]
        share = 100 * true["value"] / row["step_ns"]
        value, low, high = (true[key] / 1e3 for key in ("value", "low", "high"))
        shown = f"{value:.0f} [{low:.0f} to {high:.0f}] us"
        print(
            f"{name:<14}{row['step_ns'] / 1e3:>7.0f} us{row['said_ns']['value'] / 1e3:>12.0f} us"
            f"{shown:>24}{row['ratio']:>8.2f}{row['drainer_ns']['value'] / 1e3:>6.0f} us"
            f" ({share:.0f} % of the step)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--train", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.train[0], int(arguments.train[1]))
        return 0
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as work:
        results = {
            name: measure(build, name, arguments.repeats, pathlib.Path(work))
            for name in arguments.models
        }
    if arguments.json:
        print(json.dumps(results))
    else:
        put(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
