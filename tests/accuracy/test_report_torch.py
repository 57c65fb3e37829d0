# SPDX-License-Identifier: Apache-2.0
"""The ledger of a PyTorch run against a second opinion: facts of made-up
trainings are painted nanosecond by nanosecond, and every sum must agree."""

import csv
import io
import json
import random

import pytest

from tests.support.shard_maker import ShardMaker

TORCH = {"version": "2.13.0"}
START = 1_700_000_000_000_000_000
TWELVE = (
    "input copy forward backward optimizer communication gc compile checkpoint evaluation "
    "logging other"
).split()
KEEP_IN_EVALUATION = {"gc", "compile", "checkpoint", "logging", "mine"}


class Training:
    """Makes facts of one thread, and knows what is to be found."""

    def __init__(self, rng, rank):
        self.rng, self.rank, self.now = rng, rank, rng.randint(1, 30)
        self.spans, self.evaluations, self.starts, self.ends = [], [], [], []

    def rest(self, most=12):
        self.now += self.rng.randint(0, most)

    def fact(self, name, inside=0, **args):
        """A span with others in it."""
        begin = self.now
        self.now += self.rng.randint(1, 20)
        for _ in range(inside):
            self.rest()
            self.fact(self.rng.choice(["copy", "gc", "communication", "mine", "logging"]))
        self.now += self.rng.randint(1, 20)
        self.spans.append((begin, self.now, name, args))
        self.rest()

    def batch(self, module=1, training=1):
        self.fact("copy")
        self.fact("forward", self.rng.randint(0, 2), module=module, training=training)

    def epoch(self, steps, number):
        self.starts.append(self.now)
        self.fact("input", asks=0, loader=7, iterator=100 + number)
        for step in range(steps):
            if step:
                self.starts.append(self.now)
                self.ends.append(self.now)
            self.fact(
                "input", self.rng.randint(0, 1), asks=1, got=1, loader=100 + number, samples=4
            )
            self.batch()
            self.fact("backward", self.rng.randint(0, 3))
            self.fact("optimizer", self.rng.randint(0, 1), optimizer=3, steps=1)
            self.fact("optimizer", optimizer=3, steps=0)
            if self.rng.random() < 0.2:  # inside of the loop's body
                self.evaluate(900 + 50 * number + step)
            if self.rng.random() < 0.2:
                self.fact("checkpoint")
        self.ends.append(self.now)
        self.fact("input", asks=1, got=0, loader=100 + number)
        if self.rng.random() < 0.7:
            self.evaluate(number)
        if self.rng.random() < 0.5:
            self.fact("checkpoint")

    def evaluate(self, number):
        self.rest()
        begin = self.now
        self.fact("input", asks=0, loader=8, iterator=500 + number)
        for _ in range(self.rng.randint(1, 3)):
            self.fact("input", asks=1, got=1, loader=500 + number)
            self.batch(training=0)
        self.fact(self.rng.choice(["checkpoint", "logging", "mine"]))
        self.evaluations.append((begin, self.now))
        self.rest()

    def write(self, directory, start=START, pid=1000):
        shard = ShardMaker(pid=pid + (self.rank or 0), start_ns=start, rank=self.rank, torch=TORCH)
        track = shard.track(key="1", name="main", os_id=shard.pid)
        rows = sorted(self.spans, key=lambda span: span[1])  # by end, as a recorder writes
        while rows:
            size = self.rng.randint(1, 9)
            frame, rows = sorted(rows[:size], key=lambda s: (s[0], -s[1])), rows[size:]
            shard.spans(track, [(start + s, e - s, shard.site("phase", n), 0,
                                 shard.args(list(a.items()))) for s, e, n, a in frame])  # fmt: skip
        site = shard.site("phase", "evaluation")
        for begin, end in self.evaluations:
            shard.rows("async", track, [(start + begin, site, 1, 0), (start + end, site, 1, 1)])
        shard.rows("mark", track, [(start + self.now, shard.site("torch", "exit"), b"")])
        shard.write(directory)

    def painted(self):
        """Each nanosecond's phase, up to the end."""
        paint = ["other"] * (self.now + 1)
        for begin, end, name, _ in sorted(self.spans, key=lambda s: (s[0], -s[1])):
            paint[begin:end] = [name] * (end - begin)
        for begin, end in self.evaluations:
            for at in range(begin, end):
                if paint[at] not in KEEP_IN_EVALUATION:
                    paint[at] = "evaluation"
        return paint

    def ledgers(self):
        """Of each step: its phases."""
        paint = self.painted()
        return [
            {name: paint[low:high].count(name) for name in [*TWELVE, "mine"]}
            for low, high in zip(self.starts, self.ends)
        ]

    def run(self, life):
        """Where the process's life went, of that length."""
        paint = self.painted()[:life]
        paint += ["other"] * (life - len(paint))
        for low, high in zip(self.starts, self.ends):
            paint[low:high] = ["steps"] * (high - low)
        first, last = self.starts[0], self.ends[-1]
        parts = dict.fromkeys(PARTS, 0)
        for at, phase in enumerate(paint):
            outside = "start-up" if at < first else "after" if at >= last else "between"
            parts[phase if phase in parts else outside] += 1
        return parts


