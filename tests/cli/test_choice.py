# SPDX-License-Identifier: Apache-2.0
"""Answers about a part of a run: steps, times, ranks, a phase. What they should say is counted
here, over the events that the trace was made of."""

import csv
import json

import pytest
import stored_runs
from chosen_events import BASE_NS, RANKS, STEPS, rank_events, span


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
        "breakdown --compat itwinai --steps=4",
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
