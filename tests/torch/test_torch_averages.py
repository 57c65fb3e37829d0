# SPDX-License-Identifier: Apache-2.0
"""events(), key_averages() and table() of what gait recorded: torch.profiler's,
but for times. Both profile the same steps of the same models, one after the other.
"""

import gzip
import json
import pathlib
import subprocess
import sys

import pytest

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("averages")

PROGRAM = pathlib.Path(__file__).parent / "programs" / "compare_averages.py"
TELL = "import json\ndef tell(*what): print('TOLD', json.dumps(what))\n"
KINDS = ["mlp", "cnn", "transformer", "odd"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("averages")
    command = [sys.executable, str(PROGRAM), str(found)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def said(folder):
    return {kind: json.loads((folder / f"{kind}.json").read_text("utf-8")) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_each_event_is_torchs(said, kind):
    ours, theirs = said[kind]["gait"]["events"], said[kind]["torch"]["events"]
    for event, wanted in zip(ours, theirs):
        assert event == wanted
    assert len(ours) == len(theirs) > 400


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grouping", range(3))
def test_each_row_of_averages_is_torchs(said, kind, grouping):
    ours = said[kind]["gait"]["averages"][grouping]
    assert ours == said[kind]["torch"]["averages"][grouping]
    assert len({row["key"] for row in ours}) > 50
    assert said[kind]["gait"]["whole"] == said[kind]["torch"]["whole"]
    assert said[kind]["gait"]["head"] == said[kind]["torch"]["head"]


def test_there_are_flops_and_bytes_and_steps_in_it(said, folder):
    rows = {row["key"]: row for row in said["cnn"]["gait"]["averages"][0]}
    assert rows["aten::conv2d"]["flops"] > 1e6
    assert rows["ProfilerStep*"]["count"] == 2
    assert rows["aten::empty"]["self_cpu_memory_usage"] > 1e5
    text = (folder / "cnn.txt").read_text("utf-8")
    assert "Self CPU time total: " in text.splitlines()[-1]
    assert " CPU Mem " in text and "FLOPs" in text.splitlines()[1]


SCRIPT = """
import threading, torch, gait.torch

def work():
    torch.mm(torch.ones(3, 3), torch.ones(3, 3))

with gait.torch.profile(record_shapes=True, acc_events=True, with_stack=False) as profiler:
    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
rows = {row.key: row for row in profiler.key_averages()}
print(rows["aten::mm"].count, rows["aten::mm"].flops)
events = profiler.events()
print(len({event.thread for event in events if event.name == "aten::mm"}))
ones = [event for event in events if event.name == "aten::ones"][0]
print([child.name for child in ones.cpu_children], ones.cpu_children[0].cpu_parent is ones)
print(events.total_average().count == len(events), rows["aten::ones"].cpu_children[0].name)
print(ones.time_range.elapsed_us() == ones.cpu_time_total >= ones.self_cpu_time_total > 0)
print(str(ones.device_type), ones.input_shapes, "aten::mm" in profiler.key_averages().table())
try:
    profiler.export_stacks("stacks.txt")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_objects_have_what_torchs_have(scripts):
    done = scripts(SCRIPT)
    assert done.stdout.splitlines() == [
        "2 0",  # torch counts no FLOPs unless asked
        "2",  # threads that torch.profiler does not look at are on record
        "['aten::empty', 'aten::fill_'] True",
        "True aten::empty",
        "True",
        "DeviceType.CPU [[], [], [], [], []] True",
        "CaptureError no stacks to export: profile() takes with_stack=True for that",
    ]


FUNCTORCH = """
import torch, gait.torch

def work():
    torch.func.vmap(torch.func.grad(lambda row: row.pow(2).sum()))(torch.ones(3, 2))
    torch.func.jvp(torch.sin, (torch.ones(4),), (torch.ones(4),))
    torch.func.jacrev(torch.cos)(torch.ones(5))

def ops(package):
    with package.profile(activities=[kinds.CPU], record_shapes=True) as profiler:
        work()
    return [(event.name, event.input_shapes) for event in profiler.events()]

kinds = torch.profiler.ProfilerActivity
work()
tell(ops(torch.profiler), ops(gait.torch))
"""


def test_tensors_of_torch_func_have_their_shapes(scripts):
    """They wrap others, but know their sizes themselves. (Their bytes are not compared:
    torch.profiler keeps what they wrap alive until it ends.)"""
    told = scripts(FUNCTORCH, head=TELL).told[0]
    theirs, ours = told
    assert ours == theirs
    assert ["aten::pow", [[2], []]] in ours and ["aten::sin", [[4]]] in ours


TIMELINE = """
import gzip, json, sys, torch, gait.torch

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters())
batch = torch.ones(32, 64)

def step():
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()

with gait.torch.profile(profile_memory=True) as profiler:
    for _ in range(2):
        step()
for name in "m.json", "m.json.gz", "m.raw.json.gz", "m.html":
    profiler.export_memory_timeline(name)
try:
    with gait.torch.profile() as profiler:
        step()
    profiler.export_memory_timeline("no.json")
except Exception as error:
    print(type(error).__name__, error)
print(sum(p.numel() for p in model.parameters()) * 4)
"""


def test_a_memory_timeline_is_in_torchs_formats(scripts, tmp_path):
    done = scripts(TIMELINE, head="import warnings\nwarnings.simplefilter('ignore')\n")
    refused, parameters = done.stdout.splitlines()
    assert refused == "CaptureError no memory was recorded: the timeline needs profile_memory=True"
    times, sizes = json.loads((tmp_path / "m.json").read_text("utf-8"))
    with gzip.open(tmp_path / "m.json.gz", "rt") as file:
        assert json.load(file) == [times, sizes]
    with gzip.open(tmp_path / "m.raw.json.gz", "rt") as file:
        changes = json.load(file)
    assert times == sorted(times) and len(times) == len(sizes)
    assert {len(row) for row in sizes} == {9} and min(min(row) for row in sizes) == 0
    assert {change[1] for change in changes} == {2, 4}  # created, destroyed
    live, ends = 0, []
    for change in changes:
        live += change[2]
        ends.append(live)
    assert sum(sizes[-1]) == ends[-1] and max(ends) >= max(sum(row) for row in sizes)
    gradients, states = sizes[-1][6], sizes[-1][2]
    assert gradients == int(parameters)
    assert states >= 2 * int(parameters)  # Adam has two of each
    page = (tmp_path / "m.html").read_text("utf-8")
    assert page.count("<polygon") == 8 and "http" not in page


CYCLES = """
import json, sys, torch, gait.torch

def say(package, **more):
    cpu = [torch.profiler.ProfilerActivity.CPU]
    schedule = package.schedule(wait=1, warmup=1, active=2, repeat=2)
    options = {"record_shapes": True, "profile_memory": True, **more}
    with package.profile(activities=cpu, schedule=schedule, **options) as profiler:
        for number in range(9):
            torch.mm(torch.ones(number + 1, 2), torch.ones(2, 3))
            profiler.step()
    rows = profiler.key_averages(group_by_input_shape=True)
    profiler.events().export_chrome_trace("events.json")
    names = [event["name"] for event in json.load(open("events.json"))]
    return [[r.key, r.count, r.input_shapes, r.cpu_memory_usage] for r in rows], names

for more in {"acc_events": True}, {}:
    print(json.dumps([say(torch.profiler, **more), say(gait.torch, **more)]))
"""


def test_several_cycles_are_told_together_or_the_last_one(scripts):
    done = scripts(CYCLES)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[[")]
    counts = []
    for line in lines:
        theirs, ours = json.loads(line)
        assert ours == theirs
        counts.append(sum(row[1] for row in ours[0] if row[0] == "ProfilerStep*"))
    assert counts == [4, 2]
