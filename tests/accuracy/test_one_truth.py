# SPDX-License-Identifier: Apache-2.0
"""Where two answers tell the same thing of a trace, they tell the same."""

import collections
import json
import os
import pathlib
import re

import pytest
import stored_runs

SHARED = pathlib.Path(__file__).parents[3] / "shared"
LARGE = 300_000  # bytes; larger ones take half a minute together
TRACES = sorted(
    path
    for folder in ("traces", "oracles/verdict/traces")
    for path in (SHARED / folder).rglob("*.json.gz")
    if os.environ.get("GAIT_TEST_FULL") or path.stat().st_size < LARGE
)
COMMANDS = ("breakdown", "kernels", "steps", "report", "ops", "critical-path", "comms", "findings")
OF_TURNS = ("steps", "breakdown", "findings", "report")  # who tells the ledger

of_traces = pytest.mark.skipif(not TRACES, reason="the shared traces are not here")


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.split(".")[0])
def told(request, build, tmp_path_factory):
    """What each command says of a trace, which is imported once."""
    import subprocess

    def ask(command, *args):
        done = subprocess.run([build / "gait", command, "--json", *args], capture_output=True)
        assert not done.returncode or command in ("critical-path", "ops")  # there may be none
        return json.loads(done.stdout) if not done.returncode else {"steps": None, "ops": None}

    run = tmp_path_factory.mktemp("run") / "run"
    subprocess.run(
        [build / "gait", "import", "-o", run, request.param], capture_output=True, check=True
    )
    answers = {command: ask(command, run) for command in COMMANDS}
    answers["breakdown"] = ask("breakdown", "--steps", run)
    answers["activity"] = ask("breakdown", "--activity", run)["activity"]
    answers["screens"] = [
        subprocess.run([build / "gait", "report", *how, run], capture_output=True, text=True).stdout
        for how in ([], ["--format", "md"], ["--format", "html"])
    ]
    answers["trace-diff"] = ask("trace-diff", run, run)
    return answers


def sums(rows, *values):
    """By name; None counts as nothing."""
    made = collections.defaultdict(lambda: [0] * len(values))
    for row in rows:
        for i, value in enumerate(values):
            made[row["name"]][i] += row[value] or 0
    return dict(made)


@of_traces
def test_steps(told):
    steps = sorted(
        (step["rank"], step["start_ns"], step["host_ns"]) for step in told["steps"]["steps"]
    )
    assert steps == sorted(
        (rank["rank"], step["start_ns"], step["span"])
        for rank in told["breakdown"]["ranks"]
        for step in rank["steps"]
    )
    assert len(steps) == told["report"]["steps"]
    if steps and told["critical-path"]["steps"] is not None:
        assert steps == sorted(
            (step["rank"] or 0, step["start_ns"], step["length_ns"])
            for step in told["critical-path"]["steps"]
        )
    if steps and told["report"]["rank_count"] == 1:
        total_ns = told["report"]["training_step"]["total_ns"]
        assert sum(length for *_, length in steps) == total_ns


@of_traces
def test_kernels(told):
    kernels = sums(told["kernels"]["kernels"], "calls", "total_ns")
    if told["ops"]["ops"] is not None:
        device = [row for row in told["ops"]["ops"] if row["kind"] != "op"]
        ops = sums(device, "calls", "device_self_ns")
        assert {name: ops.get(name) for name in kernels} == kernels
    if not told["trace-diff"]["by_step"]:
        pairs = {row["name"]: [row["a_calls"], row["a_ns"]] for row in told["trace-diff"]["names"]}
        assert {name: pairs.get(name) for name in kernels} == kernels


@of_traces
def test_devices(told):
    whole = {rank["rank"]: rank["whole"] for rank in told["breakdown"]["ranks"] if rank["whole"]}
    devices = told["report"].get("devices", [])
    bases = {step["base"] for rank in told["breakdown"]["ranks"] for step in rank["steps"]}
    assert bases <= {"host"} and all(of["base"] == "window" for of in whole.values())
    for row in devices:
        of = whole[row["rank"]]
        assert row["span_ns"] == of["span"]
        assert row["idle_ns"] == of["idle"]
        assert row["exposed_comm_ns"] == of["total"]["exposed_comm"]
        assert row["exposed_copy_ns"] == of["total"]["exposed_copy"]
        assert row["compute_ns"] + row["overlap_ns"] == of["total"]["compute_busy"]
    assert len(devices) == len(whole)
    exchanged = [
        ns
        for name, (_, ns) in sums(told["kernels"]["kernels"], "calls", "total_ns").items()
        if re.search("nccl|rccl|hccl|oneccl", name, re.I)
    ]
    assert sum(row["device_ns"] or 0 for row in told["comms"]["collectives"]) == sum(exchanged)


