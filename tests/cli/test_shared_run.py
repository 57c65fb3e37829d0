# SPDX-License-Identifier: Apache-2.0
"""Several `gait run` and one directory: nodes of a job that share it, ranks that meet in it,
and strangers that only chose the same name."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

# waits for the others, and makes steps as the rank that it is
PROGRAM = """
import os, sys
rank, go = sys.argv[1], sys.argv[2]
if rank != "-":
    os.environ.update(RANK=rank, WORLD_SIZE="2")
import gait
gait.start()
os.read(os.open(go, os.O_RDONLY), 1)  # until its other end is closed
for _ in gait.steps(range(6)):
    with gait.span("work"):
        sum(range(1000))
print(os.environ["GAIT_DIR"])
"""
LAUNCHERS = "RANK WORLD_SIZE MASTER_ADDR MASTER_PORT TORCHELASTIC_RUN_ID SLURM_JOB_ID".split()


class Runs:
    """`gait run` several times, all of them at once."""

    def __init__(self, build, folder):
        self._build, self._folder = build, folder
        (folder / "program.py").write_text(PROGRAM)
        self._environment = {**os.environ, "PYTHONPATH": str(build / "python")}
        for name in [*LAUNCHERS, *(n for n in os.environ if n.startswith("GAIT_"))]:
            self._environment.pop(name, None)
        self._started, self._names = [], []

    def start(self, name, options, rank="-", **environment):
        os.mkfifo(self._folder / f"go-{name}")
        line = [self._build / "gait", "run", *options, "--", sys.executable, "program.py"]
        self._started.append(
            subprocess.Popen(
                [*map(str, line), rank, f"go-{name}"],
                cwd=self._folder,
                env={**self._environment, **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        self._names.append(name)

    def finish(self):
        """[(exit code, its directory, what was said)], in the order in which they began."""
        # opening waits for the reader: nobody goes on before all are there
        gates = [os.open(self._folder / f"go-{name}", os.O_WRONLY) for name in self._names]
        for gate in gates:
            os.close(gate)
        answers = []
        for process in self._started:
            out, err = process.communicate(timeout=60)
            answers.append((process.returncode, pathlib.Path(out.strip()).name, err))
        return answers


@pytest.fixture
def runs(build, tmp_path):
    return Runs(build, tmp_path)


def ranks(gait, path):
    return [shard["rank"] for shard in json.loads(gait("info", "--json", path).stdout)["shards"]]


def one_line(text):
    return " ".join(text.split())


def test_of_nodes_that_share_a_directory_rank_0s_alone_reports(gait, runs):
    for rank in "10":
        runs.start(rank, ["-a", "-o", "shared"], rank)
    answers = runs.finish()
    assert [(code, where) for code, where, _ in answers] == [(0, "shared")] * 2
    second, first = (err for _, _, err in answers)
    assert second == ""
    assert first.count("Time per step") == 1
    assert sorted(ranks(gait, "shared")) == [0, 1]


def test_two_runs_started_at_once_are_two_runs(gait, runs):
    for name in "abc":
        runs.start(name, ["-o", "x/"])
    answers = runs.finish()
    assert sorted(where for _, where, _ in answers) == ["x", "x-2", "x-3"]
    for code, where, err in answers:
        assert code == 0
        assert ranks(gait, where) == [None]
        told = f"so this run is recorded into '{where}'; --append joins both into one run"
        assert (told in one_line(err)) == (where != "x"), err


def test_ranks_that_their_launcher_starts_are_one_job(gait, runs):
    """torchrun --no-python gait run -o x -- python train.py"""
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    other = {**job, "MASTER_PORT": "29501"}
    for name, where in (("one", job), ("other", other)):
        for rank in "01":
            runs.start(name + rank, ["-o", "x"], rank, RANK=rank, **where)
    answers = runs.finish()
    folders = [where for _, where, _ in answers]
    assert folders[0] == folders[1] and folders[2] == folders[3]
    assert sorted({*folders}) == ["x", "x-2"]
    assert [sorted(ranks(gait, where)) for where in ("x", "x-2")] == [[0, 1], [0, 1]]
    assert sum("belongs to a run" in one_line(err) for *_, err in answers) == 1


def test_a_later_job_of_the_same_name_does_not_join(gait, tmp_path, monkeypatch):
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "29500")):
        monkeypatch.setenv(name, value)
    write = "import os; open(os.environ['GAIT_DIR'] + '/x.gait', 'w').close()"
    assert gait("run", "-q", "-o", "x", "--", sys.executable, "-c", write).returncode == 0
    os.utime(tmp_path / "x" / ".gait-run", (1, 1))  # long ago
    done = gait("run", "-o", "x", "--", sys.executable, "-c", write)
    assert done.returncode == 125 and "'x' is not empty" in done.stderr


def test_who_was_killed_over_an_empty_directory_does_not_keep_it(gait, tmp_path):
    (tmp_path / "x").mkdir()
    mark = f"{'a' * 32} - {os.uname().nodename} 1 12345\n"  # a process that is long gone
    (tmp_path / "x" / ".gait-run").write_text(mark)
    line = [sys.executable, "-c", "import os; print(os.environ['GAIT_DIR'])"]
    done = gait("run", "-q", "-o", "x", "--", *line)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'x'}\n")
