# SPDX-License-Identifier: Apache-2.0
"""Each step counted, each nanosecond of it in one phase, each delay where it was planted."""

import pytest
from torch_trainings import Job, full, times

# on one worker: each training is run once and looked at by many tests
pytestmark = [pytest.mark.xdist_group("trainings"), pytest.mark.usefixtures("ahead")]

TWELVE = (
    "input copy forward backward optimizer communication gc compile checkpoint evaluation "
    "logging other"
).split()
STYLES = [
    Job("plain"),
    Job("mnist"),
    Job("dcgan", warm=True),
    Job("wgan", ("same",), warm=True),
    Job("wgan", ("fresh",), warm=True),
    Job("wgan", ("skip",), warm=True),
    Job("accumulate", warm=True),
    Job("amp", warm=True),
    Job("nanogpt"),
    Job("trainer"),
    Job("distill", warm=True),
    Job("iterations", warm=True),
    Job("ppo", warm=True),
    Job("own_optimizer", warm=True),
]
WITHOUT_OPTIMIZER = [Job("manual"), Job("manual", ("loader",), warm=True)]
DDP = Job("ddp", processes=2, warm=True)
ALL = [*STYLES, *WITHOUT_OPTIMIZER, DDP]
LINES = tuple(" ".join([job.script, *job.args]) for job in ALL[:-1])
TOGETHER = Job("together", LINES, gait=False, warm=True)

# Delays of 50 ms, so many in each place, and the phase that must show them.
PHASE_OF = {"collate": "input", "evaluation": "evaluation"}
EVERYWHERE = {"collate": 12, "forward": 12, "backward": 12, "checkpoint": 12, "gc": 12}
PLANTED = [
    Job("plain", warm=True).planted(**EVERYWHERE),
    Job("dcgan", warm=True).planted(**EVERYWHERE),
    Job("accumulate", warm=True).planted(**EVERYWHERE),
    Job("mnist", warm=True).planted(forward=12, evaluation=9),
    Job("nanogpt", warm=True).planted(forward=12),
    pytest.param(
        Job("trainer").planted(collate=12, forward=12, evaluation=12, checkpoint=3), marks=full
    ),
    pytest.param(Job("iterations").planted(collate=12), marks=full),
]
of_styles = pytest.mark.parametrize("training", STYLES, ids=str, indirect=True)
of_all = pytest.mark.parametrize("training", ALL, ids=str, indirect=True)


@of_styles
def test_steps_are_counted_exactly(training):
    assert training.report["steps"] == training.truth["steps"]


@of_all
def test_the_phases_are_the_twelve_and_sum_to_the_steps(training):
    assert [phase["name"] for phase in training.report["phases"]] == TWELVE
    assert sum(training.phases.values()) == training.report["step_total_ns"]
    assert min(training.phases.values()) >= 0


@of_all
def test_gait_changes_neither_the_exit_code_nor_what_is_said(training):
    assert training.code == 0
    assert training.stderr == ""


@pytest.fixture(scope="module")
def losses_without(trainings):
    """The losses of every script, run without gait, in one process to save time."""
    losses, found = {}, trainings.get(TOGETHER)
    for part in found.stdout.split("SCRIPT ")[1:]:
        words, _, said = part.partition("\n")
        losses[words] = [line for line in said.splitlines() if line.startswith("TRUTH")]
    return losses


@pytest.mark.parametrize("training", ALL[:-1], ids=str, indirect=True)
def test_losses_are_the_same_bit_by_bit(training, losses_without):
    words = " ".join([training.job.script, *training.job.args])
    assert len(training.truth["losses"]) > 5
    said = [line for line in training.stdout.splitlines() if line.startswith("TRUTH")]
    assert without_times(said) == without_times(losses_without[words])


def without_times(lines):
    return [line.split('"planted_ns"')[0] for line in lines]


def test_losses_of_two_ranks_are_the_same_bit_by_bit(run):
    on, off = run(DDP), run(DDP.but(gait=False))
    assert [truth["losses"] for truth in on.truths] == [truth["losses"] for truth in off.truths]


def test_what_is_neither_start_nor_end_covers_the_loop(run):
    """From the first batch that is asked for up to the last save, as the script clocks it."""
    plain = run(Job("plain"))
    parts, loop_ns = times(plain.report["run"]), plain.truth["loop_ns"]
    in_loop = sum(parts.values()) - parts["start-up"] - parts["after"]
    # the script is held up between its clock and its first request when a crowd is there
    assert -0.1 * loop_ns - 50e6 < in_loop - loop_ns < 0.02 * loop_ns + 5e6
    assert parts["steps"] == plain.report["step_total_ns"]
    # a thread that is held up once on its way between two loops waits for some ms
    assert parts["between"] < 0.05 * loop_ns + 5e6


def test_the_run_begins_when_its_process_did(run):
    """Not when torch is there; the script clocks its first line, its loop and its last one."""
    manual, tick_ns = run(Job("manual")), 12e6
    truth, parts = manual.truth, times(manual.report["run"])
    whole_ns, crowd_ns = sum(parts.values()), truth["crowd_ns"] + 20e6
    began_ns = truth["loops_ns"] - parts["start-up"]
    assert manual.asked_ns - tick_ns <= began_ns + crowd_ns
    assert began_ns <= truth["began_ns"] + tick_ns
    assert truth["told_ns"] - truth["began_ns"] - tick_ns < whole_ns
    assert whole_ns < manual.over_ns - manual.asked_ns + tick_ns
    assert whole_ns == manual.report["wall_ns"]
    assert manual.report["run_start"]["unrecorded_ns"] > 0.3e9
    assert 0 < manual.report["run_start"]["error_ns"] < tick_ns


