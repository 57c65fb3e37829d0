# SPDX-License-Identifier: Apache-2.0
"""Runs the trainings in tests/torch/scripts with and without gait, each of them once."""

import concurrent.futures
import csv
import dataclasses
import functools
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import pytest
from said_besides import without_these
from warm_python import WarmPython

# As torchrun starts its ranks, but it takes seconds to start itself.
RANKS = """
for rank in $(seq 0 $((WORLD_SIZE - 1))); do
    RANK=$rank LOCAL_RANK=$rank "$@" &
    ranks="$ranks $!"
done
for rank in $ranks; do wait $rank || code=$?; done
exit ${code:-0}
"""
SCRIPTS = pathlib.Path(__file__).parent.parent / "torch" / "scripts"
FULL = bool(os.environ.get("GAIT_TEST_FULL"))
full = pytest.mark.skipif(not FULL, reason="GAIT_TEST_FULL=1 runs it")
csv.field_size_limit(1 << 24)


@dataclasses.dataclass(frozen=True)
class Job:
    """A training as it is asked for; `env` and `args` are tuples, so that it can be a key."""

    script: str
    args: tuple = ()
    env: tuple = ()
    gait: bool = True
    options: tuple = ()  # of `gait run`
    python: tuple = ()  # of the interpreter
    processes: int = 1  # more: under torchrun, or `warm` ones as it starts them
    turn: int = 0  # tells apart runs that are otherwise the same
    warm: bool = False  # torch is there before gait is; with FULL it never is

    def __str__(self):
        parts = [self.script, *self.args, *(f"{k}={v}" for k, v in self.env), *self.python]
        return "-".join(str(part) for part in parts)

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    def planted(self, rank=None, **places):
        """The same with delays of 50 ms: planted(forward=10), in one rank or in all."""
        plant = ",".join(f"{place}:{count}" for place, count in places.items())
        env = (("PLANT", plant), *([("PLANT_RANK", str(rank))] if rank is not None else []))
        return self.but(env=self.env + env)


class Training:
    """A training that ended: what it said, and what is on record of it."""

    def __init__(self, tool, job, directory, process):
        self.job = job
        self.directory = directory
        self.code = process.returncode
        self.asked_ns, self.over_ns = process.between_ns  # from outside, since the epoch
        self.stdout = process.stdout
        self.stderr = without_these(process.stderr)
        self._tool = tool

    @functools.cached_property
    def truths(self):
        """What each process counted and measured itself, in order of rank."""
        # two processes may write their lines before either ends its own
        texts = self.stdout.split("TRUTH ")[1:]
        truths = (json.JSONDecoder().raw_decode(text)[0] for text in texts)
        return sorted(truths, key=lambda truth: truth["rank"])

    @property
    def truth(self):
        assert self.truths, f"{self.job} ended with {self.code}\n{self.stdout}{self.stderr}"
        return self.truths[0]

    @functools.cached_property
    def report(self):
        done = self.ask("report", self.directory, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @functools.cached_property
    def screen(self):
        done = self.ask("report", "--all", self.directory)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @functools.cached_property
    def first_screen(self):
        done = self.ask("report", self.directory)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @functools.cached_property
    def rows(self):
        """The events as the CSV export has them: texts, empty where unknown."""
        return self._exported()

    @functools.cached_property
    def rows_with_steps(self):
        return self._exported("--steps")

    def _exported(self, *options):
        done = self.ask("export", self.directory, "--format", "csv", "-o", "-", *options)
        assert done.returncode == 0, done.stderr
        return list(csv.DictReader(io.StringIO(done.stdout, newline="")))

    def order(self, *names):
        """The phases of these names, by their begins."""
        rows = [row for row in self.rows if row["category"] == "phase" and row["name"] in names]
        return [row["name"] for row in sorted(rows, key=lambda row: int(row["start_ns"]))]

    def ask(self, *words):
        return subprocess.run(
            [self._tool, *map(str, words)], capture_output=True, text=True, timeout=120
        )

    @property
    def phases(self):
        return times(self.report["phases"])

    def rank_phases(self, rank):
        return times(self._rank(rank)["phases"])

    def told(self, rank=None):
        """The phases, with evaluation and saving outside of the steps."""
        found = self.report if rank is None else self._rank(rank)
        told, run = times(found["phases"]), times(found["run"])
        for name in ("evaluation", "checkpoint"):
            told[name] += run[name]
        return told

    def _rank(self, rank):
        (found,) = [one for one in self.report["ranks"] if one["rank"] == rank]
        return found


def of_ranks(job):
    """What torchrun puts into the environment of all its ranks."""
    if not job.warm or job.processes == 1:
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield "MASTER_PORT", str(free.getsockname()[1])
    yield "MASTER_ADDR", "127.0.0.1"
    yield "WORLD_SIZE", str(job.processes)
    yield "LOCAL_WORLD_SIZE", str(job.processes)


def times(phases):
    return {phase["name"]: phase["total_ns"] for phase in phases}


class Trainings:
    """Runs jobs, each once, a few at a time."""

    def __init__(self, build, home):
        self.build = build
        self.tool = str(build / "gait")
        self.home = home
        self.pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        self.begun = {}
        self._warm, self._warming = None, threading.Lock()

    def begin(self, job):
        if job not in self.begun:
            number = len(self.begun)
            self.begun[job] = self.pool.submit(self._run, job, self.home / str(number))
        return self.begun[job]

    def get(self, job):
        return self.begin(job).result()

    def environment(self, extra=()):
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        # one thread: the tests share two cores, and losses are compared bit by bit
        env.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", PYTHONUNBUFFERED="1")
        return {**env, **dict(extra)}

    @property
    def warm(self):
        with self._warming:
            if not self._warm:
                self._warm = WarmPython(["torch", "torch._dynamo"])
            return self._warm

    def python(self, script, *args):
        """What starts a script where torch is there already; with FULL any Python."""
        words = (str(script), *map(str, args))
        return [sys.executable, *words] if FULL else self.warm.command(*words)

    def command(self, job, directory):
        script = SCRIPTS / (job.script + ".py") if isinstance(job.script, str) else job.script
        line = [sys.executable, *job.python]
        if job.processes > 1:
            line += ["-m", "torch.distributed.run", "--standalone"]
            line += ["--nproc-per-node", str(job.processes)]
        line += [str(script), *map(str, job.args)]
        if job.warm:
            line = self.python(script, *job.args)
        if job.warm and job.processes > 1:
            line = ["sh", "-c", RANKS, "ranks", *line]
        if job.gait:
            run = [self.tool, "run", *(job.options or ("--quiet",)), "-o", str(directory), "--"]
            line = run + line
        return line

    def _run(self, job, home):
        home.mkdir()
        asked_ns = time.time_ns()
        process = subprocess.run(
            self.command(job, home / "run"),
            cwd=home,
            env=self.environment((*job.env, *of_ranks(job))),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
        process.between_ns = asked_ns, time.time_ns()
        return Training(self.tool, job, home / "run", process)

    def close(self):
        self.pool.shutdown(cancel_futures=True)
        if self._warm:
            self._warm.close()