PARTS = ("start-up", "steps", "evaluation", "checkpoint", "between", "after")


def by_name(phases):
    return {phase["name"]: phase["total_ns"] for phase in phases if phase["total_ns"]}


def summed(ledgers):
    total = {}
    for ledger in ledgers:
        for name, ns in ledger.items():
            if ns:
                total[name] = total.get(name, 0) + ns
    return total


def work_and_length(step):
    length = sum(step.values())
    return length - step["communication"], length


def make_run(directory, seed):
    rng = random.Random(seed)
    plan = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
    trainings = [Training(rng, rank) for rank in rng.choice([[None], [0], [0, 1], [0, 1, 2]])]
    for training in trainings:
        training.rest(50)
        for number, steps in enumerate(plan):
            training.epoch(steps, number)
        training.write(directory)
    return plan, trainings


def assert_run_is_told(report, trainings):
    """Rank 0's life is the run's; each rank has its own. And what trained is the rest."""
    assert report["run"] == report["ranks"][0]["run"]
    for rank, training in zip(report["ranks"], trainings):
        parts = {part["name"]: part["total_ns"] for part in rank["run"]}
        assert list(parts) == list(PARTS)
        assert parts == training.run(sum(parts.values()))
        assert sum(parts.values()) >= training.now
    if len(trainings) == 1:
        lengths = [
            sum(step.values()) - step["evaluation"] - step["checkpoint"]
            for step in trainings[0].ledgers()
        ]
        step = report["training_step"]
        assert (step["steps"], step["total_ns"]) == (len(lengths), sum(lengths))
        assert step["p50_ns"] == sorted(lengths)[(len(lengths) + 1) // 2 - 1]
        assert (step["max_ns"], step["slowest"]) == (max(lengths), lengths.index(max(lengths)))


@pytest.mark.parametrize("seed", range(60))
def test_steps_phases_ranks_and_epochs_agree_with_painting(gait, tmp_path, seed):
    plan, trainings = make_run(tmp_path / "run", seed)
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    ledgers = [training.ledgers() for training in trainings]
    assert report["steps"] == sum(plan)
    assert [phase["name"] for phase in report["phases"]][:12] == TWELVE
    assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"]
    slowest = [max(steps, key=work_and_length) for steps in zip(*ledgers)]
    assert report["step_total_ns"] == sum(sum(step.values()) for step in slowest)
    assert [rank["steps"] for rank in report["ranks"]] == [sum(plan)] * len(trainings)
    for rank, steps in zip(report["ranks"], ledgers):
        assert by_name(rank["phases"]) == summed(steps)
    assert [epoch["steps"] for epoch in report["epochs"]] == plan
    assert sum(epoch["total_ns"] for epoch in report["epochs"]) == report["step_total_ns"]
    assert report["throughput"]["samples"] == 4 * sum(plan) * len(trainings)
    assert_run_is_told(report, trainings)
    if any(len(set(map(work_and_length, step))) < len(step) for step in zip(*ledgers)):
        return  # of ranks that are equal, each may speak for the step
    assert by_name(report["phases"]) == summed(slowest)
    for epoch, first in zip(report["epochs"], [sum(plan[:i]) for i in range(len(plan))]):
        assert epoch["first_step"] == first
        assert by_name(epoch["phases"]) == summed(slowest[first : first + epoch["steps"]])


@pytest.mark.parametrize("seed", range(0, 60, 7))
def test_exported_steps_and_phases_agree_with_painting(gait, tmp_path, seed):
    _, trainings = make_run(tmp_path / "run", seed)
    text = gait("export", "--steps", "--format", "csv", tmp_path / "run").stdout
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["category"] == "derived"]
    for training in trainings:
        rank = "" if training.rank is None else str(training.rank)
        mine = [row for row in rows if row["rank"] == rank]
        steps = [(training.starts[i], sum(ledger.values()))
                 for i, ledger in enumerate(training.ledgers())]  # fmt: skip
        assert [when(row) for row in mine if row["kind"] == "step"] == steps
        paint = training.painted()
        got = [None] * len(paint)
        for row in mine:
            if row["kind"] == "span":
                begin, length = when(row)
                assert got[begin : begin + length] == [None] * length
                got[begin : begin + length] = [row["name"]] * length
        for begin, length in steps:
            assert got[begin : begin + length] == paint[begin : begin + length]
        assert len(paint) - got.count(None) == sum(length for _, length in steps)


