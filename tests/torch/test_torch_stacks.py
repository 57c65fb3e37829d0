# SPDX-License-Identifier: Apache-2.0
"""with_stack beside torch.profiler's own: the same functions, in the same functions,
around the same ops."""

import json
import re
import sys

import pytest

PROGRAM = """
import contextlib, functools, json, os, sys, threading, warnings
import torch, gait
import gait.torch as ours

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.rest = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    def forward(self, x):
        return self.rest(torch.relu(self.first(x)))

net = Net()

def batches(n):
    for i in range(n):
        yield torch.full((2, 4), float(i))

def factorial(n):
    return n if n < 2 else n * factorial(n - 1)

@functools.lru_cache(maxsize=None)
def cached(n):
    return factorial(n)

def clip(x):
    try:
        raise KeyError(x.shape)
    except KeyError:
        return x.clamp(min=-1)

@contextlib.contextmanager
def around(name):
    with torch.profiler.record_function(name):
        yield

def turn(x):
    with around("mine"):
        loss = clip(net(x)).sum() + sum(map(factorial, range(3)))
    loss.backward()
    for parameter in net.parameters():
        parameter.data.add_(parameter.grad, alpha=-0.1)
    cached(3)

def train(prof=None, steps=1):
    for x in batches(steps):
        turn(x)
        if prof is not None:
            prof.step()

def tell(**values):
    print("TOLD " + json.dumps(values))
"""


@pytest.fixture
def script(scripts):
    def go(source, **options):
        return scripts(source, head=PROGRAM, **options)

    return go


def clean(name):
    return re.sub("0x[0-9a-f]+", "0x", name)


def chains(path):
    """Each Python function with those that it is in, by the numbers in the file."""
    events = json.loads(path.read_text())["traceEvents"]
    events = [event for event in events if event.get("cat") == "python_function"]
    events.sort(key=lambda event: event["args"]["Python id"])
    assert [e["args"]["Python id"] for e in events] == list(range(1, len(events) + 1))
    by_id = {event["args"]["Python id"]: event for event in events}
    found = []
    for event in events:
        chain, at = [], event
        while at is not None:
            chain.append(clean(at["name"]))
            above = by_id.get(at["args"].get("Python parent id"))  # torch 2.15 leaves it out
            if above is not None:
                assert above["ts"] <= at["ts"] and at["tid"] == above["tid"]
            at = above
        module = event["args"].get("Python module id")
        found.append((";".join(reversed(chain)), event["args"]["Python thread"], module))
    return found


BOTH = """
train()
def capture(make, name):
    with make() as prof:
        train()
    prof.export_chrome_trace(name + ".json")
    prof.export_stacks(name + ".stacks", "self_cpu_time_total")
    return [[e.name, e.stack] for e in prof.events() if not e.is_python_function]
verbose = torch._C._profiler._ExperimentalConfig(verbose=True)
kinds = {"theirs": functools.partial(torch.profiler.profile, experimental_config=verbose),
         "mine": ours.profile}
theirs, mine = (capture(lambda: kinds[name](with_stack=True), name) for name in kinds)
tell(mine=mine, theirs=theirs, held=str(sys.getprofile()), hook=str(threading._profile_hook))
"""


def test_functions_and_stacks_are_torchs_own(script, tmp_path):
    (told,) = script(BOTH).told
    mine = [[name, [clean(entry) for entry in stack]] for name, stack in told["mine"]]
    theirs = [[name, [clean(entry) for entry in stack]] for name, stack in told["theirs"]]
    assert mine == theirs
    assert any("nn.Module: Linear_1" in stack for name, stack in mine if name == "AddmmBackward0")
    functions = [chains(tmp_path / f"{name}.json") for name in ("mine", "theirs")]
    # all but what the profilers do themselves
    mine, theirs = ([row for row in rows if "torch/profiler/" not in row[0]] for rows in functions)
    assert len(mine) > 150 and mine == theirs
    assert (told["held"], told["hook"]) == ("None", "None")
    lines = {}
    for name in ("mine", "theirs"):
        rows = (tmp_path / f"{name}.stacks").read_text().splitlines()
        assert all(re.fullmatch(r"\S+ [1-9]\d*", row) for row in rows)
        lines[name] = {clean(row.rpartition(" ")[0]) for row in rows}
    outer = next(row for row in lines["mine"] if "turn;torch" in row).partition(";")[0]
    assert outer in {row.partition(";")[0] for row in lines["theirs"]}


