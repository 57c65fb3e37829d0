#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gait's profilers add to a Lightning step, beside Lightning's own.

usage: lightning_steps.py [--json] [--rounds N] [--steps N]

A round is one training of so many steps for each profiler and one without, in a new
order each round, in one process and on one thread. A step is from one batch's begin
to the next one's, in CPU time of the thread that trains; of a training its median
counts, for the `pytorch` ones of the steps behind their windows, and also the mean of
all steps. What a profiler adds is taken round by round from the training without one;
figures are means over the rounds with the 95 % interval of Student's t.
"""

import argparse
import contextlib
import ctypes
import json
import logging
import math
import random
import statistics
import sys
import tempfile
import time
import warnings

import torch
from gait.lightning import GaitProfiler
from gait.profilers import Simple
from python_profilers import ReferenceSimple, time_nothing, time_pairs

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.profilers import AdvancedProfiler, PyTorchProfiler
except ImportError:
    from pytorch_lightning import Callback, LightningModule, Trainer
    from pytorch_lightning.profilers import AdvancedProfiler, PyTorchProfiler

FLOOR = "the profile function alone"
WINDOW_END = 20  # steps by which both schedules are through
STUDENT_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)  # by freedom


class Model(LightningModule):
    """A millisecond of work, most of it in one product."""

    def __init__(self, width):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1)
        )

    def training_step(self, batch, _):
        return self.layers(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


class Clock(Callback):
    def __init__(self):
        self.begins = []

    def on_train_batch_start(self, *_):
        self.begins.append(time.thread_time_ns())


def profilers(folder):
    options = {"dirpath": folder, "filename": "report"}
    return {
        "none": lambda: None,
        FLOOR: lambda: None,
        "advanced": lambda: GaitProfiler("advanced", **options),
        "AdvancedProfiler": lambda: AdvancedProfiler(**options),
        "pytorch": lambda: GaitProfiler("pytorch", export_to_chrome=False, **options),
        "PyTorchProfiler": lambda: PyTorchProfiler(export_to_chrome=False, **options),
    }


@contextlib.contextmanager
def nothing_heard():
    """An empty function of C as the thread's profile function: what any tracer pays."""
    api = ctypes.pythonapi
    api.PyEval_SetProfile.argtypes = [ctypes.c_void_p, ctypes.py_object]
    empty = ctypes.cast(api.PyErr_Occurred, ctypes.c_void_p)  # 0, and no more than a load
    api.PyEval_SetProfile(empty, None)
    try:
        yield
    finally:
        sys.setprofile(None)


def train(profiler, steps, width, has_floor=False):
    """(median of the later steps, mean of all), in ns."""
    clock = Clock()
    data = torch.utils.data.DataLoader([torch.ones(width)] * steps * 8, batch_size=8)
    trainer = Trainer(
        max_epochs=1,
        profiler=profiler,
        callbacks=[clock],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with nothing_heard() if has_floor else contextlib.nullcontext():
        trainer.fit(Model(width), data)
    ns = [after - before for before, after in zip(clock.begins, clock.begins[1:])]
    return statistics.median(ns[min(WINDOW_END, len(ns) // 2) :]), statistics.fmean(ns)


def interval(values):
    """(mean, half the width of its 95 % interval)"""
    freedom = len(values) - 1
    if freedom < 1:
        return statistics.fmean(values), math.inf
    if freedom <= len(STUDENT_95):
        factor = STUDENT_95[freedom - 1]
    else:
        factor = 1.96 + 2.6 / freedom
    return statistics.fmean(values), factor * statistics.stdev(values) / math.sqrt(len(values))


def ratio(over, under):
    """The quotient of two paired means and its 95 % interval (Fieller's, linearised)."""
    value = statistics.fmean(over) / statistics.fmean(under)
    rest = [(a - value * b) / statistics.fmean(under) for a, b in zip(over, under)]
    _, half = interval(rest)
    return [round(value, 3), round(value - half, 3), round(value + half, 3)]


def measure_steps(rounds, steps, width):
    names = list(profilers(""))
    taken = {name: [] for name in names}
    for count in range(-1, rounds):  # the first one warms up
        order = random.sample(names, len(names))
        with tempfile.TemporaryDirectory() as folder:
            found = {
                name: train(profilers(folder)[name](), steps, width, name == FLOOR)
                for name in order
            }
        if count >= 0:
            for name in names:
                taken[name].append(found[name])
    later, mean = (
        {name: [row[at] for row in rows] for name, rows in taken.items()} for at in (0, 1)
    )

    def added(kind, name):
        return [x - y for x, y in zip(kind[name], kind["none"])]

    extra = {
        "advanced": added(later, "advanced"),
        "AdvancedProfiler": added(later, "AdvancedProfiler"),
        "pytorch": added(later, "pytorch"),
        "PyTorchProfiler": added(mean, "PyTorchProfiler"),
        "PyTorchProfiler, behind its windows": added(later, "PyTorchProfiler"),
        FLOOR: added(later, FLOOR),
    }
    return {
        "step_us": round(statistics.fmean(later["none"]) / 1e3, 1),
        "added_us": {name: [round(x / 1e3, 2) for x in interval(ns)] for name, ns in extra.items()},
        "advanced": ratio(extra["advanced"], extra["AdvancedProfiler"]),
        "floor": ratio(extra[FLOOR], extra["AdvancedProfiler"]),
        "pytorch": ratio(extra["pytorch"], extra["PyTorchProfiler"]),
    }


def measure_pairs(rounds):
    """A start and a stop, one round after the other."""
    profiler, ours, theirs = Simple(), [], []
    for _ in range(rounds):
        empty = time_nothing()
        theirs.append(time_pairs(ReferenceSimple()) - empty)
        ours.append(time_pairs(profiler) - empty)
    return {
        "added_ns": {"simple": interval(ours), "SimpleProfiler": interval(theirs)},
        "ratio": ratio(ours, theirs),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--width", type=int, default=288, help="of the model: 288 is about 1 ms")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    result = {
        "python": sys.version.split()[0],
        "pair": measure_pairs(max(options.rounds, 2)),
        "steps": measure_steps(options.rounds, options.steps, options.width),
    }
    print(json.dumps(result) if options.json else json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