@of_traces
def test_ledgers(told):
    assert [
        command for command in OF_TURNS if told[command]["ledgers"] != told["steps"]["ledgers"]
    ] == []
    for row in told["steps"]["ledgers"]:
        turns = [step for step in told["steps"]["steps"] if step["rank"] == row["rank"]]
        assert row["total_ns"] == sum(step["turn_ns"] for step in turns)
        parts = {part["id"]: part["ns"] for part in row["device"] or []}
        assert not parts or sum(parts.values()) == row["total_ns"]
        for part in ("computing", "communication", "copies"):
            assert parts.get(part, 0) == sum(step[part + "_ns"] or 0 for step in turns)
        host = {part["id"]: part["ns"] for part in row["host"]}
        assert sum(host.values()) == row["total_ns"]
        if told["report"]["rank_count"] == 1:
            phases = {part["name"]: part["total_ns"] for part in told["report"]["phases"]}
            of_steps = {name: ns for name, ns in host.items() if name in phases}
            assert of_steps == {name: ns for name, ns in phases.items() if ns}
            assert set(host) - set(of_steps) <= {"between"}


WORK_OF = {  # the part of the verdict that a part of a ledger is in
    "computing": "compute", "communication": "comm", "copies": "copies", "input": "input",
    "blocking": "sync",
}  # fmt: skip


def by_work(parts):
    """Waiting for peers is communication, and what the verdict says of idle time is one sum."""
    made = collections.Counter()
    for name, ns in parts:
        name = "comm" if name == "peers" else name
        made["idle" if name in ("host", "sync", "unknown") else name] += ns
    return {name: ns for name, ns in made.items() if ns}


@of_traces
def test_the_verdict_divides_the_step_that_all_others_tell(told):
    report = told["report"]
    ranks = {row["rank"]: row for row in report["verdict_ranks"]}
    parts = by_work((part["id"], part["ns"]) for part in report["verdict_parts"])
    assert {part["base"] for part in report["verdict_parts"]} <= {report["verdict_base"]}
    for part in report["verdict_parts"]:
        assert part["share"] == part["ns"] / part["of_ns"]
    if report["verdict_base"] != "step" or not parts:
        return
    assert sum(parts.values()) == report["verdict_parts"][0]["of_ns"]
    judged = []
    for row in told["steps"]["ledgers"]:
        works = [(WORK_OF.get(part["id"], "host"), part["ns"]) for part in row["device"] or []]
        if row["rank"] in ranks and works:
            judged.append(by_work(works))
            idle = [ns for name, ns in judged[-1].items() if name in ("idle", "input")]
            assert ranks[row["rank"]]["step_ns"] == row["total_ns"] // row["steps"]
            assert ranks[row["rank"]]["idle_ns"] == sum(idle) // row["steps"]
            idle_of = (row["rank"], "idle", "turn")
            cells = [
                one["ns"]
                for one in told["activity"]
                if (one["rank"], one["state"], one["base"]) == idle_of
            ]
            assert sum(cells) == sum(idle)
    assert parts in judged


def numbers_of(text):
    """What people read of the lead and its parts: "33 % of a step (59.3 ms of 178 ms)"."""
    return re.findall(r"[\d.]+ %|[\d.]+ [mnu]?s\b", re.sub(r"<[^>]*>", "", text))


@of_traces
def test_people_read_one_verdict(told):
    lead = numbers_of(told["report"]["verdict"].partition(": ")[2])
    for screen in told["screens"]:
        begin = " ".join(screen.split()).replace("&lt;", "<")
        assert all(number in begin for number in lead)


def ledgers_of(gait, *words):
    return json.loads(gait(*words, "--json").stdout)["ledgers"]


def test_four_commands_tell_one_ledger_of_stored_runs(gait, tmp_path):
    stored_runs.unpack(tmp_path)
    seen = 0
    for run in sorted(tmp_path.iterdir()):
        ledgers, *others = [ledgers_of(gait, command, run) for command in OF_TURNS]
        assert [json.dumps(other) for other in others] == [json.dumps(ledgers)] * 3, run.name
        for ledger in ledgers:
            for parts in (ledger["device"], ledger["host"]):
                assert parts is None or sum(part["ns"] for part in parts) == ledger["total_ns"]
        seen += len(ledgers)
    assert seen > 10


