# SPDX-License-Identifier: Apache-2.0
"""Trainings that end badly, hide, multiply, or stand in gait's way."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest
from ring_files import needs_semaphores
from small_disk import small_disk_at
from torch_trainings import Job, full

TRAIN = """
import os, sys
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(**options):
    loader = DataLoader(TensorDataset(torch.randn(40, 4)), batch_size=4, **options)
    for (x,) in loader:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item().hex(), flush=True)
"""
STEPS = 10  # of each train()


@pytest.fixture
def alone(trainings, tmp_path_factory):
    """What train() prints without gait, run once for all these tests."""
    script = tmp_path_factory.getbasetemp() / "alone.py"
    script.write_text(TRAIN + "train()\n")
    return trainings.get(Job(script, gait=False, warm=True)).stdout


@pytest.fixture
def trains(run_text, alone):
    """trains(script after TRAIN) runs it under gait; it must say what train() says alone."""

    def go(source, code=0, times=1, head=TRAIN, **fields):
        training = run_text(head + source, **fields)
        assert training.code == code, training.stderr
        assert training.stdout == alone * times
        return training

    return go


@pytest.fixture
def both(run_text):
    """both(script) runs it with gait and without; the two must end and speak alike."""

    def go(source, alike=True, warm=True, is_fresh=True, **fields):
        source = textwrap.dedent(source)
        off = run_text(source, **fields, gait=False, warm=warm, begin=True)
        on = run_text(source, **fields, warm=not is_fresh)
        off = off.result()
        assert (on.code, on.stdout) == (off.code, off.stdout), on.stderr
        if alike:
            assert on.stderr == off.stderr
        return on

    return go


IN_TURN = ["forward", "backward"] * STEPS


def steps(training):
    report = training.report
    assert sum(training.phases.values()) == report["step_total_ns"]
    return report["steps"]


# ---- ends -------------------------------------------------------------------

ENDS = {
    "os._exit": ("os._exit(3)", 3),
    "an exception": ("raise RuntimeError('bad luck')", 1),
    "sys.exit with words": ("sys.exit('enough')", 1),
    "killed": ("os.kill(os.getpid(), 9)", 137),
    "terminated": ("os.kill(os.getpid(), 15)", 143),
    "aborted": ("os.abort()", 134),
    "interrupted": ("raise KeyboardInterrupt", 130),
}
RARE = ("terminated", "aborted", "sys.exit with words")


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=[full] if how in RARE else []) for how in ENDS]
)
def test_a_training_ends_as_it_would_have(trains, how):
    statement, code = ENDS[how]
    is_spoken_of = code in (1, 130)  # in a traceback, which has to be a script's own
    training = trains("train()\n" + statement + "\n", code, warm=not is_spoken_of)
    words = {"an exception": "RuntimeError: bad luck", "sys.exit with words": "enough"}
    assert words.get(how, "") in training.stderr
    assert "gait:" not in training.stderr
    assert steps(training) == STEPS
    assert training.order("forward", "backward") == IN_TURN
    if code == 1:  # beside whatever verdict
        assert [end["exit"] for end in training.report["ends"]] == [{"code": code}]
        assert f"ended with exit code {code}\n" in training.screen


def test_tracebacks_show_no_frame_of_ours(both):
    """And what raises leaves no span open behind it."""
    on = both(
        TRAIN
        + """
import traceback
def attempt(work, *arguments, **options):
    try:
        work(*arguments, **options)
    except Exception:
        traceback.print_exc()
    else:
        print("it did not raise")
def bad(*_):
    return 1 / 0
for place in (model.register_forward_hook, model.register_forward_pre_hook,
              model.weight.register_hook):
    handle = place(bad)
    attempt(train)
    handle.remove()
