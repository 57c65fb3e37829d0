# SPDX-License-Identifier: Apache-2.0
"""`gait compare`: planted differences, limits, runs that are not alike."""

import csv
import io
import json
import statistics

import pytest

from tests.support.shard_maker import ShardMaker

STEPS = 20


def make_run(folder, name, step_us, load_us=100, ranks=1):
    """Steps of that length, each with a span `load` in it and one that fills up the rest."""
    for rank in range(ranks):
        shard = ShardMaker(pid=100 + rank, rank=rank)
        track = shard.track(key=str(shard.pid), os_id=shard.pid)
        spans, steps = [], []
        for number in range(STEPS):
            at = shard.start_ns + number * 10_000_000
            steps.append((at, step_us * 1000, number))
            spans.append((at, load_us * 1000, shard.site(b"app", b"load")))
            spans.append((at + load_us * 1000, (step_us - load_us) * 1000,
                          shard.site(b"app", b"compute")))  # fmt: skip
        shard.spans(track, spans)
        shard.rows("step", track, steps)
        shard.write(folder / name)
    return name


@pytest.fixture
def sides(tmp_path):
    """A: about 1,000 us a step; B: about 1,100, all of it in `load`."""
    a = [make_run(tmp_path, f"a{i}", us, 100) for i, us in enumerate((995, 1000, 1005))]
    b = [make_run(tmp_path, f"b{i}", us, us - 900) for i, us in enumerate((1095, 1100, 1105))]
    return a, b


def compare(gait, *words):
    answer = gait("compare", "--json", *words)
    return json.loads(answer.stdout), answer.returncode


def test_a_planted_change_has_its_size_its_interval_and_its_phase(gait, sides):
    a, b = sides
    answer, code = compare(gait, *a, "--", *b)
    assert code == 0
    rows = {row["name"]: row for row in answer["metrics"]}
    mean = rows["step.mean"]
    assert (mean["a"], mean["b"], mean["unit"]) == (1_000_000, 1_100_000, "ns")
    assert mean["difference"] == pytest.approx(0.1)
    # Welch by hand: equal variances, four degrees of freedom, t = 2.776
    error = (2 * statistics.variance([995, 1000, 1005]) / 3) ** 0.5 / 1000
    assert mean["low"] == pytest.approx(0.1 - 2.776 * error, abs=2e-5)
    assert mean["high"] == pytest.approx(0.1 + 2.776 * error, abs=2e-5)
    assert mean["verdict"] == "more"
    assert rows["phase.load"]["b"] - rows["phase.load"]["a"] == pytest.approx(100_000)
    assert rows["throughput.steps"]["verdict"] == "less"
    text = gait("compare", *a, "--", *b).stdout
    assert "B IS SLOWER: the mean step takes 10.0 % longer" in text
    assert "'load' takes 100 us more a step" in text.replace("\n  ", " ")


def test_equal_sides_show_no_difference(gait, sides):
    a, _ = sides
    answer, code = compare(gait, *a, "--", *a)
    assert code == 0
    assert {row["verdict"] for row in answer["metrics"]} == {"no difference shown"}
    assert answer["unlike"] is None


@pytest.mark.parametrize(
    ("limit", "verdict", "code"),
    [
        ("step.p50>5%", "failed", 1),
        ("step.p50>20%", "ok", 0),
        ("step.p50>10%", "inconclusive", 1),  # the interval lies on both sides
        ("throughput.steps<-5%", "failed", 1),
        ("throughput.steps<-20%", "ok", 0),
        ("phase.load>50%", "failed", 1),
    ],
)
def test_a_limit_decides_the_exit_code(gait, sides, limit, verdict, code):
    a, b = sides
    answer = gait("compare", "--json", "--fail-on", limit, *a, "--", *b)
    assert answer.returncode == code
    (row,) = json.loads(answer.stdout)["limits"]
    assert (row["limit"], row["verdict"]) == (limit, verdict)


