# SPDX-License-Identifier: Apache-2.0
"""What a report says of made-up trainings whose trouble is known: the verdict, the
findings, and the figures they rest on."""

import re

import pytest

from tests.support.made_training import MS, START, STEPS, WORK, Training, asked, finding, said
from tests.support.shard_maker import ShardMaker


@pytest.mark.parametrize("before", [0, 3_000 * MS])
def test_what_is_compiled_once_is_no_matter_of_the_steps(gait, tmp_path, before):
    training = Training()
    if before:  # a model that is tried before it trains
        training.step({"compile": before})
        training.total = 0
    training.step({"input": MS, "compile": 24_000 * MS, **WORK})
    for _ in range(STEPS - 1):
        training.step(WORK)
    report = training.report(gait, tmp_path / "run")
    assert report["step_total_ns"] == training.total
    assert report["verdict_id"] == "compute-bound"
    evidence = report["verdict_evidence"]
    assert (evidence["phase"], evidence["phase_share"], evidence["share"]) == (
        "forward",
        0.55,
        0.95,
    )
    assert (evidence["of"], evidence["steps"]) == ("loop", STEPS - 1)
    once = finding(report, "compiled_once")
    assert (once["compile_ns"], once["before_ns"]) == (24_000 * MS + before, before)
    assert ("before the first step" in said(report)) == bool(before)
    assert finding(report, "recompiles") is None
    assert "keep shapes" not in said(report)
    assert "try torch.compile" not in said(report) and "or torch.compile" not in said(report)