attempt(train, collate_fn=bad)
attempt(optimizer.step, bad)
attempt(torch.save, model, "/nowhere/at/all.pt")
attempt(torch.load, "/nowhere/at/all.pt")
attempt(torch.Tensor.to, torch.ones(1), "nowhere")
attempt(torch.ones(1).backward)
attempt(torch.autograd.grad, torch.ones(1), torch.ones(1))
train()
"""
    )
    assert on.stderr.count("Traceback") == 10
    assert on.stdout.count("\n") == STEPS
    assert steps(on) in (STEPS, STEPS + 1)
    assert on.phases["forward"] + on.phases["backward"] < 0.9 * on.report["step_total_ns"]


# ---- ways to start ----------------------------------------------------------

IN_A_THREAD = f"""
import threading
SOURCE = {TRAIN + "train()"!r}
thread = threading.Thread(target=exec, args=(SOURCE, {{}}))
thread.start()
thread.join()
"""


def test_torch_is_imported_in_a_thread(trains):
    on = trains(IN_A_THREAD, head="")
    assert steps(on) == STEPS
    assert on.order("forward", "backward") == IN_TURN


def site_packages():
    spec = importlib.util.find_spec("torch")
    return os.path.dirname(os.path.dirname(spec.origin))


HARMLESS = ("-O", "-u", "-B", "-s")


@pytest.mark.parametrize("options", [("-S",), ("-I",), pytest.param(HARMLESS, marks=full)])
def test_options_of_python_change_nothing(trains, options):
    """Where the hook cannot reach, nothing is on record, and a line at most says so."""
    training = trains("train()", python=options, env=(("PYTHONPATH", site_packages()),))
    assert "Traceback" not in training.stderr and training.stderr.count("\n") <= 2
    found = steps_or_none(training)
    assert found == STEPS or (found in (0, None) and options[0] != "-O")


def steps_or_none(training):
    """None where nothing was put on record, which the tool says in a sentence."""
    done = training.ask("report", training.directory, "--json")
    if done.returncode == 0:
        return json.loads(done.stdout)["steps"]
    assert done.returncode == 2 and "holds no *.gait file" in done.stderr
    return None


def test_a_sitecustomize_of_the_user_runs_once(run_text, alone, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("print('mine', __name__, __file__)\n")
    on = run_text(TRAIN + "train()", env=(("PYTHONPATH", str(tmp_path / "mine")),))
    assert on.stdout.count("mine sitecustomize") == 1
    assert on.stdout.endswith(alone) and on.stderr == ""
    assert steps(on) == STEPS


@full
def test_a_sitecustomize_that_raises(trains, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    on = trains("train()", env=(("PYTHONPATH", str(tmp_path / "mine")),))
    assert "ValueError: mine" in on.stderr
    assert steps(on) == STEPS


def test_a_venv_inside(trains, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    child = f"[{str(venv / 'bin' / 'python')!r}, '-c', 'import sys; sys.exit(0)']"
    source = f"import subprocess\nsubprocess.run({child}, check=True)\ntrain()"
    on = trains(source, warm=True)
    assert on.stderr == ""
    assert steps(on) == STEPS


def test_it_execs_another_training(trains):
    on = trains(
        """
train()
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
""",
        times=2,
        warm=True,
    )
    assert steps(on) in (STEPS, 2 * STEPS)


def test_a_script_that_starts_the_training(trains):
    on = trains(
        f"""
import subprocess, sys
line = [sys.executable, "-c", {TRAIN + "train(); sys.exit(5)"!r}]
sys.exit(subprocess.run(line).returncode)
""",
        code=5,
        head="",
    )
    assert steps(on) == STEPS
    assert on.order("forward", "backward") == IN_TURN


def test_a_training_in_a_spawned_process(trains):
    on = trains(
        """
if __name__ == "__main__":
    child = torch.multiprocessing.get_context("spawn").Process(target=train)
    child.start()
    child.join()
    sys.exit(child.exitcode)
""",
        warm=True,
    )
    assert steps(on) == STEPS
    assert on.order("forward", "backward") == IN_TURN


def test_a_training_in_a_forked_process(trains):
    on = trains(
        """
pid = os.fork()
if pid == 0:
    train()
    os._exit(0)
