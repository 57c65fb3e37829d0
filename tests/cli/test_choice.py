# SPDX-License-Identifier: Apache-2.0
"""Answers about a part of a run: steps, times, ranks, a phase. What they should say is counted
here, over the events that the trace was made of."""

import csv
import json
import random

import pytest
import stored_runs

STEPS, STEP_US, TURN_US, RANKS = range(3, 9), 1000, 1100, (0, 1, 3)
BASE_NS = 1_700_000_000_000_000_000  # what the times in the files count from
REDUCE = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10,
          "Out msg nelems": 10, "Group size": 3}  # fmt: skip


def span(category, name, start, us, tid=9, pid=9, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
            "dur": us, "args": args}  # fmt: skip


def rank_events(rank):
    """Steps with gaps between them; work that runs long after its launch, or has none."""
    draw = random.Random(f"rank {rank}")
    events = [] if rank == 3 else [span("user_annotation", "init", 0, 10)]  # it comes later
    for index, number in enumerate(STEPS):
        at = 100 + TURN_US * index
        events.append(span("user_annotation", f"ProfilerStep#{number}", at, STEP_US))
        events.append(span("user_annotation", "loss", at + 300, 200))
        events.append(span("gpu_user_annotation", "loss", at + 320, 900, tid=7, pid=0))
    free = 150
    for link in range(1, 160):
        launch = 50 + link * (TURN_US * len(STEPS) + 100) // 160
        free = max(free, launch + draw.randrange(2, 400)) + draw.randrange(3)
        us = draw.randrange(1, 60)
        args = {"correlation": link, "device": 0, "stream": 7}
        name = f"gemm {draw.randrange(4)}"
        if link % 9 == 0:
            name, args = "ncclDevKernel_AllReduce_Sum_f32", {**args, **REDUCE}
        events.append(span("kernel", name, free, us, tid=7, pid=0, **args))
        if link % 7:
            events.append(span("cuda_runtime", "cudaLaunchKernel", launch, 1, correlation=link))
        free += us
    return events


@pytest.fixture(scope="module")
def events():
    return {rank: rank_events(rank) for rank in RANKS}


