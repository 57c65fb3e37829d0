# SPDX-License-Identifier: Apache-2.0
"""`gait run --profile`: a script that nobody edited, recorded by a schedule of one's own."""

import json
import os
import subprocess
import sys

import fake_cuda
import pytest

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("run_profile")

full = os.environ.get("GAIT_TEST_FULL") == "1"
only_full = pytest.mark.skipif(not full, reason="GAIT_TEST_FULL=1 runs it")
SCRIPT = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
epochs = int(sys.argv[sys.argv.index("--epochs") + 1])
assert "--my-flag" in sys.argv and "--profiling.wait" not in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(3, (40,))), batch_size=8)
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
print(f"{loss.item():.17g}")
"""
NO_STEPS = """
import torch
a = torch.ones(16, 16)
for _ in range(20):
    a = torch.tanh(a @ a)
"""
NO_LOADER = """
import torch
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(7):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
SECTION = "training: {epochs: 9}\nprofiling: {wait: 1, warmup: 1, active: 2, repeat: 1}\n"
# name: options of gait run, epochs of five steps or a script, files beside, environment
RUNS = {
    "files": (
        ["--profiling.use_gzip", "--profiling.with_modules"],
        3,
        {
            "gait.yaml": "profiling: {wait: 2, warmup: 3, active: 4, nsight_enabled: true}\n"
            "recording: {ring: 64K}\n"
        },
        {"GAIT_PROFILING_WARMUP_STEPS": "1", "GAIT_PROFILING_FILENAME": "mine"},
    ),
    "epochs": (["--config", "theirs.yaml"], 6, {"theirs.yaml": SECTION}, {}),
    "every": (
        "profiling.schedule_every_n_steps=6 profiling.wait_steps=1 profiling.warmup_steps=1 "
        "profiling.active_steps=1 profiling.repeat_cycles=2 profiling.skip_first=0 "
        "profiling.output_dir=outputs/profiler_logs --profiling.record_shapes=False "
        "profiling.profile_memory=no".split(),
        3,
        {},
        {},
    ),
    "touching": (
        "--profile profiling.wait=0 profiling.warmup=0 profiling.active=2 profiling.repeat=2 "
        "profiling.export_to_flame_graph=yes".split(),
        NO_LOADER,
        {},
        {},
    ),
    "no steps": (
        ["--profile", "profiling.table=false", "profiling.with_stack=on"],
        NO_STEPS,
        {},
        {},
    ),
    "cut": (
        "--profiler pytorch profiling.unit=epoch profiling.wait=0 profiling.warmup=1 "
        "profiling.active=2 profiling.skip_first=0 profiling.repeat=2".split(),
        5,
        {},
        {},
    ),
    "small": (
        "--profile profiling.wait=0 profiling.warmup=0 profiling.active=5 "
        "profiling.max_trace_size=10K profiling.table=false".split(),
        NO_LOADER,
        {},
        {},
    ),
    "off": (["--profiling.enabled", "false"], 3, {"gait.yaml": "profiling: {wait: 1}\n"}, {}),
}
QUIET = ("off", "touching")
if full:  # half of its time is an import of torch
    RUNS["default"] = (["--profile"], 3, {}, {})
    RUNS["short"] = (["--profile", "--profiling.skip_first", "1000"], 1, {}, {})


class Finished:
    def __init__(self, folder, process):
        self.folder = folder
        self.out, self.err = process.communicate(timeout=200)
        self.code = process.returncode

    def traces(self, folder="profiler_traces"):
        return sorted((self.folder / "run" / folder).glob("*.pt.trace.json*"))


