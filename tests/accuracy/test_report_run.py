# SPDX-License-Identifier: Apache-2.0
"""Where the whole run went: from when on it is told, its parts, and what is said of them."""

import pytest

from tests.support.made_training import MS, START, STEPS, WORK, Training, asked, finding
from tests.support.shard_maker import ShardMaker

IMPORTS = 40_000 * MS
STEPS_NS = STEPS * sum(WORK.values())


def began(at, error=5 * MS):
    return {"process_start_ns": at, "process_start_error_ns": error}


def parts(report):
    return {part["name"]: part["total_ns"] for part in report["run"]}


def trained(**meta):
    training = Training(**meta)
    training.now += 2_000 * MS  # set-up on record
    for _ in range(STEPS):
        training.step(WORK)
    return training


def test_what_gait_run_started_is_told_from_its_start(gait, tmp_path):
    training = trained(invocation="0" * 32, **began(START - IMPORTS))
    report = training.report(gait, tmp_path / "run")
    assert parts(report)["start-up"] == IMPORTS + 2_000 * MS
    assert sum(parts(report).values()) == report["wall_ns"] == IMPORTS + 2_000 * MS + STEPS_NS
    assert report["run_start"] == {"unrecorded_ns": IMPORTS, "error_ns": 5 * MS}
    assert report["ranks"][0]["run_start"] == report["run_start"]
    evidence = finding(report, "set_up")
    assert (evidence["unrecorded_ns"], evidence["set_up_ns"]) == (IMPORTS, 2_000 * MS)
    screen = gait("report", "--all", "run").stdout
    assert screen.startswith("run\n1 process, 57.0 s, ")
    assert "    of it before the recording      40.0 s " in screen
    assert "40.0 s until gait began to record" in " ".join(screen.split())


@pytest.mark.parametrize(
    "meta",
    [
        {},  # a file of gait before this
        began(START - IMPORTS),  # that the program began to record by itself
        {"invocation": "0" * 32, **began(START + MS)},
        {"invocation": "0" * 32, "process_start_ns": START - IMPORTS},
        {"invocation": "0" * 32, **began("soon")},
        {"invocation": "0" * 32, **began(START - IMPORTS, error=-1)},
    ],
)
def test_others_are_told_from_their_recording(gait, tmp_path, meta):
    report = trained(**meta).report(gait, tmp_path / "run")
    assert report["wall_ns"] == 2_000 * MS + STEPS_NS
    assert parts(report)["start-up"] == 2_000 * MS
    assert report["run_start"] is None
    assert "before the recording" not in gait("report", "--all", "run").stdout


@pytest.mark.parametrize("start", [-(1 << 63), -1, 0])
def test_a_start_that_no_clock_shows_breaks_nothing(gait, tmp_path, start):
    report = trained(invocation="0" * 32, **began(start)).report(gait, tmp_path / "run")
    assert sum(parts(report).values()) == parts(report)["start-up"] + STEPS_NS
    assert gait("report", "run").returncode == 0