@pytest.mark.parametrize("again, wanted", [(2, "compute-bound"), (40, "compile-bound")])
def test_compiling_holds_steps_up_only_where_it_goes_on(gait, tmp_path, again, wanted):
    training = Training()
    for n in range(STEPS):
        compiling = {"compile": 5_000 * MS} if n % (STEPS // again) == 2 else {}
        training.step({"input": MS, **compiling, **WORK})
    report = training.report(gait, tmp_path / "run")
    assert report["compile_steps"] == sum(n % (STEPS // again) == 2 for n in range(STEPS))
    assert report["verdict_id"] == wanted
    assert finding(report, "recompiles")["compile_steps"] == report["compile_steps"]
    assert finding(report, "compiled_once") is None  # nor was it the first one


def test_a_slow_first_step_is_no_matter_of_the_others(gait, tmp_path):
    """Workers that are started, say."""
    training = Training()
    training.step({**WORK, "input": 20_000 * MS})
    for _ in range(STEPS - 1):
        training.step(WORK)
    report = training.report(gait, tmp_path / "run")
    assert report["verdict_id"] == "compute-bound"
    assert finding(report, "input_waits") is None


@pytest.mark.parametrize(
    "evaluation, wanted, share, also",
    [(20 * MS, "compute-bound", 0.95 / 1.2, 0.2 / 1.2), (300 * MS, "evaluation-bound", 0.75, None)],
)
def test_eval_mode_is_told_as_a_mode(gait, tmp_path, evaluation, wanted, share, also):
    training = Training()
    for _ in range(STEPS):
        training.step({**WORK, "evaluation": evaluation})
    training.step(WORK)
    report = training.report(gait, tmp_path / "run")
    assert report["verdict_id"] == wanted
    evidence = report["verdict_evidence"]
    assert evidence["share"] == pytest.approx(share, abs=0.005)
    if also:
        assert parts_of(report)["evaluation"] == pytest.approx(also, abs=0.005)
    for word in ("eval mode", "validation", "rollouts", "inference"):
        assert word in said(report)
    assert "evaluation takes" not in said(report)


def put_loading(run, pid, begin, end, role="worker"):
    shard = ShardMaker(pid=pid, start_ns=begin, role=role, torch={"version": "2.13.0"})
    track = shard.track(key="1", os_id=pid)
    length = (end - begin) // 2
    fetch, collate = shard.site("loader", "fetch"), shard.site("loader", "collate")
    shard.spans(track, [(begin, length, fetch, 0), (begin, length // 4, collate, 1),
                        (begin + length, length, fetch, 0)])  # fmt: skip
    shard.write(run)


def test_workers_that_persist_are_processes_however_often_they_began_to_record(gait, tmp_path):
    training = Training()
    for _ in range(5):
        begin = training.now
        for _ in range(20):
            training.step({**WORK, "input": 100 * MS})
        for pid in (3000, 3001):
            put_loading(tmp_path / "run", pid, begin, training.now)
    put_loading(tmp_path / "run", 4000, begin, training.now, "program")  # it evaluates
    report = training.report(gait, tmp_path / "run")
    assert finding(report, "loading")["workers"] == 2
    assert "persistent_workers" not in gait("report", tmp_path / "run").stdout


def test_workers_count_at_a_time(gait, tmp_path):
    """Each epoch starts two of its own."""
    training = Training()
    for epoch in range(3):
        begin = training.now
        for _ in range(20):
            training.step({**WORK, "input": 100 * MS})
        for worker in range(2):
            put_loading(tmp_path / "run", 3000 + 10 * epoch + worker, begin, training.now)
    report = training.report(gait, tmp_path / "run")
    loading = finding(report, "loading")
    assert loading["workers"] == 2
    assert loading["collate_share"] == pytest.approx(0.125)
    assert finding(report, "input_waits") is None  # the verdict says it
    assert "in 2 workers at a time" in said(report)
    assert report["verdict_id"] == "input-bound"
    assert report["verdict_evidence"]["workers"] == 2


@pytest.mark.parametrize(
    "phase, wanted",
    [
        ("input", "input-bound"),
        ("copy", "copy-bound"),
        ("communication", "communication-bound"),
        ("gc", "garbage-bound"),
        ("checkpoint", "checkpoint-bound"),
        ("logging", "logging-bound"),
        ("backward", "compute-bound"),
        ("my_own", "unknown"),
    ],
)
def test_what_takes_most_is_the_verdict_with_its_figures(gait, tmp_path, phase, wanted):
    training = Training()
    for _ in range(STEPS):
        training.step({**WORK, phase: 500 * MS})
    report = training.report(gait, tmp_path / "run")
    evidence = report["verdict_evidence"]
    whole = sum({**WORK, phase: 500 * MS}.values())
    assert report["verdict_id"] == wanted
    assert evidence["phase"] == phase
    share = evidence["phase_share"]
    assert share == pytest.approx(500 * MS / whole, abs=0.002)  # the last gc is no step's
    assert evidence["steps_ns"] == report["step_total_ns"]
    assert f"{100 * share:.0f} % of the loop" in report["verdict"] or wanted == "compute-bound"
    assert "of a step" not in said(report)
    assert {part["base"] for part in report["verdict_parts"]} == {"loop"}
    assert report["verdict_base"] == "loop"


@pytest.mark.parametrize(
    "op, count, length, wanted, advice",
    [
        ("aten::addmm", 2, 20 * MS, "compute-bound", "bfloat16"),
        ("aten::convolution_backward", 2, 20 * MS, "compute-bound", "bfloat16"),
        ("aten::gelu", 2, 20 * MS, "compute-bound", "torch.compile"),
        ("aten::mul", 2000, 9_000, "host-bound", "torch.compile, fused"),
        ("aten::mul", 2000, 11_000, "compute-bound", "torch.compile"),
    ],
)
def test_what_is_computed_decides_what_to_try(gait, tmp_path, op, count, length, wanted, advice):
    training = Training()
    for n in range(30):
        training.ops(op, count, length)
        if n == 7:  # one call that was interrupted tells nothing
            training.rows[-1] = (*training.rows[-1][:1], 75 * MS, *training.rows[-1][2:])
        training.step(WORK)
    training.record_all()
    report = training.report(gait, tmp_path / "run")
    assert report["verdict_id"] == wanted
    assert advice in report["verdict_try"][-1]["text"]
    assert report["ops"]["steps"] == 30


@pytest.mark.parametrize(
    "name, op, fused",
    [
        ("Adam", "aten::add_", True),
        ("LBFGS", "aten::add_", False),
        ("AdamW", "aten::_fused_adamw_", False),
        ("SGD", "aten::_fused_sgd_", False),
    ],
)
def test_a_fused_optimizer_is_for_those_that_have_one(gait, tmp_path, name, op, fused):
    training = Training()
    site = training.shard.site("user_annotation", f"Optimizer.step#{name}.step")
    for _ in range(30):
        training.ops(op, 5, 10 * MS)
        training.step({**WORK, "optimizer": 300 * MS})
        training.rows.append((training.now - 200 * MS, MS, site, 1))
    training.record_all()
    report = training.report(gait, tmp_path / "run")
    assert report["verdict_id"] == "compute-bound"
    assert report["verdict_evidence"]["phase"] == "optimizer"
    assert ("fused=True" in report["verdict_try"][-1]["text"]) == fused


def test_advice_to_sample_is_for_those_that_did_not(gait, tmp_path):
    for run in ("plain", "sampled"):
        training = Training()
        for _ in range(30):
            training.ops("aten::add", 2, MS)
            training.step(WORK)
            training.now += 300 * MS
        training.record_all()
        sampler = ShardMaker(pid=9, start_ns=START, role="sampler")
        if run == "sampled":
            sampler.write(tmp_path / run)
        report = training.report(gait, tmp_path / run)
        assert report["verdict_id"] == "unknown"
        assert ("--sample 1000" in report["verdict_try"][-1]["text"]) == (run == "plain")
        assert finding(report, "unexplained") is None  # it is the verdict


@pytest.mark.parametrize("count, told", [(20, True), (5, False)])
def test_numbers_that_are_taken_out_one_by_one(gait, tmp_path, count, told):
    training = Training()
    for _ in range(30):
        training.ops("aten::item", count, 2 * MS)
        training.step(WORK)
    training.record_all()
    report = training.report(gait, tmp_path / "run")
    found = finding(report, "items")
    assert bool(found) == told
    if told:
        assert (found["a_step"], found["calls"], found["ns"]) == (20, 600, 1200 * MS)
        assert found["share"] == pytest.approx(0.4)
    (op,) = report["ops"]["top"]
    assert op["step_share"] == pytest.approx(count * 2 / 100)
    assert op["op_share"] == 1


def test_ops_outside_of_steps_are_not_those_of_steps(gait, tmp_path):
    """A window was open until the script ended, and it ran its model after the loop."""
    training = Training()
    for _ in range(30):
        training.ops("aten::mul", 10, 2 * MS)
        training.step(WORK)
    training.ops("aten::addmm", 400, 10 * MS)
    training.now += 5000 * MS
    training.record_all()
    report = training.report(gait, tmp_path / "run")
    (op,) = report["ops"]["top"]
    assert (op["name"], op["calls"]) == ("aten::mul", 300)
    assert op["step_share"] == pytest.approx(0.2)
    assert "products" not in said(report)


def test_compiling_that_a_program_marked_itself(gait, tmp_path):
    """No PyTorch run: the phases are spans."""
    for run, every in (("once", STEPS), ("on", 5)):
        shard = ShardMaker(pid=1, start_ns=START)
        track, at = shard.track(key="1", os_id=1), START
        steps = []
        for n in range(STEPS):
            begin = at
            for name, length in (("jit_compile", 900 * MS), ("forward", 10 * MS)):
                if name == "forward" or n % every == 0:
                    shard.spans(track, [(at, length, shard.site("mine", name))])
                    at += length
            steps.append((begin, at - begin, n))
        shard.rows("step", track, steps)
        shard.write(tmp_path / run)
    once, on = (asked(gait, tmp_path / run) for run in ("once", "on"))
    assert (once["verdict_id"], on["verdict_id"]) == ("compute-bound", "compile-bound")
    assert once["verdict_evidence"]["once_ns"] == 900 * MS
    assert "jit_compile" in once["verdict_but"][0]


def test_every_identity_is_documented(root):
    """With its condition, in the table of verdicts or of findings."""
    text = (root / "src/analyse/verdict/sentences.def").read_text()
    made = re.findall(r'^(?:VERDICT|FINDING)\(\w+, "([\w-]+)"', text, re.MULTILINE)
    rows = [line for line in (root / "docs" / "REPORT.md").read_text().splitlines() if "|" in line]
    assert len(made) > 40
    for name in made:
        assert [row for row in rows if f"`{name}`" in row.split("|")[1]], name


def test_no_sentence_has_a_share_without_its_base(root):
    text = (root / "src/analyse/verdict/sentences.def").read_text()
    sentences = [
        "".join(re.findall(r'"((?:[^"\\\\]|\\\\.)*)"', one))
        for one in re.split(r"\n(?=\w+\()", text)
    ]
    shares = [words for one in sentences for words in re.findall(r"\{\w*share\}(.{0,9})", one)]
    assert len(shares) > 40
    assert [words for words in shares if not words.startswith(" of ")] == []


@pytest.mark.parametrize("tenths, is_told", [(99, False), (101, True)])
def test_copies_are_told_from_a_tenth_of_the_loop_on(gait, tmp_path, tenths, is_told):
    training = Training()
    for _ in range(STEPS):
        training.step({"copy": tenths * MS // 10, "forward": (1000 - tenths) * MS // 10})
    found = finding(training.report(gait, tmp_path / "run"), "copies")
    assert bool(found) == is_told
    assert not is_told or found["share"] == pytest.approx(tenths / 1000, abs=0.001)
    assert not is_told or found["of"] == "loop"


# --- what lies in no phase ---------------------------------------------------------------


def in_no_phase(gait, run, name, cpu_ns, length=300 * MS, op_ns=0):
    """Steps of 100 ms in phases and `length` outside, `op_ns` of it in an op; None: without
    the CPU time of the thread."""
    training, clocks = Training(), []
    for _ in range(30):
        training.step(WORK)
        training.ops("aten::add", 2, MS)
        training.rows.append((training.now + 3 * MS, op_ns, training.shard.site("cpu_op", name), 1))
        training.now += length
        clocks.append((training.now, training.shard.site("torch", "cpu"), cpu_ns))
    if cpu_ns is not None:
        training.shard.rows("counter", training.track, clocks)
    training.record_all()
    return training.report(gait, run)


def parts_of(report):
    return {part["id"]: part["share"] for part in report["verdict_parts"]}


def test_ops_outside_of_all_modules_are_computing(gait, tmp_path):
    report = in_no_phase(gait, tmp_path / "run", "aten::mm", 390 * MS, op_ns=270 * MS)
    assert report["verdict_id"] == "compute-bound"
    evidence = report["verdict_evidence"]
    assert evidence["phase"] == "ops in no phase"
    assert evidence["phase_share"] == pytest.approx(272 / 400, abs=0.02)  # with two aten::add
    assert "Python" not in report["verdict"]


@pytest.mark.parametrize(
    "name, op_ns, wanted, part, share",
    [("aten::item", 270 * MS, "sync-bound", "sync", 0.675),
     ("aten::mm", 9_000, "python-bound", "python", 0.75)],
)  # fmt: skip
def test_reading_a_number_and_small_ops_are_no_computing(
    gait, tmp_path, name, op_ns, wanted, part, share
):
    report = in_no_phase(gait, tmp_path / "run", name, 390 * MS, op_ns=op_ns)
    assert report["verdict_id"] == wanted
    assert parts_of(report)[part] == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(
    "cpu_ns, wanted, part",
    [(390 * MS, "python-bound", "python"), (110 * MS, "blocked", "blocked"),
     (None, "unknown", "unknown")],
)  # fmt: skip
def test_the_loops_own_python_is_named_where_the_cpu_time_shows_it(
    gait, tmp_path, cpu_ns, wanted, part
):
    report = in_no_phase(gait, tmp_path / "run", "aten::mm", cpu_ns, op_ns=MS)
    assert report["verdict_id"] == wanted
    assert next(iter(parts_of(report))) == part
    assert ("Python between the ops" in report["verdict"]) == (part == "python")
    if cpu_ns:
        share = report["verdict_evidence"]["cpu_share"]
        assert share == pytest.approx(cpu_ns / (400 * MS), abs=0.01)


@pytest.mark.parametrize("name, want", [("copy", "copies"), ("communication", "comm"),
                                        ("evaluation", "evaluation")])  # fmt: skip
def test_parts_and_evidence_call_work_by_one_name(gait, tmp_path, name, want):
    training = Training()
    for _ in range(STEPS):
        training.step({**WORK, name: 900 * MS})
    training.step(WORK)
    report = training.report(gait, tmp_path / "run")
    assert report["verdict_evidence"]["work"] == want
    assert report["verdict_parts"][0]["id"] == want


# --- what is not all of the run ------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_said_in_front(gait, tmp_path):
    """Not that no optimizer stepped: it may have stepped there."""
    helper = Training(pid=3000)
    helper.rows.append((START, MS, helper.shard.site("cpu_op", "aten::mm"), 0))
    assert helper.report(gait, tmp_path / "run")["verdict_id"] == "no-steps"
    (tmp_path / "run" / "node0-1-1.gait").write_bytes(b"no shard at all" * 100)
    report = asked(gait, tmp_path / "run")
    assert report["verdict_id"] == "damaged"
    assert "has no steps" in report["verdict"]
    lead = gait("report", "run").stdout.split("\n\n")[0]
    assert "gait cannot read all of the run: node0-1-1.gait" in lead


def test_ranks_that_made_fewer_steps_and_two_of_one_number_are_said(gait, tmp_path):
    for pid, rank, steps in ((2000, 0, 30), (2001, 1, 20), (2002, 1, 4)):
        training = Training(pid=pid, rank=rank)
        for _ in range(steps):
            training.step(WORK)
        training.report(gait, tmp_path / "run")
    lead = gait("report", "run").stdout.split("\n\n")[0]
    assert "processes 2001 and 2002 both say that they are rank 1" in lead
    assert "uneven numbers of steps: rank 0 made 30, rank 1 only 24" in " ".join(lead.split())


def test_files_that_a_loader_reads_are_no_checkpoints(gait, tmp_path):
    """torch.load() of each sample, and of the data before the first step."""
    training = Training()
    training.step({"checkpoint": 5_000 * MS})
    for _ in range(30):
        load = training.shard.site("phase", "checkpoint")
        training.rows.append((training.now + MS, 150 * MS, load, 1))
        training.step({**WORK, "input": 200 * MS})
    report = training.report(gait, tmp_path / "run")
    shares = {phase["name"]: phase["total_ns"] for phase in report["phases"]}
    assert (shares["input"], shares["checkpoint"]) == (30 * 200 * MS, 0)
    assert report["verdict_id"] == "input-bound"
    parts = {part["name"]: part["total_ns"] for part in report["run"]}
    assert (parts["checkpoint"], parts["start-up"]) == (0, 5_000 * MS)
