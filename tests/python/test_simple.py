# SPDX-License-Identifier: Apache-2.0
"""gait.profilers.Simple: Lightning's tables byte for byte, and what it adds."""

import json
import math
import os
import pathlib
import pickle
import random
import statistics
import threading
import time

import pytest

CASES = pathlib.Path(__file__).parent.parent / "golden/lightning/simple"


@pytest.fixture(scope="module")
def simple(read):
    from gait.profilers import Simple

    return Simple


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.json")))
def test_the_table_is_lightnings_byte_for_byte(name, simple):
    case = json.loads((CASES / (name + ".json")).read_text(encoding="utf-8"))
    profiler = simple(extended=case["extended"])
    for action, durations in case["durations"]:
        for seconds in durations:
            profiler.record(action, seconds)
    wanted = (CASES / (name + ".txt")).read_bytes().decode()
    assert profiler.summary(wall_seconds=case["elapsed_s"], stage=case["stage"]) == wanted


def test_the_sum_is_the_exact_one_of_fsum(simple):
    chance = random.Random(5)
    for _ in range(300):
        numbers = [chance.uniform(-1, 1) * 10 ** chance.randint(-300, 300) for _ in range(60)]
        numbers += [-number for number in chance.sample(numbers, 30)]
        chance.shuffle(numbers)
        profiler = simple()
        for number in numbers:
            profiler.record("x", number)
        assert profiler.rows()[0]["total"] == math.fsum(numbers)


def test_infinite_and_huge_durations_are_no_error(simple):
    profiler = simple()
    profiler.record("inf", math.inf)
    profiler.record("nan", math.nan)
    profiler.record("huge", 1.7e308)
    profiler.record("huge", 1.7e308)
    totals = {row["name"]: row["total"] for row in profiler.rows()}
    assert totals["inf"] == math.inf == totals["huge"] and math.isnan(totals["nan"])
    assert "inf" in profiler.summary() and profiler.table()


def test_errors_are_worded_as_lightnings(simple):
    profiler = simple()
    profiler.start("a")
    with pytest.raises(ValueError, match=r"^Attempted to start a which has already started\.$"):
        profiler.start("a")
    profiler.stop("a")
    for name in ("a", "b"):
        with pytest.raises(
            ValueError,
            match=rf"^Attempting to stop recording an action \({name}\) which was never started\.$",
        ):
            profiler.stop(name)
    with pytest.raises(TypeError):
        profiler.start(3)


def test_nothing_recorded_is_a_title(simple):
    assert simple().summary(stage="fit") == "FIT Profiler Report" + 2 * os.linesep
    assert simple(extended=False).summary() == "Profiler Report" + 2 * os.linesep
    assert "no actions" in simple().table()


def rows_of(profiler):
    return {row["name"]: row for row in profiler.rows()}


def test_own_time_leaves_out_what_is_nested(simple):
    profiler = simple()
    with profiler.profile("outer") as name:
        assert name == "outer"
        time.sleep(0.02)
        with profiler.profile("inner"):
            time.sleep(0.05)
    rows = rows_of(profiler)
    assert rows["inner"]["total"] >= 0.05 and rows["outer"]["own"] >= 0.02
    own = rows["outer"]["own"] + rows["inner"]["own"]
    assert own == pytest.approx(rows["outer"]["total"], abs=1e-9)


def test_actions_that_overlap_share_the_time(simple):
    profiler, at = simple(), []
    for call in (lambda: profiler.start("a"), lambda: profiler.start("b"),
                 lambda: time.sleep(0.01), lambda: profiler.stop("a"),
                 lambda: time.sleep(0.03), lambda: profiler.stop("b")):  # fmt: skip
        before = time.perf_counter()
        call()
        at.append((before, time.perf_counter()))
    (a, b, _, a_end, _, b_end), rows = at, rows_of(profiler)
    for begun, ended, seconds in (
        (a, a_end, rows["a"]["total"]),
        (b, b_end, rows["b"]["total"]),
        (a, b_end, rows["a"]["own"] + rows["b"]["own"]),
    ):
        within, around = ended[0] - begun[1], ended[1] - begun[0]
        assert within * 0.999 <= seconds <= around * 1.001  # the two clocks' rates


def test_recursion_counts_each_call_and_the_time_once(simple):
    profiler = simple()

    def descend(depth):
        with profiler.profile("f"):
            if depth:
                descend(depth - 1)
            else:
                time.sleep(0.02)

    before = time.perf_counter()
    descend(9)
    wall = time.perf_counter() - before
    row = rows_of(profiler)["f"]
    assert row["calls"] == 10 and row["total"] > 0.19
    assert 0.02 <= row["outermost"] <= wall * 1.001 and row["own"] == pytest.approx(
        row["outermost"]
    )


def test_an_exception_ends_the_action(simple):
    profiler = simple()
    with pytest.raises(KeyError), profiler.profile("x"):
        raise KeyError
    profiler.start("x")
    profiler.stop("x")
    assert rows_of(profiler)["x"]["calls"] == 2


