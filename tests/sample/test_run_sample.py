# SPDX-License-Identifier: Apache-2.0
"""`gait run --sample`: stacks in the same run as the steps they belong to."""

import json
import pathlib
import re
import resource
import subprocess
import sys

import pytest

from tests.support.shard_maker import ShardMaker

PROGRAM = """
import os, sys, time, gait
def busy(end):
    while time.process_time() < end: pass
def step():
    busy(time.process_time() + .02)
steps = int(sys.argv[1])
if os.fork() == 0:
    busy(time.process_time() + .016 * steps)
    os._exit(0)
for _ in range(steps):
    with gait.step():
        step()
os.wait()
sys.exit(3)
"""


def shards(gait, path):
    return json.loads(gait("info", "--json", path).stdout)


def test_a_run_holds_samples_beside_its_steps(gait, tmp_path):
    done = gait("run", "--sample", 500, "-o", "run", "--", sys.executable, "-c", PROGRAM, 40)
    assert done.returncode == 3, done.stderr
    said = " ".join(done.stderr.split())
    assert said.endswith("next: gait report run, and gait leaf run")
    info = shards(gait, "run")
    by_role = {shard["role"]: shard for shard in info["shards"]}
    sampler, program = by_role["sampler"], by_role["program"]
    assert sampler["subject_pid"] == program["pid"]
    assert sampler["run_id"] == program["run_id"]
    assert sampler["complete"] and info["sampler"]["samples"] > 50
    assert sampler["start_ns"] < program["end_ns"]
    assert info["sampler"]["rate_asked_hz"] == 500 and info["sampler"]["processes"] == 2
    rows = json.loads(gait("leaf", "--json", "-a", "-n", "all", "run").stdout)["rows"]
    assert sum(row["samples"] for row in rows if row["name"] == "busy") > 50
    report = gait("report", "--json", "run")
    assert report.returncode == 0, report.stderr


COUNTS = """
import time, gait
while time.process_time() < 1.5:
    with gait.step(): sum(range(1000))
print(time.process_time())
"""


def used_by_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_cost_of_a_run_is_that_of_its_samples_too(gait, tmp_path):
    before = used_by_children()
    done = gait("run", "-q", "--sample", 5000, "-o", "run", "--", sys.executable, "-c", COUNTS)
    others = used_by_children() - before - float(done.stdout)
    report = json.loads(gait("report", "--json", "run").stdout)
    cpu = report["overhead"]["cpu_ns"] / 1e9
    # others have the ends of both, cpu what gait did within the program
    assert cpu == pytest.approx(others, rel=0.25)
    (program,) = [s for s in shards(gait, "run")["shards"] if s["role"] == "program"]
    life = (program["end_ns"] - program["metadata"]["process_start_ns"]) / 1e9
    assert report["overhead"]["share"] == pytest.approx(cpu / life, rel=1e-3)
    assert gait("report", "run").stdout.splitlines()[1].startswith("1 process, ")


def test_the_setting_py_spy_asks_for_the_same(gait, tmp_path):
    (tmp_path / "gait.yaml").write_text("profiling:\n  py_spy: true\n  py_spy_rate: 400\n")
    words = ["run", "-q", "-c", "gait.yaml", "-o", "run", "--"]
    done = gait(*words, sys.executable, "-c", PROGRAM, 10)
    assert done.returncode == 3, done.stderr
    assert shards(gait, "run")["sampler"]["rate_asked_hz"] == 400


def enabled_by(gait, folder, section):
    (folder / "gait.yaml").write_text(section)
    settings = json.loads(gait("config", "explain", "--json").stdout)["settings"]
    return settings["profiling.enabled"]["value"]


def test_py_spy_alone_asks_for_no_ops(gait, tmp_path):
    """What does not belong to it and is said, does."""
    assert enabled_by(gait, tmp_path, "profiling:\n  py_spy: true\n  py_spy_rate: 9\n") is False
    for more in ("wait: 2", "enabled: true", "with_stack: true", "py_spy: false"):
        section = "profiling:\n  py_spy_rate: 9\n  " + more
        section += "" if "py_spy:" in more else "\n  py_spy: true"
        assert enabled_by(gait, tmp_path, section + "\n") is True, more


