# SPDX-License-Identifier: Apache-2.0
"""gait plan: states, cycles and needed length, against a few lines of Python."""

import json
import random

import pytest

ACTIONS = {"N": "none", "W": "warmup", "R": "record", "S": "record_and_save"}


def letters(n, wait=0, warmup=0, active=1, repeat=0, skip_first=0, every=0):
    """What happens at each of n positions, by walking through the cycles."""
    cycle = "N" * wait + "W" * warmup + "R" * (active - 1) + "S"
    cycle = cycle.ljust(every, "N")
    text = "N" * skip_first
    turn = 0
    while len(text) < n:
        text += cycle if not repeat or turn < repeat else "N" * n
        turn += 1
    return text[:n]


def expand(states):
    text = ""
    for state in states:
        assert state["from"] == len(text)
        (letter,) = (key for key, name in ACTIONS.items() if name == state["action"])
        text += letter * (state["to"] - state["from"] + 1)
    return text


def test_states_and_cycles_equal_a_walk_through_the_schedule(gait):
    chance = random.Random(3)
    for _ in range(60):
        numbers = {
            "wait": chance.randint(0, 4),
            "warmup": chance.randint(0, 3),
            "active": chance.randint(1, 4),
            "repeat": chance.randint(0, 3),
            "skip_first": chance.randint(0, 5),
        }
        least = numbers["wait"] + numbers["warmup"] + numbers["active"]
        numbers["every"] = chance.choice((0, 0, least, least + 3))
        length = chance.randint(1, 50)
        words = [f"--{key.replace('_', '-')}={value}" for key, value in numbers.items()]
        answer = json.loads(gait("plan", "--json", f"--length={length}", *words).stdout)
        text = letters(length, **numbers)
        assert expand(answer["states"]) == text, numbers
        complete = [cycle for cycle in answer["cycles"] if cycle["complete"]]
        assert len(complete) == text.count("S")
        assert all(text[cycle["last"]] == "S" for cycle in complete)
        period = numbers["every"] or least
        cycles = numbers["repeat"] or 1
        needs = numbers["skip_first"] + (cycles - 1) * period + least
        assert answer["needs"] == needs
        assert answer["too_short"] == (length < needs)


def test_the_text_shows_states_cycles_and_what_is_needed(gait):
    done = gait("plan", *"--skip-first 1 --wait 1 --warmup 1 --active 3 --repeat 1".split())
    assert done.stdout == (
        "schedule in steps: skip first 1, wait 1, warmup 1, active 3, repeat 1\n"
        "  states: NNWRRS  (N none, W warm up, R record, S save)\n"
        "  cycle  warm up          recorded         trace\n"
        "      1  2                3 to 5           after step 5\n"
        "  needs 6 steps\n"
    )


@pytest.mark.parametrize(
    "length, said",
    [
        (11, None),
        (10, "too short for all 2 traces: it needs 11 steps, has 10"),
        (5, "too short for a whole trace: it needs 6 steps, has 5"),
    ],
)
def test_a_run_too_short_is_warned_of_with_the_length_it_needs(gait, length, said):
    done = gait("plan", "skip_first=1,wait=1,warmup=1,active=3,repeat=2", f"--length={length}")
    assert done.returncode == 0
    assert ("warning: " in done.stdout) == (said is not None)
    assert said is None or f"  warning: {said}\n" in done.stdout


def test_any_schedule_fits_a_screen(gait):
    for text in (
        "5/3/100",
        "all",
        "off",
        "steps=1,3,5-9,100-200",
        "skip_first=9999,wait=1,warmup=99,active=1234,repeat=1000,every=9999,unit=epoch",
    ):
        for length in ((), ("--length=20000",)):
            lines = gait("plan", text, *length).stdout.split("\n")
            assert len(lines) <= 24 and max(map(len, lines)) <= 78, text


def test_a_list_of_steps_and_a_period(gait):
    answer = json.loads(gait("plan", "--json", "steps=2,4-6;warmup=1").stdout)
    assert expand(answer["states"]) == "NWSWRRS"
    answer = json.loads(gait("plan", "--json", "--length=120", "0/3/50").stdout)
    recorded = [at for at, letter in enumerate(expand(answer["states"])) if letter in "RS"]
    assert recorded == [0, 1, 2, 50, 51, 52, 100, 101, 102]


def test_epochs_that_are_left_are_active(gait):
    done = gait("plan", "--epochs", "2", "--wait", "1", "--warmup", "2")
    assert "in epochs: wait 1, active 1, repeat 1" in done.stdout
    assert "gait shortens them" in done.stderr
    assert gait("plan", "--epochs", "10", "--wait", "1", "--warmup", "2").stderr == ""


def test_settings_and_a_file_say_the_same_as_options(gait, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("profiling:\n  wait: 2\n  warmup: 1\n  active: 4\n  unit: epoch\n")
    words = "--skip-first=1 --wait=2 --warmup=1 --active=4 --repeat=1 --unit=epoch".split()
    expected = gait("plan", *words).stdout
    assert "in epochs: skip first 1, wait 2" in expected
    keys = ("skip_first=1", "wait=2", "warmup=1", "active=4", "unit=epoch")
    settings = [f"profiling.{key}" for key in keys]
    assert gait("plan", *settings).stdout == expected
    assert gait("plan", "--config", file, "profiling.skip_first=1").stdout == expected


@pytest.mark.parametrize(
    "words, said",
    [
        (["--wait", "-1"], "'--wait' must be between 0 and"),
        (["--active", "0"], "'--active' must be between 1 and"),
        (["--wait", "1"], "active is 0, it must be at least 1"),
        (["--active", "3", "--every", "2"], "a cycle of 3 is longer than 'every', which is 2"),
        (["5/3/100/"], "'5/3/100/' is not off, all"),
        (["5/3", "--wait", "1"], "not both"),
        (["wait=1,actve=2"], "'actve' is not wait"),
        (["active=1,unit=fortnight"], "unit 'fortnight' is not step, epoch or seconds"),
        (["steps=7,5"], "step 5 comes after step 7"),
        (["--unit", "hour", "--active", "1"], "hour"),
        (["active=99999999999999999999"], "more than any run has"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(gait, words, said):
    done = gait("plan", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.startswith("gait plan: ")
