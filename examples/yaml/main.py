# SPDX-License-Identifier: Apache-2.0
"""Learn how a pendulum swings from what 32 sensors see of it, as a YAML file says.

usage: main.py CONFIG [--SECTION.KEY VALUE]...

An encoder turns what is seen into a few numbers, an evolver moves them on in time, a
decoder turns them back. The section `profiling` is gait's; all others are this script's.
"""

import datetime
import hashlib
import pathlib
import sys
import uuid

import gait
import torch
import yaml
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
SENSORS = 32


def find(name):
    """The file that a configuration's name means."""
    given = pathlib.Path(name)
    return given if given.suffix else HERE / "configs" / f"{name}.yaml"


def override(config, words):
    """--training.epochs 10 and training.epochs=10, as YAML reads the value."""
    words = iter(words)
    for word in words:
        key, _, value = word.lstrip("-").partition("=")
        value = value or next(words, "")
        section, _, name = key.rpartition(".")
        place = config.get(section, {}) if section else config
        if name not in place:
            sys.exit(f"main.py: unknown setting '{key}'")
        place[name] = yaml.safe_load(value)


def make_directory(name, config):
    """runs/<name>_<date>_<hash>/<uuid>, and in it what the run was told."""
    text = yaml.safe_dump(config)
    mark = hashlib.sha256(text.encode()).hexdigest()[:6]
    folder = pathlib.Path("runs") / f"{name}_{datetime.date.today()}_{mark}" / str(uuid.uuid4())
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text)
    return folder


def swing(count, length):
    """Angles and speeds of `count` pendulums, each `length` moments."""
    angle = torch.rand(count) * 2 - 1
    speed = torch.rand(count) * 2 - 1
    moments = []
    for _ in range(length):
        speed = speed - 0.1 * torch.sin(3 * angle) - 0.01 * speed
        angle = angle + 0.1 * speed
        moments.append(torch.stack([angle, speed], 1))
    return torch.stack(moments, 1)


class Latent(nn.Module):
    def __init__(self, latent_dims, width):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(SENSORS, width), nn.GELU(), nn.Linear(width, latent_dims)
        )
        self.evolver = nn.Sequential(
            nn.Linear(latent_dims, width), nn.GELU(), nn.Linear(width, latent_dims)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent_dims, width), nn.GELU(), nn.Linear(width, SENSORS)
        )

    def forward(self, seen, steps):
        state = self.encoder(seen)
        for _ in range(steps):
            state = state + self.evolver(state)
        return self.decoder(state)


def train(model, optimizer, seen, settings):
    """One epoch; the mean loss."""
    total, batches = 0.0, seen.split(settings["batch_size"])
    for batch in batches:
        optimizer.zero_grad()
        ahead = settings["steps_ahead"]
        loss = nn.functional.mse_loss(model(batch[:, 0], ahead), batch[:, ahead])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def main(name, arguments):
    path = find(name)
    # gait takes its own out of the line; what is left is ours
    profiling, rest = gait.Config.from_args(arguments, path=path)
    config = yaml.safe_load(path.read_text())
    override(config, rest)
    settings = config["training"]
    folder = make_directory(path.stem, config)

    torch.manual_seed(settings["seed"])
    torch.set_num_threads(1)
    moments = swing(settings["pendulums"], settings["steps_ahead"] + 1)
    seen = torch.tanh(moments @ torch.randn(2, SENSORS))
    model = Latent(config["latent_dims"], config["width"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["learning_rate"])

    with profiling.profile(folder) as profiler:
        for epoch in range(settings["epochs"]):  # from 0, as the plan counts
            loss = train(model, optimizer, seen, settings)
            print(f"epoch {epoch}: loss {loss:.6f}", flush=True)
            profiler.step()
    torch.save(model.state_dict(), folder / "model.pt")
    print(f"run directory: {folder}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2:])
    except ValueError as error:
        sys.exit(f"main.py: {error}")
