# SPDX-License-Identifier: Apache-2.0
"""gait.torch.profile(): its life cycle, beside torch.profiler's own.

Each script is a process of its own that prints what it saw as JSON.
"""

import json
import os

import pytest

HEAD = """
import json, os, sys, warnings
import torch, gait
import gait.torch as ours
model = torch.nn.Linear(8, 8)
def work():
    model(torch.ones(2, 8)).sum().backward()
def tell(**values):
    print("TOLD " + json.dumps(values))
"""


@pytest.fixture
def script(scripts):
    def go(source, *arguments, **options):
        return scripts(source, *arguments, head=HEAD, **options)

    return go


# --- transitions ------------------------------------------------------------------------

MACHINE = """
import itertools
A = torch.profiler.ProfilerAction
LETTERS = {"N": A.NONE, "W": A.WARMUP, "R": A.RECORD, "S": A.RECORD_AND_SAVE}
def run(kind, word, steps):
    ready = []
    schedule = lambda step: LETTERS[word[min(step, len(word) - 1)]]
    prof = kind(schedule=schedule, on_trace_ready=lambda p: ready.append(p.step_num))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prof.start()
        for _ in range(steps):
            work(); prof.step()
        prof.stop()
    said = sorted({str(w.message) for w in caught if "Incorrect schedule" in str(w.message)})
    return ready, said
"""


def test_every_transition_makes_the_traces_that_torch_makes(script):
    # torch itself cannot go from RECORD to WARMUP and on: it never prepares again
    done = script(
        """
        words = ["".join(word) for word in itertools.product("NWRS", repeat=3)]
        words = [word for word in words if "RW" not in word]
        different = []
        for word in words:
            mine, theirs = run(ours.profile, word, 2), run(torch.profiler.profile, word, 2)
            if mine != theirs:
                different.append([word, mine, theirs])
        tell(words=len(words), different=different)
        """,
        also=MACHINE,
    )
    (told,) = done.told
    assert told["words"] == 56
    assert told["different"] == []


def test_recording_that_warms_up_again_is_dropped_with_a_warning(script):
    (told,) = script("tell(found=run(ours.profile, 'RWS', 2))", also=MACHINE).told
    assert told["found"] == [[2], ["Incorrect schedule: RECORD followed by WARMUP"]]


def test_repeat_makes_as_many_traces_and_the_object_can_be_used_again(script):
    done = script(
        """
        made = []
        prof = ours.profile(
            schedule=ours.schedule(wait=1, warmup=1, active=2, repeat=5),
            on_trace_ready=lambda p: made.append(
                (p.step_num, p.capture.partial, [n for n, _, _ in p.capture.steps])),
        )
        for _ in range(4):
            with prof:
                for _ in range(25): work(); prof.step()
        tell(made=made)
        """
    )
    cycles = [[4 * i, False, [4 * i - 2, 4 * i - 1]] for i in range(1, 6)]
    assert done.told[0]["made"] == cycles * 4


def test_the_printed_plan_is_what_happens(script, gait):
    numbers = {"skip_first": 2, "wait": 3, "warmup": 1, "active": 4, "repeat": 2}
    words = [f"--{key.replace('_', '-')}={value}" for key, value in numbers.items()]
    plan = json.loads(gait("plan", "--json", "--length", "40", *words).stdout)
    recorded = [
        step
        for state in plan["states"]
        if state["action"].startswith("record")
        for step in range(state["from"], state["to"] + 1)
    ]
    done = script(
        f"""
        seen = []
        with ours.profile(schedule=ours.schedule(**{numbers!r}),
                          on_trace_ready=lambda p: seen.append(p.capture)) as prof:
            for _ in range(40): work(); prof.step()
        tell(steps=[n for c in seen for n, _, _ in c.steps])
        """
    )
    assert done.told[0]["steps"] == recorded == [6, 7, 8, 9, 14, 15, 16, 17]
    table = gait("plan", *words).stdout
    assert table in done.stderr.replace("gait: ", "")


def test_a_partial_trace_says_so(script):
    done = script(
        """
        seen = []
        with ours.profile(schedule=ours.schedule(wait=0, warmup=1, active=5, repeat=1),
                          on_trace_ready=lambda p: seen.append(p.capture.partial)) as prof:
            for _ in range(3): work(); prof.step()
        tell(seen=seen)
        """
    )
    assert done.told[0]["seen"] == [True]
    assert "the run ended after 3, its schedule needs 6" in done.stderr


