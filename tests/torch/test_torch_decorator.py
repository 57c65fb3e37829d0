# SPDX-License-Identifier: Apache-2.0
"""@gait.profiler(): its files, its table, who calls it, and what goes wrong."""

import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import fake_cuda
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/decorator/train.py"
DEFAULTS = {
    "enabled": True,
    "output_dir": "./profiler_logs",
    "skip_first": 1,
    "wait": 1,
    "warmup": 1,
    "active": 3,
    "repeat": 1,
    "with_stack": False,
    "with_flops": True,
    "with_modules": False,
    "nsight_enabled": False,
    "nsight_output": "nsight_profile",
}

HEAD = """
import json, os, sys
import torch, gait
def work():
    torch.nn.functional.linear(torch.ones(4, 8), torch.ones(2, 8, requires_grad=True)
                               ).sum().backward()
def tell(**values):
    print("TOLD " + json.dumps(values))
"""


@pytest.fixture
def script(scripts):
    def go(source, *arguments, **options):
        return scripts(source, *arguments, head=HEAD, **options)

    return go


@pytest.fixture
def logs(tmp_path):
    return tmp_path / "profiler_logs"


def steps_of(path):
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    return [int(name[13:]) for name in names if name.startswith("ProfilerStep#")]


def traces_of(logs, rank=0):
    return sorted((logs / f"rank_{rank}").glob(f"rank_{rank}.*.pt.trace.json"))


def example(script, *arguments, **options):
    return script(f"sys.argv = {['train.py', *arguments]!r}\n" + EXAMPLE.read_text(), **options)


def test_the_example_profiles_by_one_flag(script, logs):
    done = example(script, "--profile")
    assert re.search(r"^loss \d\.\d{3} after 20 steps$", done.stdout, re.M)
    (trace,) = traces_of(logs)
    assert steps_of(trace) == [3, 4, 5]
    assert (logs / "trace_rank_0.json").read_bytes() == trace.read_bytes()
    assert sorted(path.name for path in logs.iterdir()) == ["rank_0", "trace_rank_0.json"]
    assert done.stderr.startswith("gait: schedule in steps: skip first 1, wait 1, warmup 1")


def test_without_the_flag_nothing_is_written_and_nothing_said(script, logs):
    done = example(script)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    assert not logs.exists()


def test_the_table_has_flops_of_each_operation_and_of_what_it_calls(script):
    done = script(
        """
        @gait.profiler()
        def train():
            a, b = torch.ones(20, 30), torch.ones(30, 40)
            for _ in range(6):
                torch.matmul(a, b)
                gait.step_profiler()
        train()
        """
    )
    rows = [re.split(r"  +", line.strip()) for line in done.stdout.splitlines()]
    assert rows[1] == ["Name", "Self FLOPS", "Total FLOPS", "CPU total", "# of Calls"]
    found = {row[0]: row[1:] for row in rows if len(row) == 5}
    flops = f"{2 * 20 * 30 * 40 * 3 / 1e3:.3f}K"
    assert found["aten::mm"][:2] == [flops, flops] and found["aten::mm"][3] == "3"
    assert found["aten::matmul"][:2] == ["--", flops]
    assert found["ProfilerStep*"][:2] == ["--", flops]
    assert f"FLOPs: {flops}, " in done.stdout


def test_its_twelve_parameters_have_the_documents_defaults(build, script):
    from gait import decorator

    assert decorator.DEFAULTS == DEFAULTS
    document = inspect.getdoc(__import__("gait").profiler)
    assert all(f"{key}=" in document for key in DEFAULTS)
    done = script(
        """
        said = []
        for bad in ({"activ": 3}, {"active": 0}, {"wait": -1}):
            try: gait.profiler(**bad)
            except (TypeError, AssertionError) as error: said.append(str(error))
        tell(said=said)
        """
    )
    unknown, *numbers = done.told[0]["said"]
    assert unknown == "profiler() takes no 'activ'; did you mean 'active'?"
    assert [text[:35] for text in numbers] == ["Invalid profiler schedule arguments"] * 2


def test_the_documents_imports_work_under_both_paths(script):
    done = script(
        """
        from gait.compat.parallelization import profiler, ray
        from gait.compat.parallelization.profiler.decorator import step_profiler
        import gait.compat.parallelization as compat
        assert compat.install()
        from parallelization import profiler as again
        from parallelization.profiler.decorator import step_profiler as step_again
        assert again is profiler and step_again is step_profiler
        assert profiler.decorator.step_profiler is step_profiler is gait.step_profiler

        @ray(num_nodes=2, gpus_per_node=4)
        @profiler(enabled=True, output_dir="./profiles", active=10, with_flops=True,
                  nsight_enabled=True)
        def distributed_train(args):
            for _ in range(args):
                work(); step_profiler()
            return "done"

        tell(result=distributed_train(14), name=distributed_train.__name__,
             files=sorted(os.listdir("profiles")))
        """
    )
    assert done.told == [
        {
            "result": "done",
            "name": "distributed_train",
            "files": ["rank_0", "trace_rank_0.json"],
        }
    ]
    said = " ".join(done.stderr.split())
    assert "gait starts no cluster" in said
    assert "nsight_enabled: no CUDA device or runtime here" in said