def test_only_steps_on_record_have_stacks(script, tmp_path):
    done = script(
        """
        def tracing():
            if sys.version_info >= (3, 12):
                return "gait" in [sys.monitoring.get_tool(number) for number in range(6)]
            return sys.getprofile() is not None
        ready = []
        def handler(prof):
            prof.export_chrome_trace(f"{len(ready)}.json")
            ready.append([not tracing(), prof.step_num])
        seen = []
        with ours.profile(schedule=ours.schedule(wait=2, warmup=1, active=1, repeat=2),
                          on_trace_ready=handler, with_stack=True) as prof:
            for x in batches(9):
                turn(x)
                seen.append(tracing())
                prof.step()
        tell(ready=ready, seen=seen)
        """
    )
    (told,) = done.told
    assert told["ready"] == [[True, 4], [True, 8]]
    # the first step, too: it is what is kept of a program that never calls step()
    assert told["seen"] == [True, False, False, True, False, False, False, True, False]
    first, second = (chains(tmp_path / f"{n}.json") for n in (0, 1))
    turns = [row[0] for row in first if row[0].endswith(": turn")]
    assert len(turns) == 1 and "<module>;script.py(" in turns[0]
    assert [row[1:] for row in first] == [row[1:] for row in second]
    assert len([row for row in first if row[2] is not None]) == 5  # Net and what is in it


def test_rows_by_stack_and_their_source(script):
    done = script(
        """
        with ours.profile(with_stack=True) as prof:
            torch.ones(2); factorial(2)
            for _ in range(3):
                torch.ones(2)
            train()
        rows = prof.key_averages(group_by_stack_n=2)
        tell(plain=len([row for row in prof.key_averages() if row.key == "aten::ones"]),
             rows=[[row.count, row.stack] for row in rows if row.key == "aten::ones"],
             table=rows.table(row_limit=5, max_src_column_width=40),
             other=prof.key_averages().table(row_limit=1),
             kinds=sorted({type(e.stack).__name__ for e in prof.events()}))
        """
    )
    (told,) = done.told
    assert told["plain"] == 1
    assert told["rows"][0][0] == 4 and told["rows"][0][1][0].startswith("<built-in method ones")
    assert re.fullmatch(r"script\.py\(\d+\): <module>", told["rows"][0][1][1])
    assert "Source Location" in told["table"] and "Source Location" not in told["other"]
    assert "...f type object at 0x" in told["table"] or "script.py(" in told["table"]
    assert told["kinds"] == ["list"]


def test_where_there_can_be_no_tracer_all_else_is_recorded(script):
    if not hasattr(sys, "monitoring"):
        done = script(
            """
            def held(*_): pass
            sys.setprofile(held)
            for _ in range(2):
                with ours.profile(with_stack=True) as prof: train()
            kept = sys.getprofile() is held
            sys.setprofile(None)
            prof.export_stacks("empty.stacks")
            tell(ops=[e.name for e in prof.events()], kept=kept,
                 size=os.path.getsize("empty.stacks"))
            """
        )
        (told,) = done.told
        assert "aten::addmm" in told["ops"] and told["kept"] and told["size"] == 0
        line = " ".join(done.stderr.split())
        assert line.count("gait: ") == 1
        assert line.startswith("gait: with_stack=True: no Python functions are recorded: ")
        assert "held by <function held at" in line


def test_other_threads_and_exceptions(script, tmp_path):
    script(
        """
        def other():
            torch.zeros(3)
        def bad():
            torch.ones(1)
            raise ValueError
        left = batches(2)
        with ours.profile(with_stack=True) as prof:
            thread = threading.Thread(target=other)
            thread.start(); thread.join()
            try: bad()
            except ValueError: pass
            next(left)
        torch.ones(7)
        prof.export_chrome_trace("t.json")
        tell(stacks={e.name: e.stack for e in prof.events()})
        """
    )
    rows = chains(tmp_path / "t.json")
    (other,) = [row for row in rows if row[0].endswith(": other")]
    assert other[1] == 1 and "threading.py" in other[0] and "<module>" not in other[0]
    assert len([row for row in rows if row[0].endswith(": bad")]) == 1
    assert not [row for row in rows if ": bad;script" in row[0] or ": other;script" in row[0]]


def test_without_stacks_there_are_none_to_export(script):
    done = script(
        """
        with ours.profile() as prof: train()
        try: prof.export_stacks("x")
        except ours.CaptureError as error: tell(said=str(error))
        """
    )
    assert "with_stack=True" in done.told[0]["said"]


def test_under_gait_run(script, build, tmp_path):
    done = script(
        "for i in range(12):\n    with gait.step(): train()",
        under=[
            build / "gait",
            "run",
            "-o",
            "run",
            "--profile",
            "--profiling.with_stack",
            "true",
            "--profiling.group_by_stack_n",
            "2",
            "--profiling.export_to_flame_graph",
            "--",
        ],
    )
    (stacks,) = (tmp_path / "run/profiler_traces").glob("*.stacks.txt")
    assert f"stacks of ops in 'run/profiler_traces/{stacks.name}'" in done.stderr
    lines = stacks.read_text("utf-8").splitlines()
    assert any(line.split(";")[0].startswith("script.py(") and "train" in line for line in lines)
    assert "not recorded yet" not in done.stderr and "Source Location" in done.stderr
    (trace,) = (tmp_path / "run/profiler_traces").glob("*.json")
    rows = chains(trace)
    assert len([row for row in rows if row[0].endswith(": turn")]) == 3
    assert any(row[0].endswith("nn.Module: Tanh_0") for row in rows)
