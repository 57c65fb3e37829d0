# SPDX-License-Identifier: Apache-2.0
"""The n-th write, mapping, renaming, removal or creation fails once, or is the last thing
that happens: nothing that was published is lost, and it costs a sentence at most.

GAIT_TEST_FULL=1 tries every n and every policy; else a few of each.
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from failing import FILE_KINDS, HOWS, Counts, failing
from ring_files import rings_of
from told_program import Program

FULL = os.environ.get("GAIT_TEST_FULL") == "1"
PROGRAMS = pathlib.Path(__file__).with_name("programs")
POLICIES = ["block", "drop", "overwrite"] if FULL else ["block", "overwrite"]

# What the steady program is told to do, and the events of each.
SCRIPT = {
    "spans 700": 1400,
    "flush": 0,
    "spans 900": 1800,
    "flush ": 0,
    "name late": 0,
    "sites 50": 50,
    "flush  ": 0,
    "spans 300": 600,
}
EVENTS = sum(SCRIPT.values())


@pytest.fixture
def steady(compile_c):
    return compile_c((PROGRAMS / "steady.c").read_text(), name="steady")


@pytest.fixture
def counts(tmp_path):
    return Counts(tmp_path)


def some(total):
    return range(1, total + 1) if FULL else sorted({1, 2, total // 2, total - 1, total} - {0, -1})


def calls_of(kind, total):
    return [f"{kind}:{n}:{how}" for n in some(total) if n <= total for how in HOWS[kind]]


def info_of(gait, run):
    done = gait("info", run, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told_of(info):
    return info["events"] + info["dropped"]


class Recording:
    """The steady program, recorded into a new folder each time."""

    def __init__(self, steady, build, counts, tmp_path):
        self.steady, self.build, self.counts, self.place = steady, build, counts, tmp_path
        self.count = 0

    def __call__(self, call="", then="", failing_in="steady", policy="block", with_run=False):
        self.count += 1
        self.run = self.place / f"run{self.count}"
        line = [str(self.steady)]
        environment = {"GAIT_OVERFLOW": policy, "GAIT_RING": "64K"}
        environment.update(failing(self.build, failing_in, self.counts, call, then))
        if with_run:
            line = [str(self.build / "gait"), "run", "-q", "-o", str(self.run), "--", *line]
        else:
            environment["GAIT_DIR"] = str(self.run)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment, self.start = {**os.environ, **environment}, time.time()
        process = subprocess.Popen(line, text=True, env=environment, **pipes)
        asked = "".join(f"{do}\n" for do in SCRIPT) + "quit\n"
        out, errors = process.communicate(asked, timeout=60)
        self.calls, self.pid = self.counts.read(), process.pid
        return subprocess.CompletedProcess(line, process.returncode, out, errors)

    def shards(self):
        return list(self.run.glob("*.gait"))


@pytest.fixture
def record(steady, build, counts, tmp_path):
    return Recording(steady, build, counts, tmp_path)


def ended_as_ever(done):
    return (done.returncode, done.stdout) == (6, "done\n" * len(SCRIPT) + "bye\n")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", HOWS)
def test_a_call_of_the_recorder_fails(gait, record, kind, policy):
    done = record(policy=policy)
    assert ended_as_ever(done) and told_of(info_of(gait, record.run)) == EVENTS
    calls = calls_of(kind, record.calls[kind])
    if kind == "alloc":  # they are of many different things
        calls = [f"alloc:{n}:ENOMEM" for n in range(1, record.calls["alloc"] + 1)]
    for call in calls:
        done = record(call, policy=policy)
        assert ended_as_ever(done) and done.stderr == "", call
        if not record.shards():  # it could not begin
            assert kind in ("create", "alloc") and not list(record.run.glob("*")), call
            continue
        info = info_of(gait, record.run)
        assert told_of(info) == EVENTS, call
        assert info["damage"] == [] and info["shards"][0]["complete"], call
        assert not list(record.run.glob("*.ring")), call


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", FILE_KINDS)
def test_killed_after_a_call_of_the_recorder_failed(gait, record, kind, policy):
    """At the next such call, or in it: what it had published by then is there."""
    record(policy=policy)
    total = record.calls[kind]
    for call in calls_of(kind, total) + [f"{kind}:{n}:kill" for n in some(total)]:
        done = record(call, "kill", policy=policy)
        if done.returncode != -signal.SIGKILL:  # it was the last one
            assert ended_as_ever(done), call
        answered = done.stdout.count("done\n")
        published = sum(list(SCRIPT.values())[:answered])
        if not answered:
            assert gait("info", record.run).returncode in (0, 2), call
            for ring in rings_of([record.pid], record.start):
                ring.unlink()
            continue
        info = info_of(gait, record.run)
        assert published <= told_of(info) <= EVENTS, call
        assert info["damage"] == [], call


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_call_of_gait_run_fails(gait, record, kind):
    record(failing_in="gait", with_run=True)
    for call in calls_of(kind, record.calls[kind]):
        done = record(call, failing_in="gait", with_run=True)
        assert ended_as_ever(done) and done.stderr.count("\n") <= 1, (call, done.stderr)
        if not record.shards():
            assert done.stderr.startswith("gait: nothing is recorded: cannot "), call
            assert not drafts(record.run), call
            continue
        info = info_of(gait, record.run)
        assert (info["events"], info["damage"]) == (EVENTS, []), call


BUSY = """
import time
end = time.monotonic() + 0.3
while time.monotonic() < end:
    sum(range(200))