def test_a_trace_of_settings_ends_where_it_is_as_large_as_it_may_be(script):
    done = script(
        """
        import gait, glob, json, tempfile
        numbers = dict(wait=0, warmup=1, active=5, repeat=1, skip_first=0, unit="step")
        config = gait.Config(enabled=True, table=False, max_trace_size="4K", **numbers)
        folder = tempfile.mkdtemp()
        with config.profile(folder) as prof:
            for _ in range(8): work(); prof.step()
        (path,) = glob.glob(folder + "/*/*.json")
        tell(partial=json.load(open(path))["partial"], size=os.path.getsize(path))
        """
    )
    assert done.told[0]["partial"] is True and done.told[0]["size"] < 16 << 10


def test_profiles_of_several_threads_that_begin_at_once_all_record(script):
    done = script(
        """
        import threading
        sys.setswitchinterval(1e-6)
        barrier, found = threading.Barrier(4), []
        def train(kept):
            barrier.wait()
            with ours.profile(schedule=ours.schedule(wait=0, warmup=1, active=1, repeat=2)) as prof:
                for _ in range(4): torch.ones(3).sum(); prof.step()
            kept.append((prof.traces, prof.capture.number))
        for turn in range(4):
            threads = [threading.Thread(target=train, args=(found,)) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        tell(traces=[traces for traces, _ in found], numbers=len({number for _, number in found}))
        """
    )
    assert done.told[0] == {"traces": [2] * 16, "numbers": 16}


# --- what is captured -------------------------------------------------------------------


def test_no_step_at_all_is_said_and_the_whole_run_kept(script):
    done = script(
        """
        seen = []
        with ours.profile(schedule=ours.schedule(wait=1, warmup=1, active=3),
                          on_trace_ready=lambda p: seen.append(p)) as prof:
            for _ in range(7): work()
        names = [e.name for e in prof.events()]
        tell(ready=len(seen), linears=names.count("aten::linear"), partial=prof.capture.partial)
        """
    )
    assert done.told == [{"ready": 1, "linears": 7, "partial": True}]
    said = " ".join(done.stderr.split())
    assert "step() was never called" in said and "whole run was captured" in said


def test_a_run_without_steps_does_not_grow_for_ever(script):
    done = script(
        """
        import gait.torch.spare as spare
        spare.LIMIT_BYTES, spare.EACH_SECONDS = 100_000, 0.01
        with ours.profile(schedule=ours.schedule(wait=1, warmup=1, active=3)) as prof:
            turns = 0
            while not prof._spare.is_cut and turns < 200_000:
                work(); turns += 1
            for _ in range(100): work()
        linears = [e.name for e in prof.events()].count("aten::linear")
        tell(cut=prof._is_cut, some=0 < linears <= turns)
        """
    )
    assert done.told == [{"cut": True, "some": True}]
    said = " ".join(done.stderr.split())
    assert "step() was never called" in said and "its beginning was captured instead" in said


def test_seconds_are_a_unit(script):
    done = script(
        """
        import time
        now = [0.0]
        time.monotonic = lambda: now[0]
        seen = []
        with ours.profile(schedule=ours.schedule(wait=1, warmup=1, active=2, repeat=2,
                                                 unit="seconds"),
                          on_trace_ready=lambda p: seen.append([n for n, _, _ in p.capture.steps])
                          ) as prof:
            for _ in range(24):
                work(); now[0] += 0.5; prof.step()
        tell(seen=seen)
        """
    )
    # step n begins at n / 2 s: seconds 2 and 3 are recorded, then 6 and 7
    assert done.told[0]["seen"] == [[4, 5, 6, 7], [12, 13, 14, 15]]


def test_a_trigger_gives_one_cycle_more_and_can_be_asked_again(script):
    done = script(
        """
        seen = []
        prof = ours.profile(schedule=ours.schedule(wait=1, warmup=1, active=3, repeat=1),
            on_trace_ready=lambda p: seen.append(
                ([n for n, _, _ in p.capture.steps], p.capture.trigger)))
        with prof:
            for step in range(30):
                if step == 10: gait.trigger(2)
                if step == 20: gait.trigger()
                work(); prof.step()
        tell(seen=seen)
        """
    )
    assert done.told[0]["seen"] == [
        [[2, 3, 4], False],
        [[11, 12], True],
        [[21, 22, 23], True],
    ]


