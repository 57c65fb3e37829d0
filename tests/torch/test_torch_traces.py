# SPDX-License-Identifier: Apache-2.0
"""Exported traces beside torch.profiler's own of the same ops, and as HTA reads them."""

import collections
import importlib
import json
import logging
import os
import pathlib
import socket
import subprocess
import sys

import pytest
from torch_trainings import Job, full

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("traces")

PROGRAMS = pathlib.Path(__file__).parent / "programs"
KINDS = ["mlp", "cnn", "transformer"]


def why_no_hta():
    try:
        importlib.import_module("hta.trace_analysis")
    except ImportError as error:
        return f"no HTA (traceinsight) here, {error}; `make test` brings it"
    return ""


@pytest.fixture(scope="module")
def hta():
    """HTA's TraceAnalysis of a file or a folder, the last step included."""
    why = why_no_hta()
    if why:
        pytest.skip(why)
    return hta_of


def run_program(name, *args):
    values = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / name), *map(str, args)],
        capture_output=True,
        text=True,
        env=values,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    run_program("both_traces.py", folder)
    return folder


class Trace:
    """The parts of a trace that two writers of it agree on."""

    def __init__(self, path):
        self.document = json.loads(path.read_bytes())
        self.events = self.document["traceEvents"]
        ops = [e for e in self.events if e.get("cat") == "cpu_op"]
        self.ops = sorted(ops, key=lambda e: e["args"]["External id"])

    def args(self, *names):
        return [[op["name"], *(op["args"].get(name) for name in names)] for op in self.ops]

    def annotations(self):
        names = [e["name"] for e in self.events if e.get("cat") == "user_annotation"]
        return collections.Counter(names)

    def flows(self):
        """Which op each forward-backward arrow leads from, and to which."""
        at = {}
        for place, op in enumerate(self.ops):
            at.setdefault((op["tid"], op["ts"]), place)
        pairs = collections.defaultdict(dict)
        for event in self.events:
            if event["ph"] in "sf":
                assert (event["cat"], event["name"]) == ("fwdbwd", "fwdbwd")
                pairs[event["id"]][event["ph"]] = at[event["tid"], event["ts"]]
        assert all(len(pair) == 2 for pair in pairs.values())
        return sorted((pair["s"], pair["f"]) for pair in pairs.values())

    def memory(self):
        """The events about blocks that were made in the trace, and the total's way."""
        made, rows = set(), []
        for event in self.events:
            if event["name"] != "[memory]":
                continue
            args = event["args"]
            if args["Bytes"] > 0:
                made.add(args["Addr"])
            if args["Addr"] in made:
                keys = ("Addr", "Bytes", "Device Id", "Device Type", "Total Reserved")
                rows.append([event["ph"], event["s"], event["cat"], *(args[k] for k in keys)])
        return rows


@pytest.fixture(params=KINDS)
def pair(both, request):
    return Trace(both / f"{request.param}-torch.json"), Trace(both / f"{request.param}-gait.json")


def test_ops_are_torchs_with_all_that_is_said_of_them(pair):
    theirs, ours = pair
    for what in ("Sequence number", "Fwd thread id", "Input Dims", "Input type", "Input Strides"):
        assert ours.args(what) == theirs.args(what), what
    for one, other in zip(
        ours.args("Concrete Inputs"), theirs.args("Concrete Inputs"), strict=True
    ):
        assert one[1] in (None, other[1])
    assert ours.annotations() == theirs.annotations()
    assert len(ours.ops) > 1000