@pytest.fixture(scope="module")
def finished(build, trainings, tmp_path_factory):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GAIT_")}
    done, waiting = {}, []

    def end():
        name, folder, process = waiting.pop(0)
        done[name] = Finished(folder, process)

    for name, (options, epochs, files, variables) in RUNS.items():
        folder = tmp_path_factory.mktemp("profile")
        (folder / "train.py").write_text(epochs if isinstance(epochs, str) else SCRIPT)
        for file, text in files.items():
            (folder / file).write_text(text)
        line = [build / "gait", "run", "-o", "run", *["-q"] * (name in QUIET), *options]
        words = ["train.py", "--my-flag", "--epochs", epochs]
        # one of them begins as anybody's does
        is_anybody = name == "files"
        if is_anybody and not fake_cuda.is_needless():
            variables = {**variables, **fake_cuda.make(folder)}
        program = [sys.executable, *map(str, words)] if is_anybody else trainings.python(*words)
        line += ["--", *program]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        made = subprocess.Popen(line, cwd=folder, env={**environment, **variables}, **pipes)
        waiting.append((name, folder, made))
        if len(waiting) == 2:
            end()
    while waiting:
        end()
    return done


def one_line(run):
    return " ".join(run.err.split())


def events(path):
    text = subprocess.check_output(["gzip", "-dcf", str(path)])
    return json.loads(text)["traceEvents"]


def steps(path):
    found = {e["name"] for e in events(path) if str(e.get("name", "")).startswith("ProfilerStep#")}
    return sorted(int(name.split("#")[1]) for name in found)


def addmms(path):
    found = [e["name"] for e in events(path) if e.get("cat") == "cpu_op"]
    return found.count("aten::addmm")


def test_stacks_of_ops_are_folded_and_drawn(finished):
    """What an op took less what the ops in it took, of both windows, quiet or not."""
    folder = finished["touching"].folder / "run" / "profiler_traces"
    (stacks,) = folder.glob("*.stacks.txt")
    rows = dict(line.rsplit(" ", 1) for line in stacks.read_text("utf-8").splitlines())
    traces = finished["touching"].traces()
    whole_us = 0.0
    for trace in traces:
        linear = [e for e in events(trace) if e.get("name") == "aten::linear"]
        whole_us += sum(event["dur"] for event in linear)
    folded_us = [int(us) for stack, us in rows.items() if stack.split(";")[0] == "aten::linear"]
    assert len(traces) == 2 and "aten::linear;aten::addmm" in rows
    assert abs(sum(folded_us) - whole_us) <= len(folded_us) + 1
    (drawing,) = folder.glob("*.flame.svg")
    assert drawing.name.split(".")[:2] == stacks.name.split(".")[:2]
    assert "aten::addmm" in drawing.read_text("utf-8")


def test_nsight_follows_the_schedule(finished):
    """As the decorator has it: started with the window, a range for each step, stopped."""
    run = finished["files"]
    assert "nsys profile --capture-range=cudaProfilerApi --capture-range-end=stop" in one_line(run)
    if fake_cuda.is_needless():
        pytest.skip("this torch brings CUDA's library: it is asked, not the one made up here")
    told = [word for step in steps(run.traces()[0]) for word in (f"ProfilerStep#{step}", "pop")]
    assert len(told) == 8 and fake_cuda.calls(run.folder) == ["start", *told, "stop"]


@only_full
def test_by_default_steps_three_to_five_are_in_a_trace(finished):
    run = finished["default"]
    assert run.code == 0, run.err
    (trace,) = run.traces()
    assert steps(trace) == [3, 4, 5]
    ops = [e for e in events(trace) if e.get("cat") == "cpu_op"]
    assert [e["name"] for e in ops].count("aten::addmm") == 3


def test_the_plan_is_printed_before_the_program(finished):
    said = finished["files"].err
    assert "schedule in steps: skip first 1, wait 2, warmup 1, active 4, repeat 1" in said
    assert "needs 8 steps" in said


def test_a_file_a_variable_and_a_line_each_say_something(finished):
    run = finished["files"]
    assert run.code == 0, run.err
    (trace,) = run.traces()
    assert trace.name.startswith("mine.") and trace.name.endswith(".pt.trace.json.gz")
    assert steps(trace) == [4, 5, 6, 7]
    ops = [e for e in events(trace) if e.get("cat") == "cpu_op"]
    assert [e["name"] for e in ops].count("aten::addmm") == 4
    assert any(e["args"].get("Input Dims") for e in ops)
    assert any(e.get("name") == "[memory]" for e in events(trace))


