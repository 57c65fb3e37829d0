# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/itwinai.tar.xz: tables as itwinai 0.3.3 writes them, and what it says.

0.3.3 is its last release that writes and reads CSV. Run it where that release, pandas and
torch can be imported. Its tracker of epochs, its probe of devices and its wrapper of
torch.profiler write the files; devices and the profile are stand-ins, so that no GPU is
needed. Its own functions then give the figures, in expected.json.
"""

import io
import json
import pathlib
import random
import sys
import tarfile
import tempfile
import types

NVML = types.ModuleType("pynvml")
RANDOM = random.Random(7)
RUNS = {"run0": (1.0, 0), "run1": (1.04, 1)}  # how slow, seed
SIZES = {"ddp": {1: 40.0, 2: 23.0, 4: 15.0}, "horovod": {2: 31.0, 4: 19.0}}  # by nodes
DEVICES = 2  # a node
ROWS = [  # name, self device time in us with one device, how often
    ("aten::addmm", 41000.25, 300),
    ("aten::convolution", 0.0, 200),
    ("ampere_sgemm_128x64_tn", 36000.125, 250),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
     5000.125, 50),
    ("autograd::engine::evaluate_function: AddmmBackward0", 0.0, 100),
    ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(Params)", 9000.5, 100),
    ("aten::copy_", 2500.0, 80),
    ("Memcpy HtoD (Pageable -> Device)", 2500.0, 80),
    ("nccl:all_reduce", 8000.75, 60),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 8000.75, 60),
    ("cudaStreamSynchronize", 0.0, 40),
    ("ProfilerStep*", 64000.0, 5),
]  # fmt: skip


class Strategy:
    is_main_worker = True

    def __init__(self, name, nodes):
        self.name, self.nodes = name, nodes

    def local_rank(self):
        return 0

    def global_rank(self):
        return 0

    def global_world_size(self):
        return self.nodes * DEVICES

    def local_world_size(self):
        return DEVICES

    def gather_obj(self, log, dst_rank):
        return [dict(log, node_idx=[node] * len(log["node_idx"])) for node in range(self.nodes)]


def stand_in_for_nvml():
    NVML.nvmlInit = NVML.nvmlShutdown = lambda: None
    NVML.nvmlDeviceGetCount = lambda: DEVICES
    NVML.nvmlDeviceGetHandleByIndex = lambda index: index
    rates = types.SimpleNamespace
    NVML.nvmlDeviceGetUtilizationRates = lambda at: rates(gpu=60 + RANDOM.randrange(30))
    NVML.nvmlDeviceGetPowerUsage = lambda at: 180_000 + RANDOM.randrange(90_000)
    sys.modules["pynvml"] = NVML


def stand_in_for_profile(profiler, factor):
    class Profile:
        def __init__(self, **given):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *reason):
            return False

        def key_averages(self):
            for name, us, count in ROWS:
                yield types.SimpleNamespace(
                    key=name, node_id=-1, self_device_time_total=us * factor,
                    device_time_total=us * factor, device_time_total_str="",
                    count=count)  # fmt: skip

    profiler.profile = Profile


def write_run(run, slow):
    from itwinai.loggers import EpochTimeTracker
    from itwinai.torch.monitoring import monitoring
    from itwinai.torch.profiling import profiler

    monitoring.init_backend = lambda: ("nvidia", NVML)
    for name, sizes in SIZES.items():
        for nodes, seconds in sizes.items():
            where = f"scalability-metrics/{run}/epoch-time/epochtime_{name}_{nodes}N.csv"
            tracker = EpochTimeTracker(name, where, nodes)
            for epoch in range(4):
                first = 1.5 if epoch == 0 else 1
                tracker.add_epoch_time(epoch + 1, seconds * slow * first * RANDOM.uniform(0.99, 1))
            stand_in_for_profile(profiler, slow / nodes)
            trainer = types.SimpleNamespace(
                strategy=Strategy(name, nodes), run_id=run, epochs=5, measure_gpu_data=True,
                enable_torch_profiling=True, store_torch_profiling_traces=False,
                profiling_wait_epochs=1, profiling_warmup_epochs=1)  # fmt: skip
            profiler.profile_torch_trainer(lambda self: None)(trainer)
            data = monitoring.measure_gpu_utilization(lambda self: None)
            probe(monitoring, data, trainer)


def probe(monitoring, measured, trainer):
    """Runs the real loop in this process, for 20 rounds of its own sleep."""
    rounds = [0]

    class Process:
        def __init__(self, target, kwargs):
            self.target, self.kwargs = target, kwargs

        def start(self):
            def sleep(seconds):
                rounds[0] += 1
                self.kwargs["stop_flag"].value = rounds[0] > 20

            monitoring.time = types.SimpleNamespace(sleep=sleep)
            self.target(**self.kwargs)

        def join(self, timeout):
            pass

    class Manager:
        dict, list = staticmethod(dict), staticmethod(list)

        def Value(self, kind, value):  # noqa: N802 - the name of multiprocessing
            return types.SimpleNamespace(value=value)

        def shutdown(self):
            pass

    monitoring.Process, monitoring.Manager = Process, Manager
    measured(trainer)


def rows(frame):
    return json.loads(frame.to_json(orient="records", double_precision=15))


def said(root):
    import pandas
    from itwinai.scalability_report import data, utils

    def read(folder, columns):
        paths = [root / run / folder for run in RUNS]
        return pandas.concat([data.read_scalability_metrics_from_csv(p, columns) for p in paths])

    epochs = read("epoch-time", {"name", "nodes", "epoch_id", "time"})
    devices = read("gpu-energy-data", {"power"})
    averages = read("computation-data", {"name"})
    mean = epochs.groupby(["name", "nodes"]).agg(avg_epoch_time=("time", "mean")).reset_index()
    speedup = []
    for name in sorted(mean["name"].unique()):  # as relative_epoch_time_speedup_plot() has it
        own = mean[mean.name == name]
        base = own["avg_epoch_time"].iloc[0]
        for nodes, value in zip(own["nodes"], base / own["avg_epoch_time"], strict=True):
            speedup.append({"name": name, "nodes": int(nodes), "speedup": float(value)})
    needed = {"probing_interval", "power", "utilization", "strategy", "num_global_gpus"}
    return {
        "epochs": rows(mean), "speedup": speedup,
        "devices": rows(utils.calculate_gpu_statistics(devices, needed)),
        "computation": rows(utils.get_computation_vs_other_data(averages)),
        "communication": rows(utils.get_computation_fraction_data(averages)),
    }  # fmt: skip


def main():
    import os

    out = pathlib.Path(__file__).resolve().parents[1] / "golden" / "itwinai.tar.xz"
    stand_in_for_nvml()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for run, (slow, seed) in RUNS.items():
            RANDOM.seed(seed)
            write_run(run, slow)
        root = pathlib.Path("scalability-metrics")
        expected = json.dumps(said(root), indent=1).encode()
        with tarfile.open(out, "w:xz") as tar:
            for path in sorted(p for p in root.rglob("*") if p.is_file()):
                add(tar, str(path), path.read_bytes())
            add(tar, "expected.json", expected)
    print(out)


def add(tar, name, content):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


if __name__ == "__main__":
    main()
