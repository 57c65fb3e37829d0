# SPDX-License-Identifier: Apache-2.0
"""An accelerator that is none: torch says that it has CUDA, and its recording of devices is
this module's. Import it before torch.

An op launches a kernel here by launch(): the call and the kernel behind it are on record
while a recording runs, as Kineto would write them. replay() has a stored trace told instead.
"""

import gzip
import importlib.machinery
import json
import os
import sys
import threading
import time

calls = []  # of torch's profiler, with the time of each
recordings = []  # each a dict: activities, since and until; events
streams = {}  # (device, stream): when it is free
state = {"prepared": None, "on": None, "correlation": 0, "trace": None, "failing": ""}


def thread_number():
    """As CUPTI tells it, who was told no other: pthread's, cut to 32 bits."""
    cut = threading.get_ident() & 0xFFFFFFFF
    return abs(cut - (1 << 32) if cut >> 31 else cut)


def launch(name, length_ns, device=0, stream=7, category="kernel"):
    begun = time.time_ns()
    state["correlation"] += 1
    free = streams.get((device, stream), 0)
    ended = time.time_ns()
    start = max(free, ended + 3000)
    streams[device, stream] = start + length_ns
    if state["on"] is None:
        return
    link = {"correlation": state["correlation"]}
    state["on"]["events"] += [
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "pid": os.getpid(),
            "tid": thread_number(),
            "start": begun,
            "length": ended - begun,
            "args": link,
        },
        {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": device,
            "tid": stream,
            "start": start,
            "length": length_ns,
            "args": {**link, "device": device, "stream": stream, "grid": [8, 1, 1]},
        },
    ]


def synchronize(device=None):
    while time.time_ns() < max(streams.values(), default=0):
        pass


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def written(event):
    times = {"ts": us(event.pop("start")), "dur": us(event.pop("length"))}
    text = json.dumps({**event, **{key: f"@{value}@" for key, value in times.items()}})
    return text.replace('"@', "").replace('@"', "")


class Result:
    def __init__(self, events) -> None:
        self.events = events

    def save(self, path) -> None:
        if state["trace"]:
            with gzip.open(state["trace"]) as source, open(path, "wb") as file:
                file.write(source.read())
            return
        rows = ",\n".join(written(dict(event)) for event in self.events)
        with open(path, "w") as file:
            file.write('{"schemaVersion": 1, "traceEvents": [\n' + rows + "\n]}")


def prepare(config, activities, **_) -> None:
    calls.append(("prepare", time.time_ns()))
    if state["failing"] == "prepare":
        raise RuntimeError("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")
    state["prepared"] = sorted(item.name for item in activities)


def enable(config, activities) -> None:
    assert state["on"] is None, "Profiler is already enabled"
    now = time.time_ns()
    ahead = max(0, max(streams.values(), default=0) - now)  # work that is on no record
    state["on"] = {"activities": state["prepared"], "since": now, "ahead": ahead, "events": []}
    calls.append(("enable", time.time_ns()))


def disable():
    calls.append(("disable", time.time_ns()))
    recording, state["on"] = state["on"], None
    recording["until"] = time.time_ns()
    recordings.append(recording)
    if state["failing"] == "disable":
        raise RuntimeError("the buffers are gone")
    return Result(recording["events"])


def take_over(torch) -> None:
    autograd, kinds = torch._C._autograd, torch._C._profiler.ProfilerActivity
    autograd._supported_activities = lambda: {kinds.CPU, kinds.CUDA}
    autograd._prepare_profiler, autograd._enable_profiler = prepare, enable
    autograd._disable_profiler = disable
    for name in ("_prepare_profiler", "_enable_profiler", "_disable_profiler"):
        setattr(torch.autograd.profiler, name, getattr(autograd, name))
    torch.cuda.is_initialized = lambda: True
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.device_count = lambda: 2
    torch._C._cuda_hasPrimaryContext = lambda device: True
    torch.cuda.synchronize = synchronize
    torch.cuda.get_device_name = lambda: "stand-in"


class Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module) -> None:
        super().exec_module(module)
        take_over(module)


class Finder:
    """Finds torch as it is, and has it taken over before anybody sees it."""

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if name != "torch" or spec is None:
            return None
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


if "torch" in sys.modules:  # and gait has asked it already
    take_over(sys.modules["torch"])
    if "gait.torch.windows" in sys.modules:
        sys.modules["gait.torch.windows"].install()
else:
    sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), Finder())