def test_modules_are_named_forward_and_backward(finished, gait):
    run = finished["files"].folder / "run"
    rows = [row.split(",")[:3] for row in gait("export", run, "-f", "csv").stdout.splitlines()]
    assert ["span", "module", "Linear"] in rows
    assert ["async", "module", "Linear"] in rows


def test_a_section_of_their_own_file_counts_epochs(finished):
    run = finished["epochs"]
    assert "schedule in epochs: wait 1, warmup 1, active 2" in run.err
    (trace,) = run.traces()
    # opening the window may be most of a small first step, which is left out then
    assert steps(trace) in (list(range(10, 20)), list(range(11, 20)))
    names = [e["name"] for e in events(trace) if e.get("cat") == "cpu_op"]
    assert names.count("aten::addmm") == 10


def test_a_cycle_every_n_steps_under_the_names_of_the_hydra_guide(finished):
    run = finished["every"]
    found = [steps(trace) for trace in run.traces("outputs/profiler_logs")]
    assert found == [[2], [8]]


def test_what_was_switched_off_is_not_in_the_traces(finished):
    traces = finished["every"].traces("outputs/profiler_logs")
    found = [event for trace in traces for event in events(trace)]
    ops = [e for e in found if e.get("cat") == "cpu_op"]
    assert ops and not any("Input Dims" in e["args"] for e in ops)
    assert not any(e.get("name") == "[memory]" for e in found)


def test_the_table_of_ops_is_torchs(finished):
    """Of both windows, without the columns that were not asked for."""
    text = finished["every"].err
    head = "Ops of 2 windows, sorted by self_cpu_time_total"
    assert text.count(head) == 1
    table = text.split(head)[1]
    assert "CPU Mem" not in table and "FLOPs" not in table
    (row,) = [line.split() for line in table.splitlines() if line.split()[:1] == ["aten::addmm"]]
    assert row[-1] == "2"
    assert "Self CPU time total:" in table


def test_what_is_on_record_of_what_was_asked_for_is_told(finished):
    """Epochs 1 and 2, and of 4 and 5 the first: there were 0 to 4."""
    run = finished["cut"]
    assert "recorded 3 of 4 epochs asked for: the run ended after 5, and the schedule needs 6" in (
        one_line(run)
    )
    heads = [json.loads(trace.read_text()) for trace in run.traces()]
    assert [head.get("partial") for head in heads] == [None, True]
    assert "2 traces in run/profiler_traces: some are partial" in one_line(run)
    assert "asked for" not in finished["every"].err
    assert "partial" not in finished["every"].err
    for trace in finished["every"].traces("outputs/profiler_logs"):
        assert "partial" not in json.loads(trace.read_text())


def test_a_trace_ends_where_it_is_as_large_as_it_may_be(finished):
    (trace,) = finished["small"].traces()
    head = json.loads(trace.read_text())
    assert head["partial"] is True
    assert "1 trace in run/profiler_traces: partial" in one_line(finished["small"])
    assert 10 << 10 <= trace.stat().st_size < 20 << 10
    assert steps(trace)[0] == 1 and len(steps(trace)) < 5
    (end,) = [e["ts"] for e in head["traceEvents"] if e["name"] == "Record Window End"]
    assert all(float(e["ts"]) <= float(end) for e in head["traceEvents"] if "ts" in e)


def test_who_names_a_profiler_gets_its_table_first(finished):
    named, other = finished["cut"].err, finished["every"].err
    assert named.index("Ops of 2 windows") < named.index("Time per step")
    assert other.index("Time per step") < other.index("Ops of 2 windows")


@only_full
def test_a_run_too_short_says_so_and_ends_well(finished):
    run = finished["short"]
    assert run.code == 0
    assert "no traces: this run has no window with recorded ops" in run.err
    assert (
        "recorded 0 of 3 steps asked for: the run ended after 5, and the schedule needs 1005"
        in run.err
    )


def test_cycles_that_touch_have_a_trace_each(finished):
    run = finished["touching"]
    assert run.code == 0, run.err
    assert [steps(trace) for trace in run.traces()] == [[1, 2], [3, 4]]
    assert [addmms(trace) for trace in run.traces()] == [2, 2]


