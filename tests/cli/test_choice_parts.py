# SPDX-License-Identifier: Apache-2.0
"""Parts of a run, as modules, memory, energy and exports have them: counted here, over the events
that the trace was made of."""

import csv
import json
import random

import pytest
import stored_runs
from chosen_events import BASE_NS, STEP_US, STEPS, TURN_US, rank_events, span

# --- modules ---------------------------------------------------------------------------------


def module_events():
    """A step of two modules in a net; each has a backward and work of a device, whose launch it
    leaves behind; what reaches over the edges is there, too."""
    draw, events, link = random.Random(5), [span("cpu_op", "aten::zeros", 0, 5)], 0
    for number in STEPS:
        at = 100 + TURN_US * (number - STEPS[0])
        seqs = [10 * number, 10 * number + 1]
        events.append(span("user_annotation", f"ProfilerStep#{number}", at, STEP_US))
        events.append(span("python_function", "nn.Module: Net_0", at + 10, 450 + number))
        for index, name in enumerate(("Linear_0", "Conv2d_1")):
            begin, seq = at + 20 + 200 * index, {"Sequence number": seqs[index]}
            events.append(span("python_function", f"nn.Module: {name}", begin, 150 + number))
            events.append(span("cpu_op", "aten::op", begin + 5, 100, **seq, **{"Fwd thread id": 0}))
            events.append(span("cpu_op", "NodeBackward0", at + 700 - 150 * index, 90 + number,
                               tid=10, **seq, **{"Fwd thread id": 9}))  # fmt: skip
            for called, tid in (begin + 15, 9), (at + 720 - 150 * index, 10):
                link += 1
                events.append(span("cuda_runtime", "cudaLaunchKernel", called, 1, tid=tid,
                                   correlation=link))  # fmt: skip
                events.append(span("kernel", "gemm", called + draw.randrange(2, 1500),
                                   draw.randrange(1, 60), tid=link + 20, pid=0, correlation=link,
                                   device=0, stream=link + 20))  # fmt: skip
    return events


MODULE_SUMS = """calls forward_ns self_ns backward_ns backward_self_ns device_ns device_self_ns
ops""".split()


@pytest.fixture
def ask_modules(gait, tmp_path):
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": module_events()}
    (tmp_path / "modules.json").write_text(json.dumps(trace))

    def ask(*options):
        done = gait("modules", "modules.json", "--json", *options)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        return {row["name"]: [row[key] for key in MODULE_SUMS] for row in answer["modules"]} | {
            "": [answer["steps"], answer["outside_backward_ns"], answer["outside_device_ns"]]
        }

    return ask


def add_rows(many):
    sums = {}
    for rows in many:
        for name, row in rows.items():
            sums[name] = [a + b for a, b in zip(sums.get(name, [0] * len(row)), row, strict=True)]
    return sums


def test_modules_count_where_they_are_called_and_devices_where_they_are_launched(ask_modules):
    events = module_events()
    launched = {row["args"]["correlation"]: row["ts"] for row in events
                if row["cat"] == "cuda_runtime"}  # fmt: skip
    for options, begin, end in (
        ([], 0, 10**9),
        (["--steps=4..6"], *(100 + TURN_US * at for at in (1, 4))),
        (["--from=2330us", "--to=4ms"], 2330, 4000),
    ):
        calls = [row for row in events if row["name"] == "nn.Module: Conv2d_1"
                 and begin <= row["ts"] < end]  # fmt: skip
        nets = [row["dur"] for row in events if row["name"] == "nn.Module: Net_0"
                and begin <= row["ts"] < end]  # fmt: skip
        told = ask_modules(*options)
        assert told["Conv2d_1"][:2] == [len(calls), 1000 * sum(row["dur"] for row in calls)]
        assert told["Net_0"][:2] == [len(nets), 1000 * sum(nets)]
        assert told["Net_0"][5] == 1000 * sum(
            row["dur"] for row in events if row["cat"] == "kernel"
            and begin <= launched[row["args"]["correlation"]] < end)  # fmt: skip


def test_parts_of_a_run_sum_to_its_modules(ask_modules):
    whole = ask_modules()
    edges = [f"{us}us" for us in (333, 1215, 1300, 2550, 2555, 3900, 4925, 5555)]
    times = [ask_modules("--to", edges[0])]
    times += [ask_modules("--from", a, "--to", b) for a, b in zip(edges, edges[1:], strict=False)]
    assert add_rows([*times, ask_modules("--from", edges[-1])]) == whole
    before = ask_modules("--to", f"{100 + 2 * TURN_US - 50}us")
    steps = ask_modules("--steps=5..6")
    assert add_rows([before, steps, ask_modules("--steps=7..")]) == whole
    assert steps["Net_0"][0] == 2 and "aten::zeros" not in steps
    phases = [ask_modules(f"--phase=ProfilerStep#{number}") for number in STEPS]
    assert add_rows(phases) == whole