@pytest.fixture
def ask(gait, tmp_path, events):
    names = []
    for rank, rows in events.items():
        names.append(f"rank{rank}.json")
        about = {"rank": rank, "world_size": 4}
        trace = {"schemaVersion": 1, "distributedInfo": about, "traceEvents": rows,
                 "baseTimeNanoseconds": BASE_NS}  # fmt: skip
        (tmp_path / names[-1]).write_text(json.dumps(trace))
    done = gait("import", *names, "-o", "run")
    assert done.returncode == 0, done.stderr

    def ask(command, *options):
        done = gait(command, "run", "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def steps_of(rows):
    return {
        int(row["name"].partition("#")[2]): (row["ts"], row["ts"] + row["dur"])
        for row in rows
        if "#" in row["name"]
    }


def count_kernels(events, is_chosen, ranks=RANKS):
    """{name: (calls, ns)} of the kernels whose launch, or else whose start, is chosen."""
    sums = {}
    for rank in ranks:
        launched = {row["args"]["correlation"]: row["ts"] for row in events[rank]
                    if row["cat"] == "cuda_runtime"}  # fmt: skip
        for row in events[rank]:
            at = launched.get(row["args"].get("correlation"), row["ts"])
            if row["cat"] == "kernel" and is_chosen(rank, at):
                calls, ns = sums.get(row["name"], (0, 0))
                sums[row["name"]] = calls + 1, ns + 1000 * row["dur"]
    return sums


def kernels(answer):
    sums = {}
    for row in answer["kernels"]:
        calls, ns = sums.get(row["name"], (0, 0))
        sums[row["name"]] = calls + row["calls"], ns + row["total_ns"]
    return sums


def in_steps(events, first, last):
    steps = {rank: steps_of(rows) for rank, rows in events.items()}
    return lambda rank, at: any(
        begin <= at < end for number, (begin, end) in steps[rank].items() if first <= number <= last
    )


@pytest.mark.parametrize(
    ("text", "first", "last"), [("5", 5, 5), ("4..6", 4, 6), ("6..", 6, 99), ("..4", 0, 4)]
)
def test_kernels_of_steps_are_those_launched_in_them(ask, events, text, first, last):
    answer = ask("kernels", f"--steps={text}")
    assert kernels(answer) == count_kernels(events, in_steps(events, first, last))
    assert answer["choice"] == {
        "steps": text, "from_ns": None, "to_ns": None, "ranks": None, "phase": None,
    }  # fmt: skip


def test_each_step_and_what_is_in_none_are_all_kernels(ask, events):
    whole, parts = kernels(ask("kernels")), {}
    assert whole == count_kernels(events, lambda *_: True)
    for number in STEPS:
        for name, sums in kernels(ask("kernels", "--steps", str(number))).items():
            parts[name] = tuple(map(sum, zip(parts.get(name, (0, 0)), sums, strict=True)))
    in_one = in_steps(events, STEPS[0], STEPS[-1])
    for name, sums in count_kernels(events, lambda *at: not in_one(*at)).items():
        parts[name] = tuple(map(sum, zip(parts.get(name, (0, 0)), sums, strict=True)))
    assert parts == whole


def test_a_time_parts_kernels_in_two(ask, events):
    late = ask("kernels", "--from", "3.3ms")
    assert kernels(late) == count_kernels(events, lambda _, at: at >= 3300)
    assert kernels(ask("kernels", "--to", "3300us")) == count_kernels(
        events, lambda _, at: at < 3300
    )
    assert late["choice"]["from_ns"] == BASE_NS + 3_300_000
    one = ask("kernels", "--from", "3.3ms", "--ranks=3")  # from the start of the run, not of 3
    assert kernels(one) == count_kernels(events, lambda _, at: at >= 3300, [3])
    assert one["choice"]["from_ns"] == BASE_NS + 3_300_000
    assert kernels(ask("kernels", "--since", str(BASE_NS + 3_300_000))) == kernels(late)
    assert kernels(ask("kernels", "--until=3.3ms", "--from", "2ms")) == count_kernels(
        events, lambda _, at: 2000 <= at < 3300
    )


def ops(answer):
    return {
        (row["name"], row["kind"]): (row["calls"], row["cpu_ns"], row["device_self_ns"])
        for row in answer["ops"]
        if row["kind"] in ("device", "op") or row["name"] == "loss"
    }


def count_ops(events, is_chosen):
    """Kernels by their launch, what the host did by its begin; of rank 0."""
    sums = {
        (name, "device"): (calls, 0, ns)
        for name, (calls, ns) in count_kernels(events, is_chosen, [0]).items()
    }
    for row in events[0]:
        is_call = row["cat"] == "cuda_runtime"
        if (is_call or (row["cat"], row["name"]) == ("user_annotation", "loss")) and is_chosen(
            0, row["ts"]
        ):
            key = row["name"], "op" if is_call else "range"
            calls, ns, _ = sums.get(key, (0, 0, 0))
            sums[key] = calls + 1, ns + 1000 * row["dur"], 0
    return sums


def test_ops_are_those_that_begin_in_the_choice(ask, events):
    for options, is_chosen in (
        ([], lambda *_: True),
        (["--steps=4..6"], in_steps(events, 4, 6)),
        (["--from", "3.3ms"], lambda _, at: at >= 3300),
        (["--to", "3.3ms"], lambda _, at: at < 3300),
    ):
        found = ops(ask("ops", *options))
        launched = {key: row for key, row in found.items() if key[1] != "range"}
        wanted = count_ops(events, is_chosen)
        assert {key: row[:2] for key, row in found.items()} == {
            key: row[:2] for key, row in wanted.items()
        }
        assert launched == {key: row for key, row in wanted.items() if key[1] != "range"}


def test_what_an_op_calls_behind_the_choice_is_not_its_own(ask):
    whole, parts = {}, {}
    for sums, options in (whole, []), (parts, ["--to", "2550us"]), (parts, ["--from", "2550us"]):
        for row in ask("ops", *options)["ops"]:
            key = row["name"], row["kind"]
            sums[key] = sums.get(key, 0) + row["self_cpu_ns"]
    assert parts == whole  # the edge is in a step, and between its calls


def test_a_phase_is_the_spans_of_that_name(ask, events):
    losses = {
        rank: [
            (row["ts"], row["ts"] + row["dur"])
            for row in rows
            if row["name"] == "loss" and row["tid"] == 9
        ]
        for rank, rows in events.items()
    }

    def is_chosen(rank, at):
        return any(begin <= at < end for begin, end in losses[rank])

    assert kernels(ask("kernels", "--phase", "loss")) == count_kernels(events, is_chosen)
    of_steps = in_steps(events, 5, 6)
    assert kernels(ask("kernels", "--phase=loss", "--steps=5..6")) == count_kernels(
        events, lambda *at: is_chosen(*at) and of_steps(*at)
    )


def test_a_phase_that_never_ended_is_over_with_the_run(gait, tmp_path):
    rows = [span("kernel", "gemm", at, 100, tid=7, pid=0, device=0) for at in (10, 1950, 5000)]
    rows.append(
        {"ph": "B", "cat": "user_annotation", "name": "open", "pid": 9, "tid": 9, "ts": 2000}
    )
    (tmp_path / "open.json").write_text(json.dumps({"traceEvents": rows}))
    answer = json.loads(gait("breakdown", "open.json", "--phase=open", "--json").stdout)
    (rank,) = answer["ranks"]
    assert (rank["whole"]["compute"], rank["whole"]["span"]) == (150_000, 3_100_000)


@pytest.mark.parametrize(
    ("text", "ranks"), [("0", [0]), ("1,3,3", [1, 3]), ("1..1000000000", [1, 3])]
)
def test_ranks_that_are_not_chosen_are_left_out(ask, events, text, ranks):
    for word in "--ranks", "--rank":
        answer = ask("kernels", word, text)
        assert kernels(answer) == count_kernels(events, lambda *_: True, ranks)
        assert answer["choice"]["ranks"] == text
    assert {row["rank"] for row in ask("steps", "--ranks", text)["steps"]} == set(ranks)
    assert [row["rank"] for row in ask("breakdown", "--ranks", text)["ranks"]] == ranks


def busy_us(rows, category, begin, end):
    """The time in which a kernel runs: they follow each other on one stream here."""
    return sum(
        max(0, min(end, row["ts"] + row["dur"]) - max(begin, row["ts"]))
        for row in rows
        if row["cat"] == "kernel" and row["name"].startswith("nccl") == (category == "comm")
    )


def figures(breakdown):
    plain = {
        key: value for key, value in breakdown.items() if type(value) is int and key != "start_ns"
    }
    return {**plain, **breakdown["idle_causes"]}


def add(many):
    total = {}
    for one in many:
        for key, value in one.items():
            total[key] = total.get(key, 0) + value
    return total


def test_the_breakdown_of_steps_is_the_sum_of_their_rows(ask, events):
    rows = {rank["rank"]: rank["steps"] for rank in ask("breakdown", "--steps")["ranks"]}
    chosen = ask("breakdown", "--steps=4..6")
    for rank in chosen["ranks"]:
        of = [row for row in rows[rank["rank"]] if int(row["name"].partition("#")[2]) in (4, 5, 6)]
        assert rank["steps"] == of and rank["whole"]["base"] == "choice"
        assert figures(rank["whole"]) == add(map(figures, of))
        for key in "compute", "comm":
            assert rank["whole"][key] == 1000 * sum(
                busy_us(events[rank["rank"]], key, *steps_of(events[rank["rank"]])[number])
                for number in (4, 5, 6)
            )


def test_of_a_recorded_run_steps_with_devices_on_record_count(gait, tmp_path):
    stored_runs.unpack(tmp_path, only="h200/")
    (whole,) = json.loads(gait("breakdown", "h200", "--json", "--steps").stdout)["ranks"]
    known = [int(step["name"].split()[1]) for step in whole["steps"]]
    assert known == [5, 6, 7]
    for text, numbers in [("3..6", [5, 6]), ("5..", known), ("..5", [5])]:
        answer = gait("breakdown", "h200", "--json", f"--steps={text}").stdout
        (rank,) = json.loads(answer)["ranks"]
        of = [step for step in whole["steps"] if int(step["name"].split()[1]) in numbers]
        assert rank["steps"] == of and figures(rank["whole"]) == add(map(figures, of))


def test_a_time_parts_the_breakdown_in_two(ask, events):
    whole = ask("breakdown")["ranks"]
    for at in "0s", "3.3ms", "4321us", "9ms":
        early = ask("breakdown", "--to", at)["ranks"] if at != "0s" else None
        if at == "9ms":
            assert [figures(rank["whole"]) for rank in early] == [
                figures(rank["whole"]) for rank in whole
            ]
            continue
        late = ask("breakdown", "--from", at)["ranks"]
        for index, rank in enumerate(whole):
            parts = [late[index]] + ([early[index]] if early else [])
            assert add(figures(part["whole"]) for part in parts) == figures(rank["whole"])
        if at == "3.3ms":
            assert late[0]["whole"]["comm"] == 1000 * busy_us(events[0], "comm", 3300, 10**9)


def test_steps_are_chosen_by_number_and_by_when_they_begin(ask):
    whole = ask("steps")
    for options, numbers in [
        (["--steps", "5..6"], [5, 6]),
        (["--from", "2.3ms"], [5, 6, 7, 8]),
        (["--from", "2.3ms", "--steps", "..6"], [5, 6]),
        (["--to", "2300us"], [3, 4]),
    ]:
        answer = ask("steps", *options)
        of = [row for row in whole["steps"] if row["number"] in numbers]
        assert answer["steps"] == of
        for ledger in answer["ledgers"]:
            rows = [row for row in of if row["rank"] == ledger["rank"]]
            assert ledger["steps"] == len(numbers)
            assert ledger["total_ns"] == sum(row["turn_ns"] for row in rows)
            parts = {part["id"]: part["ns"] for part in ledger["device"]}
            assert parts["computing"] == sum(row["computing_ns"] for row in rows)
            assert sum(parts.values()) == ledger["total_ns"]


def test_the_path_is_of_the_steps_that_are_chosen(ask):
    scale = ["what-if", "--scale", "gemm*=0.5"]
    for command, *options in ["critical-path"], scale:
        whole = ask(command, *options)["steps"]
        assert [row["number"] for row in whole] == list(STEPS)
        for choice in ["--steps=5..6"], ["--from=2.3ms", "--to=4ms"]:
            answer = ask(command, *options, *choice)
            assert answer["steps"] == [row for row in whole if row["number"] in (5, 6)]
            key = "length_ns" if command == "critical-path" else "measured_ns"
            assert answer[key] == sum(row[key] for row in answer["steps"])
    assert [row["number"] for row in ask("critical-path", "--step", "5")["steps"]] == [5]


def test_gaps_are_cut_at_the_edges_of_a_time(ask):
    def gaps(*options):
        rows = ask("gaps", "--least", "1ns", *options)["gaps"]
        return sorted((row["rank"], row["start_ns"], row["start_ns"] + row["length_ns"])
                      for row in rows)  # fmt: skip

    begin, end = BASE_NS + 1_150_000, BASE_NS + 3_320_000
    cut = [(rank, max(at, begin), min(until, end)) for rank, at, until in gaps()]
    want = [row for row in cut if row[1] < row[2]]
    assert len(want) == 3 * len(RANKS) and gaps("--from=1150us", "--to", str(end)) == want


def test_collectives_are_of_the_calls_that_are_chosen(ask, events):
    (whole,) = ask("comms")["collectives"]
    calls = count_kernels(events, in_steps(events, 4, 6))["ncclDevKernel_AllReduce_Sum_f32"]
    (row,) = ask("comms", "--steps=4..6")["collectives"]
    assert row["device_ns"] == calls[1] and row["calls"] < whole["calls"]
    (row,) = ask("comms", "--ranks=1,3")["collectives"]
    assert (row["ranks"], row["calls"]) == (2, whole["calls"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--steps=9..12", "the choice leaves no step: those on record are 3..8"),
        ("--ranks=2", "'--ranks' 2 chooses nothing: the ranks on record are 0..3"),
        ("--ranks=7..4", "'--ranks' 7..4 chooses nothing: it ends before it begins"),
        ("--from=5ms --to=5ms", "'--from' 5ms is not before '--to' 5ms"),
        ("--from=2h", "the times chosen are not of the run: it lasts "),
        ("--to=0", "the times chosen are not of the run: it lasts "),
        ("--phase=none", "no thread was in a phase 'none'"),
        ("--steps=3 --from=4ms", "the choice leaves nothing: its steps, times and phase have no"),
        ("--steps=x", "'--steps' takes 5, 5..9, 5.. or ..9, not 'x'"),
        ("--from=12.5", "'--from' takes 12.5s, 300ms, 2m from the run's start, or ns since 1970"),
    ],
)
def test_an_empty_choice_is_one_sentence(ask, gait, options, sentence):
    for command in "kernels", "breakdown":
        done = gait(command, "run", *options.split())
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"gait {command}: {sentence}")
        assert done.stderr.count("\n") == 1


