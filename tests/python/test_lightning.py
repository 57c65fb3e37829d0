# SPDX-License-Identifier: Apache-2.0
"""gait.lightning and `gait run` in real Lightning trainings, where Lightning is."""

import glob
import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("lightning")

TRAINING = """
import logging, os, sys, warnings
warnings.filterwarnings("ignore")
import lightning as L, torch
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)

class Net(L.LightningModule):
    fail_at = None
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 4)
    def loss(self, batch):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
    def training_step(self, batch, number):
        if number == self.fail_at:
            raise RuntimeError("on purpose")
        return self.loss(batch)
    def validation_step(self, batch, number):
        self.loss(batch)
    test_step = validation_step
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

def loader(batches):
    data = TensorDataset(torch.randn(batches * 4, 8), torch.randint(0, 4, (batches * 4,)))
    return DataLoader(data, batch_size=4)

def train(profiler=None, callbacks=(), epochs=2, test=True):
    torch.manual_seed(0)
    trainer = L.Trainer(max_epochs=epochs, profiler=profiler, logger=False, accelerator="cpu",
                        callbacks=list(callbacks), enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Net(), loader(12), loader(3))
    if test:
        trainer.test(Net(), loader(3), verbose=False)
"""
RANDOM_TABLES = """
import random, time
from gait.profilers import Simple
chance = random.Random(7)
for case in range(400):
    extended = chance.random() < .7
    theirs, ours = SimpleProfiler(extended=extended), Simple(extended=extended)
    wall = chance.choice([1.0, 1e-9, 3.7, 12345.678, chance.expovariate(1)])
    for i in range(chance.randint(1, 12)):
        letters = "ab\\u00e9\\u8a13 \\t[]"
        name = "".join(chance.choice(letters) for _ in range(chance.randint(1, 40)))
        scale = 10 ** chance.uniform(-9, 6)
        for _ in range(chance.randint(1, 30)):
            seconds = chance.choice([chance.random() * scale, round(chance.random(), 5), 0.5])
            theirs.recorded_durations[name].append(seconds)
            ours.record(name, seconds)
    stage = chance.choice([None, "fit", "test"])
    theirs._stage, theirs.start_time = stage, 0.0
    real, time.perf_counter = time.perf_counter, lambda: wall
    wanted = theirs.summary()
    time.perf_counter = real
    assert ours.summary(wall_seconds=wall, stage=stage) == wanted, (case, wanted)
print(case + 1, "tables are equal")
"""
BEHIND_WINDOWS = """
from gait.profilers import PyTorch

def steps(profiler, action, count, work):
    for _ in range(count):
        with profiler.profile(action):
            work()

one = gait.torch.schedule(wait=0, warmup=1, active=2, repeat=1)
driven = PyTorch(dirpath="driven", filename="d", schedule=one)
driven.setup("fit")
steps(driven, "run_training_batch", 2, lambda: torch.ones(2).exp())
assert gait.recording()
steps(driven, "run_training_batch", 1, lambda: torch.ones(2).exp())
assert not gait.recording()  # nor is anything else left of it behind the last window
steps(driven, "run_training_batch", 1, lambda: torch.ones(2).exp())
idle = driven.profile("run_training_batch")
assert not gait.recording() and idle is driven.profile("run_training_batch")
steps(driven, "x.validation_step", 2, lambda: torch.ones(2).sin())
assert gait.recording() and driven.profile("run_training_batch") is not idle
steps(driven, "run_training_batch", 1, lambda: torch.ones(2).cos())
assert not gait.recording()  # two steps of validation were one cycle, a short one
driven.describe()
steps(driven, "run_training_batch", 1, lambda: torch.ones(2).exp())
assert gait.recording()  # the next stage begins anew
driven.teardown()
assert not gait.recording()
"""
# what begins and ends under emit_nvtx, with stand-ins for what only a GPU has
NVTX_RANGES = """
import lightning.pytorch.profilers.pytorch as lightnings
import torch.autograd.profiler as torchs, torch.cuda.profiler

class Said:
    texts = []
    def __init__(self, name):
        self.name = name
    def __enter__(self):
        Said.texts.append("begin " + self.name)
    def __exit__(self, *_):
        Said.texts.append("end " + self.name)

class Emit(Said):
    def __init__(self, enabled=True, record_shapes=False):
        super().__init__("emit_nvtx")

def ranges_of(profiler):
    Said.texts = []
    train(profiler, epochs=1, test=False)
    return Said.texts

kept = torchs.emit_nvtx, torchs.record_function
no_cuda = ranges_of(GaitProfiler("pytorch", emit_nvtx=True, dirpath="nvtx", filename="p"))
assert torch.cuda.is_available() or not no_cuda  # one sentence
torchs.emit_nvtx, torch.cuda.profiler.profile = Emit, lambda: Said("cudaProfiler")
torchs.record_function = lightnings.record_function = Said
wanted = ranges_of(lightnings.PyTorchProfiler(emit_nvtx=True))
found = ranges_of(GaitProfiler("pytorch", emit_nvtx=True, dirpath="nvtx", filename="p"))
assert found[:2] == wanted[:2] == ["begin emit_nvtx", "begin cudaProfiler"]
assert sorted(found) == sorted(wanted), (set(found) ^ set(wanted), len(found), len(wanted))
assert sum("[pl][module]" in text for text in found) > 20
assert not os.path.exists("nvtx") or not os.listdir("nvtx")
torchs.emit_nvtx, torchs.record_function = kept
"""
EVERYTHING = (
    TRAINING
    + """
from lightning.pytorch.profilers import Profiler, SimpleProfiler
from gait.lightning import GaitProfiler, ProfilerCallback

theirs, ours = SimpleProfiler(), GaitProfiler("simple", dirpath="out", filename="simple")
assert isinstance(ours, Profiler)
train(theirs)
train(ours)
wanted = {name: len(durations) for name, durations in theirs.recorded_durations.items()}
assert {row["name"]: row["calls"] for row in ours.gait.rows()} == wanted, wanted
train(GaitProfiler("advanced", dirpath="out", filename="advanced", line_count_restriction=20))
numbers = dict(schedule_every_n_steps=25, active_steps=5, repeat_cycles=3)
train(callbacks=[ProfilerCallback(True, "logs", **numbers)], epochs=5, test=False)
import gait.torch
train(GaitProfiler("pytorch", dirpath="ops", filename="p"))
three = gait.torch.schedule(wait=1, warmup=1, active=2, repeat=3)
train(GaitProfiler("pytorch", dirpath="cycles", filename="p", schedule=three, row_limit=5,
                   sort_by_key="count", group_by_input_shapes=True,
                   export_to_flame_graph=True), test=False)
"""
    + BEHIND_WINDOWS
    + """
class Second:  # what the callback asks a trainer of a job of two
    world_size, global_rank = 2, 1

callback = ProfilerCallback(True, "logs", wait_steps=0, warmup_steps=0, active_steps=1,
                            repeat_cycles=1, model_name="job")
callback.on_train_start(Second, Net())
callback.on_train_batch_end()
assert callback.profile is None and not gait.recording()  # behind the last cycle
"""
    + NVTX_RANGES
    + """
open("file", "w").close()
train(GaitProfiler("pytorch", dirpath="file/ops", filename="p"), test=False,
      callbacks=[ProfilerCallback(True, "file/logs", schedule_every_n_steps=8)])
train(GaitProfiler("advanced", dirpath="file/out", filename="p", dump_stats=True), test=False)
Net.fail_at = 7
try:
    train(GaitProfiler("simple", dirpath="out", filename="failed"), test=False,
          callbacks=[ProfilerCallback(True, "failed", **numbers)])
except RuntimeError as error:
    print(error)
"""
    + RANDOM_TABLES
)