def test_a_module_that_the_choice_does_not_call_is_not_listed(ask_modules):
    assert set(ask_modules("--from=300us", "--to=400us")) == {"", "Conv2d_1", "Net_0"}
    assert set(ask_modules("--from=200us", "--to=300us")) == {""}


# --- memory ----------------------------------------------------------------------------------


def memory_events():
    """Blocks that come and go before, in and behind the steps; some were there before."""
    draw, live, events = random.Random(11), [1, 2, 3], [span("cpu_op", "aten::zeros", 0, 5)]
    for number in STEPS:
        at = 100 + TURN_US * (number - STEPS[0])
        events.append(span("user_annotation", f"ProfilerStep#{number}", at, STEP_US))
    sizes, address = {1: 700, 2: 900, 3: 1100}, 10
    for at in range(40, 100 + TURN_US * len(STEPS), 37):
        if live and draw.random() < 0.45:
            gone = live.pop(draw.randrange(len(live)))
            change, place = -sizes[gone], gone
        else:
            address += 1
            live.append(address)
            change = sizes[address] = draw.randrange(100, 2000)
            place = address
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9,
                       "tid": 9, "ts": at, "s": "t", "args": {"Device Type": 1, "Device Id": 0,
                       "Bytes": change, "Addr": place}})  # fmt: skip
    return events


def held(events, begin, end):
    """What a device held in [begin, end), counted event by event."""
    blocks, kept, states = {1: 700, 2: 900, 3: 1100}, set(), []
    told = {"allocations": 0, "releases": 0, "allocated": 0}
    rows = [(row["ts"], row["args"]) for row in events if row["name"] == "[memory]"]
    gone = {args["Addr"] for _, args in rows if args["Bytes"] < 0}
    blocks = {place: size for place, size in blocks.items() if place in gone}  # those on record
    for at, args in rows:
        if at > begin > rows[0][0] and not states:
            states.append((sum(blocks.values()), begin))
        if at >= end:
            break
        (blocks.__setitem__ if args["Bytes"] > 0 else lambda place, _: blocks.pop(place))(
            args["Addr"], args["Bytes"]
        )
        if at < begin:
            continue
        told["allocations" if args["Bytes"] > 0 else "releases"] += 1
        (kept.add if args["Bytes"] > 0 else kept.discard)(args["Addr"])
        states.append((sum(blocks.values()), at))
    peak, at = max(states, key=lambda state: state[0])
    return {
        "peak_bytes": peak,
        "peak_ns": BASE_NS + 1000 * at,
        "end_bytes": sum(blocks.values()),
        "allocations": told["allocations"],
        "releases": told["releases"],
        "never_freed": len(kept),
        "never_freed_bytes": sum(blocks[place] for place in kept),
    }


@pytest.fixture
def ask_memory(gait, tmp_path):
    def ask(*options):
        trace = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": memory_events()}
        (tmp_path / "memory.json").write_text(json.dumps(trace))
        done = gait("memory", "memory.json", "--json", "--no-cache", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def parted(first, last):
    return 100 + TURN_US * (first - STEPS[0]), 100 + TURN_US * (last - STEPS[0]) + STEP_US


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ([], (0, 10**9)),
        (["--steps=5..6"], None),
        (["--steps=5"], parted(5, 5)),
        (["--from=2ms"], (2000, 10**9)),
        (["--to=2ms"], (0, 2000)),
        (["--from=1113us", "--to=1114us"], (1113, 1114)),
        (["--from=1155us", "--to", "1156us"], (1155, 1156)),
        (["--phase=ProfilerStep#7"], parted(7, 7)),
    ],
)
def test_memory_of_a_part_is_what_was_held_and_what_happened_in_it(ask_memory, options, times):
    events = memory_events()
    (device,) = ask_memory(*options)["devices"]
    if times is None:  # of both, each counted alone: what comes between them is in neither
        parts = [held(events, *parted(number, number)) for number in (5, 6)]
        for key in "allocations", "releases":
            assert device[key] == sum(part[key] for part in parts)
        assert device["peak_bytes"] == max(part["peak_bytes"] for part in parts)
        assert device["end_bytes"] == parts[1]["end_bytes"]
        return
    want = held(events, *times)
    assert {key: device[key] for key in want} == want