def when(row):
    return int(row["start_ns"]) - START, int(row["duration_ns"])


def test_a_run_without_steps_is_told_by_the_thread(gait, tmp_path):
    rng = random.Random(5)
    training = Training(rng, None)
    for _ in range(20):
        training.fact("input", asks=1, got=1, loader=7, samples=4)
        training.fact("copy")
    training.write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    assert report["steps"] == 0
    assert "no optimizer" in report["verdict"]
    assert [finding["id"] for finding in report["findings"]][0] == "no_optimizer"
    assert [phase["name"] for phase in report["phases"]] == [*TWELVE, "mine"][
        : len(report["phases"])
    ]
    assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"] == 0
    whole = report["whole_run"]
    assert sum(phase["total_ns"] for phase in whole["phases"]) == whole["total_ns"] > 0
    wanted = {name: training.painted().count(name) for name in ("input", "copy")}
    got = by_name(whole["phases"])
    assert {name: got[name] for name in wanted} == wanted


def planted(rank, phase, delay):
    """Thirty steps of 1 ms; `phase` takes longer on rank 1, rank 0 waits for it."""
    shard = ShardMaker(pid=2000 + rank, start_ns=START, rank=rank, torch=TORCH)
    track, at, rows = shard.track(key="1", os_id=2000 + rank), START, []
    for _ in range(30):
        for name, args in (
            ("input", {"asks": 1, "got": 1, "loader": 5}),
            ("forward", {"module": 1, "training": 1}),
            ("backward", {}),
            ("communication", {}),
            ("optimizer", {"optimizer": 2, "steps": 1}),
        ):
            length = 200_000
            if name == phase and rank == 1:
                length += delay
            if name == "communication" and rank == 0:
                length += delay
            row_args = shard.args(list(args.items()))
            rows.append((at, length, shard.site("phase", name), 0, row_args))
            at += length
    shard.spans(track, rows)
    return shard


