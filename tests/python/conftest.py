# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs under a recording and reads back what they recorded.

Each program is a process of its own, and what it recorded is read through the
tool's CSV export, never through the library that wrote it.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import textwrap

import pytest

csv.field_size_limit(1 << 24)


FIRST = "import gait\n"


class Run:
    """A finished program and its run directory."""

    def __init__(self, directory, process, gait):
        self.directory = directory
        self.process = process
        self.stdout = process.stdout
        self.stderr = process.stderr
        self._gait = gait
        self._rows = None

    @property
    def rows(self):
        """The events as dicts, numbers as int, in order of start."""
        if self._rows is None:
            self._rows = read_csv(self._gait, self.directory)
        return self._rows

    def events(self, kind, name=None):
        return [r for r in self.rows if r["kind"] == kind and name in (None, r["name"])]

    def names(self, kind="span"):
        return [row["name"] for row in self.events(kind)]

    @property
    def shards(self):
        return sorted(self.directory.glob("*.gait")) if self.directory.is_dir() else []

    @staticmethod
    def is_inside(inner, outer):
        """Does one span's time lie within another's?"""
        end = inner["start_ns"] + inner["duration_ns"]
        outer_end = outer["start_ns"] + outer["duration_ns"]
        return outer["start_ns"] <= inner["start_ns"] and end <= outer_end

    def info(self):
        done = self._gait("info", self.directory, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def read_csv(gait, path):
    """The tool's CSV export of a path; line ends inside names stay as they are."""
    with tempfile.TemporaryDirectory() as directory:
        table = os.path.join(directory, "rows.csv")
        done = gait("export", path, "--format", "csv", "-o", table)
        assert done.returncode == 0, done.stderr
        with open(table, encoding="utf-8", newline="") as file:
            return [convert(row) for row in csv.DictReader(file)]


def convert(row):
    for column in ("rank", "pid", "tid", "start_ns", "duration_ns", "id"):
        row[column] = int(row[column]) if row[column] else None
    if row["value"]:
        row["value"] = float(row["value"]) if set(row["value"]) & set(".enN") else int(row["value"])
    row["args"] = json.loads(row["args"]) if row["args"] else {}
    return row


@pytest.fixture
def python_path(build):
    """Where `import gait` finds the package under test."""
    return str(build / "python")


@pytest.fixture
def record(tmp_path, gait, python_path):
    """record(program text, …) runs it under GAIT_DIR and gives a Run."""

    def run(
        program,
        *arguments,
        code=0,
        recording=True,
        options=(),
        first="import gait\n",
        **environment,
    ):
        script = tmp_path / "program.py"
        script.write_text(first + textwrap.dedent(program))
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        env["PYTHONPATH"] = python_path
        directory = tmp_path / "run"
        if recording:
            env["GAIT_DIR"] = str(directory)
        process = subprocess.run(
            [sys.executable, *options, str(script), *arguments],
            env={**env, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if code is not None:
            assert process.returncode == code, process.stdout + process.stderr
        return Run(directory, process, gait)

    return run


@pytest.fixture(scope="session")
def read(build):
    """The package under test in this process, for its read side."""
    sys.path.insert(0, str(build / "python"))
    try:
        import gait
    finally:
        sys.path.pop(0)
    return gait


@pytest.fixture
def trace_of(read):
    """trace_of(run) opens what a run recorded; closed after the test."""
    opened = []

    def open_run(run):
        opened.append(read.open(run.directory))
        return opened[-1]

    yield open_run
    for trace in opened:
        trace.close()


@pytest.fixture
def nothing_set(monkeypatch, tmp_path):
    """An empty folder, and no variable that says anything of settings."""
    for name in list(os.environ):
        if name.startswith("GAIT_PROFIL") or name in ("GAIT_CONFIG", "GAIT_DIR"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
