# SPDX-License-Identifier: Apache-2.0
"""Epochs are counted while they happen as the report counts them afterwards: windows of
each second epoch hold the steps of each second epoch."""

import json
import random

import pytest
from torch_trainings import Job, full

EACH_SECOND = ("--quiet", "--windows", "active=1,every=2,unit=epoch")
STYLES = """plain anew anew_and_checked checked_in_train_mode one_function_for_both
checked_in_the_middle stopped stopped_and_kept restarted zipped second_loader_restarts nested
inner_epochs gan gathered stream looked_at statistics_first two_stages attacked""".split()


def mixed(seed):
    """All styles, in an order of chance, and two of them once more."""
    names = [*STYLES, *random.Random(seed).sample(STYLES, 2)]
    random.Random(-seed).shuffle(names)
    job = Job("epochs", tuple(names), options=EACH_SECOND, warm=True)
    return pytest.param(job, id=f"order {seed}", marks=[full] if seed > 3 else [])


def in_windows(training, word):
    rows = (r["name"] for r in training.rows if r["name"].startswith(f"{word} step "))
    return [int(name.split()[-1]) for name in rows]


def each_second(epochs):
    """The steps of epochs 0, 2, 4, … of so many steps each."""
    first = 0
    for number, steps in enumerate(epochs):
        if number % 2 == 0:
            yield from range(first, first + steps)
        first += steps


def reported(training):
    return [epoch["steps"] for epoch in training.report["epochs"]]


@pytest.mark.parametrize("training", [mixed(seed) for seed in range(1, 9)], indirect=True)
def test_epochs_of_all_styles_are_counted_live_as_they_are_reported(training):
    assert (training.code, training.stderr) == (0, "")
    assert reported(training) == training.truth["epochs"]
    assert in_windows(training, "was") == list(each_second(training.truth["epochs"]))


@pytest.mark.parametrize("style", ["anew_and_checked", "checked_in_train_mode", "stopped"])
def test_the_window_of_an_epoch_has_all_of_its_first_step(run, style):
    training = run(Job("epochs", (style,), options=EACH_SECOND, warm=True))
    assert in_windows(training, "began") == list(each_second(training.truth["epochs"]))


def spans(training, name, category):
    rows = [r for r in training.rows if (r["name"], r["category"]) == (name, category)]
    return [(int(r["start_ns"]), int(r["duration_ns"] or 1 << 62), r) for r in rows]


def ends_of_optimizer_steps(training):
    found = spans(training, "optimizer", "phase")
    return [start + ns for start, ns, row in found if json.loads(row["args"] or "{}").get("steps")]


def assert_windows_are_of_each_second_epoch(training):
    ends, report = ends_of_optimizer_steps(training), training.report
    calls = len(ends) // report["steps"]  # of an optimizer in a step
    found = []
    for start, ns, _row in spans(training, "window", "torch"):
        found += [at for at, end in enumerate(ends) if start < end <= start + ns]
    wanted = each_second([calls * steps for steps in reported(training)])
    assert len(report["epochs"]) > 1 and found == list(wanted)


@pytest.mark.parametrize(
    "script",
    [
        "iterations",
        "dcgan",
        "accumulate",
        *(
            pytest.param(s, marks=full)
            for s in ("plain", "mnist", "amp", "distill", "trainer", "wgan", "own_optimizer")
        ),
    ],
)
def test_epochs_of_a_training_are_counted_live_as_they_are_reported(run, script):
    assert_windows_are_of_each_second_epoch(run(Job(script, options=EACH_SECOND, warm=True)))


@pytest.mark.parametrize(
    "job, why",
    [
        (Job("nanogpt", warm=True), "uses no DataLoader"),
        (Job("epochs", ("single_batches",), options=EACH_SECOND, warm=True), "gave only one batch"),
    ],
    ids=["no loader", "single batches"],
)
def test_the_report_says_why_there_are_no_epochs(run, job, why):
    training = run(job)
    assert training.report["epochs"] == [] and why in training.report["epochs_why"]
    assert why in " ".join(training.screen.split())


def test_where_there_are_epochs_there_is_nothing_to_say(run):
    training = run(Job("epochs", ("anew_and_checked",), options=EACH_SECOND, warm=True))
    assert training.report["epochs_why"] is None and "not known" not in training.screen
