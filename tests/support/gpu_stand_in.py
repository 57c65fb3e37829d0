# SPDX-License-Identifier: Apache-2.0
"""tests/torch/scripts/stand_in.py for the programs of tools/check-gpu: what torch's own profiler
records of the host is real, and has the stand-in's launches and kernels in its trace."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "torch/scripts")]

import stand_in  # noqa: E402

real, kept, libraries = {}, {"kernels": 0, "silent": False, "real": False}, []
NAMES = ("_prepare_profiler", "_enable_profiler", "_disable_profiler")
plain_launch, plain_take_over = stand_in.launch, stand_in.take_over


def launch(name, length_ns, **more):
    if not kept["silent"]:
        plain_launch(name, length_ns, **more)


class Both:
    """torch's result, whose trace has what the stand-in did, too."""

    def __init__(self, result, events):
        self.result, self.launched = result, events

    def save(self, path):
        self.result.save(path)
        document = json.loads(pathlib.Path(path).read_text())
        base = document.get("baseTimeNanoseconds", 0)
        for event in self.launched:
            moved = {**event, "start": event["start"] - base}
            document["traceEvents"].append(json.loads(stand_in.written(moved)))
        pathlib.Path(path).write_text(json.dumps(document))

    def __getattr__(self, name):
        return getattr(self.result, name)


def prepare(config, activities, **more):
    host = {item for item in activities if item.name == "CPU"}
    kept["real"] = bool(host)
    if host:
        real["_prepare_profiler"](config, host, **more)
    stand_in.prepare(config, activities)


def enable(config, activities, *more):
    if kept["real"]:
        host = {item for item in activities if item.name == "CPU"}
        real["_enable_profiler"](config, host, *more)
    stand_in.enable(config, activities)


def disable():
    recorded = stand_in.disable()
    return Both(real["_disable_profiler"](), recorded.events) if kept["real"] else recorded


def take_over(torch):
    real.update((name, getattr(torch._C._autograd, name)) for name in NAMES)
    plain_take_over(torch)
    for name, function in zip(NAMES, (prepare, enable, disable)):
        setattr(torch._C._autograd, name, function)
        setattr(torch.autograd.profiler, name, function)
    # else torch times each op by CUDA's events, which are not there
    torch.autograd.profiler._supported_activities = torch._C._autograd._supported_activities
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1


stand_in.take_over = take_over


# --- what program.py asks for ------------------------------------------------------------------


def layer(torch):
    """A module whose op launches a kernel, a copy and a memset."""
    libraries.append(torch.library.Library("standin", "DEF"))
    libraries[0].define("gemm(Tensor x) -> Tensor")

    def gemm(x):
        launch("gemm_kernel", 40_000)
        launch("Memcpy HtoD", 9_000, stream=14, category="gpu_memcpy")
        launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 25_000, stream=21)
        return x + 1

    libraries[0].impl("gemm", gemm, "CPU")

    class Layer(torch.nn.Module):
        def forward(self, x):
            with torch.no_grad():
                torch.ops.standin.gemm(x)
            return x

    return Layer()


def many():
    for stream in (31, 32, 33):
        launch("other_kernel", 30_000, stream=stream)


def silence():
    kept["silent"] = True


def rows():
    """As torch's table would have five steps of a Layer, in us: rows have their own time."""
    return {
        "CPU standin::gemm": [5, 370.0],
        "CUDA gemm_kernel": [5, 200.0],
        "CUDA ncclDevKernel_AllReduce_Sum_f32_RING_LL": [5, 125.0],
    }


def snapshot(path):
    import memory_snapshots

    made = memory_snapshots.train(7, 100)
    memory_snapshots.write(pathlib.Path(path), made)
    return made.peak