os.waitpid(pid, 0)
""",
        warm=True,
    )
    assert steps(on) == STEPS


def test_torch_goes_unused(run_text):
    on = run_text("import torch\nprint(torch.ones(3).sum())")
    assert (on.code, on.stdout, on.stderr) == (0, "tensor(3.)\n", "")
    assert steps(on) == 0
    words = " ".join(on.screen.split())
    assert "NO STEPS: no optimizer stepped" in words
    assert "try mark each iteration with gait.step()" in words
    assert "gait_step_begin" not in words
    assert re.search(r"Memory +resident peak \d", on.screen)


@pytest.mark.needs_no_torch
def test_without_torch_nothing_is_imported(both):
    """The hook brings in neither torch nor what the script did not ask for."""
    on = both(
        """
        import sys
        modules = set(sys.modules)
        print([name for name in ("torch", "numpy", "json", "threading") if name in modules])
        """,
        warm=False,
    )
    assert on.stdout == "[]\n"


# ---- loaders and their workers ----------------------------------------------


# spawned ones in full here: test_torch_start.py has two of each kind
@needs_semaphores
@pytest.mark.parametrize(("method", "workers"), [("fork", 2), pytest.param("spawn", 1, marks=full)])
def test_loaders_with_workers(trains, method, workers):
    options = f"num_workers={workers}, multiprocessing_context={method!r}"
    on = trains(f"if __name__ == '__main__': train({options})", warm=method == "fork")
    assert steps(on) == STEPS
    assert loads_in_workers(on)


def loads_in_workers(training):
    """Is it on record what the workers of a loader did?"""
    train, *_ = [row["pid"] for row in training.rows if row["name"] == "backward"]
    return {"fetch", "collate"} <= {
        row["name"] for row in training.rows if row["category"] == "loader" and row["pid"] != train
    }


@needs_semaphores
def test_workers_that_persist_over_epochs(run):
    on = run(Job("mnist", ("--workers", "2"), warm=True))
    assert on.code == 0 and on.stderr == ""
    assert on.report["steps"] == on.truth["steps"]
    assert len(on.report["ranks"]) == 1
    assert loads_in_workers(on)
    shards = json.loads(on.ask("info", on.directory, "--json").stdout)["shards"]
    assert sorted(shard["role"] for shard in shards) == ["program"] + ["worker"] * 4  # two loaders


@needs_semaphores
def test_a_worker_that_dies(trains):
    on = trains(
        """
class Dies(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, index): os._exit(9) if index == 5 else None; return torch.randn(4)
try:
    for x in DataLoader(Dies(), num_workers=1): pass
except (RuntimeError, EOFError, ConnectionError):  # whichever end notices first
    pass
else:
    sys.exit("it did not notice")
torch.manual_seed(0)
torch.nn.Linear(4, 1)  # as far as train() finds its numbers when it is alone
train()
""",
        warm=True,
    )
    assert steps(on) == STEPS


# ---- what stands in the way -------------------------------------------------


def test_an_optimizer_without_super(run):
    job = Job("own_optimizer", ("bare",), warm=True)
    on, off = run(job), run(job.but(gait=False))
    assert (on.code, on.truth["losses"], on.stderr) == (0, off.truth["losses"], off.stderr)
    assert on.truth["steps"] == off.truth["steps"]
    told = "no optimizer" in on.report["verdict"] + str(on.report["findings"])
    assert on.report["steps"] == on.truth["steps"] or told
    assert sum(on.phases.values()) == on.report["step_total_ns"]


def test_a_profiler_of_the_scripts_own(both):
    on = both(
        TRAIN
        + """
from torch.profiler import ProfilerActivity, profile, record_function, schedule
seen = []
def ready(p):
    events = [e for e in p.events() if e.name.startswith(("aten::", "autograd::", "mine"))]
    seen.append(sorted(e.name for e in events))
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
             schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as p:
    for n in range(10):
        with record_function("mine"):
            optimizer.zero_grad()
            model(torch.randn(4, 4)).sum().backward()
            optimizer.step()
        p.step()
for names in seen:
    print(len(names), names)