"""


@pytest.mark.parametrize("how", HOWS["write"])
def test_a_write_of_samples_fails(gait, build, counts, tmp_path, how):
    """The first after the mark of the run and who it was: it is made up for at the next."""
    line = ["run", "-q", "--sample", "500", "-o", "run", "--", sys.executable, "-c", BUSY]
    environment = {**os.environ, **failing(build, "gait", counts, f"write:3:{how}")}
    done = gait(*line, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    info = info_of(gait, tmp_path / "run")
    assert info["damage"] == [] and all(shard["complete"] for shard in info["shards"])


# --- the tool -------------------------------------------------------------------------


def trace_of(processes, events):
    rows = [
        {"ph": "X", "pid": pid, "tid": i % 3, "name": f"op{i % 7}", "ts": i * 10, "dur": 5}
        for pid in range(processes)
        for i in range(events)
    ]
    return json.dumps({"traceEvents": rows})


def content(folder):
    return {
        str(path.relative_to(folder)): path.is_file() and hashlib.md5(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
    }


def drafts(folder):
    return [path for path in content(folder) if ".draft" in path or ".part" in path]


class Tool:
    """gait, of which a call fails, in a folder of its own each time."""

    def __init__(self, build, counts, tmp_path):
        self.build, self.counts, self.place = build, counts, tmp_path
        self.count = 0

    def begin(self):
        self.count += 1
        self.folder = self.place / f"tool{self.count}"
        (self.folder / "empty").mkdir(parents=True)
        (self.folder / "a.json").write_text(trace_of(1, 300))
        (self.folder / "b.json").write_text(trace_of(3, 200))
        (self.folder / "earlier.csv").write_text("earlier")

    def __call__(self, *words, call="", then=""):
        environment = {**os.environ, **failing(self.build, "gait", self.counts, call, then)}
        line = [self.build / "gait", *words]
        asked = {"capture_output": True, "text": True, "timeout": 60, "cwd": self.folder}
        done = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, **asked)
        self.calls = self.counts.read()
        return done


@pytest.fixture
def tool(build, counts, tmp_path):
    return Tool(build, counts, tmp_path)


MADE = {
    "import": ["import", "b.json", "-o", "x"],
    "import of two": ["import", "a.json", "b.json", "-o", "x"],
    "import into an empty folder": ["import", "b.json", "-o", "empty"],
    "import of a shard": ["import", "a.json", "-o", "x.gait"],
    "export": ["export", "a.json", "--format", "csv", "-o", "earlier.csv"],
}


def check_made(tool, words, call, good):
    """All of it was made, or nothing has changed."""
    tool.begin()
    before = content(tool.folder)
    done = tool(*words, call=call)
    after = content(tool.folder)
    assert done.returncode in (0, 2) and done.stderr.count("\n") <= 1, (call, done.stderr)
    assert (done.returncode == 0) or done.stderr, call
    if done.returncode == 0:
        assert after.keys() == good.keys(), call
    else:
        assert after == before, (call, done.stderr)


@pytest.mark.parametrize("kind", FILE_KINDS)
@pytest.mark.parametrize("what", MADE)
def test_a_call_of_the_tool_fails(tool, tmp_path, monkeypatch, what, kind):
    monkeypatch.setenv("GAIT_CACHE_DIR", str(tmp_path / "cache"))
    tool.begin()
    assert tool(*MADE[what]).returncode == 0
    good = content(tool.folder)
    for call in calls_of(kind, tool.calls[kind]):
        check_made(tool, MADE[what], call, good)


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_call_fails_for_an_index(tool, kind):
    """Of one shard: the others have theirs, and the code says that one has none."""
    tool.begin()
    tool("import", "b.json", "-o", "run")
    assert tool("index", "run").returncode == 0
    for call in calls_of(kind, tool.calls[kind]):
        tool.begin()
        tool("import", "b.json", "-o", "run")
        done = tool("index", "run", call=call)
        indexes = len(list((tool.folder / "run").glob("*.gait-facts")))
        assert (done.returncode, done.stderr.count("\n")) in ((0, 0), (2, 1)), call
        assert indexes == (2 if done.returncode else 3) and not drafts(tool.folder), call


def leave_killed(steady, run):
    """A run whose process was killed: it has 2,400 events, 1,000 of them in its ring file."""
    program = Program([steady], run, env={"GAIT_OVERFLOW": "block"})
    program.do("spans 700", "flush", "spans 500").kill()


@pytest.mark.parametrize("then", ["", "kill"])
@pytest.mark.parametrize("kind", ["alloc", *FILE_KINDS])
@pytest.mark.parametrize("words", ["info run", "run -q --append -o run -- true"])
def test_a_call_fails_while_a_killed_run_is_completed(gait, tool, steady, words, kind, then):
    """Or gait is killed, too: the next question finds all of it."""
    tool.begin()
    leave_killed(steady, tool.folder / "run")
    assert tool(*words.split()).returncode == 0
    calls = calls_of(kind, tool.calls[kind])
    for call in calls + [f"{kind}:{n}:kill" for n in some(tool.calls[kind]) if then]:
        tool.begin()
        leave_killed(steady, tool.folder / "run")
        done = tool(*words.split(), call=call, then=then)
        ends = (0, 2, 125, -signal.SIGKILL) if then else (0, 2, 125)
        assert done.returncode in ends and done.stderr.count("\n") <= 1, (call, done.stderr)
        info = info_of(gait, tool.folder / "run")
        assert (info["events"], info["damage"]) == (2400, []), call
        (shard,) = info["shards"]
        assert shard["complete"] and not os.path.exists(shard["metadata"]["ring"]), call