def run(folder, source, *before, **environment):
    (folder / "train.py").write_text(source)
    return subprocess.run(
        [*before, sys.executable, "train.py"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.fixture(scope="module")
def lightning():
    if importlib.util.find_spec("lightning") is None:
        pytest.skip("no Lightning here")


@pytest.fixture(scope="module")
def everything(lightning, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lightning")
    done = run(folder, EVERYTHING, PYTHONPATH=str(build / "python"))
    assert done.returncode == 0 and "\non purpose\n" in done.stdout, done.stderr[-3000:]
    return folder, done


def test_simple_counts_what_lightnings_counts(everything):
    folder, _ = everything  # compared in the training itself
    assert (folder / "out/fit-simple.txt").read_text().startswith("FIT Profiler Report\n")
    assert "[LightningModule]Net.on_test_batch_end" in (folder / "out/test-simple.txt").read_text()


def test_tables_of_random_durations_are_lightnings(everything):
    _, done = everything
    assert done.stdout.endswith("\non purpose\n400 tables are equal\n")


def test_advanced_has_the_users_functions_in_outer_actions(everything):
    folder, _ = everything
    text = (folder / "out/fit-advanced.txt").read_text()
    epoch = text.split("Profile stats for: run_training_epoch\n")[1].split("Profile stats")[0]
    assert "(advance)" in epoch and "restriction <20>" in epoch
    assert not re.search(r"\benable\b", epoch)  # torch has an enable_grad
    step = text.split("SingleDeviceStrategy.training_step\n")[1].split("Profile stats")[0]
    assert "train.py" in step and "(training_step)" in step


def test_the_callback_writes_the_traces_of_its_plan_and_all_outputs(everything):
    folder, done = everything
    names = sorted(path.name for path in (folder / "logs/Net").iterdir())
    assert len([name for name in names if name.endswith(".pt.trace.json")]) == 3
    assert {"chrome_trace.json", "profiler_summary.txt"} < set(names)
    assert "every 25, repeat 3" in done.stderr and "52 to 56" in done.stderr
    steps = step_names(folder / "logs/Net/chrome_trace.json")
    assert steps == {f"ProfilerStep#{number}" for number in range(52, 57)}
    summary = (folder / "logs/Net/profiler_summary.txt").read_text()
    assert summary.startswith("Top 10 by CPU time\n") and "ProfilerStep*" in summary
    assert "by CUDA time" not in summary  # without a GPU all would be 0
    report = done.stdout[done.stdout.index("FIT Profiler Report") :]
    for action in ("run_training_epoch", "optimizer_step", "train_dataloader_next"):
        assert action in report


def test_each_rank_of_a_job_has_files_of_its_own(everything):
    folder, _ = everything
    names = sorted(path.name for path in (folder / "logs/job").iterdir())
    assert names[:2] == ["chrome_trace_rank1.json", "profiler_summary_rank1.txt"]
    assert len(names) == 3 and names[2].startswith("rank1.")


def names_of(path):
    return [event.get("name", "") for event in json.loads(path.read_text())["traceEvents"]]


def step_names(path):
    return {name for name in names_of(path) if name.startswith("ProfilerStep#")}


def traces_of(folder, beginning):
    return len([p for p in folder.glob("*.pt.trace.json") if p.name.startswith(beginning)])


def test_pytorch_records_each_stage_as_often_as_its_schedule_says(everything):
    folder, _ = everything
    strategy = "[Strategy]SingleDeviceStrategy."
    beginnings = {
        "fit-p-run_training_batch": 1,
        f"fit-p-{strategy}validation_step": 1,
        f"test-p-{strategy}test_step": 1,
    }
    assert {name: traces_of(folder / "ops", name) for name in beginnings} == beginnings
    assert traces_of(folder / "ops", "") == 3
    (path,) = (folder / "ops").glob(f"fit-p-{glob.escape(strategy)}validation_step*")
    # the check before the training is none of its steps; 3 are a cycle that ends early,
    # and what comes behind the last step() has a number too, as torch's traces have it
    assert step_names(path) == {"ProfilerStep#2", "ProfilerStep#3"}
    text = (folder / "ops/fit-p.txt").read_text()
    assert "Profile stats for: training steps\n" in text and "aten::addmm" in text
    assert "Profile stats for: validation steps\n" in text
    assert traces_of(folder / "cycles", "fit-p-run_training_batch") == 3
    text = (folder / "cycles/fit-p.txt").read_text()
    assert "training steps, cycle 3\n" in text and "Input Shapes" in text


def test_behind_its_last_window_pytorch_leaves_nothing_running(everything):
    folder, _ = everything  # what runs when is asked in the process itself
    text = (folder / "driven/fit-d.txt").read_text()
    training, validation = text.split("Profile stats for: ")[1:]
    assert "aten::exp" in training and "aten::sin" not in training
    assert "aten::sin" in validation and "aten::cos" not in validation


def test_pytorch_labels_modules_and_actions_as_lightnings_does(everything):
    folder, _ = everything
    (path,) = (folder / "ops").glob("fit-p-run_training_batch*.json")
    module = "[pl][module]torch.nn.modules.linear.Linear: net"
    names = names_of(path)
    assert names.count(module) == 3  # and a backward, which crosses other ranges
    assert names.count(module + " (backward)") == 2 * 3
    assert names.count("[pl][profile][LightningModule]Net.optimizer_step") == 3
    assert names.count("[pl][profile]run_training_batch") == 3
    table = (folder / "ops/fit-p.txt").read_text().split("Profile stats for: training")[1]
    assert f"{module}  " in table and "Linear: net (bac..." in table


def test_emit_nvtx_makes_the_ranges_that_lightnings_makes(everything):
    _, done = everything  # compared in the training itself
    assert done.stderr.count("emit_nvtx: no NVTX ranges: ") <= 1


def test_flame_graphs_are_folded_stacks_of_ops(everything):
    folder, _ = everything
    paths = sorted((folder / "cycles").glob("fit-p-run_training_batch*.stack"))
    of_cycles = [f"fit-p-run_training_batch{cycle}.stack" for cycle in (".cycle-2", ".cycle-3", "")]
    assert [path.name for path in paths] == of_cycles
    lines = [line.rsplit(" ", 1) for line in paths[0].read_text().splitlines()]
    assert all(number.isdigit() for _, number in lines)
    assert any(stack.endswith("aten::linear;aten::addmm") for stack, _ in lines)


def test_a_folder_that_cannot_be_written_is_said_and_the_training_goes_on(everything):
    _, done = everything
    said = done.stderr.splitlines()
    assert sum(line.startswith("gait: cannot write a trace: ") for line in said) == 2 + 2
    assert sum("no trace could be written" in line for line in said) == 1
    assert sum(".prof', nor " in line for line in said) == 1


def test_a_training_that_fails_is_reported(everything):
    folder, _ = everything  # the process went on, and the trainer was collected
    assert "run_training_batch" in (folder / "out/fit-failed.txt").read_text()
    assert any((folder / "failed/Net").glob("*.pt.trace.json"))
    assert (folder / "failed/Net/chrome_trace.json").exists()


def test_an_unedited_script_has_lightnings_actions(lightning, build, gait, tmp_path):
    source = TRAINING + "train()\n"
    command = [build / "gait", "run", "-o", "run", "--profiler", "simple", "--"]
    done = run(tmp_path, source, *map(str, command))
    assert done.returncode == 0, done.stderr
    table = done.stderr.split("Actions of")[0]
    assert "|  run_training_batch" in table and "|  backward" in table
    gait("export", "run", "--format", "csv", "-o", "run.csv")
    rows = (tmp_path / "run.csv").read_text().splitlines()
    assert sum(row.startswith("span,lightning,run_training_batch,") for row in rows) == 24


def test_the_guides_switch_gives_a_folder_for_the_model_and_lightnings_report(
    lightning, build, tmp_path
):
    command = [build / "gait", "run", "-o", "run", "profiling.enabled=true", "--"]
    done = run(tmp_path, TRAINING + "train()\n", *map(str, command))
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "run/profiler_traces/Net").glob("*.pt.trace.json"))) == 1
    report = done.stderr[done.stderr.index("Profiler Report") :]
    for action in ("run_training_epoch", "optimizer_step", "train_dataloader_next"):
        assert action in report


