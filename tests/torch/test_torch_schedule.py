# SPDX-License-Identifier: Apache-2.0
"""gait's schedule against torch's own function, and against the vectors people know."""

import random
import sys

import pytest

LETTERS = "NWRS"


@pytest.fixture(scope="module")
def ours(build):
    sys.path.insert(0, str(build / "python"))
    try:
        import gait.torch
    finally:
        sys.path.pop(0)
    return gait.torch


@pytest.fixture(scope="module")
def theirs():
    import torch.profiler

    return torch.profiler


def letters(function, count, begin=0):
    return "".join(LETTERS[function(step).value] for step in range(begin, begin + count))


@pytest.mark.parametrize(
    "numbers, expected",
    [
        ({"wait": 1, "warmup": 1, "active": 3, "repeat": 1}, "NWRRSNNN"),
        ({"skip_first": 1, "wait": 1, "warmup": 1, "active": 3, "repeat": 2}, "NNWRRSNWRRSNN"),
        ({"wait": 0, "warmup": 0, "active": 1}, "SSSS"),
        ({"wait": 2, "warmup": 0, "active": 2, "repeat": 2}, "NNRSNNRSNN"),
    ],
)
@pytest.mark.needs_no_torch
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_the_known_vectors(ours, numbers, expected):
    assert letters(ours.schedule(**numbers), len(expected)) == expected


@pytest.mark.needs_no_torch
def test_the_first_wait_is_left_out_if_asked_for(ours):
    plan = ours.schedule(wait=20, warmup=1, active=1, skip_first=10, skip_first_wait=1)
    text = letters(plan, 40)
    assert [at for at, letter in enumerate(text) if letter == "W"] == [10, 32]
    assert [at for at, letter in enumerate(text) if letter == "S"] == [11, 33]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_hundred_thousand_random_schedules_equal_torchs(ours, theirs):
    chance = random.Random(5)
    for turn in range(100_000):
        most = (3, 8, 40)[turn % 3]
        numbers = {
            "wait": chance.randint(0, most),
            "warmup": chance.randint(0, most),
            "active": chance.randint(1, most),
            "repeat": chance.randint(0, 4),
            "skip_first": chance.randint(0, most),
            "skip_first_wait": chance.randint(-1, 1),
        }
        mine, reference = ours.schedule(**numbers), theirs.schedule(**numbers)
        for _ in range(4):
            step = chance.randint(0, 6 * most)
            assert mine(step) is reference(step), (numbers, step)


def test_numbers_of_any_kind_are_what_torch_takes_them_for(ours, theirs):
    """A float that is whole, a flag, numpy's, and a skip that is to last for ever."""
    numpy = pytest.importorskip("numpy")
    for numbers in (
        {"wait": 2.0, "warmup": True, "active": numpy.int64(3), "repeat": numpy.float64(2)},
        {"wait": numpy.uint8(1), "warmup": numpy.True_, "active": 4},
        {"wait": 1, "warmup": 1, "active": 1, "skip_first": sys.maxsize},
        {"wait": 10**30, "warmup": 1, "active": 2, "skip_first_wait": 0.5},
    ):
        mine, reference = ours.schedule(**numbers), theirs.schedule(**numbers)
        assert letters(mine, 40) == letters(reference, 40)
        assert letters(plans_of(reference), 40) == letters(reference, 40)


def plans_of(function):
    from gait.torch import plans

    return plans.recognise(function)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_what_makes_no_sense_is_refused_in_torchs_words(ours, theirs):
    good = {"wait": 1, "warmup": 1, "active": 1}
    for change in (
        {"wait": -1},
        {"warmup": -2},
        {"active": 0},
        {"active": -1},
        {"repeat": -1},
        {"skip_first": -5},
    ):
        said = []
        for module in (ours, theirs):
            with pytest.raises(AssertionError) as caught:
                module.schedule(**{**good, **change})
            said.append(str(caught.value))
        assert said[0] == said[1]
    for module in (ours, theirs):
        with pytest.raises(AssertionError, match="Step must be non-negative. Got -1."):
            module.schedule(**good)(-1)
        with pytest.raises(TypeError):
            module.schedule(1, 1, 1)
        with pytest.warns(UserWarning, match="won't be using warmup"):
            module.schedule(wait=1, warmup=0, active=1)