def test_what_has_no_part_says_so(ask, gait):
    for line in (
        "breakdown --compat hta --steps=4",
        "comms --debug 0 --from 1ms",
        "ops --torch --steps=4",
    ):
        done = gait(*line.split(), "run")
        assert done.returncode == 2 and "leave out --steps" in done.stderr
    assert "unknown option '--phase'" in gait("steps", "run", "--phase", "loss").stderr
    assert (
        "Of steps 4..5, ranks 0 alone."
        in gait("kernels", "run", "--steps=4..5", "--ranks=0").stdout
    )


def without_choice(text):
    answer = json.loads(text)
    assert answer.pop("choice")["ranks"]
    return answer


def ranks_of(gait, run, **options):
    done = gait("info", run, "--json", **options)
    return {shard["path"]: shard["rank"] for shard in json.loads(done.stdout)["shards"]}


EVERYWHERE = """info breakdown kernels comms steps ops modules energy memory findings gaps
critical-path what-if,--scale,aten::mm=0 report""".split()


@pytest.mark.parametrize("command", EVERYWHERE)
def test_ranks_are_left_out_as_if_their_files_were_not_there(gait, tmp_path, command):
    for folder in "whole", "part":
        stored_runs.unpack(tmp_path / folder, only="ddp/")
    here, there = ({"cwd": tmp_path / folder} for folder in ("whole", "part"))
    ranks = ranks_of(gait, "ddp", **here)
    assert sorted(ranks.values()) == [0, 1]
    for path, rank in ranks.items():
        if rank == 0:
            (tmp_path / "part" / path).unlink()
    done = gait(*command.split(","), "ddp", "--ranks=1", "--json", **here)
    want = gait(*command.split(","), "ddp", "--json", **there)
    assert (done.returncode, done.stderr) == (want.returncode, want.stderr)
    if done.returncode == 0:
        assert without_choice(done.stdout) == json.loads(want.stdout)