def test_the_name_of_a_sampled_process_holds_no_secret(gait, tmp_path):
    (tmp_path / "busy.py").write_text("import time\nwhile time.process_time() < .3: pass\n")
    line = (sys.executable, "busy.py", "--token", "s3cr3t", "--api-key=s3cr3t", "--lr", "1")
    assert gait("run", "-q", "--sample", 500, "-o", "run", "--", *line).returncode == 0
    assert gait("flame", "-o", "flame.svg", "run").returncode == 0
    drawn = (tmp_path / "flame.svg").read_text()
    assert "busy.py --token *** --api-key=*** --lr 1" in drawn and "s3cr3t" not in drawn


def test_without_a_python_there_is_no_shard_of_samples(gait, tmp_path):
    done = gait("run", "--sample", 100, "-o", "run", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert "some threads or processes were not sampled: no Python ran" in done.stderr
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").glob("*.gait"))


PHASES = """
import time, threading, gait
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def make(): busy(.15)
def learn(): busy(.3)
def prepare(): busy(.3)
def fetch():
    with gait.span("prefetch"): busy(.4)
thread = threading.Thread(target=fetch)
thread.start()
prepare()
for _ in range(3):
    with gait.step():
        with gait.span("input"): make()
        with gait.span("forward"): learn()
thread.join()
"""


def functions_of(gait, phase, path="run"):
    done = gait("leaf", "--json", "-n", "all", "--phase", phase, path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return {row["name"]: row["total"] / answer["samples"] for row in answer["functions"]}


@pytest.fixture(scope="module")
def phases(build, tmp_path_factory):
    """A run of PHASES with samples."""
    folder = tmp_path_factory.mktemp("phases") / "run"
    words = ["run", "-q", "--sample", "500", "-o", folder, "--", sys.executable, "-c", PHASES]
    subprocess.run([str(word) for word in (build / "gait", *words)], check=True, timeout=120)
    return folder


def test_a_phase_is_asked_what_ran_in_it(gait, phases, tmp_path):
    names = ("input", "forward", "prefetch")
    shares = {phase: functions_of(gait, phase, phases) for phase in names}
    own = {"input": "make", "forward": "learn", "prefetch": "fetch"}
    for phase, name in own.items():
        assert shares[phase][name] > 0.8, (phase, shares[phase])
        others = set(own.values()) - {name}
        assert sum(shares[phase].get(other, 0) for other in others) < 0.2, (phase, shares[phase])
    whole = json.loads(gait("leaf", "--lines", "--json", "-n", 1, phases).stdout)["samples"]
    parts = [
        json.loads(gait("leaf", "--lines", "--json", "--phase", phase, phases).stdout)
        for phase in own
    ]
    assert sum(part["samples"] - part["samples_blocked"] for part in parts) <= whole
    steps = functions_of(gait, "steps", phases)  # of the thread that made them
    assert steps["make"] + steps["learn"] > 0.8
    assert steps.get("prepare", 0) + steps.get("fetch", 0) < 0.1, steps
    gait("flame", "--phase", "forward", "-o", "forward.svg", phases)
    drawn = (tmp_path / "forward.svg").read_text()
    assert "<title>learn (" in drawn and ">forward<" in drawn


WAITS = """
import time, threading, gait
def busy(seconds):  # by the wall clock: a wait is longer on a busy machine, too
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
def ask(lock):
    lock.acquire(timeout=.13)
def learn(): busy(.1)
lock = threading.Lock()
lock.acquire()
for _ in range(6):
    with gait.step():
        with gait.span("input"): ask(lock)
        with gait.span("forward"): learn()
"""


def test_a_phase_is_asked_what_it_waited_in(gait, tmp_path):
    done = gait("run", "-q", "--sample", 500, "-o", "run", "--", sys.executable, "-c", WAITS)
    assert done.returncode == 0, done.stderr
    answers = {phase: json.loads(gait("leaf", "-a", "--json", "--phase", phase, "run").stdout)
               for phase in ("input", "forward")}  # fmt: skip
    waited = answers["input"]
    rows = {row["name"]: row["proportion"] for row in waited["rows"]}
    assert rows["ask"] > 0.8 and waited["samples_blocked"] > 0.8 * waited["samples"] > 0
    assert answers["forward"]["samples_blocked"] < 0.2 * answers["forward"]["samples"]
    told = gait("leaf", "--phase", "input", "run").stdout
    share = f"{100 * waited['samples_blocked'] / waited['samples']:.1f} %"
    assert told.endswith(f"In {share} of these {waited['samples']} samples the thread was blocked "
                         "in the system.\n")  # fmt: skip
    # the report asks the question for those who do not know that it can be asked
    (question,) = re.findall("see: gait (.*)", gait("report", "run").stdout)
    assert gait(*question.split()).stdout.startswith(told)
    # whoever names no phase gets none of them
    whole = json.loads(gait("leaf", "-a", "--json", "-n", "all", "run").stdout)
    sampler = shards(gait, "run")["sampler"]
    found = whole["samples"] + whole["samples_without_function"]
    assert found == sampler["samples"] and whole["samples_blocked"] == 0
    assert sampler["aside"] >= waited["samples_blocked"]
    kept = sum(row["samples"] for row in whole["rows"] if row["name"] == "ask")
    assert kept < 0.2 * waited["samples"]
    rows = [line for line in gait("export", "-f", "csv", "-o", "-", "run").stdout.splitlines()
            if line.startswith("sample,")]  # fmt: skip
    assert sum(int(row.rsplit(",", 2)[1]) for row in rows) == sampler["samples"]


def test_a_phase_that_is_not_there_is_told_which_are(gait, phases):
    program = "import gait, time\nwith gait.span('forward'):\n    time.process_time()"
    gait("run", "-q", "-o", "bare", "--", sys.executable, "-c", program)
    done = gait("leaf", "--phase", "forward", "bare")
    assert done.returncode == 2 and "gait run --sample 1000" in done.stderr
    done = gait("leaf", "--phase", "forwrd", phases)
    assert done.returncode == 2 and "did you mean 'forward'?" in done.stderr
    done = gait("leaf", "--phase", "zzzz", phases)
    assert done.returncode == 2 and "the run has" in done.stderr and "prefetch" in done.stderr


MS = 1_000_000
BEGIN = 1_700_000_000_000_000_000


def made_run(folder, spans, samples):
    """A run of one thread: (phase, from, to) and (function, at, rounds[, state]), in ms; 500 a
    second. State 1 is running, 3 blocked, and bit 9 says that it is aside."""
    program = ShardMaker(role="program", pid=77)
    thread = program.track(key="77", name="main", os_id=77)
    rows = [(BEGIN + a * MS, (b - a) * MS, program.site("phase", name, "x.py", 1), 0, b"")
            for name, a, b in spans]  # fmt: skip
    program.rows("span", thread, rows)
    program.write(folder)
    about = {"rate_asked_hz": 500, "seconds": 1.0, "rounds": 500}
    sampler = ShardMaker(pid=76, role="sampler", subject_pid=77, sampler=about)
    thread = sampler.track(key="77", name="main", os_id=77)
    names = sorted({name for name, *_ in samples})
    stacks = [(i + 1, 0, sampler.site("python", name, "x.py", 1), 5)
              for i, name in enumerate(names)]  # fmt: skip
    sampler.rows("stack", 0, stacks)
    rows = [(BEGIN + at * MS, names.index(name) + 1, n, *(state or [1]))
            for name, at, n, *state in samples]  # fmt: skip
    sampler.rows("sample", thread, rows)
    sampler.write(folder)


def counts(gait, phase):
    done = gait("leaf", "-a", "--json", "--phase", phase, "run")
    assert done.returncode in (0, 2), done.stderr
    rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
    return {row["name"]: row["samples"] for row in rows}


def test_rounds_belong_to_the_phase_in_which_their_stack_was(gait, tmp_path):
    spans = [("work", 0, 10), ("wait", 10, 40), ("work", 40, 50), ("one", 100, 200),
             ("two", 200, 300), ("rest", 300, 400)]  # fmt: skip
    # five rounds in 9 ms, then blocked; a stack that lasts through two phases; single looks
    samples = [("worker", 1, 5), ("worker", 41, 4), ("both", 100, 100), ("look", 301, 1),
               ("look", 303, 1)]  # fmt: skip
    made_run(tmp_path / "run", spans, samples)
    assert counts(gait, "work") == {"worker": 9}
    assert counts(gait, "wait") == {}
    one, two = counts(gait, "one"), counts(gait, "two")
    assert set(one) == set(two) == {"both"} and one["both"] + two["both"] == 100
    assert 40 <= two["both"] <= 50
    assert counts(gait, "rest") == {"look": 2}


def test_samples_aside_count_in_phases_alone_and_blocked_ones_of_their_own_everywhere(
    gait, tmp_path
):
    aside, blocked = 3 | 1 << 9, 3
    samples = [("worker", 1, 4), ("reader", 11, 9, aside), ("sleeper", 31, 5, blocked)]
    made_run(tmp_path / "run", [("work", 0, 10), ("wait", 10, 30), ("nap", 30, 41)], samples)
    assert counts(gait, "work") == {"worker": 4}
    assert counts(gait, "wait") == {"reader": 9} and counts(gait, "nap") == {"sleeper": 5}
    whole = json.loads(gait("leaf", "-a", "--json", "run").stdout)
    assert {row["name"]: row["samples"] for row in whole["rows"]} == {"worker": 4, "sleeper": 5}
    assert whole["samples_blocked"] == 5
    for words in (
        ["export", "-f", "stacks", "-o", "-"],
        ["export", "-f", "csv", "-o", "-"],
        ["flame"],
    ):
        drawn = gait(*words, "run").stdout
        assert "sleeper" in drawn and "reader" not in drawn, words


RANKS = """
import os, sys, time
for rank in ("0", "1"):
    os.environ["RANK"] = rank
    if os.fork() == 0:
        while time.process_time() < .3: pass
        os.execv(sys.executable, [sys.executable, sys.argv[1]])
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
WORKER = """
import os, time, gait
def work_0(end):
    while time.process_time() < end: pass
work_1 = type(work_0)(work_0.__code__.replace(
    **{name: "work_1" for name in ("co_name", "co_qualname") if hasattr(work_0.__code__, name)}),
    globals())
with gait.step():
    globals()["work_" + os.environ["RANK"]](0.5)
"""


def test_ranks_are_told_apart_and_programs_that_a_launcher_starts_have_their_own_names(
    gait, tmp_path
):
    (tmp_path / "launch.py").write_text(RANKS)
    (tmp_path / "worker.py").write_text(WORKER)
    words = ["run", "-q", "--sample", 500, "-o", "run", "--", sys.executable]
    done = gait(*words, "launch.py", "worker.py")
    assert done.returncode == 0, done.stderr

    def rows(what):
        found = json.loads(gait("leaf", "-n", "all", "-a", "--json", "--by", what, "run").stdout)
        return {row["name"]: row[what] for row in found["rows"] if row["name"].startswith("work_")}

    assert rows("rank") == {"work_0": "0", "work_1": "1"}
    # not that of the launcher, which a child bears until it is a program of its own
    assert not [name for name in rows("process").values() if "launch.py" in name]


def lies_at_one_address(python):
    """Whether the ELF file is an executable that is always loaded at the same address."""
    try:
        return python.read_bytes()[16:18] == b"\x02\x00"
    except OSError:
        return False


BECOMES = """
import os, sys, time
def before():
    while time.process_time() < .3: pass
before()
os.execv(sys.executable, [sys.executable, sys.argv[1]])
"""
BECAME = """
import time
def behind():
    while time.process_time() < .7: pass
behind()
"""


@pytest.mark.parametrize("minor", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def test_a_python_at_one_address_has_a_name_of_its_own_behind_exec(gait, tmp_path, minor):
    python = pathlib.Path("/usr/bin/python" + minor)
    if not lies_at_one_address(python):
        pytest.skip(f"no {python} that is always loaded at one address")
    (tmp_path / "becomes.py").write_text(BECOMES)
    (tmp_path / "became.py").write_text(BECAME)
    words = ["run", "-q", "--sample", 500, "-o", "run", "--", python, "becomes.py", "became.py"]
    done = gait(*words)
    assert done.returncode == 0, done.stderr
    words = ["leaf", "-n", "all", "-a", "--json", "--by", "process", "run"]
    rows = json.loads(gait(*words).stdout)["rows"]
    names = {row["name"]: row["process"] for row in rows if row["name"] in ("before", "behind")}
    assert "becomes.py" in names["before"]
    assert "became.py" in names["behind"] and "becomes.py" not in names["behind"]
