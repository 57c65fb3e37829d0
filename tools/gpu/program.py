# SPDX-License-Identifier: Apache-2.0
"""The trainings that `tools/check-gpu` has recorded: `program.py WHAT OUT [STEPS]`.

OUT/told.json has what the program knows itself: steps, their times, torch's own answers. Each
trace of devices that gait takes in is kept in OUT, too, as torch wrote it: what gait says of it
is held against that. GAIT_CHECK_STAND_IN names a module that stands in for a device, for tests.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import sys
import time

WHAT, OUT = sys.argv[1], pathlib.Path(sys.argv[2])
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 60
RANK = int(os.environ.get("RANK", "0"))
stand_in = None
if os.environ.get("GAIT_CHECK_STAND_IN"):
    spec = importlib.util.spec_from_file_location("gpu_stand_in", os.environ["GAIT_CHECK_STAND_IN"])
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)

import torch  # noqa: E402
from torch import nn  # noqa: E402

KINDS = torch.profiler.ProfilerActivity
BOTH = [KINDS.CPU, KINDS.CUDA]
DEVICE = torch.device("cpu" if stand_in else "cuda")
WIDTH, LENGTH, BATCH = (8, 4, 2) if stand_in else (1024, 512, 8)
told = {"steps": 0, "step_ns": [], "at_ns": [], "rank": RANK}


def keep_recorded():
    """Copies of the traces that gait has torch save."""
    calls, kept = torch._C._autograd, []
    disable = calls._disable_profiler

    class Kept:
        def __init__(self, result):
            self.result = result

        def save(self, path):
            self.result.save(path)
            kept.append(OUT / f"recorded-{RANK}-{len(kept)}.json")
            shutil.copyfile(path, kept[-1])

        def __getattr__(self, name):
            return getattr(self.result, name)

    calls._disable_profiler = lambda: Kept(disable())


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 8, batch_first=True)
        self.wide = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.wide(self.second(x))


def model():
    blocks = [Block() for _ in range(1 if stand_in else 4)]
    if stand_in:
        blocks.append(stand_in.layer(torch))
    return nn.Sequential(*blocks).to(DEVICE)


class Training:
    def __init__(self, net=None):
        torch.manual_seed(3)
        if not stand_in:
            torch.cuda.set_device(RANK % torch.cuda.device_count())
        self.net = net or model()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-4)
        self.host = torch.randn(BATCH, LENGTH, WIDTH)
        self.around = contextlib.nullcontext
        self.beside = None

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        x = self.host.to(DEVICE)
        with self.around():
            loss = self.net(x).pow(2).mean()
        if self.beside:
            self.beside(x)
        loss.backward()
        self.optimizer.step()
        torch.cuda.synchronize()


def loop(step, steps=STEPS, before=lambda number: None, after=lambda number: None):
    for number in range(steps):
        before(number)
        since = time.perf_counter_ns()
        step()
        told["step_ns"].append(time.perf_counter_ns() - since)
        after(number)
        told["steps"] += 1


def torch_beside(step):
    """torch.profiler of three steps in each twenty, between the windows of gait."""
    running = []

    def before(number):
        if number % 20 == 12:
            running.append(torch.profiler.profile(activities=BOTH))
            running[-1].__enter__()

    def after(number):
        if number % 20 == 14:
            running[-1].__exit__(None, None, None)
            running[-1].export_chrome_trace(str(OUT / f"torch-{len(running)}.json"))

    loop(step, before=before, after=after)


def windows():
    torch_beside(Training())


def plain():
    loop(Training())


def streams():
    step = Training()
    others = [] if stand_in else [torch.cuda.Stream() for _ in range(3)]

    def beside(x):
        for stream in others:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                (x[0] @ x[0].t()).relu_()
        for stream in others:
            torch.cuda.current_stream().wait_stream(stream)
        if stand_in:
            stand_in.many()

    step.beside = beside
    loop(step)


def amp():
    step = Training()
    step.around = lambda: torch.autocast(DEVICE.type, torch.bfloat16)
    loop(step)


def compiled():
    step = Training()
    try:
        net = torch.compile(step.net, backend="eager" if stand_in else "inductor")
        net(step.host.to(DEVICE)).sum().backward()
    except Exception as error:  # no Triton, no compiler: that is no fault of gait's
        told["why"] = f"torch.compile fails here: {type(error).__name__}"
        return
    step.net = net
    loop(step)


def graphs():
    """As torch's manual has it: forward, backward and the optimizer's step in one graph."""
    if stand_in:
        told["why"] = "a stand-in has no graphs"
        return
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, capturable=True)
    x, side = torch.randn(BATCH, LENGTH, WIDTH, device=DEVICE), torch.cuda.Stream()

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(x).pow(2).mean().backward()
        optimizer.step()

    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        loop(step, 3)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        net(x).pow(2).mean().backward()
        optimizer.step()

    def replay():
        graph.replay()
        torch.cuda.synchronize()

    loop(replay)


def ranks():
    import torch.distributed as dist

    backend = "nccl" if not stand_in and torch.cuda.device_count() > 1 else "gloo"
    told["backend"] = backend
    step = Training()
    dist.init_process_group(backend)
    step.net = nn.parallel.DistributedDataParallel(step.net)
    loop(step)
    dist.destroy_process_group()


# --- torch's answers, and those of gait.torch ------------------------------------------------

SORTS = ("self_cpu_time_total", "cpu_time_total", "count", "self_cuda_time_total")
SESSIONS = {
    "plain": {},
    "all": {"record_shapes": True, "profile_memory": True, "with_flops": True},
    "stack": {"with_stack": True},
}


def tables():
    """Traces of torch.profiler with the tables that it printed."""
    if stand_in:
        stand_in.silence()  # torch's own classes know of no stand-in
    step = Training()
    step()
    for name, options in SESSIONS.items():
        with torch.profiler.profile(activities=BOTH, **options) as running:
            for _ in range(3):
                step()
                running.step()
        running.export_chrome_trace(str(OUT / f"{name}.json"))
        averages = running.key_averages()
        for key in SORTS:
            (OUT / f"{name}.{key}.txt").write_text(averages.table(sort_by=key, row_limit=-1))


def traced():
    """A trace with steps of a schedule, and one more of several streams."""
    step = Training()
    plan = torch.profiler.schedule(wait=1, warmup=2, active=4, repeat=1)
    with torch.profiler.profile(
        activities=BOTH,
        schedule=plan,
        on_trace_ready=lambda running: running.export_chrome_trace(str(OUT / "torch.json")),
    ) as running:
        for _ in range(8):
            step()
            running.step()


def rows_of(profile):
    rows = {}
    for row in profile.key_averages():
        device = getattr(row, "self_device_time_total", 0)
        kind = str(row.device_type).rpartition(".")[2]
        rows[f"{kind} {row.key}"] = [row.count, device]
    return rows


def profiles():
    """The same steps under torch.profiler and gait.torch.profile, by turns."""
    import gait.torch

    step = Training()
    for _ in range(3):
        step()
    told.update(torch=[], gait=[])
    for turn in range(4):
        name = ("torch", "gait")[turn % 2]
        make = (torch.profiler.profile, gait.torch.profile)[turn % 2]
        with make(activities=BOTH) as running:
            for _ in range(5):
                step()
        rows = rows_of(running)
        if stand_in and name == "torch":
            rows.update(stand_in.rows())
        told[name].append(rows)
        running.export_chrome_trace(str(OUT / f"{name}-{turn}.json"))


def snapshot():
    path = str(OUT / "snapshot.pickle")
    if stand_in:
        told["peak_bytes"] = [stand_in.snapshot(path)] * 2
        return
    step = Training()
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        step()
    found = torch.cuda.memory_stats()
    told["peak_bytes"] = [found[f"{kind}_bytes.all.peak"] for kind in ("requested", "allocated")]
    torch.cuda.memory._dump_snapshot(path)


def load():
    """Work for some seconds, for the energy."""
    a = torch.randn(64 if stand_in else 8192, 64 if stand_in else 8192, device=DEVICE)
    step, until = Training(), time.monotonic() + STEPS
    while time.monotonic() < until:
        for _ in range(20):
            a @ a
        torch.cuda.synchronize()
        step()
        told["steps"] += 1


def held():
    """The program's own profiler has the device's interface from beginning to end."""
    with torch.profiler.profile(activities=BOTH):
        loop(Training())


PROGRAMS = (windows, plain, streams, amp, compiled, graphs, ranks, tables, traced, profiles)
PROGRAMS += (snapshot, load, held)

if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    keep_recorded()
    {program.__name__: program for program in PROGRAMS}[WHAT]()
    (OUT / f"told-{RANK}.json").write_text(json.dumps(told))
