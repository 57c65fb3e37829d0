# SPDX-License-Identifier: Apache-2.0
"""Which lines of the user's code stand beside the phases of a report: of made-up samples, whose
lines and numbers are known."""

import collections
import json
import re

import pytest
import stored_runs

from tests.support.made_training import MS, START, Training
from tests.support.shard_maker import ShardMaker

STEPS, READY = 20, START + 100 * MS
USER, TORCH = "/home/me/train/", "/venv/lib/python3.11/site-packages/torch/"
LIBRARY = "/usr/lib/python3.11/"
# outermost first: (function, file, line)
MAIN = ("<module>", USER + "train.py", 20)
STACKS = {
    "augment": [
        MAIN,
        ("fetch", TORCH + "utils/data/fetch.py", 54),
        ("Rows.augment", USER + "train.py", 6),
        ("shuffle", LIBRARY + "random.py", 350),
        ("getrandbits", "built-in", -1),
    ],
    "collate": [MAIN, ("collate", TORCH + "utils/data/collate.py", 9)],
    "net": [
        MAIN,
        ("Net.forward", USER + "model.py", 9),
        ("Linear.forward", TORCH + "nn/linear.py", 134),
    ],
    "measure": [MAIN, ("measure", USER + "train.py", 15)],
    "update": [("<module>", USER + "train.py", 23), ("SGD.step", TORCH + "optim/sgd.py", 80)],
    "set_up": [MAIN, ("set_up", USER + "train.py", 12)],
    "import": [("_load", "<frozen importlib>", 690), ("find", LIBRARY + "pathlib.py", 7)],
}
# of a step of 100 ms; what lies between forward and optimizer is in no phase
LOOKS = [(2, "augment"), (9, "augment"), (15, "augment"), (28, "collate"), (31, "net"),
         (48, "net"), (55, "measure"), (80, "collate"), (92, "update")]  # fmt: skip


def train(folder, pid, rank):
    training = Training(pid=pid, rank=rank)
    training.now = READY
    for _ in range(STEPS):
        training.step({"input": 30 * MS, "forward": 20 * MS})
        training.now += 40 * MS
        training.step({"optimizer": 10 * MS})
    training.shard.spans(training.track, sorted(training.rows, key=lambda row: row[0]))
    training.shard.write(folder)


def sample(folder, looks):
    """`looks`: by thread (time in ms since START, name of a stack), of one round each."""
    about = {"rate_asked_hz": 500, "seconds": 3.0, "rounds": 1500}
    sampler = ShardMaker(pid=1999, role="sampler", subject_pid=2000, sampler=about)
    numbers, rows = {}, []
    for name, frames in STACKS.items():
        parent = 0
        for function, file, line in frames:
            site = sampler.site("python", function, file)
            rows.append((len(rows) + 1, parent, site, line % (1 << 64)))
            parent = len(rows)
        numbers[name] = parent
    sampler.rows("stack", 0, rows)
    for thread, of_thread in looks.items():
        track = sampler.track(key=str(thread), name="main", os_id=thread)
        taken = [(START + at * MS, numbers[name], 1, 1) for at, name in of_thread]
        sampler.rows("sample", track, taken)
    sampler.write(folder)


@pytest.fixture
def run(tmp_path):
    """Two ranks, and a loader worker that nobody asked for."""
    folder = tmp_path / "run"
    steps = [(100 + 100 * n + at, name) for n in range(STEPS) for at, name in LOOKS]
    start = [(at, "import" if at % 20 else "set_up") for at in range(0, 100, 10)]
    train(folder, 2000, 0)
    train(folder, 2001, 1)
    worker = [(100 + n, "augment") for n in range(1, 2000, 2)]
    sample(folder, {2000: start + steps, 2001: start + steps, 2002: worker})
    return folder


def where_of(gait, run):
    return json.loads(gait("report", "--json", run).stdout)["where"]