def test_a_signal_is_a_trigger_where_it_is_asked_for(script):
    source = """
        import signal
        seen = []
        with ours.profile(schedule=ours.schedule(wait=1, warmup=1, active=2, repeat=1),
            on_trace_ready=lambda p: seen.append([n for n, _, _ in p.capture.steps])) as prof:
            for step in range(12):
                if step == 6 and signal.getsignal(signal.SIGUSR2) != signal.SIG_DFL:
                    os.kill(os.getpid(), signal.SIGUSR2)
                work(); prof.step()
        tell(seen=seen)
        """
    assert script(source).told[0]["seen"] == [[2, 3]]
    assert script(source, GAIT_TRIGGER_SIGNAL="USR2").told[0]["seen"] == [[2, 3], [7, 8]]
    done = script(source, GAIT_TRIGGER_SIGNAL="NONSENSE")
    assert done.told[0]["seen"] == [[2, 3]] and "NONSENSE is no signal" in done.stderr


def test_a_profile_inside_gait_run_leaves_its_windows_alone(script, gait, tmp_path):
    run = tmp_path / "run"
    done = script(
        """
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        prof = ours.profile(schedule=ours.schedule(wait=0, warmup=1, active=2, repeat=1))
        with prof:
            for _ in range(12):
                work(); opt.step(); prof.step()
        steps = [n for n, _, _ in prof.capture.steps]
        tell(steps=steps, linears=[e.name for e in prof.events()].count("aten::linear"))
        """,
        under=[
            os.path.join(os.environ["GAIT_BUILD"], "gait"),
            "run",
            "-q",
            "-o",
            str(run),
            "--windows",
            "6/2",
            "--",
        ],
    )
    assert done.told == [{"steps": [1, 2], "linears": 2}]
    report = gait("export", str(run), "--format", "csv").stdout
    windows = [line for line in report.splitlines() if line.startswith("async,torch,window,")]
    assert len(windows) == 2
    assert len([line for line in report.splitlines() if ",aten::linear," in line]) == 5


def test_profiles_can_be_nested_and_torchs_own_can_run_beside(script):
    done = script(
        """
        with torch.profiler.profile() as theirs:
            with ours.profile(record_shapes=True) as outer:
                work()
                with ours.profile(profile_memory=True) as inner:
                    work()
                work()
        count = lambda prof: [e.name for e in prof.events()].count("aten::linear")
        tell(outer=count(outer), inner=count(inner), theirs=count(theirs))
        """
    )
    assert done.told == [{"outer": 3, "inner": 1, "theirs": 3}]
    assert "gait:" not in done.stderr


def test_an_exception_inside_keeps_what_was_captured(script):
    done = script(
        """
        seen = []
        try:
            with ours.profile(on_trace_ready=lambda p: seen.append(1)) as prof:
                work(); work()
                raise ValueError("ours")
        except ValueError as error:
            tell(error=str(error), seen=seen,
                 linears=[e.name for e in prof.events()].count("aten::linear"))
        """
    )
    assert done.told == [{"error": "ours", "seen": [1], "linears": 2}]


def test_exports_before_the_end_are_one_clear_error_and_after_it_as_many_as_you_like(script):
    done = script(
        """
        prof = ours.profile()
        said = []
        def attempt():
            for call in (lambda: prof.export_chrome_trace("a.json"), prof.events,
                         prof.key_averages):
                try: call()
                except RuntimeError as error: said.append(str(error))
        attempt()
        prof.start(); work(); attempt(); prof.stop()
        for name in ("a.json", "b.json", "c.json"): prof.export_chrome_trace(name)
        texts = {open(name, "rb").read() for name in ("a.json", "b.json", "c.json")}
        try:
            prof.export_chrome_trace("/proc/nowhere/a.json")
        except OSError as error:
            said.append("OSError")
        prof.start()
        try: prof.start()
        except RuntimeError as error: said.append(str(error))
        prof.stop()
        tell(said=said, texts=len(texts))
        """
    )
    (told,) = done.told
    assert told["texts"] == 1
    assert [text[:26] for text in told["said"]] == (
        ["nothing was captured: there"[:26]] * 3
        + ["this profile is still reco"] * 3
        + ["OSError", "this profile is running: s"]
    )


def test_files_of_its_own_are_gone_at_the_end(script, tmp_path):
    script(
        """
        with ours.profile() as prof: work()
        assert prof.capture.paths[0].startswith(os.environ["TMPDIR"])
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        assert prof.capture.paths
        """
    )
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_metadata_is_json_and_goes_with_the_trace(script):
    done = script(
        """
        said = []
        prof = ours.profile(record_shapes=True)
        prof.preset_metadata_json("preset", "[1]")
        prof.start(); prof.add_metadata("text", 'a "b"'); prof.add_metadata_json("number", "5")
        try: prof.add_metadata_json("bad", "{")
        except ValueError as error: said.append(str(error))
        work(); prof.stop()
        prof.export_chrome_trace("a.json")
        trace = json.load(open("a.json"))
        tell(said=said, found=[trace.get(k) for k in ("preset", "text", "number", "bad",
                                                      "record_shapes")])
        """
    )
    (told,) = done.told
    assert told["found"] == [[1], 'a "b"', 5, None, 1]
    assert "'bad' is no JSON text" in told["said"][0]