def by_phase(planted):
    wanted = dict.fromkeys(TWELVE, 0)
    for place, ns in planted.items():
        wanted[PHASE_OF.get(place, place)] += ns
    return wanted


def assert_contained(found, planted):
    """A delay is whole in its phase, however crowded the machine; the two clocks' rates differ."""
    for name, ns in by_phase(planted).items():
        assert found[name] >= 0.999 * ns, name


def assert_planted(found, base, planted, crowd_ns):
    """What the phases have more than without delays, within 5 %.

    A crowded machine wakes sleepers late and stretches everything else alike:
    `crowd_ns`, how much of the time that cost, widens the bounds.
    """
    wanted = by_phase(planted)
    more = {name: found[name] - base[name] for name in wanted}
    bounds = {name: 0.05 * (ns or max(wanted.values())) + crowd_ns for name, ns in wanted.items()}
    wrong = {
        name: f"{more[name] / 1e6:.1f} ms more, planted {wanted[name] / 1e6:.1f} ms"
        for name in wanted
        if abs(more[name] - wanted[name]) > bounds[name]
    }
    assert not wrong, f"a crowd took {crowd_ns / 1e6:.1f} ms"


def planted_by(training, rank=0):
    """What a rank planted: ns by place, and by how much that exceeds what was asked."""
    counts = dict(part.split(":") for part in dict(training.job.env)["PLANT"].split(","))
    planted = training.truths[rank]["planted_ns"]
    asked = {place: 50_000_000 * int(count) for place, count in counts.items()}
    assert all(planted[place] >= ns for place, ns in asked.items())
    return planted, sum(planted.values()) - sum(asked.values())


def crowd_of(late_ns, *trainings):
    """What a crowd took: sleepers were woken late, and threads waited for a processor."""
    return 2 * late_ns + sum(truth["crowd_ns"] for one in trainings for truth in one.truths)


def assert_all_planted(found, base):
    planted, late_ns = planted_by(found)
    assert_contained(found.told(), planted)
    assert_planted(found.told(), base.told(), planted, crowd_of(late_ns, found, base))


def attempts(check, *jobs):
    """Two runs are compared, so a crowded machine may need another pair, or a third."""
    for turn in range(3):
        try:
            return check(*(job.but(turn=turn) for job in jobs))
        except AssertionError:
            if turn == 2:
                raise


@pytest.mark.parametrize("training", PLANTED, ids=str, indirect=True)
def test_a_planted_delay_is_in_its_phase(training, run):
    def check(with_delays, without):
        assert_all_planted(run(with_delays), run(without))

    attempts(check, training.job, training.job.but(env=()))


def test_evaluation_is_only_that_of_models_that_train(run):
    assert run(Job("distill", warm=True)).told()["evaluation"] == 0
    assert run(Job("mnist")).told()["evaluation"] > 0


@pytest.mark.parametrize("training", WITHOUT_OPTIMIZER, ids=str, indirect=True)
def test_a_loop_without_optimizer_is_told_so(training):
    report = training.report
    said = report["verdict"] + str(report["findings"])
    assert "no optimizer" in said


# ---- ranks ------------------------------------------------------------------

LATE = DDP.planted(rank=1, collate=6, forward=6, checkpoint=6, gc=6, backward=20)


def test_the_ranks_make_one_run(run):
    ddp = run(DDP)
    assert [rank["rank"] for rank in ddp.report["ranks"]] == [0, 1]
    assert [rank["steps"] for rank in ddp.report["ranks"]] == [t["steps"] for t in ddp.truths]
    assert ddp.report["steps"] == ddp.truth["steps"]


def test_exported_steps_and_phases_sum_to_what_the_report_says(run):
    ddp = run(DDP)
    rows = [row for row in ddp.rows_with_steps if row["category"] == "derived"]
    for rank in ddp.report["ranks"]:
        mine = [row for row in rows if row["rank"] == str(rank["rank"])]
        steps = [row for row in mine if row["kind"] == "step"]
        assert [int(row["id"]) for row in steps] == list(range(rank["steps"]))
        sums = dict.fromkeys(TWELVE, 0)
        for row in mine:
            if row["kind"] == "span":
                sums[row["name"]] += int(row["duration_ns"])
        assert sums == times(rank["phases"])
        assert sum(sums.values()) == sum(int(row["duration_ns"]) for row in steps)
    assert [row for row in ddp.rows_with_steps if row["category"] != "derived"] == ddp.rows


def test_delays_of_one_rank_are_in_its_phases_and_the_other_waits(run):
    def check(with_delays, without):
        late, base = run(with_delays), run(without)
        assert [truth["rank"] for truth in late.truths] == [0, 1]
        planted, late_ns = planted_by(late, rank=1)
        crowd_ns = crowd_of(late_ns, late, base)
        assert_contained(late.told(1), planted)
        assert_planted(late.told(1), base.told(1), planted, crowd_ns)
        waited = {"communication": sum(planted.values())}
        assert_planted(late.told(0), base.told(0), waited, crowd_ns)

    attempts(check, LATE, DDP)


def test_the_slowest_rank_and_its_phase_are_named(run):
    slow = run(LATE).report["slow_rank"]
    assert (slow["rank"], slow["phase"]) == (1, "backward")


def test_each_rank_has_the_twelve_phases(run):
    for rank in run(LATE).report["ranks"]:
        assert list(times(rank["phases"])) == TWELVE
