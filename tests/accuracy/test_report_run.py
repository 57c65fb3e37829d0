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
    screen = gait("report", "run").stdout
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
    assert "before the recording" not in gait("report", "run").stdout


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