def test_turns_are_of_chosen_steps_and_never_cut(gait, tmp_path):
    stored_runs.unpack(tmp_path)
    run = tmp_path / "h200"
    steps, of_all = (ledgers_of(gait, "steps", *some, run) for some in (["--steps=2..4"], []))
    assert steps and steps != of_all
    assert ledgers_of(gait, "breakdown", "--steps=2..4", run) == steps
    for cut in (["--from", "1ms"], ["--to", "3s"], ["--phase", "forward"]):
        assert ledgers_of(gait, "breakdown", *cut, run) is None


def test_people_read_the_same_turns(gait, tmp_path):
    stored_runs.unpack(tmp_path)
    run = tmp_path / "h200"
    (ledger,) = [row for row in ledgers_of(gait, "steps", run) if row["device"]]
    for command in ("steps", "breakdown", "report"):
        words = [command, "--all"] if command == "report" else [command]
        row = gait(*words, run).stdout.split("\nTurns, rank")[1].splitlines()[1]
        shares = [0 if share == "<0.1" else float(share) for share in re.findall(r"(\S+) %", row)]
        parts = [100 * part["share"] for part in ledger["device"]]
        parts[5:7] = [sum(parts[5:7])]  # calls of the runtime
        assert shares == pytest.approx(parts, abs=0.06)
        page = gait(command, "--format", "html", run).stdout.split("Turns of all ranks</caption>")[
            1
        ]
        told = re.findall(r'class="words">(\w+)</th>', page.split("</table>")[0])
        assert told == [part["id"] for part in ledger["device"] if part["ns"]]
        assert "Turns" not in gait(*words, tmp_path / "ddp").stdout  # no device is on record


OPS = {"cpu_op", "operator"}
CALLS = re.compile("runtime|driver|overhead|hpu_op")
LEFT_OUT = re.compile(
    r"profiler::_record_function_(enter|enter_new|exit)$|aten::(is_leaf|output_nr|_version)$"
)


def spans_of(path):
    """(category, process, thread, start, end, name) of a trace, in ns."""
    import decimal
    import gzip

    made = json.loads(gzip.open(path).read(), parse_float=decimal.Decimal)
    for event in made if isinstance(made, list) else made["traceEvents"]:
        if event.get("ph") == "X" and event.get("dur") is not None:
            start, length = (int(decimal.Decimal(event[key]) * 1000) for key in ("ts", "dur"))
            category = str(event.get("cat")).lower()
            thread = (event.get("pid"), event.get("tid"))
            yield category, *thread, start, start + length, event["name"]


def forest_of(spans):
    """[start, end, name, children] of a thread's spans: a child is within its parent."""
    roots, stack = [], []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        while stack and not (start < stack[-1][1] and end <= stack[-1][1]):
            stack.pop()
        node = [start, end, name, []]
        (stack[-1][3] if stack else roots).append(node)
        stack.append(node)
    return roots


def add_up(node, made):
    """By name: calls, time, and what no child covers. An only child of one name is told twice."""
    start, end, name, children = node
    for child in children:
        add_up(child, made)
    while len(children) == 1 and children[0][2] == name:
        made[name] = [a - b for a, b in zip(made[name], children[0][4])]
        children = children[0][3]
    covered_until, covered = start, 0
    for child in children:
        covered += max(0, child[1] - max(child[0], covered_until))
        covered_until = max(covered_until, child[1])
    node[3:] = [children, [1, end - start, end - start - covered]]
    made[name] = [a + b for a, b in zip(made[name], node[4])]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_ops_by_hand(path, build):
    import subprocess

    done = subprocess.run([build / "gait", "ops", "--json", path], capture_output=True)
    spans = list(spans_of(path))
    names = {span[5] for span in spans if span[0] in OPS}
    tree = [span for span in spans if span[0] in OPS | {"user_annotation"}]
    if done.returncode or len({span[1] for span in tree}) != 1:
        pytest.skip("no ops, or of several processes")
    made = collections.defaultdict(lambda: [0, 0, 0])
    for thread in {span[2] for span in tree}:
        for root in forest_of(
            [span[3:] for span in tree if span[2] == thread and not LEFT_OUT.match(span[5])]
        ):
            add_up(root, made)
    # calls of a device's runtime are children of ops, too: of which, test_op_sums.c says
    count = 2 if any(CALLS.search(span[0]) for span in spans) else 3
    told = sums(json.loads(done.stdout)["ops"], "calls", "cpu_ns", "self_cpu_ns")
    others = {span[5] for span in spans if span[0] not in OPS}
    for name in names - others:
        if name.startswith("ProfilerStep#") or LEFT_OUT.match(name):
            continue
        assert told[name][:count] == made[name][:count], name
