# SPDX-License-Identifier: Apache-2.0
"""Devices in a recorded run: tests/torch/scripts/accelerator.py, whose accelerator is a
stand-in that tells what it was given, when, and who called torch's profiler."""

import collections
import json
import pathlib
import subprocess

import pytest
from torch_trainings import Job

pytestmark = [pytest.mark.xdist_group("devices"), pytest.mark.usefixtures("ahead")]

WINDOWS = (("GAIT_TORCH_WINDOWS", "5/3/20"),)  # steps 5 to 7, 25 to 27, 45 to 47 of 60
RECORDED = Job("accelerator", ("two",), WINDOWS)
OWN = Job("accelerator", ("own-profiler",), WINDOWS, warm=True)
MANUAL = Job("accelerator", ("manual",), WINDOWS, warm=True)
BARE = Job("accelerator", ("manual", "bare"), WINDOWS, warm=True)
FAILS = Job("accelerator", ("fails",), WINDOWS, warm=True)
LOSES = Job("accelerator", ("loses",), WINDOWS, warm=True)
THREAD = Job("accelerator", ("thread",), (("GAIT_TORCH_WINDOWS", "5/100/1000"),), warm=True)
AHEAD = Job("accelerator", ("ahead",), WINDOWS, warm=True)
OFF = Job("accelerator", (), (("GAIT_TORCH_WINDOWS", "off"),), warm=True)
ALONE = Job("accelerator", ("two",), gait=False, warm=True)
STORED = pathlib.Path(__file__).parents[3] / "shared/traces/dataloader-resnet50"
STORED /= "workers0.pt.trace.json.gz"
LANES = {"kernel": "compute", "gpu_memcpy": "mem"}


def of(job):
    return pytest.mark.parametrize("training", [job], ids=str, indirect=True)