def told(rows, phase):
    return [
        (row["file"], row["line"], row["function"], row["samples"], round(row["share"], 9))
        for row in rows
        if row["phase"] == phase
    ]


def test_each_phase_has_the_innermost_lines_of_the_user(gait, run):
    rows, train = where_of(gait, run), USER + "train.py"
    both = 2 * STEPS
    assert told(rows, "input") == [
        (train, 6, "Rows.augment", 3 * both, 0.75),
        (train, 20, "<module>", both, 0.25),
    ]
    assert told(rows, "forward") == [(USER + "model.py", 9, "Net.forward", 2 * both, 1)]
    assert told(rows, "optimizer") == [(train, 23, "<module>", both, 1)]
    assert told(rows, "other") == [
        (train, 20, "<module>", both, 0.5),
        (train, 15, "measure", both, 0.5),
    ]
    # half of the start is in libraries alone: that has no line, and its samples count
    assert told(rows, "start-up") == [(train, 12, "set_up", 10, 0.5)]
    assert list(dict.fromkeys(row["phase"] for row in rows)) == [
        "input", "forward", "optimizer", "other", "start-up"]  # fmt: skip


def test_the_first_screen_has_the_first_line_of_each(gait, run):
    screen = gait("report", run).stdout
    lines = screen.split("Time per step")[1].splitlines()
    assert re.fullmatch(r" +a step +share +where in your code", lines[0])
    shown = {line.split()[0]: line for line in lines[1:] if line.startswith("  ")}
    assert shown["input"].endswith("  train.py:6 Rows.augment 75.0 %")
    assert re.search(r"#### +model\.py:9 Net\.forward +100\.0 %$", shown["forward"])
    assert re.search(r" ## +train\.py:23 +100\.0 %$", shown["optimizer"])
    assert shown["="].endswith(f"  {2 * STEPS * len(LOOKS)} samples")
    assert max(map(len, shown.values())) <= 78
    assert "total" not in lines[0]
    page = gait("report", "--format", "html", run).stdout
    assert "where in your code" in page and "Where in your code" in page and ">total<" in page


def test_of_a_few_samples_the_screen_says_nothing(gait, tmp_path):
    train(tmp_path / "run", 2000, 0)
    sample(tmp_path / "run", {2000: [(102 + n, "augment") for n in range(9)]})
    assert "in your code" not in gait("report", "run").stdout
    assert told(where_of(gait, "run"), "input")[0][3:] == (9, 1)


def test_without_samples_no_phase_has_lines(gait, tmp_path):
    train(tmp_path / "run", 2000, 0)
    assert where_of(gait, "run") == []
    assert "in your code" not in gait("report", "run").stdout


def of_leaf(gait, run, phase, folder):
    """(file, line): samples of a phase, and all of them, as `gait leaf` has them."""
    words = ["leaf", "--lines", "-n", "all", "-l", folder, "--json", "--phase", phase, run]
    answer = json.loads(gait(*words).stdout)
    lines = collections.Counter()
    for row in answer["rows"]:
        key = row["library_function_path"], row["library_function_line"]
        lines[key] += row["samples"]
    return lines, answer["samples"]


@pytest.mark.parametrize("made", [True, False])
def test_leaf_tells_the_same_of_a_phase(gait, tmp_path, request, made):
    if not made:
        stored_runs.unpack(tmp_path)
    run = request.getfixturevalue("run") if made else tmp_path / "sampled"
    folder = USER if made else "/home/ada/train/"
    rows = [row for row in where_of(gait, run) if row["phase"] not in ("start-up", "after")]
    phases = {row["phase"] for row in rows}
    assert len(phases) > 3
    for phase in phases:
        lines, samples = of_leaf(gait, run, phase, folder)
        for file, line, _, count, share in told(rows, phase):
            assert lines[file, line] == count and share == pytest.approx(count / samples)
        first = told(rows, phase)[0]
        assert first[3] == max(count for (file, _), count in lines.items() if file)
