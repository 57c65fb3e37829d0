# SPDX-License-Identifier: Apache-2.0
"""The ops on record against torch.profiler's, of the same step."""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).parent / "programs"
DTYPES = {
    "f32": "float",
    "f64": "double",
    "f16": "c10::Half",
    "bf16": "c10::BFloat16",
    "i64": "long int",
    "i32": "int",
    "u8": "unsigned char",
    "i8": "signed char",
    "bool": "bool",
}
HAS_TORCH = (
    subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0
)
pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")


@pytest.fixture
def torch_program(build, tmp_path):
    """Runs a program of programs/ with a run directory of its own."""

    def run(name, *args, **environment):
        values = {**os.environ, "GAIT_BUILD": str(build), "GAIT_DIR": str(tmp_path / "run")}
        values.update(environment)
        command = [sys.executable, str(PROGRAMS / name), *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, env=values, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def rows(gait, tmp_path):
    """The events on record, as the CSV export has them."""

    def read():
        done = gait("export", "-f", "csv", tmp_path / "run")
        assert done.returncode == 0, done.stderr
        table = list(csv.DictReader(io.StringIO(done.stdout)))
        for row in table:
            row["args"] = json.loads(row["args"]) if row["args"] else {}
        return table

    return read


def ops_of(rows):
    return [
        r for r in rows if r["kind"] == "span" and r["category"] in ("cpu_op", "user_annotation")
    ]


def profiled(path):
    events = json.loads(path.read_text(encoding="utf-8"))
    ops = [e for e in events if e["name"] != "[memory]"]
    ops.sort(key=lambda e: (e["start"], -e["duration"]))
    return ops, [e for e in events if e["name"] == "[memory]"]


def tensors_of(text):
    """[(dtype, sizes) or None, ...] of a text of shapes."""
    tensors = []
    for word in text.split():
        match = re.fullmatch(r"(\w+)\[([\d,]*)\]", word)
        sizes = [int(n) for n in match[2].split(",") if n] if match else []
        tensors.append((DTYPES[match[1]], sizes) if match else None)
    return tensors


def check_shapes(row, op):
    """Every tensor argument that one of the two has, the other has alike."""
    tensors = tensors_of(row["args"].get("shapes", ""))
    for index, tensor in enumerate(tensors):
        if tensor:
            assert tensor == (op["dtypes"][index], op["shapes"][index]), (row, op)
    for index, sizes in enumerate(op["shapes"]):
        is_tensor = op["dtypes"][index] in DTYPES.values() and sizes
        assert not is_tensor or (index < len(tensors) and tensors[index]), (row, op)
    return sum(tensor is not None for tensor in tensors)


def check_links(row, op):
    seq = row["args"].get("seq", -1)
    # torch.profiler gives the engine's own range the number of what it evaluates
    if not row["name"].startswith("autograd::engine::evaluate_function"):
        assert seq == op["seq"], (row, op)
        assert row["args"].get("fwd_thread", 0) == (op["fwd_thread"] if seq >= 0 else 0)
    assert row["args"].get("scope", 0) == op["scope"]


@pytest.mark.parametrize("way", ["together", "apart"])
@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_a_step_equals_torch_profilers(torch_program, rows, tmp_path, kind, way):
    torch_program("compare_ops.py", kind, way, tmp_path / "torch.json")
    wanted, _ = profiled(tmp_path / "torch.json")
    got = ops_of(rows())
    assert [row["name"] for row in got] == [op["name"] for op in wanted]
    assert len(got) > 100
    tensors = 0
    for row, op in zip(got, wanted):
        tensors += check_shapes(row, op)
        if way == "together":
            check_links(row, op)
    assert tensors > 100
    assert {row["category"] for row in got} == {"cpu_op", "user_annotation"}


@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_memory_equals_torch_profilers(torch_program, rows, tmp_path, kind):
    torch_program("compare_ops.py", kind, "together", tmp_path / "torch.json")
    _, wanted = profiled(tmp_path / "torch.json")
    wanted = [event["bytes"] for event in sorted(wanted, key=lambda event: event["start"])]
    got = [int(row["value"]) for row in rows() if row["kind"] == "memory"]
    allocated = [value for value in got if value > 0]
    assert allocated == [value for value in wanted if value > 0]
    assert sum(allocated) > 1000
    # those of blocks older than the window have no size here
    assert [value for value in got if value < 0] == [value for value in wanted if value < 0]