def test_who_held_memory_in_a_part_took_it_before(ask_memory):
    answer = ask_memory("--from=1155us", "--to=1156us")
    (device,) = answer["devices"]
    assert device["allocations"] == 0
    assert sum(row["peak_bytes"] for row in answer["owners"]) + 2700 >= device["peak_bytes"] > 0
    assert sum(row["bytes"] for row in answer["categories"]) == device["peak_bytes"]
    assert [point["at_ns"] for point in answer["curve"]] == [BASE_NS + 1_155_000]


def test_all_of_the_time_is_the_whole_of_memory(ask_memory):
    start = str(BASE_NS + 40_000)  # of the first event
    part = ask_memory("--from", start)
    assert part.pop("choice")["from_ns"] == int(start)
    assert part == ask_memory()


def test_memory_that_gait_recorded_is_known_in_its_windows_alone(gait, tmp_path):
    stored_runs.unpack(tmp_path, only="h200/")

    def cuda(*options):
        answer = json.loads(gait("memory", "h200", "--json", *options).stdout)
        return next((row for row in answer["devices"] if row["device"] == "cuda:0"), None)

    parts = {number: cuda(f"--steps={number}") for number in range(10)}
    assert [number for number, row in parts.items() if row] == [5, 6, 7]  # the window
    for key in "allocations", "releases":
        assert sum(row[key] for row in parts.values() if row) == cuda()[key]
    assert max(row["peak_bytes"] for row in parts.values() if row) == cuda()["peak_bytes"]


# --- energy ----------------------------------------------------------------------------------


@pytest.fixture
def ask_energy(gait, tmp_path):
    stored_runs.unpack(tmp_path, only="h200/")

    def ask(*options):
        done = gait("energy", "h200", "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def readings_of(gait, name):
    text = gait("export", "h200", "--internal", "-f", "csv", "-o", "-").stdout
    return [(int(row["start_ns"]), int(row["value"])) for row in csv.DictReader(text.splitlines())
            if (row["category"], row["name"]) == ("meter", name)]  # fmt: skip


def joules_of(answer):
    return answer["total"]["joules"] if answer["is_measured"] else 0


def test_parts_of_a_run_sum_to_its_energy(ask_energy):
    whole = ask_energy()
    edges = ["1s", "5s", "5800ms", "8123ms", "8700ms", "8700100us", "9s"]
    times = [("--to", edges[0]), *(("--from", a, "--to", b) for a, b in zip(edges, edges[1:],
             strict=False)), ("--from", edges[-1])]  # fmt: skip
    parts = [ask_energy(*options) for options in times]
    total = sum(map(joules_of, parts))
    assert total == pytest.approx(whole["total"]["joules"])
    for bound, is_beside in ("low", int.__le__), ("high", int.__ge__):
        of_parts = sum(part["total"][bound] for part in parts if part["is_measured"])
        assert is_beside(int(of_parts), int(whole["total"][bound]))  # no part knows more
    steps = [ask_energy(f"--steps={number}") for number in range(100)]
    assert sum(map(joules_of, steps)) == pytest.approx(whole["steps"]["joules"])
    half = ask_energy("--steps=..49"), ask_energy("--steps=50..")
    assert sum(map(joules_of, half)) == pytest.approx(whole["steps"]["joules"])
    assert half[0]["step"]["joules"] == pytest.approx(joules_of(half[0]) / 50)
    for index, phase in enumerate(whole["phases"]):
        both = sum(part["phases"][index]["joules"] for part in half)
        assert both == pytest.approx(phase["joules"])


def test_energy_between_two_readings_is_what_the_counter_rose(ask_energy, gait):
    counter, heat = readings_of(gait, "energy"), readings_of(gait, "temperature")
    for first, last in (90, 120), (100, 101), (20, 150), (130, 157):
        (begin, low), (end, high) = counter[first], counter[last]
        answer = ask_energy("--from", str(begin), "--to", str(end))
        (device,) = answer["devices"]
        assert device["joules_low"] <= (high - low) / 1e6 <= device["joules_high"]
        assert device["measured_ns"] == end - begin
        assert device["mean_watts"] == pytest.approx(device["joules"] / (end - begin) * 1e9)
        until = [at for at, _ in heat[1:]] + [counter[-1][0]]
        degrees = [value for (at, value), behind in zip(heat, until, strict=True)
                   if at < end and behind > begin]  # fmt: skip
        assert device["temperature_peak_c"] == max(degrees)


def test_of_a_part_no_epoch_sample_or_half_of_a_step_is_told(ask_energy, gait):
    whole, part = ask_energy(), ask_energy("--from=8500ms", "--to=8900ms")
    assert {"epochs", "sample", "step"} - set(whole) == set()
    assert {"epochs", "sample", "step"} & set(part) == set() and part["steps"]["joules"] > 0
    (device,) = part["devices"]
    assert device["resets"] is device["stuck_ns"] is None
    nothing = ask_energy("--to=1ms")
    assert nothing["is_measured"] is False
    assert "No energy was measured." in gait("energy", "h200", "--to=1ms").stdout


# --- export ----------------------------------------------------------------------------------


def test_an_export_cuts_each_rank_at_its_own_steps(gait, tmp_path):
    for rank, late in (0, 0), (1, 5000):
        rows = [span("user_annotation", "init", 0, 10)]
        rows += [row | {"ts": row["ts"] + late} for row in rank_events(rank)[1:]]
        about = {"rank": rank, "world_size": 2}
        trace = {"schemaVersion": 1, "distributedInfo": about, "traceEvents": rows,
                 "baseTimeNanoseconds": BASE_NS}  # fmt: skip
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(trace))
    assert gait("import", "rank0.json", "rank1.json", "-o", "run").returncode == 0
    begin = 100 + TURN_US  # of step 4
    want = sorted(
        (rank, 1000 * (row["ts"] + late), row["name"]) for rank, late in ((0, 0), (1, 5000))
        for row in rank_events(rank)[1:] if begin <= row["ts"] < begin + STEP_US
    )  # fmt: skip
    done = gait("export", "run", "--steps=4", "-o", "out.csv")
    assert (done.returncode, done.stderr) == (0, "")
    rows = csv.DictReader((tmp_path / "out.csv").open())
    assert want == sorted((int(row["rank"]), int(row["start_ns"]) - BASE_NS, row["name"])
                          for row in rows if row["kind"] == "span")  # fmt: skip
    assert gait("export", "run", "--steps=4", "-f", "parquet", "-o", "lake").returncode == 0