def test_every_name_that_torch_profiler_offers_is_here(script):
    done = script(
        """
        theirs = torch.profiler
        lacks = [name for name in theirs.__all__ if not hasattr(ours, name)]
        tell(lacks=lacks, same=ours.supported_activities() == theirs.supported_activities(),
             count=len(theirs.__all__))
        """
    )
    (told,) = done.told
    assert told["lacks"] == [] and told["same"] and told["count"] > 8


def test_what_is_not_recorded_is_said_once(script):
    done = script(
        """
        kinds = ours.ProfilerActivity
        for _ in range(2):
            with ours.profile(activities=[kinds.CPU, kinds.CUDA]): work()
        said = []
        for bad in ([], [1], [kinds.CPU, kinds.CPU]):
            try: ours.profile(activities=bad)
            except Exception as error: said.append(f"{type(error).__name__}: {error}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours.profile(use_cuda=False)
        tell(said=said, warned=[str(w.message)[:23] for w in caught])
        """
    )
    (told,) = done.told
    assert [text.split(":")[0] for text in told["said"]] == [
        "AssertionError",
        "TypeError",
        "ValueError",
    ]
    assert told["warned"] == ["`use_cuda` is deprecate"]
    sentences = " ".join(done.stderr.split()).split("gait: ")[1:]
    assert len(sentences) == 1 and "CUDA activity is not recorded" in sentences[0]


def test_a_library_loaded_meanwhile_makes_no_start_slow(script):
    """The tables of libtorch_cpu were looked through again: 5 ms in the middle of a step."""
    done = script(
        """
        import ctypes, glob, shutil, sysconfig, time
        some = glob.glob(sysconfig.get_config_var("DESTSHARED") + "/*.so")[0]
        def start():
            prof = ours.profile(profile_memory=True)
            before = time.thread_time()
            prof.start()
            took = time.thread_time() - before
            prof.stop()
            return took
        def load(number):
            name = os.path.abspath(f"late{number}.so")
            shutil.copy(some, name)
            ctypes.CDLL(name)
        start()
        quick, late = [], []
        for number in range(4):
            quick.append(start())
            load(number)
            late.append(start())
        tell(quick=min(quick), late=min(late))
        """
    )
    (told,) = done.told
    assert told["late"] < 1.6 * told["quick"], told


def test_modules_are_labelled_forward_and_backward(script):
    done = script(
        """
        net = torch.nn.Sequential(torch.nn.Linear(8, 8),
                                  torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 2)))
        shared = torch.nn.ModuleDict({"net": net})
        with ours.profile(with_modules=True) as prof:
            for _ in range(2): net(torch.ones(2, 8, requires_grad=True)).sum().backward()
        net(torch.ones(2, 8)).sum().backward()
        found = []
        with gait.open(prof.capture.paths[0]) as trace:
            events = list(trace.events(kind=["span", "async"]))
        for e in events:
            if e.category == "module":
                inside = [o.name for o in events if o.category == "cpu_op" and o.kind == "span"
                          and e.start_ns <= o.start_ns
                          and o.start_ns + o.duration_ns <= e.start_ns + e.duration_ns]
                found.append([e.kind, e.name, e.args.get("class"), sorted(
                    n for n in set(inside) if n in ("aten::addmm", "aten::relu",
                                                    "AddmmBackward0", "ReluBackward0"))])
        tell(found=found)
        """
    )
    once = [
        ["span", "Sequential", "Sequential", ["aten::addmm", "aten::relu"]],
        ["span", "0", "Linear", ["aten::addmm"]],
        ["span", "1", "Sequential", ["aten::addmm", "aten::relu"]],
        ["span", "1.0", "ReLU", ["aten::relu"]],
        ["span", "1.1", "Linear", ["aten::addmm"]],
        ["async", "Sequential", None, ["AddmmBackward0", "ReluBackward0"]],
        ["async", "1", None, ["AddmmBackward0", "ReluBackward0"]],
        ["async", "1.1", None, ["AddmmBackward0"]],
        ["async", "1.0", None, ["ReluBackward0"]],
        ["async", "0", None, ["AddmmBackward0"]],
    ]
    assert done.told[0]["found"] == once * 2