@pytest.mark.parametrize("later, steps, ranks", [(10**9, 25, 1), (0, 15, 2)])
def test_one_training_after_another_goes_on_and_side_by_side_they_are_ranks(
    gait, tmp_path, later, steps, ranks
):
    lengths = []
    for number, made in enumerate((10, 15)):
        training = Training(random.Random(number), None)
        training.epoch(made, 0)
        # the younger one has the lower number, so the order of names says nothing
        training.write(tmp_path / "run", START + number * later, 3000 - number)
        lengths.append(training.ends[-1] - training.starts[0])
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    assert (report["steps"], report["rank_count"]) == (steps, ranks)
    if ranks == 1:
        assert report["step_total_ns"] == sum(lengths)
        assert "Processes" in gait("report", "--all", tmp_path / "run").stdout


@pytest.mark.parametrize("steps, words", [(2, "the 1 steady one took"), (3, "the 2 steady ones")])
def test_one_steady_step_is_told_as_one(gait, tmp_path, steps, words):
    training = Training(random.Random(2), None)
    training.epoch(steps, 0)
    training.write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    assert report["steady_step"]["steps"] == steps - 1
    assert words in gait("report", "--all", tmp_path / "run").stdout


@pytest.mark.parametrize("before", [5, 60_000])
def test_what_passed_before_the_first_step_is_told_where_it_is_the_most(gait, tmp_path, before):
    training = Training(random.Random(6), None)
    training.now = before
    training.epoch(20, 0)
    training.write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    found = [one for one in report["findings"] if one["id"] == "set_up"]
    assert bool(found) == (before > training.now / 2)
    assert all(one["evidence"]["before_ns"] == training.starts[0] for one in found)


@pytest.mark.parametrize("behind, is_told", [(0.05, False), (0.2, True)])
def test_what_passes_after_the_last_step_is_told_from_a_tenth_on(gait, tmp_path, behind, is_told):
    training = Training(random.Random(6), None)
    training.epoch(20, 0)
    steps = training.now
    training.now = int(steps / (1 - behind))
    training.write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    found = [one["evidence"] for one in report["findings"] if one["id"] == "after"]
    assert bool(found) == is_told
    for evidence in found:
        assert evidence["share"] == pytest.approx(behind, abs=0.01)
        screen = " ".join(gait("report", "--all", tmp_path / "run").stdout.split())
        assert "passed after the last step" in screen


@pytest.mark.parametrize("phase", ["input", "forward", "backward", "optimizer"])
def test_the_slowest_rank_and_its_phase_are_named(gait, tmp_path, phase):
    for rank in (0, 1):
        planted(rank, phase, 300_000).write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    assert report["slow_rank"] == {"rank": 1, "phase": phase, "ns": 30 * 300_000}
    assert "slow_rank" in [finding["id"] for finding in report["findings"]]


def test_equal_ranks_have_no_slowest(gait, tmp_path):
    for rank in (0, 1):
        planted(rank, "forward", 0).write(tmp_path / "run")
    assert json.loads(gait("report", "--json", tmp_path / "run").stdout)["slow_rank"] is None
    shown = gait("report", "--all", tmp_path / "run").stdout
    assert "% of rank 0's run; the" in shown and "Time of rank 0's run" in shown


def test_no_line_is_longer_than_78_columns(gait, tmp_path):
    for seed in (3, 11, 25):
        make_run(tmp_path / str(seed), seed)
        run = str(tmp_path / str(seed))
        lines = (
            gait("report", run).stdout.splitlines()
            + gait("report", "--all", run).stdout.splitlines()
        )
        assert [line for line in lines if len(line) > 78 and not line.endswith(run)] == []


def test_only_what_trains_with_torch_is_told_so(gait, tmp_path):
    """A program that merely imports torch, and one that names a span like a phase."""
    for name, meta, category in (("idle", {"torch": TORCH}, "mine"), ("named", {}, "phase")):
        shard = ShardMaker(pid=1, start_ns=START, **meta)
        track = shard.track(key="1", os_id=1)
        shard.spans(track, [(START, 90, shard.site(category, "forward"))])
        shard.rows("step", track, [(START, 100, 0)])
        shard.write(tmp_path / name)
        report = json.loads(gait("report", "--json", tmp_path / name).stdout)
        assert "findings" not in report
        assert by_name(report["phases"]) == {"forward": 90, "other": 10}