ONLY_PYTORCH_LIGHTNING = """
import sys

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "lightning":
            raise ModuleNotFoundError("No module named 'lightning'", name="lightning")

sys.meta_path.insert(0, Hidden())
from gait.lightning import GaitProfiler, ProfilerCallback
import pytorch_lightning.profilers
assert issubclass(GaitProfiler, pytorch_lightning.profilers.Profiler)
assert issubclass(ProfilerCallback, pytorch_lightning.Callback)
"""


def test_pytorch_lightning_alone_will_do(build, gait, tmp_path):
    if importlib.util.find_spec("pytorch_lightning") is None:
        pytest.skip("no pytorch_lightning here")
    training = TRAINING.replace("lightning as L", "pytorch_lightning as L")
    source = ONLY_PYTORCH_LIGHTNING + training
    source += "simple = GaitProfiler('simple', dirpath='out', filename='s')\n"
    source += "train(simple, [ProfilerCallback(True, 'logs')])\n"
    done = run(tmp_path, source, str(build / "gait"), "run", "-q", "-o", "run", "--")
    assert done.returncode == 0, done.stderr
    assert "run_training_batch" in next((tmp_path / "out").iterdir()).read_text()
    assert (tmp_path / "logs/Net/profiler_summary.txt").exists()
    report = json.loads(gait("report", "run", "--json").stdout)
    assert [epoch["steps"] for epoch in report["epochs"]] == [12, 12]


def test_without_lightning_one_sentence_says_so(record):
    run = record(
        """
        import sys
        sys.modules["lightning"] = sys.modules["pytorch_lightning"] = None
        from gait.lightning import GaitProfiler, ProfilerCallback
        for make in (GaitProfiler, ProfilerCallback):
            try:
                make()
            except ImportError as error:
                print(error)
        """,
        recording=False,
    )
    assert run.stdout.count("pip install lightning") == 2


def test_wrong_options_of_pytorch_are_refused_with_the_legal_ones(read):
    from gait.profilers import PyTorch

    with pytest.raises(ValueError, match="cpu_time, .* count$"):
        PyTorch(sort_by_key="time")
    with pytest.raises(KeyError, match="row_limit"):
        PyTorch(table_kwargs={"row_limit": 3})
    with pytest.raises(TypeError, match="schedule"):
        PyTorch(schedule=3)
    assert "Profiler Report" in PyTorch().summary()