def asked(training, *words):
    done = training.ask(*words, training.directory, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lane(event):
    return "comm" if "nccl" in event["name"] else LANES[event["cat"]]


def device_events(training):
    for recording in training.truth["recordings"]:
        yield [event for event in recording["events"] if event["cat"] in LANES]


def states(events, since, until):
    """Time by which lanes were busy: edge by edge."""
    edges = sorted(
        edge
        for event in events
        for at, change in ((event["start"], 1), (event["start"] + event["length"], -1))
        for edge in [(min(max(at, since), until), change, lane(event))]
    )
    busy, sums, at = collections.Counter(), collections.Counter(), since
    for moment, change, name in [*edges, (until, 0, "")]:
        names = [one for one in ("compute", "comm", "mem") if busy[one]]
        sums["+".join(names) or "idle"] += moment - at
        at = moment
        busy[name] += change
    return {key: ns for key, ns in sums.items() if ns}


def found(breakdown):
    keys = "idle compute comm mem compute+comm compute+mem comm+mem compute+comm+mem".split()
    assert sum(breakdown[key] for key in keys) == breakdown["span"]
    assert sum(breakdown["idle_causes"].values()) == breakdown["idle"]
    return {key: breakdown[key] for key in keys if breakdown[key]}


@of(RECORDED)
def test_the_ledger_of_devices_is_what_the_devices_did(training):
    (rank,) = asked(training, "breakdown", "--steps")["ranks"]
    windows = list(device_events(training))
    whole = collections.Counter()
    for events in windows:
        since = min(event["start"] for event in events)
        until = max(event["start"] + event["length"] for event in events)
        whole.update(states(events, since, until))
    assert found(rank["whole"]) == whole
    assert [step["name"] for step in rank["steps"]] == [
        f"step {first + i}" for first in (5, 25, 45) for i in range(3)
    ]
    everything = [event for events in windows for event in events]
    for step in rank["steps"]:
        end = step["start_ns"] + step["span"]
        assert found(step) == states(everything, step["start_ns"], end)


@of(AHEAD)
def test_a_window_opens_when_the_devices_have_done_what_is_on_no_record(training):
    """On an H200 they looked idle for 27 ms of a window of 60, busy with the steps before it."""
    assert [recording["ahead"] for recording in training.truth["recordings"]] == [0, 0, 0]
    (lead, *_) = asked(training, "report")["verdict_parts"]
    assert lead["id"] == "compute"
    assert lead["share"] > 0.8  # the queue fills in the first step


@of(RECORDED)
def test_each_device_of_a_rank_has_a_row(training):
    (rank,) = asked(training, "breakdown")["ranks"]
    assert [device["device"] for device in rank["devices"]] == [0, 1]
    for device in rank["devices"]:
        whole = collections.Counter()
        for events in device_events(training):
            since = min(event["start"] for event in events)
            until = max(event["start"] + event["length"] for event in events)
            own = [event for event in events if event["pid"] == device["device"]]
            whole.update(states(own, since, until))
        assert found(device) == whole
        assert device["span"] == rank["whole"]["span"]


@of(RECORDED)
def test_kernels_stand_under_the_ops_that_launched_them(training):
    rows = {row["name"]: row for row in asked(training, "kernels")["kernels"]}
    assert {name: row["op"] for name, row in rows.items()} == {
        "gemm_kernel": "standin::gemm",
        "gemm_backward_kernel": "standin::gemm_backward",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL": "standin::gemm_backward",
    }
    assert rows["gemm_kernel"]["calls"] == 2 * 9
    assert rows["gemm_kernel"]["total_ns"] == 9 * (40_000 + 25_000)


@of(RECORDED)
def test_the_other_answers_are_about_the_steps_of_gait(training):
    steps = asked(training, "steps")
    assert [row["name"] for row in steps["steps"]] == [f"step {i}" for i in range(60)]
    told = [row for row in steps["steps"] if row["computing_ns"] is not None]
    assert [row["name"] for row in told] == [
        f"step {first + i}" for first in (5, 25, 45) for i in range(3)
    ]
    for row in told:
        parts = ("computing_ns", "communication_ns", "copies_ns", "idle_ns")
        assert sum(row[part] for part in parts) == row["turn_ns"]
    of_devices, of_all = steps["ledgers"]
    assert of_devices["steps"] == 9 and of_devices["host"] is None
    assert of_devices["total_ns"] == sum(row["turn_ns"] for row in told)
    assert of_all["steps"] == 60 and of_all["device"] is None
    for ledger, parts in ((of_devices, "device"), (of_all, "host")):
        assert sum(part["ns"] for part in ledger[parts]) == ledger["total_ns"]
    assert sum(row["calls"] for row in asked(training, "comms")["collectives"]) == 9
    (row,) = training.report["devices"]
    (rank,) = asked(training, "breakdown")["ranks"]
    assert row["span_ns"] == rank["whole"]["span"] and row["idle_ns"] == rank["whole"]["idle"]
    assert "Devices, rank" in training.screen


@of(RECORDED)
def test_torch_is_called_at_the_edges_of_windows_only_between_steps(training):
    calls = training.truth["calls"]
    assert [name for name, _ in calls] == ["prepare", "enable", "disable"] * 3
    pauses = [
        (int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"]))
        for row in training.rows
        if (row["category"], row["name"]) == ("torch", "devices")
    ]
    assert len(pauses) == 6
    for _, at in calls:
        assert any(start <= at <= end for start, end in pauses)
    steps = [
        (int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"]))
        for row in training.rows_with_steps
        if row["category"] == "derived" and row["kind"] == "step"
    ]
    assert len(steps) == 60
    assert not [1 for a, b in pauses for start, end in steps if a < end and start < b]
    run = {part["name"]: part["total_ns"] for part in training.report["run"]}
    lengths = sum(end - start for start, end in pauses)
    assert lengths <= run["between"]
    cost = training.report["overhead"]
    assert cost["device_windows"] == 3 and lengths <= cost["devices_ns"] <= lengths * 2
    assert "between steps" in training.screen
    assert all(one["activities"] == ["CUDA"] for one in training.truth["recordings"])


@of(RECORDED)
def test_the_training_is_what_it_is_without(training, run):
    assert training.truth["losses"] == run(ALONE).truth["losses"]
    assert training.code == 0 and run(ALONE).truth["calls"] == []


@pytest.mark.parametrize("training", [MANUAL, BARE], ids=str, indirect=True)
def test_a_training_without_a_loader_has_its_pauses_between_steps_too(training):
    (rank,) = asked(training, "breakdown", "--steps")["ranks"]
    assert len(rank["steps"]) == 9
    longest = max(int(row["duration_ns"]) for row in training.rows if row["name"] == "devices")
    assert all(step["span"] < longest * 3 for step in rank["steps"])
    assert [name for name, _ in training.truth["calls"]] == ["prepare", "enable", "disable"] * 3


@of(OFF)
def test_without_windows_torch_is_not_called(training):
    assert training.truth["calls"] == []
    assert asked(training, "breakdown")["ranks"] == []


@of(FAILS)
def test_a_recording_that_fails_is_one_sentence(training, run):
    assert training.code == 0 and training.truth["losses"] == run(ALONE).truth["losses"]
    assert [name for name, _ in training.truth["calls"]] == ["prepare"]
    lines = [line for line in training.stderr.splitlines() if "devices" in line]
    assert len(lines) == 1 and "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS" in lines[0]
    assert asked(training, "breakdown")["ranks"] == []


@of(LOSES)
def test_a_recording_whose_end_fails_is_one_sentence(training, run):
    assert training.code == 0 and training.truth["losses"] == run(ALONE).truth["losses"]
    assert [name for name, _ in training.truth["calls"]] == ["prepare", "enable", "disable"]
    lines = [line for line in training.stderr.splitlines() if "devices" in line]
    assert len(lines) == 1 and "the buffers are gone" in lines[0]


@of(OWN)
def test_the_program_s_own_profiler_comes_first(training):
    truth = training.truth
    assert training.code == 0 and truth["theirs"] == 2
    # the window 5 to 7 ends where the program's own begins, at step 6; 20 is in none
    ours = [one["activities"] == ["CUDA"] for one in truth["recordings"]]
    assert ours == [True, False, False, True, True]
    (rank,) = asked(training, "breakdown", "--steps")["ranks"]
    names = [step["name"] for step in rank["steps"]]
    assert names == ["step 5", *(f"step {first + i}" for first in (25, 45) for i in range(3))]
    assert training.stderr.count("torch.profiler itself") == 1


@of(THREAD)
def test_a_window_that_another_thread_closes_is_lost_and_said(training):
    assert training.code == 0
    assert [name for name, _ in training.truth["calls"]] == ["prepare", "enable"]
    assert "another thread closed it" in training.stderr


@pytest.mark.skipif(not STORED.exists(), reason="no stored traces here")
def test_a_stored_trace_has_the_ledger_it_has_when_it_is_imported(run, build):
    training = run(Job("accelerator", (str(STORED),), WINDOWS, warm=True))
    (rank,) = asked(training, "breakdown")["ranks"]
    done = training.ask("breakdown", STORED, "--json")
    (alone,) = json.loads(done.stdout)["ranks"]
    assert found(alone["whole"])
    thrice = {key: 3 * ns for key, ns in found(alone["whole"]).items()}
    assert found(rank["whole"]) == thrice
    done = training.ask("kernels", STORED, "--json")
    recorded, imported = collections.Counter(), collections.Counter()
    for row in asked(training, "kernels")["kernels"]:
        recorded[row["name"]] += row["calls"]
    for row in json.loads(done.stdout)["kernels"]:
        imported[row["name"]] += 3 * row["calls"]
    assert recorded == imported


def test_without_an_accelerator_nothing_is_loaded(run_text):
    training = run_text(
        "import sys, torch\n"
        "net = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters(), 0.1)\n"
        "for _ in range(20):\n"
        "    net(torch.ones(2, 2)).sum().backward()\n"
        "    optimizer.step()\n"
        "    optimizer.zero_grad()\n"
        "print('gait.torch.devices' in sys.modules, 'torch.autograd.profiler' in sys.modules)\n"
        "print(type(torch.autograd.profiler.profile._start_trace).__name__)\n",
        env=(("GAIT_TORCH_WINDOWS", "5/3/10"),),
        warm=True,
    )
    if "+cpu" not in __import__("torch").__version__:
        pytest.skip("this torch can record devices")
    assert training.stdout.split() == ["False", "True", "function"]


PROFILED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import stand_in, torch, gait.torch
torch.cuda.is_available = lambda: True
library = torch.library.Library("standin", "DEF")
library.define("gemm(Tensor x) -> Tensor")
def gemm(x):
    stand_in.launch("gemm_kernel", 40_000)
    return x + 1
library.impl("gemm", gemm, "CPU")
kinds = torch.profiler.ProfilerActivity
def body():
    for _ in range(3):
        torch.ops.standin.gemm(torch.ones(4))
        torch.ones(3) * 2
body()
with gait.torch.profile(activities=[kinds.CPU, kinds.CUDA]) as prof:
    body()
rows = {row.key: row for row in prof.key_averages()}
prof.export_chrome_trace("trace.json")
with gait.torch.profile(activities=[kinds.CPU]) as plain:
    body()
print("TOLD " + json.dumps({
    "table": prof.key_averages().table(sort_by="self_cuda_time_total"),
    "device": {key: [row.device_time_total, row.self_device_time_total, row.count]
               for key, row in rows.items() if row.device_time_total},
    "types": {event.name: event.device_type.name for event in prof.events()},
    "plain": plain.key_averages().table(),
    "calls": [name for name, _ in stand_in.calls],
}))
"""


def test_tables_of_profile_have_the_device_s_time(scripts):
    here = str(pathlib.Path(__file__).parent / "scripts")
    done = scripts(PROFILED, here)
    (told,) = done.told
    # as torch.profiler has them: the op has the time of the kernels it launched itself
    assert set(told["device"]) == {"standin::gemm", "gemm_kernel"}
    for row in told["device"].values():
        assert row == pytest.approx([120, 120, 3])
    assert "Self CUDA time total: 120.000us" in told["table"]
    assert told["types"]["gemm_kernel"] == "CUDA"
    assert told["types"]["cudaLaunchKernel"] == told["types"]["standin::gemm"] == "CPU"
    assert "CUDA" not in told["plain"]
    assert told["calls"] == ["prepare", "enable", "disable"]
    assert "not recorded" not in done.stderr


def test_a_trace_of_profile_has_kernels_on_streams_under_their_ops(scripts, build, tmp_path):
    scripts(PROFILED, str(pathlib.Path(__file__).parent / "scripts"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    ops = [event for event in spans if event["name"] == "standin::gemm"]
    calls = [event for event in spans if event.get("cat") == "cuda_runtime"]
    kernels = [event for event in spans if event.get("cat") == "kernel"]
    assert len(ops) == len(calls) == len(kernels) == 3
    numbers = [op["args"]["External id"] for op in ops]
    assert [call["args"]["External id"] for call in calls] == numbers
    assert [kernel["args"]["External id"] for kernel in kernels] == numbers
    assert len(set(numbers)) == 3
    for op, call in zip(ops, calls):  # Kineto has the call on the thread of its op
        assert (call["pid"], call["tid"]) == (op["pid"], op["tid"])
        assert op["ts"] <= call["ts"] <= op["ts"] + op["dur"]
    for kernel in kernels:
        assert (kernel["pid"], kernel["tid"], kernel["dur"]) == (0, 7, 40.0)
    arrows = [(event["ph"], event["id"]) for event in events if event.get("cat") == "ac2g"]
    links = [kernel["args"]["correlation"] for kernel in kernels]
    assert sorted(arrows) == sorted((end, link) for link in links for end in "sf")
    done = subprocess.run(
        [build / "gait", "kernels", "--json", tmp_path / "trace.json"],
        capture_output=True,
        text=True,
    )
    (row,) = json.loads(done.stdout)["kernels"]
    assert (row["op"], row["calls"], row["total_ns"]) == ("standin::gemm", 3, 120_000)


REAL = """
import json, sys, torch
from gait.torch import devices
kineto = devices.Kineto(torch, {torch.profiler.ProfilerActivity.CPU})
kineto.start()
torch.ones(3) + 1
kineto.stop("real.json")
names = [event.get("name") for event in json.load(open("real.json"))["traceEvents"]]
with torch.profiler.profile() as prof:  # nothing of ours is left in the way
    torch.ones(3) * 2
print("TOLD " + json.dumps([names.count("aten::add"), len(prof.events()) > 0]))
"""


def test_torch_s_own_calls_take_what_they_are_given(scripts):
    done = scripts(REAL)
    assert done.told == [[1, True]]


def test_devices_whose_process_is_missing_stand_alone(run, tmp_path):
    training = run(RECORDED)
    for path in sorted(pathlib.Path(training.directory).glob("*.devices-*.gait")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = training.ask("breakdown", tmp_path, "--json")
    ranks = json.loads(done.stdout)["ranks"]
    assert done.returncode == 0 and len(ranks) == 3
    (together,) = asked(training, "breakdown")["ranks"]
    assert sum(rank["whole"]["span"] for rank in ranks) == together["whole"]["span"]
