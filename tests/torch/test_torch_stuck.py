# SPDX-License-Identifier: Apache-2.0
"""`gait stuck` of trainings on four gloo processes: who holds the others up, and nobody in one
that goes on. bench/stuck_hangs.py does the same thirty times each."""

import subprocess

import pytest
from hanging import Hanging

BRIEF = ("--for", "0.4")


@pytest.fixture
def hanging(trainings, tmp_path):
    """hanging(what, rank, options) gives a training in which that has begun."""

    def begin(what, rank, options=("-q",), step=4):
        job = Hanging(trainings.python, trainings.tool, tmp_path, what, rank, step, options)
        return job

    return begin


def test_a_rank_that_sleeps_is_named_with_the_collective_that_waits_for_it(hanging):
    with hanging("sleep", 2, ("-q", "--stuck-after", "2s")) as job:
        job.planted().settled()
        found = job.ask(*BRIEF, job.run)
        assert job.is_named(found), found
        cause = found["ranks"][2]
        assert (cause["rank"], cause["state"], cause["collective"]) == (2, "stands", None)
        waiting = [found["ranks"][rank] for rank in (0, 1, 3)]
        # each step before made one of each group
        told = {(one["state"], one["collective"], one["number"]) for one in waiting}
        assert told == {("waits", "all_reduce", 5)}
        assert {one["phase"] for one in waiting} == {"communication"}
        assert {one["step"] for one in waiting} <= {3, 4}
        assert "rank 2 has not entered all_reduce #5" in found["sentence"]
        assert "that 3 others wait in; it is in hang_in_sleep at hangs.py:" in found["sentence"]
        # gait run says the same, once, and goes on
        job.until((job.run / "stuck.txt").exists)
        text = (job.run / "stuck.txt").read_text()
        assert "rank 2 has not entered" in text and "hang_in_sleep" in text
        before = job.progress()
        job.until(lambda: "stuck.txt" in (job.folder / "stderr").read_text())
        assert job.process.poll() is None and job.progress() == before
        (line,) = (job.folder / "stderr").read_text().splitlines()
        assert line.startswith("gait: rank 2 has not entered all_reduce #5")


def test_a_rank_in_another_order_of_collectives_is_named(hanging):
    with hanging("order", 1) as job:
        job.planted().settled()
        found = job.ask(*BRIEF, job.run)
        assert job.is_named(found), found
        groups = [one["group"] for one in found["ranks"]]
        assert groups[0] == groups[2] == groups[3] != groups[1]
        assert "different orders" in found["sentence"]


def test_without_a_record_the_stacks_tell_who_is_in_another_collective(hanging):
    with hanging("collective", 3, None) as job:
        job.planted().settled()
        found = job.ask(*BRIEF, *job.pids())
        assert job.is_named(found), found
        assert found["ranks"][0]["is_recorded"] is False
        assert {one["collective"] for one in found["ranks"]} == {"all_reduce", "broadcast"}


def test_nobody_is_named_while_the_ranks_go_on(hanging):
    with hanging("slow", 1, ("-q", "--stuck-after", "2s")) as job:
        job.planted()
        for _ in range(2):
            found = job.ask(*BRIEF, job.run)
            assert (found["code"], found["verdict"]) == (0, "moves"), found
            assert found["sentence"] == "all 4 ranks move"
        screen = subprocess.run(
            [job.tool, "stuck", *BRIEF, str(job.run)], capture_output=True, text=True
        )
        assert screen.stdout.startswith("all 4 ranks move\n")
        assert not (job.run / "stuck.txt").exists()
