# SPDX-License-Identifier: Apache-2.0
"""`gait scale` of real trainings: one process and two, on gloo."""

import csv
import json

import pytest
from torch_trainings import Job

# as a launcher of one process would set it; port 0: any that is free
ALONE = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "localhost", "MASTER_PORT": 0}
ONE = Job("ddp", warm=True, env=tuple((name, str(value)) for name, value in ALONE.items()))
TWO = Job("ddp", processes=2, warm=True)


@pytest.fixture
def sizes(run):
    return [str(run(job).directory) for job in (ONE, TWO)]


def test_one_and_two_processes_make_a_report(sizes, gait, tmp_path):
    answer = json.loads(gait("scale", "--json", "--first-epoch", *sizes).stdout)
    times = {row["workers"]: row for row in answer["times"]}
    assert set(times) == {1, 2}
    assert (times[1]["strategy"], times[2]["strategy"]) == ("non-distributed", "ddp")
    assert answer["unit_of_work"] == "sample"  # 320 an epoch, however many share them
    assert times[2]["scaling"] == "strong" and times[2]["base_workers"] == 1
    # against the reports themselves: an epoch lasts until the next one begins
    walls = []
    for path in sizes:
        epochs = gait("report", "--epochs-csv", "-", path).stdout.splitlines()
        walls.append([float(row["time"]) for row in csv.DictReader(epochs)])
    means = [sum(wall) / len(wall) for wall in walls]
    assert times[1]["time_ns"] / 1e9 == pytest.approx(means[0], abs=1e-6)
    assert times[2]["time_ns"] / 1e9 == pytest.approx(means[1], abs=1e-6)
    assert times[2]["speedup"] == pytest.approx(means[0] / means[1], rel=1e-6)
    # parts of the loss sum to it, and waiting for the other rank is one of them
    losses = [row for row in answer["losses"] if row["workers"] == 2]
    assert sum(row["lost"] for row in losses) == pytest.approx(1 - times[2]["efficiency"], abs=1e-9)
    assert {"communication", "backward", "outside of steps"} <= {row["part"] for row in losses}
    page = tmp_path / "scale.html"
    assert gait("scale", *sizes, "-o", str(page)).returncode == 0
    assert page.read_text().count("<svg") == 3  # times, speedup, computation


def test_itwinais_tables_of_a_run_give_the_same_report(sizes, gait, tmp_path):
    for name, path in zip(("a", "b"), sizes, strict=True):
        assert gait("export", "--format", "itwinai", "-o", f"sm/{name}", path).returncode == 0
    theirs = json.loads(gait("scale", "--json", "--first-epoch", "sm").stdout)
    ours = json.loads(gait("scale", "--json", "--first-epoch", *sizes).stdout)
    assert {(row["strategy"], round(row["time_ns"], -3)) for row in theirs["times"]} == {
        (row["strategy"], round(row["time_ns"], -3)) for row in ours["times"]
    }


def test_repeats_of_a_training_are_one_row_with_its_interval(run, gait, sizes):
    again = str(run(ONE.but(options=("--windows", "0/100/101"))).directory)
    answer = json.loads(gait("scale", "--json", sizes[0], again).stdout)
    (row,) = answer["times"]
    assert row["runs"] == 2 and row["low_ns"] < row["time_ns"] < row["high_ns"]
    assert answer["laws"] == []  # of one size there is none