def test_a_program_that_another_became_begins_where_that_ended(gait, tmp_path):
    """By exec(): the process, and its start, are the same."""
    first = ShardMaker(pid=2000, start_ns=START - IMPORTS, invocation="0" * 32)
    first.meta.update(began(START - 2 * IMPORTS))
    track = first.track(key="1", os_id=2000)
    first.spans(track, [(START - IMPORTS, IMPORTS // 4, first.site("a", "b"))])
    first.write(tmp_path / "run")
    training = trained(invocation="0" * 32, **began(START - 2 * IMPORTS))
    report = training.report(gait, tmp_path / "run")
    assert parts(report)["start-up"] == IMPORTS * 3 // 4 + 2_000 * MS
    assert report["wall_ns"] == 2 * IMPORTS + 2_000 * MS + STEPS_NS


def test_a_run_without_steps_is_told_from_its_start(gait, tmp_path):
    shard = ShardMaker(pid=2000, start_ns=START, invocation="0" * 32, **began(START - 30 * MS))
    track = shard.track(key="1", os_id=2000)
    shard.spans(track, [(START, 10 * MS, shard.site("a", "b"))])
    shard.write(tmp_path / "run")
    report = asked(gait, tmp_path / "run")
    assert report["whole_run"]["total_ns"] == report["wall_ns"] == 40 * MS


def test_time_between_the_steps_is_told(gait, tmp_path):
    """Outside of any loop: the loop is left with the last batch of each epoch."""
    training, between = Training(), 0
    for epoch in range(5):
        for _ in range(10):
            training.step(WORK, loader=epoch)
        training.step({"input": MS}, got=0, loader=epoch)
        training.now += 1_500 * MS
        between += 1_500 * MS
    training.step(WORK, loader=5)
    report = training.report(gait, tmp_path / "run")
    told, run_ns = parts(report), report["wall_ns"]
    assert between <= told["between"] <= between + 5 * MS
    assert sum(told.values()) == run_ns
    assert finding(report, "between") is None  # the verdict says it, of the loop
    judged = report["verdict_evidence"]
    loop_ns = told["steps"] + told["between"]
    assert (report["verdict_id"], judged["phase"], judged["of"]) == ("unknown", "between", "loop")
    assert judged["steps_ns"] == loop_ns
    assert judged["share"] == pytest.approx(told["between"] / loop_ns)
    assert "60 % of the loop (7.51 s of 12.6 s) passes between the steps" in report["verdict"]


def test_what_follows_the_last_step_is_told(gait, tmp_path):
    training = trained()
    training.rows.append((training.now + 3 * STEPS_NS, MS, training.shard.site("my", "plot"), 0))
    report = training.report(gait, tmp_path / "run")
    evidence = finding(report, "after")
    assert evidence["ns"] == parts(report)["after"] == 3 * STEPS_NS + MS
    assert report["verdict_evidence"]["run_share"] == pytest.approx(0.25, abs=0.01)
    assert "after" not in report["verdict"]  # a finding tells it, once
    assert finding(report, "between") is None


def test_a_run_of_mostly_steps_has_nothing_said_of_the_rest(gait, tmp_path):
    report = trained().report(gait, tmp_path / "run")
    assert not [but for but in report["verdict_but"] if "of the run" in but]
    assert "run_share" not in report["verdict_evidence"]
    assert finding(report, "between") is finding(report, "after") is None


def test_other_programs_are_told_it_too(gait, tmp_path):
    shard = ShardMaker(pid=2000, start_ns=START)
    track = shard.track(key="1", os_id=2000)
    work = shard.site("phase", "forward")
    steps = [(START + n * 100 * MS, 10 * MS, n) for n in range(20)]
    shard.rows("step", track, steps)
    shard.spans(track, [(start, length, work) for start, length, _n in steps])
    shard.write(tmp_path / "run")
    report = asked(gait, tmp_path / "run")
    assert report["verdict_evidence"]["run_share"] == pytest.approx(200 / 1910)
    assert "10 % of the run is in its loop" in report["verdict_but"]
    assert "outside" not in report["verdict_evidence"]


def epochs_shown(gait, tmp_path, count, slow):
    training = Training()
    for epoch in range(count):
        for _ in range(3):
            training.step({**WORK, "backward": (900 if epoch == slow else 30) * MS}, loader=epoch)
        training.step({"input": MS}, got=0, loader=epoch)
    report = training.report(gait, tmp_path / "run")
    assert len(report["epochs"]) == count
    shown = gait("report", "--all", "run").stdout.partition("Epochs ")[2].partition("\n\n")[0]
    return [line.split(" " * 4)[0].strip() for line in shown.splitlines()[1:]]


def test_epochs_that_fit_are_all_shown(gait, tmp_path):
    assert epochs_shown(gait, tmp_path, 7, 3) == [str(n) for n in range(7)]


@pytest.mark.parametrize(
    "slow, wanted",
    [
        (4, "slowest 4"),
        (12, "slowest 12"),
    ],
)
def test_of_many_epochs_first_slowest_and_last_are_shown(gait, tmp_path, slow, wanted):
    seen = epochs_shown(gait, tmp_path, 16, slow)
    assert seen[0] == "0" and seen[1].startswith("(6 more")
    assert seen[2:] == [*map(str, range(7, 16)), wanted]


def two_epochs(gait, run, last):
    """Of 3 steps and of `last`, each with 50 ms of evaluation behind it."""
    training = Training()
    for epoch, steps in enumerate((3, last)):
        for _ in range(steps):
            training.step(WORK, loader=epoch)
        training.step({"input": MS}, got=0, loader=epoch)
        training.step({"evaluation": 50 * MS})
    training.step({"checkpoint": MS})
    return training.report(gait, run)


STEP = sum(WORK.values())


def test_an_epoch_lasts_until_the_next_one_and_the_last_with_its_evaluation(gait, tmp_path):
    report = two_epochs(gait, tmp_path / "run", 3)
    assert [one["steps"] for one in report["epochs"]] == [3, 3]
    lines = gait("report", "--epochs-csv", "-", "run").stdout.splitlines()
    # up to the next first request, and what evaluates behind the last step
    walls = [3 * STEP + 51 * MS, 3 * STEP + 50 * MS]
    wanted = [f"{n + 1},{wall / 1e9:.9f},non-distributed,1" for n, wall in enumerate(walls)]
    assert lines == ["epoch_id,time,name,nodes", *wanted]


def test_an_epoch_that_was_cut_off_is_no_row_of_itwinais(gait, tmp_path):
    report = two_epochs(gait, tmp_path / "run", 2)
    assert [one["steps"] for one in report["epochs"]] == [3, 2]
    assert len(gait("report", "--epochs-csv", "-", "run").stdout.splitlines()) == 2


def test_an_iterator_for_each_batch_makes_no_epoch(gait, tmp_path):
    training = Training()
    for loader in range(6):
        training.step(WORK, loader=loader)
    report = training.report(gait, tmp_path / "run")
    assert (report["steps"], report["epochs"]) == (6, [])
    assert "only one batch" in report["epochs_why"]


def test_a_program_that_imports_torch_and_does_not_train(gait, tmp_path):
    peak = {"rss_bytes": 250_000_000}
    shard = ShardMaker(pid=7, start_ns=START, torch={"version": "2.13.0"}, memory_peak=peak)
    track = shard.track(key="7", os_id=7)
    shard.spans(track, [(START, 5 * MS, shard.site("cpu_op", "aten::mm"))])
    shard.write(tmp_path / "run")
    report = asked(gait, tmp_path / "run")
    assert report["verdict_id"] == "no-steps"
    assert report["verdict_try"][0]["text"] == "mark each iteration with gait.step()"
    screen = gait("report", "--all", "run").stdout
    assert "Memory  resident peak 250 MB\n" in screen
    assert "aten::mm" in screen