def test_torchs_profiler_takes_our_schedule(ours, theirs):
    taken = []
    with theirs.profile(
        schedule=ours.schedule(wait=1, warmup=1, active=1, repeat=2),
        on_trace_ready=lambda prof: taken.append(prof.step_num),
    ) as prof:
        for _ in range(7):
            prof.step()
    assert taken == [3, 6]


def test_an_action_without_torch_equals_torchs(ours, theirs):
    from gait.torch import actions

    for name in ("NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"):
        mine, reference = (
            getattr(actions.ProfilerAction, name),
            getattr(theirs.ProfilerAction, name),
        )
        assert mine == reference and reference == mine and hash(mine) == hash(reference)
        assert {reference: 1}[mine] == 1
    assert actions.ProfilerAction.NONE != theirs.ProfilerAction.RECORD


@pytest.mark.needs_no_torch
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_cycles_begin_each_n_steps(ours):
    plan = ours.schedule(wait=0, warmup=1, active=3, repeat=2, every_n_steps=50)
    text = letters(plan, 200)
    assert [at for at, letter in enumerate(text) if letter in "RS"] == [1, 2, 3, 51, 52, 53]
    assert plan.needs() == 54
    with pytest.raises(ValueError, match="cycle of 4 is longer than 'every', which is 3"):
        ours.schedule(wait=0, warmup=1, active=3, every_n_steps=3)


@pytest.mark.needs_no_torch
def test_steps_can_be_listed(ours):
    plan = ours.at_steps([5, 12, 10, 11], warmup=1)
    assert letters(plan, 15) == "NNNNWSNNNWRRSNN"
    for bad in ([], [-1], [1, -2]):
        with pytest.raises(ValueError):
            ours.at_steps(bad)


@pytest.mark.needs_no_torch
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "epochs, wait, warmup, expected",
    [(2, 1, 2, (1, 0, 1)), (1, 1, 1, (0, 0, 1)), (3, 5, 1, (1, 1, 1)), (10, 1, 2, (1, 2, 7))],
)
def test_few_epochs_shorten_wait_and_warmup(ours, epochs, wait, warmup, expected):
    plan = ours.schedule(wait=wait, warmup=warmup, active=1, unit="epoch").for_epochs(epochs)
    text = letters(plan, epochs)
    assert (text.count("N"), text.count("W"), len(text.lstrip("NW"))) == expected


@pytest.mark.needs_no_torch
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_epoch_rule_is_that_of_taking_one_at_a_time(ours):
    chance = random.Random(6)
    for _ in range(2000):
        epochs, wait, warmup = (chance.randint(1, 12), chance.randint(0, 15), chance.randint(0, 15))
        plan = ours.schedule(wait=wait, warmup=warmup, active=1).for_epochs(epochs)
        while epochs - wait - warmup < 1:
            if wait > warmup:
                wait -= 1
            else:
                warmup -= 1
        active = epochs - wait - warmup
        assert letters(plan, epochs) == "N" * wait + "W" * warmup + "R" * (active - 1) + "S"
    with pytest.raises(ValueError, match="run of 0 epochs"):
        plan.for_epochs(0)


@pytest.mark.needs_no_torch
@pytest.mark.parametrize(
    "text, said",
    [
        ("5/", "'5/' is not off"),
        ("1/2/3/4", "is not off"),
        ("wait=1", "active is 0"),
        ("wait=1,activ=2", "'activ' is not wait"),
        ("wait=x,active=1", "no number"),
        ("active=1,unit=hour", "not step, epoch or seconds"),
        ("steps=3,2", "step 2 comes after step 3"),
        ("steps=", "no list of steps"),
        ("active=99999999999999999999", "more than any run has"),
    ],
)
def test_a_bad_text_is_refused_by_what_is_wrong_in_it(ours, text, said):
    from gait.torch import plans

    with pytest.raises(ValueError, match=said):
        plans.parse(text)


@pytest.mark.needs_no_torch
@pytest.mark.parametrize("name, value", [("wait", "1"), ("active", 1.5), ("repeat", None)])
def test_what_is_no_number_is_named(ours, name, value):
    numbers = {"wait": 1, "warmup": 1, "active": 1, name: value}
    with pytest.raises(TypeError, match=f"whole numbers: {name} is {value!r}"):
        ours.schedule(**numbers)