def test_one_name_on_many_threads(simple):
    profiler = simple()
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        for _ in range(2000):
            profiler.start("x")
            with profiler.profile("y"):
                pass
            profiler.stop("x")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row["name"]: row["calls"] for row in profiler.rows()} == {"x": 16000, "y": 16000}
    depths = {(depth, name) for depth, name, *_ in profiler._tree()}
    assert depths == {(0, "x"), (1, "y")}


def test_started_here_and_stopped_on_another_thread(simple):
    profiler = simple()
    profiler.start("x")
    thread = threading.Thread(target=lambda: profiler.stop("x"))
    thread.start()
    thread.join()
    assert rows_of(profiler)["x"]["calls"] == 1
    with pytest.raises(ValueError):
        profiler.stop("x")


def test_stopped_after_its_thread_ended_and_another_came(simple):
    profiler = simple()

    def other():
        with profiler.profile("y"):
            pass

    for target in (lambda: profiler.start("x"), other):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    profiler.stop("x")
    assert {name: row["calls"] for name, row in rows_of(profiler).items()} == {"x": 1, "y": 1}


def test_threads_that_end_leave_nothing_behind(simple):
    profiler = simple()

    def work():
        with profiler.profile("x"):
            pass

    for _ in range(300):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    # one tree a thread would be 300 rows
    assert len(profiler._tree()) < 5 and rows_of(profiler)["x"]["calls"] == 300


def test_quantiles_are_true_to_a_class(simple):
    profiler = simple()
    chance = random.Random(1)
    numbers = [chance.lognormvariate(-8, 2) for _ in range(5000)]
    for number in numbers:
        profiler.record("x", number)
    row = rows_of(profiler)["x"]
    numbers.sort()
    for share in (50, 95, 99):
        assert row[f"p{share}"] == pytest.approx(numbers[50 * share - 1], rel=0.04)
    assert (row["least"], row["most"]) == (numbers[0], numbers[-1])
    assert row["sd"] == pytest.approx(statistics.pstdev(numbers), rel=1e-6)


def test_memory_does_not_grow_with_calls_or_names(simple):
    profiler = simple()
    for i in range(100_000):
        profiler.record(f"name {i}", 1.0)
    rows = profiler.rows()
    assert len(rows) == 65537 and sum(row["calls"] for row in rows) == 100_000
    assert rows[-1]["calls"] == 100_000 - 65536
    assert "65,536" in profiler.table()
    profiler.start("name 99999")
    profiler.stop("name 99999")
    assert profiler.rows()[-1]["calls"] == 100_001 - 65536


def test_a_million_calls_take_no_memory(record):
    run = record(
        """
        import resource
        from gait.profilers import Simple
        profiler = Simple()
        def turn(n):
            for _ in range(n):
                profiler.start("a"); profiler.start("b"); profiler.stop("b"); profiler.stop("a")
        turn(10000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        turn(500000)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """,
        recording=False,
    )
    assert int(run.stdout) < 1000


def test_the_report_is_appended_under_lightnings_name(simple, tmp_path, monkeypatch, capfd):
    for variable in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(variable, raising=False)
    profiler = simple(dirpath=tmp_path / "new", filename='a/b:c*?"<>|\n__d')
    profiler.setup("fit")
    profiler.record("x", 1.0)
    for _ in range(2):
        profiler.describe()
    (path,) = (tmp_path / "new").iterdir()
    assert path.name == "fit-a_b_c_d.txt"
    assert path.read_text().count("FIT Profiler Report") == 2
    assert str(path) in capfd.readouterr().err


@pytest.mark.parametrize(
    "rank_name, size_name", [("RANK", "WORLD_SIZE"), ("HOROVOD_RANK", "HOROVOD_SIZE")]
)
def test_ranks_write_files_of_their_own(simple, tmp_path, monkeypatch, rank_name, size_name):
    monkeypatch.setenv(size_name, "16")
    for rank in (3, 11):
        monkeypatch.setenv(rank_name, str(rank))
        profiler = simple(dirpath=tmp_path, filename="p")
        profiler.setup("fit", local_rank=3, log_dir="/nowhere")
        profiler.describe()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit-p-11.txt", "fit-p-3.txt"]


def test_an_unwritable_folder_costs_a_sentence_only(simple, tmp_path, capfd):
    (tmp_path / "file").write_text("")
    profiler = simple(dirpath=tmp_path / "file" / "x", filename="p")
    profiler.record("x", 1.0)
    profiler.describe()
    out, err = capfd.readouterr()
    assert "Profiler Report" in out and "cannot write" in err


