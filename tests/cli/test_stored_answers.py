# SPDX-License-Identifier: Apache-2.0
"""Every figure about the stored runs is what it was when they were stored."""

import collections
import json

import pytest
import stored_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    stored_runs.unpack(folder)
    return folder


@pytest.mark.parametrize("name", sorted(stored_runs.stored_answers()))
def test_no_figure_changed(build, runs, name):
    folder = runs if (runs / name).exists() else stored_runs.GOLDEN
    before = dict(stored_runs.stored_answers()[name])
    if not stored_runs.OPS_TABLES:
        before.pop("ops_table", None)
    now = stored_runs.answers_of(str(build / "gait"), name, folder, before)
    assert not list(stored_runs.differences(before, now))


SCREENS = [
    "report", "steps", "gaps", "what-if --scale forward=0.5", "critical-path", "kernels", "comms",
    "memory", "ops", "breakdown --steps --activity", "energy", "info", "leaf",
]  # fmt: skip


@pytest.mark.parametrize("words", SCREENS, ids=lambda words: words.split()[0])
def test_no_screen_is_wider_than_78_columns(gait, runs, words):
    told = 0
    for name in ("h200", "h200_input", "profile", "ddp", "sampled"):
        lines = gait(*words.split(), str(runs / name)).stdout.splitlines()[1:]  # below the path
        lines = [line for line in lines if not line.endswith(str(runs / name))]  # a command to copy
        told += len(lines)
        assert [line for line in lines if len(line) > 78] == []
    assert told > 2


@pytest.mark.parametrize("name", ["bf16", "ppo", "h200"])
def test_flops_and_steps_a_second_have_one_base(gait, runs, name):
    report = json.loads(gait("report", "--json", str(runs / name)).stdout)
    rate = report["flops"]["per_step"] * report["throughput"]["steps_per_s"]
    assert report["flops"]["per_second"] == pytest.approx(rate)


def test_devices_of_own_windows_are_in_the_totals_by_name(gait, runs):
    kernels, totals = collections.Counter(), collections.Counter()
    for row in json.loads(gait("kernels", "--json", str(runs / "h200")).stdout)["kernels"]:
        kernels[row["name"]] += row["total_ns"]
    told = json.loads(gait("trace-diff", "--json", *[str(runs / "h200")] * 2).stdout)
    for row in told["names"]:
        totals[row["name"]] += row["a_ns"]
    assert kernels and {name: totals[name] for name in kernels} == kernels


def test_a_figure_that_changed_is_told():
    old = {"steps": [{"ns": 5, "name": "a"}], "share": 1.0}
    new = {"steps": [{"ns": 6, "name": "a", "more": 1}], "share": 1, "other": 2}
    told = list(stored_runs.differences(old, new, "report"))
    assert told == ["report.steps[0].ns was 5, now 6", "report.share was 1.0, now 1"]
    assert list(stored_runs.differences(old, {"share": 1.0})) == [".steps is gone"]
    assert list(stored_runs.differences([1, 2], [1])) == [" had 2 elements, now 1"]


def test_of_an_export_only_keys_that_it_had_count():
    old = {"events": [{"a": 1}, {"b": {"c": 2}}]}
    new = {"events": [{"a": 1, "d": 3}, {"b": {"c": 2, "e": []}}], "f": 0}
    assert stored_runs.only(new, stored_runs.shape_of(old)) == old