def test_under_torchrun_each_rank_has_its_files_and_rank_0_speaks(script, tmp_path, logs):
    torchrun = "-m torch.distributed.run --nproc-per-node 2 --standalone --no-python".split()
    done = script(
        EXAMPLE.read_text(), "--profile", "--steps", "8", under=[sys.executable, *torchrun]
    )
    for rank in (0, 1):
        (trace,) = traces_of(logs, rank)
        assert steps_of(trace) == [3, 4, 5]
        document = json.loads(trace.read_text())
        assert document["distributedInfo"]["rank"] == rank
        assert document["distributedInfo"]["world_size"] == 2
        assert (logs / f"trace_rank_{rank}.json").exists()
    assert done.stderr.count("gait: schedule in steps") == 1
    assert done.stdout.count("# of Calls") == 1


def test_ranks_of_a_launcher_that_only_sets_variables(script, logs):
    done = script(
        """
        @gait.profiler()
        def train():
            for _ in range(7): work(); gait.step_profiler()
        train()
        """,
        SLURM_PROCID="13",
        SLURM_STEP_NUM_TASKS="16",
        SLURM_LOCALID="1",
    )
    assert len(traces_of(logs, 13)) == 1 and (logs / "trace_rank_13.json").exists()
    assert (done.stdout, done.stderr) == ("", "")


def test_what_was_captured_is_written_when_the_function_raises(script, logs):
    done = example(script, "--profile", "--fail-at", "4", code=1)
    assert "RuntimeError: failed in step 4, as asked" in done.stderr
    (trace,) = traces_of(logs)
    assert steps_of(trace) == [3, 4]
    assert "the run ended after 4, its schedule needs 6" in done.stderr
    assert "(partial)" in done.stdout


def test_a_function_that_never_steps_is_captured_whole(script, logs):
    done = script(
        """
        @gait.profiler()
        def train():
            for _ in range(5): work()
        train()
        """
    )
    said = " ".join(done.stderr.split())
    assert "step() was never called" in said and "whole run was captured" in said
    document = json.loads((logs / "trace_rank_0.json").read_text())
    names = [event["name"] for event in document["traceEvents"]]
    assert names.count("aten::linear") == 5


def test_each_cycle_makes_a_trace_and_a_function_can_be_called_again(script, logs):
    script(
        """
        @gait.profiler(repeat=2, active=1)
        def train():
            for _ in range(8): work(); gait.step_profiler()
        train(); train()
        """
    )
    assert [steps_of(path) for path in traces_of(logs)] == [[3], [6], [3], [6]]


def test_where_a_folder_cannot_be_written_the_function_runs_all_the_same(script, tmp_path):
    (tmp_path / "file").write_text("theirs")
    done = script(
        """
        ran, said = [], []
        for folder in ("file", "file/below", "/proc/nowhere"):
            @gait.profiler(output_dir=folder, skip_first=0)
            def train(wrong=None):
                work(); gait.step_profiler()
                if wrong: raise wrong
                return folder
            ran.append(train())
        try: train(KeyError("mine"))
        except KeyError as error: ran.append(str(error.__context__))
        tell(ran=ran)
        """
    )
    (told,) = done.told
    assert told["ran"] == ["file", "file/below", "/proc/nowhere", "None"]
    assert "Traceback" not in done.stderr and (tmp_path / "file").read_text() == "theirs"
    sentences = " ".join(done.stderr.split()).split("gait: this call is not profiled: ")[1:]
    assert len(sentences) == 4
    assert "it is a file; name a folder" in sentences[0]
    assert "Not a directory" in sentences[1] and "/proc/nowhere" in sentences[2]
    assert len([line for line in done.stderr.splitlines() if "not profiled" in line]) == 4


def test_processes_that_are_all_rank_0_may_share_a_folder(script, tmp_path):
    """As jobs without a launcher do: each trace is there, and the common one is whole."""
    for _ in range(2):
        script(
            """
            @gait.profiler(skip_first=0, wait=0, warmup=0, active=1, repeat=2)
            def train():
                for _ in range(3):
                    work(); gait.step_profiler()
            train()
            """
        )
    logs = tmp_path / "profiler_logs"
    assert len(traces_of(logs)) == 4
    assert sorted(path.name for path in logs.iterdir()) == ["rank_0", "trace_rank_0.json"]
    assert (logs / "trace_rank_0.json").read_bytes() == traces_of(logs)[-1].read_bytes()


def test_a_trace_that_cannot_be_written_costs_the_trace_and_not_the_training(script):
    done = script(
        """
        @gait.profiler()
        def train():
            for step in range(8):
                work(); gait.step_profiler()
                if step == 3:
                    os.rmdir("profiler_logs"); open("profiler_logs", "w").close()
            return 5
        tell(result=train())
        """
    )
    assert done.told == [{"result": 5}]
    assert "gait: a trace was not written: " in done.stderr