""",
        alike=False,
        is_fresh=False,
    )
    assert on.stdout.count("mine") == 4
    assert "Traceback" not in on.stderr
    assert steps(on) == 10


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="there is a GPU")
def test_cuda_asked_for_where_there_is_none(trains):
    on = trains("train()\nmodel.cuda()", code=1, warm=True)
    assert "gait:" not in on.stderr and "/gait/torch/" not in on.stderr
    assert "Torch not compiled with CUDA" in on.stderr or "NVIDIA" in on.stderr


OTHER = {
    "says nothing of itself": "",
    "is of the future": "__version__ = '99.0.0'\nclass nn: pass\nclass optim: pass\n",
    "is no package": None,
    "fails": "raise ImportError('libtorch_cpu.so: cannot open shared object file')\n",
}


@pytest.mark.needs_no_torch
@pytest.mark.parametrize("how", OTHER)
def test_a_torch_that_is_another(both, tmp_path, how):
    """Nothing of it fits: the script does not notice, and one line says what is missing."""
    package = tmp_path / "other" / "torch"
    package.mkdir(parents=True)
    if OTHER[how] is None:
        package.with_suffix(".py").write_text("__version__ = '0.1'\n")
        package.rmdir()
    else:
        (package / "__init__.py").write_text(OTHER[how])
    on = both(
        """
        try:
            import torch
            print(torch.__file__[-20:], getattr(torch, "__version__", "?"))
        except ImportError as error:
            print(error)
        """,
        alike=False,
        warm=False,
        env=(("PYTHONPATH", str(tmp_path / "other")),),
    )
    assert on.code == 0
    assert "Traceback" not in on.stderr and on.stderr.count("\n") <= 1
    assert steps_or_none(on) in (0, None)


def test_warnings_are_errors(trains):
    on = trains("train()\ntorch.save(model.state_dict(), 'w.pt')", python=("-W", "error"))
    assert on.stderr == ""
    assert steps(on) == STEPS


@pytest.fixture
def small_disk(tmp_path):
    """A file system that is soon full."""
    with small_disk_at(tmp_path / "disk", "64k") as path:
        yield path


def test_the_disk_is_full(trainings, tmp_path, small_disk):
    script = tmp_path / "script.py"
    script.write_text(TRAIN + "for _ in range(200): train()\nsys.exit(4)\n")
    for directory in (small_disk / "run", tmp_path / "run"):
        command = trainings.command(Job(script, warm=True), directory)
        done = subprocess.run(
            command, cwd=tmp_path, env=trainings.environment(), capture_output=True, text=True
        )
        assert done.returncode == 4
        assert done.stdout.count("\n") == 200 * STEPS
        assert "Traceback" not in done.stderr and done.stderr.count("\n") <= 2
        answer = subprocess.run(
            [trainings.tool, "report", str(directory), "--json"], capture_output=True, text=True
        )
        assert answer.returncode == 0, answer.stderr
        report = json.loads(answer.stdout)
        assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"]
    assert report["steps"] == 200 * STEPS


# ---- what a script may do with its own things -------------------------------


def test_models_and_optimizers_stay_what_they_are(both):
    """Copied, pickled, compiled, traced, inspected, freed: hooks are not in the way."""
    on = both(
        TRAIN
        + """
import copy, gc, inspect, io, pickle, weakref
train()
print(model, sorted(vars(model)), sorted(vars(optimizer)))
twin = copy.deepcopy(model)
again = pickle.loads(pickle.dumps(model))
opt = pickle.loads(pickle.dumps(optimizer))
file = io.BytesIO()
torch.save([model, optimizer], file)
file.seek(0)
loaded, _ = torch.load(file, weights_only=False)
x = torch.ones(2, 4)
for one in (twin, again, loaded):
    print(one(x).tolist(), len(one._forward_hooks), len(one._forward_pre_hooks))
print(torch.jit.trace(model, x)(x).tolist(), torch.fx.symbolic_trace(model).code.strip())
print(torch.func.functional_call(model, dict(model.named_parameters()), (x,)).tolist())
print(inspect.signature(torch.Tensor.backward), inspect.signature(torch.save))
print(torch.Tensor.backward.__name__, torch.Tensor.to.__name__, torch.save.__name__)
print(torch.save.__module__, torch.nn.Module.__call__.__name__)
print(inspect.signature(model.forward), inspect.signature(torch.nn.Module.train))
refs = [weakref.ref(one) for one in (model, optimizer, twin, again, opt)]
del model, optimizer, twin, again, opt, one, loaded, _, train
gc.collect()
print([ref() is None for ref in refs])
""",
        is_fresh=False,
    )
    assert "[True, True, True, True, True]" in on.stdout


def test_compiling_the_whole_graph(trains):
    on = trains(
        """
inner = model
model = torch.compile(inner, backend="eager", fullgraph=True)
train()
import torch._dynamo
explained = torch._dynamo.explain(inner)(torch.ones(2, 4))
assert (explained.graph_count, explained.graph_break_count) == (1, 0), explained
""",
        warm=True,
    )
    assert steps(on) == STEPS
    assert on.phases["compile"] > 0
    # once, so it is no matter of the steps; and a compiled model is not to be compiled
    assert on.report["verdict_id"] not in ("compile-bound", "partly-compiling")
    assert "torch.compile" not in on.report["verdict"]
    assert "compiled_once" in [one["id"] for one in on.report["findings"]]


def test_threads_that_train_side_by_side(trains):
    on = trains(
        """
import threading
def work(seed):
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters())
    for (x,) in DataLoader(TensorDataset(torch.randn(40, 4)), batch_size=4):
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
        times=0,
        warm=True,
    )
    assert steps(on) >= STEPS


def test_a_search_over_many_models(trains):
    on = trains(
        """
for rate in (0.1, 0.1, 0.1):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    train()
""",
        times=3,
        warm=True,
    )
    assert steps(on) == 3 * STEPS
