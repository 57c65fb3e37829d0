# SPDX-License-Identifier: Apache-2.0
"""Delays that a test asks for, and what a script says of itself at its end.

The scripts beside this one are written as people write theirs. The calls into
here are the only trace of the tests in them: `delay` does nothing unless PLANT
names their place, and `tell` prints what the script counted.
"""

import contextlib
import gc
import json
import os
import time

import torch

RANK = int(os.environ.get("RANK", "0"))
SECONDS = float(os.environ.get("PLANT_SECONDS", "0.05"))  # of each delay
# "place:count,…", on one rank alone where PLANT_RANK says so
PLANT = os.environ.get("PLANT") if RANK == int(os.environ.get("PLANT_RANK", RANK)) else None
left = {place: int(count) for place, count in (p.split(":") for p in (PLANT or "").split(",") if p)}
planted_ns = dict.fromkeys(left, 0)


def waited_ns():
    """How long threads of this process were ready to run and no processor was free."""
    waits = 0
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/schedstat") as file:
            waits += int(file.read().split()[1])
    return waits


waited_before_ns = waited_ns()
gc.disable()  # a collection more or less would blur what is compared


def delay(place):
    """SECONDS, the first so many times that this place is passed."""
    if left.get(place, 0) == 0:
        return
    left[place] -= 1
    begin = time.perf_counter_ns()
    time.sleep(SECONDS)
    planted_ns[place] += time.perf_counter_ns() - begin


class SlowGradient(torch.autograd.Function):
    """Nothing forward, a delay on the way back."""

    @staticmethod
    def forward(_, tensor):
        return tensor.view_as(tensor)

    @staticmethod
    def backward(_, gradient):
        delay("backward")
        return gradient


class SlowToSave:
    """Something in a checkpoint that takes its time to be pickled."""

    def __reduce__(self):
        delay("checkpoint")
        return (SlowToSave, ())


class SlowToCollect:
    def __init__(self):
        self.itself = self

    def __del__(self):
        delay("gc")


def collect():
    """A forced collection of little more than this; its finalizers run inside it."""
    gc.freeze()
    SlowToCollect()
    gc.collect(0)


def tell(steps, losses, **more):
    truth = {"rank": RANK, "steps": steps, "losses": [float(loss).hex() for loss in losses]}
    truth.update(planted_ns=planted_ns, crowd_ns=waited_ns() - waited_before_ns, **more)
    print("TRUTH " + json.dumps(truth), flush=True)