def test_without_a_file_rank_0_prints(simple, capsys, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, wanted in (("1", ""), ("0", "Profiler Report")):
        monkeypatch.setenv("RANK", rank)
        simple().describe()
        assert capsys.readouterr().out.startswith(wanted)


def test_the_legacy_table_is_the_one_of_old(simple):
    profiler = simple(style="legacy")
    profiler.record("run_training_epoch", 21.692)
    profiler.record("on_before_accelerator_backend_setup", 1.1862e-05)
    lines = profiler.summary(wall_seconds=29.42).splitlines()
    # as the S4 document of 2021 shows it
    assert lines[4] == (
        "Action                             \t|  Mean duration (s)\t|Num calls      \t|"
        "  Total time (s) \t|  Percentage %   \t|"
    )
    assert lines[5] == "-" * 132
    assert lines[6] == (
        "Total                              \t|  -              \t|_              \t|"
        "  29.42          \t|  100 %          \t|"
    )
    assert lines[8] == (
        "run_training_epoch                 \t|  21.692         \t|1              \t|"
        "  21.692         \t|  73.732         \t|"
    )


def test_a_pickled_profiler_is_a_new_one_of_its_kind(simple, tmp_path):
    profiler = simple(dirpath=tmp_path, filename="p", extended=False)
    profiler.record("x", 1.0)
    copy = pickle.loads(pickle.dumps(profiler))
    assert (copy.dirpath, copy.filename, copy.extended, copy.rows()) == (tmp_path, "p", False, [])


def test_profilers_that_come_and_go_do_not_disturb_each_other(simple):
    kept = simple()
    for _ in range(200):
        passing = simple()
        with passing.profile("x"), kept.profile("y"), passing.profile("z"):
            pass
        assert [row["calls"] for row in passing.rows()] == [1, 1]
    assert rows_of(kept)["y"]["calls"] == 200


@pytest.mark.parametrize(
    ("seconds", "cell"),
    [
        (0.0, "0 ns"),
        (-0.0, "0 ns"),
        (5e-324, "0 ns"),
        (1.234, "1.23 s"),
        (-1.25, "-1.2 s"),
        (-0.123456, "-123 ms"),
        (9999.4, "9999 s"),
        (12345678.9, "1.2e7 s"),
        (1e18, "1e18 s"),
        (1.7e308, "2e308 s"),
        (-1.7e308, "-2e308s"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
    ],
)
def test_no_number_breaks_its_own_table(seconds, cell, simple):
    profiler = simple()
    profiler.record("x", seconds)
    head, _, row = profiler.table(wall_seconds=seconds).splitlines()[:3]
    assert head == f"Actions of {cell}"
    assert row.split("  ")[-1] == "x" and len(row) <= 78
    assert row[7:15].strip() == row[15:23].strip() == cell
    profiler.record("x", 1.0)
    profiler.record("y", -seconds)
    with profiler.profile("z"):
        pass
    assert all(len(line) <= 78 for line in profiler.table(wall_seconds=0).splitlines())
    assert profiler.summary(wall_seconds=0.0)


def test_names_do_not_command_the_terminal(simple):
    profiler = simple()
    profiler.record("a\x1b[31m\nb\x07", 1.0)
    assert profiler.table().endswith("a?[31m b?\n")


@pytest.mark.parametrize("where", ["\0", "a\0b", "\ud800", "/proc/none", "x" * 300])
def test_no_folder_loses_the_report(where, simple, capfd):
    profiler = simple(dirpath=where, filename="p")
    with profiler.profile("a"):
        pass
    profiler.describe()
    said = capfd.readouterr()
    told = " ".join(said.err.split())
    assert told.count("gait: cannot write the report to ") == 1 and "\n|  a" in said.out


@pytest.mark.parametrize("name", ["\ud800", "caf\udce9", "a\ud800\0b", "\x1b[0m"])
def test_no_name_loses_the_report(name, simple, tmp_path, capfd):
    kept = simple(dirpath=tmp_path, filename=name)
    shown = simple()
    for profiler in kept, shown:
        with profiler.profile(name):
            pass
        profiler.describe()
    (path,) = tmp_path.iterdir()
    assert path.read_bytes().count(b"\n|  ") == 3
    assert capfd.readouterr().out.count("\n|  ") == 3


def test_no_share_is_more_than_all(simple):
    """Calls in a call of the same action were counted again, those of threads added up."""
    profiler = simple()
    everybody = threading.Barrier(4)

    def recurse(depth):
        with profiler.profile("recursive"):
            if depth:
                recurse(depth - 1)
            else:
                time.sleep(0.05)

    def run():
        with profiler.profile("in threads"):
            everybody.wait()
            time.sleep(0.1)
            everybody.wait()

    recurse(30)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shares = {}
    for line in profiler.summary().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 5 and cells[1] in ("recursive", "in threads"):
            shares[cells[1]] = float(cells[5])
    assert set(shares) == {"recursive", "in threads"} and max(shares.values()) <= 100
    rows = {row["name"]: row for row in profiler.rows()}
    assert rows["in threads"]["total"] > 4 * 0.1 and rows["recursive"]["total"] > 30 * 0.05