def test_decorated_functions_can_call_each_other_and_be_coroutines(script):
    done = script(
        """
        import asyncio
        gait.step_profiler()  # outside of any: nothing
        @gait.profiler(output_dir="inner", skip_first=0, wait=0)
        def inner():
            for _ in range(5): work(); gait.step_profiler()
        @gait.profiler(output_dir="outer", skip_first=0, wait=0, active=2)
        async def outer():
            for step in range(4):
                work(); gait.step_profiler()
                if step == 1: inner()
        asyncio.run(outer())
        @gait.profiler(output_dir="losses", skip_first=0, wait=0, active=2)
        def losses():
            for step in range(4):
                work(); gait.step_profiler()
                yield step
            return "done"
        def rows():
            assert (yield from losses()) == "done"
        assert list(rows()) == [0, 1, 2, 3]
        found = {}
        for name in ("inner", "outer", "losses"):
            events = json.load(open(f"{name}/trace_rank_0.json"))["traceEvents"]
            found[name] = [e["name"] for e in events].count("aten::linear")
        tell(**found)
        """
    )
    # the inner one's five are in the outer's two steps
    assert done.told == [{"inner": 3, "outer": 7, "losses": 2}]


STANDS_IN = """
import os, sys, types
def say(word): open(os.environ["FAKE_LOG"], "a").write(word + "\\n")
sys.modules["torch"] = torch = types.ModuleType("torch")
torch._C = types.SimpleNamespace(_nvtx=types.SimpleNamespace(
    rangePushA=lambda name: say("torch: " + name), rangePop=lambda: say("torch: pop")))
"""


@pytest.mark.needs_no_torch
@pytest.mark.parametrize(
    "library, has_torch",
    [("libnvToolsExt.so.1", False), ("libnvtx3interop.so.1", False), ("libnvToolsExt.so.1", True)],
)
def test_ranges_are_nvtxs_wherever_it_lies(build, tmp_path, library, has_torch):
    fake_cuda.make_library(tmp_path, library)
    source = (STANDS_IN if has_torch else "") + "from gait.nsight import Nsight\n"
    source += "one = Nsight(); one.push('a'); one.push('\u00e9'); one.pop(); one.pop(); one.pop()"
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FAKE_LOG": str(tmp_path / "log")}
    env["PYTHONPATH"] = str(build / "python")
    subprocess.run([sys.executable, "-c", source], env=env, check=True)
    said = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    who = "torch: " if has_torch else ""
    assert said == [who + word for word in ("a", "\u00e9", "pop", "pop")]


def test_nsight_is_told_of_the_active_steps_only(script, tmp_path):
    if fake_cuda.is_needless():
        pytest.skip("this torch brings CUDA's library: it is asked, not the one made up here")
    done = script(
        """
        @gait.profiler(nsight_enabled=True, nsight_output="my profile", active=2)
        def train():
            for _ in range(7): work(); gait.step_profiler()
        train()
        with open(os.environ["FAKE_LOG"], "a") as log: log.write("section ")
        section = {"wait": 1, "warmup": 0, "active": 1, "nsight_enabled": True}
        with gait.Config.from_mapping(section).profile() as prof:
            for _ in range(3): work(); prof.step()
        """,
        **fake_cuda.make(tmp_path),
        under=["env"],
    )
    calls = fake_cuda.calls(tmp_path)
    log, of_section = calls[: calls.index("section")], calls[calls.index("section") :]
    begin = of_section.index("start")
    assert of_section[begin : begin + 4] == ["start", "ProfilerStep#1", "pop", "stop"]
    assert log[log.index("start") :][: log[log.index("start") :].index("stop") + 1] == [
        "start",
        "ProfilerStep#3",
        "pop",
        "ProfilerStep#4",
        "pop",
        "stop",
    ]
    assert log.count("start") == log.count("stop") == 1
    pushed = [word for word in log if word.startswith("ProfilerStep")]
    assert pushed == [f"ProfilerStep#{step}" for step in range(8)] and log.count("pop") == 8
    assert (
        "nsys profile --capture-range=cudaProfilerApi --capture-range-end=stop "
        "--trace=cuda,nvtx,osrt -o 'my profile' python" in done.stderr
    )


def test_the_trigger_of_a_decorated_training_makes_a_trace(script, gait, tmp_path, logs):
    done = script(
        """
        import subprocess
        @gait.profiler()
        def train():
            for step in range(20):
                work()
                if step == 9:
                    subprocess.run([os.environ["TOOL"], "trigger", str(os.getpid()), "-n", "2"],
                                   check=True, stdout=subprocess.DEVNULL)
                gait.step_profiler()
        train()
        """,
        TOOL=os.path.join(os.environ["GAIT_BUILD"], "gait"),
    )
    del done
    assert [steps_of(path) for path in traces_of(logs)] == [[3, 4, 5], [10, 11]]