def test_ranks_that_are_left_out_are_not_missed(gait, ask):
    assert "3 of 4 ranks are here" in gait("report", "run").stdout  # 2 has no file
    for command in "report", "info":
        assert "are here" not in gait(command, "run", "--ranks=0,1").stdout
        assert "of 4 " in gait(command, "run").stdout


@pytest.mark.parametrize(
    "line", ["--ranks 0 --rank 1", "--ranks=0 --ranks=1", "--from=1ms --since 2ms",
             "--to 3ms --until=4ms", "--steps=3 --steps=4"]
)  # fmt: skip
def test_what_is_chosen_twice_is_refused(gait, line):
    done = gait("kernels", "run", *line.split())
    option = line.replace("=", " ").split()[-2]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"gait kernels: '{option}' chooses what an option before it chose: leave one of them out\n"
    )


def test_an_export_is_of_the_ranks_and_times_that_are_chosen(gait, ask, events, tmp_path):
    def spans(*options):
        assert gait("export", "run", "-o", "out.csv", *options).returncode == 0
        rows = csv.DictReader((tmp_path / "out.csv").open())
        return sorted((int(row["rank"]), int(row["start_ns"]) - BASE_NS, row["name"])
                      for row in rows if row["kind"] == "span")  # fmt: skip

    def want(is_chosen):
        return sorted((rank, 1000 * row["ts"], row["name"]) for rank in RANKS
                      for row in events[rank] if is_chosen(rank, row["ts"]))  # fmt: skip

    (tmp_path / "out.csv").touch()
    assert spans() == want(lambda *_: True)
    assert spans("--ranks=1,3") == want(lambda rank, _: rank)
    assert spans("--from=2ms", "--to", "3ms") == want(lambda _, at: 2000 <= at < 3000)
    begin, end = steps_of(events[0])[4][0], steps_of(events[0])[6][1]  # ranks keep step here
    assert spans("--steps=4..6") == want(lambda _, at: begin <= at < end)


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
