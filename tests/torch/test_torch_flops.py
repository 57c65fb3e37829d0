# SPDX-License-Identifier: Apache-2.0
"""FLOPs, MFU and memory in `gait report --json` against torch: FlopCounterMode's
totals, by op and by module, and torch.profiler's memory events of the same steps.
"""

import json
import os
import pathlib
import subprocess

import pytest
from torch_trainings import Job

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("flops")

PROGRAM = pathlib.Path(__file__).parent / "programs" / "count_flops.py"
KINDS = ["mlp", "cnn", "transformer", "convolutions"]


class Counted:
    def __init__(self, trainings, folder, kind):
        file = folder / (kind + ".json")
        options = ("--quiet", "--windows", "off")
        job = Job(PROGRAM, (kind, file), options=options, warm=True)
        done = trainings.get(job)
        assert done.code == 0, done.stderr
        self.tool, self.run = trainings.tool, done.directory
        self.torch = json.loads(file.read_text("utf-8"))
        self.report = json.loads(self.ask("--json").stdout)

    def ask(self, *words, **more):
        return subprocess.run(
            [self.tool, "report", self.run, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "GAIT_PEAK_FLOPS": "", **more},
        )


@pytest.fixture(scope="module")
def counted(trainings, tmp_path_factory):
    folder, known = tmp_path_factory.mktemp("flops"), {}

    def get(kind):
        if kind not in known:
            known[kind] = Counted(trainings, folder, kind)
        return known[kind]

    return get


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_has_flop_counter_modes_total(counted, kind):
    flops, torch = counted(kind).report["flops"], counted(kind).torch
    assert flops["as_flop_counter_mode"]["per_step"] == torch["total"] > 1000
    assert flops["steps"] == 3
    assert flops["as_flop_counter_mode"]["total"] == 3 * torch["total"]


@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_each_op_has_flop_counter_modes(counted, kind):
    ops = {op["name"]: op["flops"] for op in counted(kind).report["flops"]["by_op"]}
    assert ops == {name: 3 * count for name, count in counted(kind).torch["by_op"].items()}


@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_each_module_has_flop_counter_modes_and_is_counted_once(counted, kind):
    torch, flops = counted(kind).torch, counted(kind).report["flops"]
    root = torch["root"]
    if not torch["has_modules"]:
        pytest.skip("gait.torch has no with_modules yet")
    wanted = {
        name[len(root) + 1 :] or root: 3 * count
        for name, count in torch["by_module"].items()
        if name != "Global" and count
    }
    modules = {module["name"]: module["flops"] for module in flops["by_module"]}
    assert modules == wanted
    assert sum(module["self_flops"] for module in flops["by_module"]) == flops["total"]
    assert modules[root] == flops["total"]


@pytest.mark.parametrize("kind", ["mlp", "transformer"])
def test_the_tree_of_modules_has_their_calls_and_a_backward(counted, kind):
    run = counted(kind)
    done = subprocess.run([run.tool, "modules", "--json", run.run], capture_output=True, text=True)
    rows = {row["name"]: row for row in json.loads(done.stdout)["modules"]}
    root = run.torch["root"]
    for name, flops in run.torch["by_module"].items():
        if name == "Global" or not flops:
            continue
        row = rows[name[len(root) + 1 :] or root]
        assert row["calls"] == 3, name
        assert 0 < row["self_ns"] <= row["forward_ns"], name
        assert row["backward_ns"] > 0, name
    assert rows[root]["class"] == root
    assert rows[root]["depth"] == 1


def test_the_work_of_groups_and_of_attention_is_what_is_done(counted):
    flops = counted("convolutions").report["flops"]
    ops = {op["name"]: op["flops"] // 3 for op in flops["by_op"]}
    torch = counted("convolutions").torch["by_op"]
    # torch takes each gradient of grouped weights for one over all channels
    assert ops["aten::convolution_backward"] < torch["aten::convolution_backward"]
    assert ops["aten::convolution"] == torch["aten::convolution"]
    # and before 2.15 has no formula for attention on CPUs
    attention = ops["aten::_scaled_dot_product_flash_attention_for_cpu"]
    assert attention == 2 * (4 * 2 * 3 * 3) * (16 + 16)
    assert flops["per_step"] == sum(ops.values())


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_torch_profilers(counted, kind):
    window = counted(kind).report["memory"]["window"]
    changes = counted(kind).torch["memory"]
    live = peak = 0
    for change in changes:
        live += change
        peak = max(peak, live)
    assert window["allocations"] == sum(change > 0 for change in changes) > 100
    assert window["allocated_bytes"] == sum(change for change in changes if change > 0)
    assert window["releases"] == sum(change < 0 for change in changes)
    assert (window["peak_bytes"], window["kept_bytes"]) == (peak, live)
    curve = [point[1] for point in window["curve"]]
    assert max(curve) == peak and curve[-1] == live
    for owners in "by_phase", "by_module", "by_op":
        rows = window[owners]
        assert sum(row["peak_bytes"] for row in rows) == peak
        assert sum(row["kept_bytes"] for row in rows) == live
        assert sum(row["self_bytes"] for row in rows) == live
        assert sum(row["allocations"] for row in rows) == window["allocations"]


def test_the_peak_has_owners(counted):
    window = counted("cnn").report["memory"]["window"]
    held = {row["name"]: row["peak_bytes"] for row in window["by_phase"]}
    assert held["forward"] > 0 and held["backward"] > 0
    if counted("cnn").torch["has_modules"]:
        assert any(row["name"].startswith("1.") for row in window["by_module"])
    ops = {row["name"]: row for row in window["by_op"]}
    conv = ops["aten::convolution"]
    assert conv["self_bytes"] == 0 < conv["total_bytes"]  # what it calls allocates


def test_mfu_has_formula_and_denominator(counted):
    report = json.loads(counted("cnn").ask("--json", "--peak-flops", "2T").stdout)
    mfu, flops = report["mfu"], report["flops"]
    assert mfu["peak_flops_per_s"] == 2e12
    assert flops["per_second"] == pytest.approx(
        flops["per_step"] * report["throughput"]["steps_per_s"]
    )
    assert mfu["value"] == pytest.approx(flops["per_second"] / 2e12)
    assert "peak" in mfu["formula"] and mfu["why"] is None
    again = json.loads(counted("cnn").ask("--json", GAIT_PEAK_FLOPS="2e12").stdout)
    assert again["mfu"] == mfu
    assert "MFU" in counted("cnn").ask("--peak-flops", "2e12").stdout


def test_no_peak_is_guessed(counted):
    mfu = counted("cnn").report["mfu"]
    assert mfu["value"] is None and mfu["peak_flops_per_s"] is None
    assert mfu["why"] == "give the peak of the CPU with --peak-flops"
    screen = counted("cnn").ask("--all").stdout
    assert "MFLOP a step" in screen and "no MFU" in screen
    assert max(map(len, screen.splitlines())) <= 78


@pytest.mark.parametrize("text", ["fast", "-1", "0", "1X", "nan", "1e400", "312TT"])
def test_a_peak_that_is_no_number_is_refused(counted, text):
    done = counted("mlp").ask(f"--peak-flops={text}")
    assert done.returncode == 2 and "not a number of FLOP/s such as 312e12 or 312T" in done.stderr