def test_times_are_torchs(pair):
    """Each op began within that of torch's record, give or take what the two cost."""
    theirs, ours = pair
    assert ours.document["baseTimeNanoseconds"] == theirs.document["baseTimeNanoseconds"]
    apart = sorted(abs(a["ts"] - b["ts"]) for a, b in zip(ours.ops, theirs.ops, strict=True))
    assert apart[len(apart) // 2] < 20  # us; the writers' clocks are not the same one
    longer = sorted(abs(a["dur"] - b["dur"]) for a, b in zip(ours.ops, theirs.ops, strict=True))
    assert longer[len(longer) // 2] < 20


def test_arrows_lead_from_forward_to_backward_as_torchs(pair):
    theirs, ours = pair
    assert ours.flows() == theirs.flows() != []


def test_memory_events_are_torchs(pair):
    theirs, ours = pair
    assert ours.memory() == theirs.memory() != []
    total = None
    for event in ours.events:
        if event["name"] == "[memory]":
            args = event["args"]
            assert total is None or args["Total Allocated"] == total + args["Bytes"]
            total = args["Total Allocated"]


def keys_of(events):
    """Which members events of a sort have: they are what readers look for."""
    found = {}
    for event in events:
        sort = event["ph"], event.get("cat"), event["name"] if event["ph"] == "M" else ""
        args = frozenset(event.get("args", ())) - {"Concrete Inputs", "finished"}
        found.setdefault(sort, set()).update(set(event) | {("arg", key) for key in args})
    return found


OLDER_BLOCKS = """
import json, torch, gait.torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters())

def step():
    optimizer.zero_grad()  # gives back what the step before has taken
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()

def memory(package):
    schedule = package.schedule(wait=1, warmup=1, active=2, repeat=1)
    kinds = {torch.profiler.ProfilerActivity.CPU}
    with package.profile(activities=kinds, schedule=schedule, profile_memory=True) as profiler:
        for _ in range(4):
            step()
            profiler.step()
    profiler.export_chrome_trace("trace.json")
    events = [e for e in json.load(open("trace.json"))["traceEvents"] if e["name"] == "[memory]"]
    events.sort(key=lambda event: event["ts"])
    return [(e["args"]["Bytes"], e["args"]["Total Allocated"]) for e in events]

step()
print("TOLD", json.dumps([memory(torch.profiler), memory(gait.torch)]))
"""


def test_blocks_from_before_the_first_step_on_record_are_nobodys(scripts):
    """The steps before it are watched too, but torch.profiler knows nothing of them."""
    theirs, ours = scripts(OLDER_BLOCKS).told[0]
    assert [size for size, _ in ours] == [size for size, _ in theirs] and len(ours) > 50
    total = 0
    for size, told in ours:
        total += size
        assert told == total
    assert total == sum(size for size, _ in theirs) > 0


def test_the_schema_is_kinetos(pair):
    theirs, ours = pair
    assert keys_of(ours.events) == keys_of(theirs.events)
    own = set(theirs.document) - set(ours.document)
    assert own == set(), f"not in the head: {own}"
    for key in ("schemaVersion", "deviceProperties", "displayTimeUnit", "host_name"):
        assert ours.document[key] == theirs.document[key]
    spans = [[e for e in t.events if e.get("cat") == "Trace"] for t in pair]
    assert [e["name"] for e in spans[1]] == [e["name"] for e in spans[0]]


def test_exports_of_one_capture_are_the_same_bytes(both):
    for kind in KINDS:
        first, *others = (
            (both / f"{kind}-{n}.json").read_bytes() for n in ("gait", "again", "third")
        )
        assert others == [first, first]


def test_a_schedules_trace_is_named_and_filled_as_torchs(both, hta):
    found = {}
    for who in ("torch", "gait"):
        (path,) = (both / f"scheduled-{who}").iterdir()
        worker, ns, *rest = path.name.split(".")
        assert worker.startswith(socket.gethostname() + "_")
        assert (len(ns), rest) == (19, ["pt", "trace", "json"])
        analysis = hta(path.parent)
        names = analysis.t.symbol_table.get_sym_table()
        frame = analysis.t.get_trace(0)
        ops = [
            names[n]
            for c, n in zip(frame["cat"], frame["name"], strict=True)
            if names[c] == "cpu_op"
        ]
        found[who] = analysis.get_profiler_steps(), collections.Counter(ops)
    assert found["gait"] == found["torch"]
    assert found["gait"][0] == [2, 3, 4]


def test_tensorboards_plugin_shows_the_same(both, tmp_path):
    data = pytest.importorskip(
        "torch_tb_profiler.profiler.data", reason="TensorBoard's plugin is not here"
    )
    generator = importlib.import_module("torch_tb_profiler.profiler.run_generator")
    found = {}
    for who in ("torch", "gait"):
        (path,) = (both / f"scheduled-{who}").iterdir()
        profile = data.RunProfileData.parse("w", "s", str(path), str(tmp_path))
        profile.process()
        shown = generator.RunGenerator("w", "s", profile).generate_run_profile()
        views = [view.name for view in shown.views]
        ops = {op.name: op.calls for op in profile.op_list_groupby_name}
        found[who] = views, ops, list(profile.steps_names), shown.overview["steps"]["columns"]
    assert found["gait"] == found["torch"]
    assert found["gait"][2] == ["2", "3", "4"]


@full
def test_a_group_of_processes_has_torchs_collectives(tmp_path):
    run_program("both_ddp.py", tmp_path)
    for rank in (0, 1):
        theirs, ours = (Trace(tmp_path / f"{who}{rank}.json") for who in ("torch", "gait"))
        assert ours.document["distributedInfo"] == theirs.document["distributedInfo"]
        for what in ("Sequence number", "Fwd thread id", "Input Dims", "Input type"):
            assert ours.args(what) == theirs.args(what), what
        assert ours.args("Input Strides") == theirs.args("Input Strides")
        assert ours.annotations() == theirs.annotations()
        assert {"gloo:all_reduce", "gloo:barrier"} <= set(ours.annotations())
        assert ours.flows() == theirs.flows() != []


# --- recordings of `gait run` -------------------------------------------------------------

RECORDED = Job("mnist", options=("--windows", "0/100/101"))


def hta_of(path, **options):
    logging.disable(logging.WARNING)
    try:
        from hta.trace_analysis import TraceAnalysis

        what = {"trace_dir": str(path)} if path.is_dir() else {"trace_files": {0: str(path)}}
        return TraceAnalysis(**what, include_last_profiler_step=True, **options)
    finally:
        logging.disable(logging.NOTSET)


def whole_microseconds(start_ns, duration_ns, base_ns):
    """As HTA rounds times: start up, end down."""
    first = -(-(start_ns - base_ns) // 1000)
    return (start_ns + duration_ns - base_ns) // 1000 - first


def test_hta_finds_what_is_on_record(run, gait, hta, tmp_path):
    training = run(RECORDED)
    path = tmp_path / "trace.json"
    ran = gait("export", training.directory, "--format", "pt-trace", "-o", path)
    assert (ran.returncode, ran.stderr) == (0, "")
    analysis = hta(path)
    report = training.report
    assert len(analysis.get_profiler_steps()) == report["steps"] > 10

    frame = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()
    base = json.loads(path.read_bytes())["baseTimeNanoseconds"]
    found = collections.defaultdict(list)
    for cat, name, dur in frame[["cat", "name", "dur"]].itertuples(index=False):
        if names[cat] == "cpu_op":
            found[names[name]].append(int(dur))
    wanted = collections.defaultdict(list)
    for row in training.rows:
        if row["kind"] == "span" and row["category"] == "cpu_op":
            times = int(row["start_ns"]), int(row["duration_ns"])
            wanted[row["name"]].append(whole_microseconds(*times, base))
    assert {n: len(d) for n, d in found.items()} == {n: len(d) for n, d in wanted.items()}
    for name, durations in wanted.items():
        # a double of a quarter's microseconds is good to half a nanosecond
        assert all(abs(a - b) <= 1 for a, b in zip(found[name], durations, strict=True)), name


def test_hta_finds_the_ranks_of_a_job(run, gait, hta, tmp_path):
    training = run(Job("ddp", options=("--windows", "0/100/101"), processes=2, warm=True))
    ran = gait("export", training.directory, "--format", "pt-trace", "-o", tmp_path / "traces")
    assert (ran.returncode, ran.stderr) == (0, "")
    files = sorted((tmp_path / "traces").iterdir())
    assert ran.stdout.splitlines() == [str(f) for f in files] or len(files) == 2
    for file in files:
        about = json.loads(file.read_bytes())["distributedInfo"]
        assert (about["backend"], about["world_size"], about["pg_count"]) == ("gloo", 2, 1)
        assert about["pg_config"][0]["ranks"] == [0, 1]
    analysis = hta(tmp_path / "traces")
    assert sorted(analysis.t.get_all_traces()) == [0, 1]
    assert len(analysis.get_profiler_steps()) > 1