def test_each_file_of_a_pt_trace_is_of_the_steps_of_its_rank(gait, tmp_path):
    stored_runs.unpack(tmp_path, only="ddp/")
    steps = json.loads(gait("steps", "ddp", "--json", "--steps=3").stdout)["steps"]
    want = {row["rank"]: (row["start_ns"], row["start_ns"] + row["turn_ns"]) for row in steps}
    assert len(set(want.values())) == 2
    assert gait("export", "ddp", "--steps=3", "-f", "pt-trace", "-o", "pt/").returncode == 0
    for path in (tmp_path / "pt").iterdir():
        trace = json.loads(path.read_text())
        begins = [row["ts"] for row in trace["traceEvents"] if "ProfilerStep" in row["name"]]
        begin_ns = trace["baseTimeNanoseconds"] + round(1000 * min(begins))
        end_ns = int(path.name.split(".")[-4])
        assert (begin_ns, end_ns) == want.pop(trace["distributedInfo"]["rank"])
        assert {row["name"] for row in trace["traceEvents"] if "Step#" in row["name"]} == {
            "ProfilerStep#3"
        }
    assert not want


def test_sampled_stacks_of_some_steps(gait, tmp_path):
    stored_runs.unpack(tmp_path, only="sampled/")
    steps = {row["number"]: row for row in
             json.loads(gait("steps", "sampled", "--json").stdout)["steps"]}  # fmt: skip
    begin, last = steps[20]["start_ns"], steps[24]
    done = gait("export", "sampled", "-f", "stacks", "--steps=20..24", "-o", "some.json")
    assert (done.returncode, done.stderr) == (0, "")
    gait("export", "sampled", "-f", "stacks", "-o", "all.json")
    some, whole = (
        [
            row
            for row in json.loads((tmp_path / name).read_text())["traceEvents"]
            if row["ph"] == "B"
        ]
        for name in ("some.json", "all.json")
    )
    assert 0 < len(some) < len(whole)
    assert (
        max(row["ts"] for row in some) - min(row["ts"] for row in some)
        <= (last["start_ns"] + last["turn_ns"] - begin) / 1000
    )
    bare = gait("export", "sampled", "-f", "stacks", "--steps", "-o", "no.json")
    assert bare.returncode == 2 and "holds recorded events only" in bare.stderr


def test_a_value_behind_steps_chooses_whatever_it_adds(gait, tmp_path):
    stored_runs.unpack(tmp_path, only="c_program/")
    for option, words in ("--steps", "adds nothing"), ("--steps=2..3", ""):
        done = gait("export", "c_program", option, "-o", "out.csv")
        assert done.returncode == 0
        assert words in done.stderr if words else done.stderr == ""
    rows = csv.DictReader((tmp_path / "out.csv").open())
    assert [int(row["id"]) for row in rows if row["kind"] == "step"] == [2, 3]
