# SPDX-License-Identifier: Apache-2.0
"""gait.profilers.Advanced: the report of pstats for each action, and its files."""

import io
import marshal
import os
import pickle
import pstats
import time

import pytest


@pytest.fixture(scope="module")
def advanced(read):
    from gait.profilers import Advanced

    return Advanced


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def forward():
    return fib(5)


def backward():
    return [fib(3) for _ in range(2)]


def test_nested_actions_keep_the_users_functions_in_the_outer_one(advanced):
    """The S4 document's case: there only `enable` was to be seen."""
    profiler = advanced(builtins=True)

    def step():
        with profiler.profile("model_forward"):
            forward()
        with profiler.profile("model_backward"):
            backward()

    with profiler.profile("run_training_batch"):
        for _ in range(3):
            step()
    report = profiler.report("run_training_batch")
    for name in ("step", "forward", "backward", "fib"):
        assert f"({name})" in report
    assert "enable" not in report and "gait" not in report
    inner = profiler.report("model_forward")
    assert "(forward)" in inner and "(backward)" not in inner and "(step)" not in inner
    profiler.close()


@pytest.fixture
def traced(advanced):
    profiler = advanced(line_count_restriction=2)
    with profiler.profile("a/b"):
        forward()
        backward()
    profiler.close()
    return profiler


@pytest.mark.parametrize("limit", [1, 3, 0.5, 1.0, 0.1, 100])
@pytest.mark.parametrize("sort", ["cumulative", "time", "calls", "name"])
def test_the_report_is_what_pstats_prints_of_the_file(limit, sort, traced, tmp_path, gait):
    traced.sort = sort
    traced.dump(tmp_path / "x.prof", "a/b")
    stream = io.StringIO()
    stats = pstats.Stats(str(tmp_path / "x.prof"), stream=stream)
    stats.strip_dirs().sort_stats(sort).print_stats(limit)
    printed = stream.getvalue().split("\n\n", 1)[1]  # below the file's name
    assert traced.report("a/b", limit) == printed
    assert gait("pstats", tmp_path / "x.prof", "--limit", limit, "--sort", sort).stdout == printed


def test_a_function_inside_itself_is_shown_with_both_counts(traced):
    assert "21/3" in traced.report("a/b", 1.0) or "25/3" in traced.report("a/b", 1.0)


def test_callers_and_callees(traced):
    assert "forward) " in traced.callers("a/b") and "was called by" in traced.callers("a/b")
    assert "called..." in traced.callees("a/b")
    (calls,) = (v for k, v in traced.stats("a/b").stats.items() if k[2] == "fib")
    names = {key[2]: numbers[:2] for key, numbers in calls[4].items()}
    assert names.pop("forward") == (1, 1) and names["fib"][0] > 1


def test_the_summary_is_lightnings(traced):
    traced.setup("fit")
    summary = traced.summary()
    assert summary.startswith("FIT Profiler Report\nProfile stats for: a/b\n         ")
    assert "due to restriction <2>" in summary


def test_ranks_and_files(advanced, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("RANK", "5")
    profiler = advanced(dirpath=tmp_path / "out", filename="p", dump_stats=True)
    profiler.setup("fit", local_rank=1)
    with profiler.profile("[Strategy]x.step"):
        forward()
    profiler.describe()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["fit-p-5-[Strategy]x.step.prof", "fit-p-5.txt"]
    text = (tmp_path / "out/fit-p-5.txt").read_text()
    assert "Profile stats for: [Strategy]x.step rank: 5" in text
    with open(tmp_path / "out" / names[0], "rb") as file:
        assert {key[2] for key in marshal.load(file)} == {"forward", "fib"}
    assert profiler.actions() == []  # the next stage begins with nothing


def test_errors_are_worded_as_lightnings(advanced):
    profiler = advanced()
    with pytest.raises(
        ValueError,
        match=r"^Attempting to stop recording an action \(x\) which was never started\.$",
    ):
        profiler.stop("x")
    profiler.start("x")
    profiler.stop("x")
    profiler.stop("x")
    profiler.close()
    assert "0 function calls in 0.000 seconds" in profiler.report("x")
    with pytest.raises(KeyError):
        profiler.report("y")


def test_an_action_without_calls_is_no_error(advanced, tmp_path):
    profiler = advanced()
    assert profiler.summary() == "Profiler Report"
    with profiler.profile("empty"):
        pass
    assert "Profile stats for: empty" in profiler.summary()
    profiler.close()


def test_an_exception_ends_the_action(advanced):
    profiler = advanced()
    with pytest.raises(KeyError), profiler.profile("x"):
        forward()
        raise KeyError
    fib(1)
    profiler.close()
    own = {key[2] for key in profiler.stats("x").stats if key[0] == __file__}
    assert own == {"forward", "fib"}


def test_times_are_those_of_the_clock(advanced):
    # whoever started these tests may have threads of its own, which take time too
    profiler = advanced(builtins=True, threads=False)

    def outer():
        at.append(time.perf_counter())
        time.sleep(0.05)
        at.append(time.perf_counter())
        inner()
        at.append(time.perf_counter())

    def inner():
        at.append(time.perf_counter())
        time.sleep(0.03)
        at.append(time.perf_counter())

    at = [time.perf_counter()]
    with profiler.profile("x"):
        outer()
    at.append(time.perf_counter())
    profiler.close()
    rows = {key[2]: value for key, value in profiler.stats("x").stats.items()}
    begin, outer_in, call, inner_in, inner_out, outer_out, end = at
    for name, within, around in (
        ("outer", outer_out - outer_in, end - begin),
        ("inner", inner_out - inner_in, outer_out - call),
    ):
        assert within * 0.999 <= rows[name][3] <= around * 1.001  # the two clocks' rates
    assert sum(value[2] for value in rows.values()) == pytest.approx(rows["outer"][3], rel=1e-6)


def test_a_pickled_profiler_is_a_new_one_of_its_kind(advanced):
    profiler = advanced(filename="p", line_count_restriction=7, builtins=True, only="x")
    copy = pickle.loads(pickle.dumps(profiler))
    assert (copy.filename, copy.line_count_restriction, copy.actions()) == ("p", 7, [])
    assert copy._wishes == profiler._wishes


def test_many_actions_take_bounded_memory(advanced):
    profiler = advanced()
    for i in range(6000):
        with profiler.profile(f"action {i}"):
            pass
    profiler.close()
    assert len(profiler.actions()) == 4097
    assert os.linesep.join(profiler.actions()).endswith("(the names after the first 4096)")