def test_the_worst_of_several_limits_counts(gait, sides):
    a, b = sides
    words = ("--fail-on", "step.p50>20%", "--fail-on", "step.p95>5%")
    answer, code = compare(gait, *words, *a, "--", *b)
    assert [row["verdict"] for row in answer["limits"]] == ["ok", "failed"]
    assert code == 1


def test_one_run_a_side_is_inconclusive(gait, sides):
    a, b = sides
    answer, code = compare(gait, a[0], "--", b[0])
    assert code == 1
    (mean,) = [row for row in answer["metrics"] if row["name"] == "step.mean"]
    assert mean["difference"] == pytest.approx(0.1, abs=0.01)
    assert (mean["low"], mean["detectable"], mean["verdict"]) == (None, None, "unknown")
    assert "TOO FEW RUNS" in gait("compare", a[0], "--", b[0]).stdout


def test_of_two_paths_the_first_is_a_and_options_stand_anywhere(gait, sides):
    a, b = sides
    told = gait("compare", "--json", a[0], "--", b[0])
    lines = ["--json A B", "A --json B", "A B --json", "A -- B --json", "A -- --json B"]
    for line in lines:
        words = [{"A": a[0], "B": b[0]}.get(word, word) for word in line.split()]
        done = gait("compare", *words)
        assert (done.returncode, done.stdout) == (told.returncode, told.stdout), line


def test_runs_of_other_sizes_are_compared_only_on_demand(gait, tmp_path, sides):
    a, _ = sides
    two = [make_run(tmp_path, f"two{i}", us, ranks=2) for i, us in enumerate((990, 1000))]
    refused = gait("compare", *a, "--", *two)
    assert refused.returncode == 2
    assert "has 1 rank, 'two0' has 2; --allow-mismatch" in refused.stderr
    answer, code = compare(gait, "--allow-mismatch", *a, "--", *two)
    assert code == 0
    assert "2" in answer["unlike"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("a0 a1 a2", "with a run on each side of --"),
        ("a0", "gait compare A B, or"),
        ("a0 -- a1 -- a2", "'--' stands twice"),
        ("a0 --", "with a run on each side of --"),
        ("-- a0", "with a run on each side of --"),
        ("--fail-on step.p50 a0 -- a1", "looks like step.p50>5%"),
        ("--fail-on step.p50>x% a0 -- a1", "looks like step.p50>5%"),
        ("--fail-on step.p51>5% a0 -- a1", "no figure 'step.p51'"),
        ("a0 -- nowhere", "nowhere"),
        ("a0 -- a1 --formt md", "did you mean '--format'?"),
        ("a0 -- empty", "has no steps to compare"),
    ],
)
def test_a_wrong_line_is_refused_in_one_sentence(gait, tmp_path, sides, words, says):
    shard = ShardMaker()
    shard.spans(shard.track(), [(shard.start_ns, 10, shard.site(b"app", b"x"))])
    shard.write(tmp_path / "empty")
    answer = gait("compare", *words.split())
    assert answer.returncode == 2
    assert says in answer.stderr and answer.stderr.count("\n") == 1


def test_columns_stay_apart_where_intervals_are_wide(gait, tmp_path):
    a = [make_run(tmp_path, f"a{i}", us, 1) for i, us in enumerate((100, 150))]
    b = [make_run(tmp_path, f"b{i}", us, 1) for i, us in enumerate((200, 9000))]
    lines = gait("compare", *a, "--", *b).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("  step.mean")]
    assert [word for word in line.split() if word.endswith("ms")] == ["ms"], line
    assert max(map(len, lines)) <= 78


def test_other_formats_have_the_same_figures(gait, sides):
    a, b = sides
    text = gait("compare", "--format", "csv", "--table", "metrics", *a, "--", *b).stdout
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(text))}
    assert float(rows["step.mean"]["b"]) == 1_100_000
    markdown = gait("compare", "--format", "md", *a, "--", *b).stdout
    assert "| step.mean" in markdown and "+10.0 %" in markdown
