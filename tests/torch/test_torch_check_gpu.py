# SPDX-License-Identifier: Apache-2.0
"""tools/check-gpu with stand-ins for the device and for NVML: each part passes, and fails where
a figure of gait's is broken."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from torch_trainings import FULL

ROOT = pathlib.Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support"
sys.path.insert(0, str(ROOT / "tools"))

import gpu  # noqa: E402
from gpu import machine  # noqa: E402
from gpu.session import Failed, Session  # noqa: E402

pytestmark = pytest.mark.xdist_group("check-gpu")
PARTS, MORE = ("windows", "ops", "memory"), ("graphs", "mig")
if FULL:  # `make check`: a minute or more
    PARTS += ("breakdown", "profile", "streams", "amp", "ranks")
    MORE += ("energy", "held", "hidden")


def environment(build, folder, **more):
    import torch

    if torch.version.cuda and not torch.cuda.is_available():
        pytest.skip("a torch for CUDA without a driver cannot be given a stand-in")
    line = ["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", SUPPORT / "fake_nvml.c"]
    subprocess.run(line, check=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
    env.update(GAIT=str(build / "gait"), GAIT_CHECK_STAND_IN=str(SUPPORT / "gpu_stand_in.py"))
    return {**env, "LD_LIBRARY_PATH": str(folder), "OMP_NUM_THREADS": "1", **more}


def check(folder, env, *words):
    line = [sys.executable, ROOT / "tools/check-gpu", "-o", folder / "evidence", *words]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=500)


@pytest.fixture(scope="module")
def evidence(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("check-gpu")
    done = check(folder, environment(build, folder), *PARTS, *MORE)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "evidence", done.stdout


def test_every_part_says_one_line_and_leaves_its_evidence(evidence):
    folder, said = evidence
    lines = dict(line.split(": ", 1) for line in said.splitlines())
    for part in set(PARTS + MORE) - {"graphs", "mig"}:
        assert lines[part].startswith("ok, "), said
    for part in ("graphs", "mig"):
        assert lines[part].startswith("not tried: "), said
    for part in (*PARTS, *MORE):
        kept = json.loads((folder / f"{part}.json").read_text())
        assert (kept["said"], kept.get("wrong")) == (lines[part], [])
    assert lines["windows"] == "ok, 18 kernels, times within 0.00%"  # 2 a step, of 9 steps
    table = (folder / "table.md").read_text().splitlines()
    assert len(table) == 2 + len(PARTS + MORE)
    assert json.loads((folder / "versions.json").read_text())["torch"]
    assert list(folder.glob("*.pt.trace.json.gz"))


class Again(Session):
    """Judges the evidence of before anew, with what gait says changed by `change`."""

    def __init__(self, name, folder, gait, change):
        self.name, self.folder, self.change = name, folder / name, change
        self.tool, self.seconds, self.until = gait, 300, float("inf")
        self.python, self.figures, self.wrong = sys.executable, {}, []

    def environment(self, env=()):
        return {**os.environ, **dict(env)}

    def call(self, line, env=(), code=0):
        if any(str(word).endswith("program.py") for word in line):
            return subprocess.CompletedProcess(line, 0, "", "")
        done = super().call(line, env, code)
        done.stdout = self.change(done.stdout)
        return done


FIGURE = re.compile(r"(?<=: )[1-9]\d*(?=[,}\n])|(?<= )\d+(?=\s*$)", re.MULTILINE)


def one_more(text):
    """Each figure of an answer, and the last one in each line of a table."""
    return FIGURE.sub(lambda figure: str(int(figure[0]) + 1), text)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_fails_where_a_figure_is_broken(part, evidence, build):
    _, function = gpu.PARTS[part]
    whole = Again(part, evidence[0], build / "gait", str)
    assert function(whole).startswith("ok, ") and whole.wrong == []
    broken = Again(part, evidence[0], build / "gait", one_more)
    try:
        function(broken)
    except Failed:
        return
    assert broken.wrong, broken.figures


BROKEN = """#!/bin/sh
case $1 in
energy) "$REAL" "$@" | sed 's/"joules": /"joules": 1/' ;;
*) exec "$REAL" "$@" ;;
esac
"""


def test_it_goes_on_after_a_part_that_fails_and_ends_with_1(build, tmp_path):
    tool = tmp_path / "gait"
    tool.write_text(BROKEN)
    tool.chmod(0o755)
    real = {"GAIT": str(tool), "REAL": str(build / "gait"), "BUILD": str(build)}
    done = check(tmp_path, environment(build, tmp_path, **real), "energy", "hidden")
    assert done.returncode == 1, done.stdout
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert lines["energy"].startswith("FAILED: joules of GPU-0"), done.stdout
    assert lines["hidden"].startswith("ok, ")
    assert done.stdout.splitlines()[-1].endswith("FAILED: energy")


def test_cost_is_judged_by_pairs_and_by_what_bare_runs_differ_by(tmp_path):
    def wrong(bare, outside):
        session = Again("cost", tmp_path, None, str)
        machine.judge_cost(session, bare, outside, outside)
        return session.wrong

    assert wrong([10.0, 10.1, 10.0], [10.1, 10.2, 10.1]) == []
    assert wrong([10.0, 10.1, 10.0], [10.5, 10.6, 10.5])
    assert wrong([10.0, 11.0, 10.0], [10.5, 11.5, 10.5]) == []  # 10 % apart by themselves
    assert wrong([10.0, 20.0], [10.3, 21.0]) == []


def test_utilisation_is_judged_beside_nvidia_smi(tmp_path):
    gpu_said = {"uuid": "GPU-0", "mean_watts": 500, "peak_watts": 600}
    rows = [(500.0, 90.0)] * 9 + [(600.0, 90.0)]
    for busy, watts, expected in ((88, 500, 0), (50, 500, 1), (88, 700, 1)):
        session = Again("energy", tmp_path, None, str)
        said = {**gpu_said, "kernel_resident_percent": busy, "mean_watts": watts}
        machine.judge_smi(session, said, rows)
        assert len(session.wrong) == expected, session.wrong


def test_a_wrong_part_is_one_sentence(build, tmp_path):
    done = check(tmp_path, environment(build, tmp_path), "windos")
    assert done.returncode == 2 and "there is no part 'windos'" in done.stderr
    done = check(tmp_path, {**os.environ, "GAIT": "/nowhere/gait"}, "hidden")
    assert done.returncode == 1 and "GAIT=path/to/gait" in done.stderr