def test_a_quiet_run_prints_no_plan(finished):
    said = finished["touching"].err
    assert "schedule in" not in said and "traces in" not in said
    assert said.count("gait: ") == 1 and "gait: warmup is 0" in said


def test_a_script_without_steps_is_captured_whole_and_that_is_said(finished):
    run = finished["no steps"]
    assert run.code == 0, run.err
    (trace,) = run.traces()
    names = [e["name"] for e in events(trace) if e.get("cat") == "cpu_op"]
    assert names.count("aten::tanh") == names.count("aten::mm") == 20
    said = " ".join(run.err.split())
    sentence = "the run made no step, so the schedule recorded none: gait captured the whole run "
    assert f"gait: {sentence}instead" in said
    assert "shorter" not in said and "no traces" not in said
    assert (
        "gait: with_stack: the capture has no Python functions, because gait records those" in said
    )


def test_where_steps_are_made_the_capture_for_runs_without_is_gone(finished, gait):
    """Ops of the steps that were asked for, and of no others."""
    (trace,) = finished["files"].traces()
    report = json.loads(gait("report", "--json", finished["files"].folder / "run").stdout)
    calls = {row["name"]: row["calls"] for row in report["ops"]["top"]}
    assert calls["aten::addmm"] == addmms(trace) == 4


def test_switched_off_there_are_no_traces_and_no_words(finished):
    run = finished["off"]
    assert (run.code, run.err, run.traces()) == (0, "", [])


def test_the_training_computes_the_same_bits(finished):
    assert finished["files"].out == finished["off"].out == finished["every"].out


@pytest.mark.needs_no_torch
@pytest.mark.parametrize(
    "line, sentence",
    [
        (
            ["--profiling.wiat", "1"],
            "unknown setting 'profiling.wiat'; did you mean 'profiling.wait'?",
        ),
        (["profiling.active=0"], "command line: 'profiling.active' takes a number of units, 1 or"),
        (["--profile", "profiling.output_dir=/etc/passwd"], "which is a file; name a folder"),
        (["--config", "missing.yaml"], "cannot read 'missing.yaml': No such file"),
        (["store_torch_traces=1"], "stores nothing while profiling is off: add"),
    ],
)
def test_what_is_wrong_is_refused_before_the_program_starts(gait, tmp_path, line, sentence):
    done = gait("run", *line, "--", "touch", tmp_path / "started")
    assert (done.returncode, done.stdout) == (125, "")
    assert sentence in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "started").exists()


@pytest.mark.needs_no_torch
def test_a_setting_may_stand_beside_a_program_that_has_the_same(gait, tmp_path):
    """What is behind the program's name is the program's, whatever it looks like."""
    done = gait("run", "-q", "--", "echo", "--profiling.wait", "x", "profiling.active=y")
    assert (done.returncode, done.stdout) == (0, "--profiling.wait x profiling.active=y\n")
    done = gait("run", "-q", "echo", "--profiling.wiat", "x")
    assert (done.returncode, done.stdout) == (0, "--profiling.wiat x\n")


@only_full
def test_each_rank_of_a_job_writes_its_own_traces(build, tmp_path):
    """As under srun: a `gait run` of each rank, and one run directory for all."""
    (tmp_path / "train.py").write_text(SCRIPT)
    job = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    line = [build / "gait", "run", "-q", "-o", "run", "--profile", "--profiling.repeat", "2"]
    line += ["profiling.active=1", "--", sys.executable, "train.py", "--my-flag", "--epochs", "3"]
    ranks = [
        subprocess.Popen(line, cwd=tmp_path, env={**os.environ, **job, "SLURM_PROCID": str(rank)})
        for rank in range(2)
    ]
    assert [rank.wait(200) for rank in ranks] == [0, 0]
    names = [path.name.split(".")[0] for path in (tmp_path / "run/profiler_traces").iterdir()]
    assert len(names) == 4 and sorted(map(names.count, set(names))) == [2, 2]
