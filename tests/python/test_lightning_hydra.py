# SPDX-License-Identifier: Apache-2.0
"""examples/lightning_hydra with real Hydra and Lightning, by its own command lines."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest


@pytest.fixture
def train(root, build, tmp_path):
    for name in ("lightning", "hydra"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"no {name} here")

    def run(*words):
        done = subprocess.run(
            [sys.executable, root / "examples/lightning_hydra/train.py", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(build / "python")},
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done

    return run


def test_the_guides_command_lines_run(train, tmp_path):
    done = train(
        "profiling.enabled=true",
        "model=resnet",
        "profiling.active_steps=5",
        "profiling.schedule_every_n_steps=25",
        "profiling.repeat_cycles=3",
        "profiler=simple",
    )
    folder = tmp_path / "outputs/profiler_logs/resnet"
    assert len(list(folder.glob("*.pt.trace.json"))) == 3
    assert (folder / "chrome_trace.json").stat().st_size > 10_000
    assert "Top 10 by CPU time" in (folder / "profiler_summary.txt").read_text()
    assert done.stderr.count("after step") == 3
    (report,) = tmp_path.glob("outputs/*/*/fit-profile.txt")
    assert "run_training_epoch" in report.read_text() and str(report) in done.stderr


def test_every_key_of_the_section_is_the_callbacks(root):
    text = (root / "examples/lightning_hydra/configs/config.yaml").read_text()
    section = text.split("profiling:\n")[1].split("\n\n")[0]
    source = (root / "python/gait/lightning.py").read_text()
    for key in re.findall(r"^  (\w+):", section, re.MULTILINE):
        assert re.search(rf"^        {key}(: [^=]+)? ?=", source, re.MULTILINE), key
