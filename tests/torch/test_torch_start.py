# SPDX-License-Identifier: Apache-2.0
"""How a training comes on record that nobody edited, and what it must not notice."""

import ast
import contextlib
import os
import pathlib
import subprocess
import sys

import pytest
from installed_package import make_venv
from ring_files import needs_semaphores
from torch_trainings import full
from warm_python import WarmPython

needs_no_torch = pytest.mark.needs_no_torch

STEPS = """
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train():
    for _ in range(3):
        model(torch.ones(8, 4)).sum().backward()
        optimizer.step()
"""
PHASES = ["forward", "backward", "optimizer"] * 3

SHOW = """
import json, os, sys
print(json.dumps([
    sys.path, sorted(sys.modules), [repr(type(finder)) for finder in sys.meta_path],
    getattr(sys.modules.get("sitecustomize"), "__file__", None), sys.argv, sys.flags[:]]))
"""


@pytest.fixture
def shown(gait, tmp_path):
    """shown(**environment) gives what SHOW says with gait run and without."""

    def show(*options, **extra):
        import json

        script = tmp_path / "show.py"
        script.write_text(SHOW)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GAIT_", "PYTHON"))}
        env.update(extra)
        line = [sys.executable, *options, str(script)]
        off = subprocess.run(line, env=env, capture_output=True, text=True, cwd=tmp_path)
        on = gait("run", "-q", "-o", tmp_path / "run", "--", *line, env=env)
        assert (on.returncode, on.stderr) == (off.returncode, off.stderr)
        return json.loads(on.stdout), json.loads(off.stdout)

    return show


def phases_of(training, *names):
    return training.order(*(names or PHASES))


# ---- what a Python that trains nothing sees ------------------------------------


@needs_no_torch
def test_a_program_sees_no_more_than_one_finder(shown):
    on, off = shown()
    assert on[0] == off[0]  # sys.path
    assert set(on[1]) - set(off[1]) == {"_gait_start"}
    assert set(off[1]) <= set(on[1])
    assert len(on[2]) == len(off[2]) + 2
    assert on[3:] == off[3:]


@needs_no_torch
@pytest.mark.parametrize("before", ["", "one", "one:two", ":one"])
def test_pythonpath_stays_what_it_was(shown, before):
    on, off = shown(PYTHONPATH=before)
    assert on[0] == off[0]


@needs_no_torch
@pytest.mark.parametrize(
    "source",
    [
        "import sys; sys.user_was_here = 1",
        "1 / 0",
        "raise ImportError('x', name='y')",
        "import nix",
    ],
)
def test_the_users_sitecustomize_runs_as_before(shown, tmp_path, source):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(source)
    on, off = shown(PYTHONPATH=str(tmp_path / "own"))
    assert on[0] == off[0]
    assert on[3:] == off[3:]
    assert ("sitecustomize" in on[1]) == ("sitecustomize" in off[1])


@needs_no_torch
@pytest.mark.parametrize("of_user", [False, True])
def test_a_forked_script_is_on_record_where_python_has_a_sitecustomize(gait, tmp_path, of_user):
    """Debian's Python brings one: the process that forks has imported it long before."""
    for name in ("debian", "user"):
        (tmp_path / name).mkdir()
        source = f"import sys\nprint({name!r}, file=sys.stderr)\n"
        (tmp_path / name / "sitecustomize.py").write_text(source)
    (tmp_path / "script.py").write_text("import gait\ngait.mark('here')\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GAIT_", "PYTHON"))}
    env["PYTHONPATH"] = str(tmp_path / ("user" if of_user else "debian"))
    with contextlib.closing(WarmPython([], tmp_path / "debian")) as python:
        line = python.command(tmp_path / "script.py")
        done = gait("run", "-q", "-o", "run", "--", *line, env=env)
    assert (done.returncode, done.stdout) == (0, "")
    # of the one that asks, and of the fork
    assert done.stderr.split() == ["user" if of_user else "debian"] * 2
    assert ",here," in gait("export", "run", "--format", "csv").stdout


@needs_no_torch
@pytest.mark.parametrize("name", ["sitecustomize.py", "_gait_start.py"])
def test_any_python_can_read_what_it_meets_first(root, name):
    """A Python before 3.6 has no f-strings, and would lose the user's sitecustomize."""
    tree = ast.parse((root / "python" / "gait" / "preload" / name).read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]


@needs_no_torch
def test_a_program_without_torch_leaves_no_shard(gait, tmp_path):
    done = gait("run", "-o", "run", "--", sys.executable, "-c", "print('x')")
    assert (done.returncode, done.stdout) == (0, "x\n")
    assert "no process imported torch or gait" in done.stderr
    assert not list(tmp_path.glob("run/*.gait"))


@needs_no_torch
@pytest.mark.parametrize("option", ["-I", "-E", "-S", "-uI"])
def test_an_option_that_keeps_gait_out_is_named(gait, option):
    done = gait("run", "--", sys.executable, option, "-c", "raise SystemExit(3)")
    assert done.returncode == 3
    letter = "-" + option[-1]
    assert f"Python's option {letter} blocks gait; remove the option" in done.stderr


@needs_no_torch
def test_an_option_of_the_script_is_none_of_pythons(gait):
    done = gait("run", "--", sys.executable, "-c", "pass", "-I")
    assert "blocks gait" not in done.stderr


@needs_no_torch
def test_gait_can_be_imported_in_an_environment_that_lacks_it(gait, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    code = "import gait; print(gait.recording()); gait.mark('here')"
    python = tmp_path / "venv" / "bin" / "python"
    assert subprocess.run([python, "-c", code], capture_output=True).returncode == 1
    done = gait("run", "-q", "-o", tmp_path / "run", "--", python, "-c", code)
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert '"here"' in gait("export", tmp_path / "run", "-f", "chrome").stdout


@needs_no_torch
def test_a_python_without_the_extension_gets_one_sentence(gait, build, tmp_path):
    """A package as another minor of Python would find it: all but the extension."""
    package = tmp_path / "lib" / "gait"
    package.mkdir(parents=True)
    for source in (build / "python" / "gait").rglob("*.py"):
        place = package / source.relative_to(build / "python" / "gait")
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(source)
        place.unlink()
        place.write_text(source.read_text())
    (tmp_path / "torch.py").write_text("")
    script = tmp_path / "script.py"
    script.write_text("import torch\nprint('done')\n")
    env = {**os.environ, "GAIT_PACKAGE": str(package)}
    python = make_venv(tmp_path / "venv")  # one with a gait of its own would take that
    done = gait("run", "-q", "-o", "run", "--", python, script, env=env)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.startswith("gait: nothing is recorded: ")
    assert done.stderr.count("\n") == 1


@needs_no_torch
def test_a_torch_that_cannot_be_imported_fails_as_before(gait, tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so: no such file')")
    code = "import sys; sys.path.insert(0, '.')\ntry: import torch\nexcept OSError as e: print(e)"
    done = gait("run", "-q", "-o", "run", "--", sys.executable, "-c", code)
    assert (done.stdout, done.stderr) == ("libcudart.so: no such file\n", "")


# A module that says who is on the stack while it runs, and what it sees of itself.
STANDS_IN = """
import sys, importlib.machinery
frame, stack = sys._getframe(), []
while frame is not None:
    stack.append((frame.f_code.co_filename, frame.f_code.co_name))
    frame = frame.f_back
print(*stack, sep="\\n")
print(type(__loader__).__name__, __spec__.loader is __loader__, sorted(vars(__loader__)))
print(isinstance(__spec__, importlib.machinery.ModuleSpec),
    getattr(__spec__, "_initializing", False), type(__spec__).__name__, __spec__.name)
FAIL
"""
IMPORTS = {
    "import": "import torch",
    "lazily": "import importlib.util as u, sys; spec = u.find_spec('torch')\n"
    "sys.modules['torch'] = torch = u.module_from_spec(spec)\n"
    "u.LazyLoader(spec.loader).exec_module(torch)\ntorch.sys",
    "again": "try: import torch\nexcept Exception: pass\nimport torch",
}


@needs_no_torch
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("way", IMPORTS)
def test_nothing_of_gait_is_on_the_stack_while_torch_is_imported(gait, tmp_path, way, fails):
    module = STANDS_IN.replace("FAIL", "1 / 0" if fails else "")
    if way == "again":  # it works the second time
        module = module.replace("1 / 0", "sys.once = getattr(sys, 'once', 1) - 1; 1 // -sys.once")
    (tmp_path / "torch.py").write_text(module)
    script = tmp_path / "script.py"
    script.write_text(
        IMPORTS[way] + "\nimport torch, sys\nprint(type(torch.__spec__), vars(torch.__loader__))\n"
        "sys.stderr.write('gait: %s\\n' % ('gait.torch' in sys.modules))\n"
    )
    line = [sys.executable, script]
    on = gait("run", "-q", "-o", "run", "--", *line)
    off = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    seen, told = on.stdout.splitlines(), on.stderr.splitlines()
    if way == "lazily":  # there nobody but the loader knows when it runs
        seen = [line for line in seen if "preload" not in line]
    assert seen == off.stdout.splitlines()
    others = [line for line in told if not line.startswith("gait: ")]
    if way != "lazily":
        assert others == [line for line in off.stderr.splitlines() if line != "gait: False"]
    has_failed = fails and way != "again"
    assert on.returncode == off.returncode == has_failed
    assert ("gait: True" in told) != has_failed


# ---- trainings -------------------------------------------------------------------


def test_torch_sees_its_own_loader(run_text):
    found = run_text(
        "import torch, importlib.util\n"
        "print(type(torch.__loader__).__name__, type(torch.__spec__.loader).__name__)\n"
        "print(torch.__spec__.origin == torch.__file__)"
    )
    assert found.stdout == "SourceFileLoader SourceFileLoader\nTrue\n"
    assert found.stderr == ""


# those in a thread, spawned and as a program of its own: test_torch_bad_input.py too
@pytest.mark.parametrize(
    "way",
    ["module", "stdin", "function"]
    + [pytest.param(way, marks=full) for way in ("thread", "spawn", "subprocess")],
)
def test_a_training_is_recorded_however_it_is_started(run_text, way):
    started = {
        "thread": "import threading\n"
        "t = threading.Thread(target=lambda: (exec(STEPS, globals()), train()))\n"
        "t.start(); t.join()",
        "module": "import runpy; runpy.run_path(__file__ + '.steps', run_name='x')['train']()",
        "stdin": "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-'], input=STEPS + 'train()', text=True, check=True)",
        "subprocess": "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', STEPS + 'train()'], check=True)",
        "spawn": "import multiprocessing\n"
        "def child(): exec(STEPS, globals()); train()\n"
        "if __name__ == '__main__':\n"
        "    p = multiprocessing.get_context('spawn').Process(target=child)\n"
        "    p.start(); p.join()",
        "function": "def main():\n    exec(STEPS, globals()); train()\nmain()",
    }[way]
    prepare = f"open(__file__ + '.steps', 'w').write({STEPS!r})\n" if way == "module" else ""
    text = f"STEPS = {STEPS!r}\n{prepare}{started}\n"
    found = run_text(text, warm=way == "function")
    assert (found.code, found.stderr) == (0, "")
    assert phases_of(found) == PHASES
    assert found.report["steps"] == 3


def test_init_in_a_script_without_gait_run(run_text, build):
    source = STEPS.replace(
        "import torch", "import gait; gait.init('run', overflow='block')\nimport torch"
    )
    found = run_text(source + "train()", gait=False, env=(("PYTHONPATH", str(build / "python")),))
    assert (found.code, found.stderr) == (0, "")
    assert phases_of(found) == PHASES


def test_what_a_torch_does_not_tell_is_one_line(run_text, build):
    lacking = "import torch\ndel torch._C._dispatch_keys\nimport gait\ngait.init('run')\n"
    told = "gait: not everything is recorded: this torch does not expose: shapes\n"
    env = (("PYTHONPATH", str(build / "python")),)
    assert run_text(lacking, gait=False, warm=True, env=env).stderr == told
    quiet = (*env, ("GAIT_TORCH_WINDOWS", "off"))  # then nobody asked for it
    assert run_text(lacking, gait=False, warm=True, env=quiet).stderr == ""


def test_init_after_torch_and_the_optimizer(run_text, build):
    source = STEPS + "import gait; gait.init('run')\ntrain()"
    env = (("PYTHONPATH", str(build / "python")),)
    found = run_text(source, gait=False, warm=True, env=env)
    assert phases_of(found) == PHASES


def test_switched_off_nothing_is_hooked(run_text):
    found = run_text(
        STEPS + "train()\nimport gc; print(type(torch.nn.Module.__call__).__name__, gc.callbacks)",
        env=(("GAIT_ENABLE", "0"),),
    )
    assert found.stdout == "function []\n"
    assert not list(found.directory.glob("*.gait"))


@pytest.mark.parametrize(
    "end, code",
    [
        ("raise ValueError('x')", 1),
        ("sys.exit(5)", 5),
        pytest.param("os._exit(7)", 7, marks=full),  # test_torch_bad_input.py does it too
        pytest.param("1/0", 1, marks=full),
    ],
)
def test_a_training_that_ends_early_is_on_record(run_text, end, code):
    source = "import os, sys\n" + STEPS + f"train()\n{end}\n"
    is_spoken_of = code == 1  # in a traceback, which has to be a script's own
    off = run_text(source, gait=False, warm=not is_spoken_of, begin=True)
    on, off = run_text(source, warm=not is_spoken_of), off.result()
    assert on.code == off.code == code
    assert on.stderr == off.stderr
    assert phases_of(on) == PHASES


@full  # test_torch_bad_input.py kills one always
def test_a_training_that_is_killed_is_on_record(run_text):
    found = run_text(STEPS + "train()\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert found.code == 128 + 9
    assert phases_of(found) == PHASES
    assert found.report["steps"] == 3


LOADER = """
import os, torch
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return 32
    def __getitem__(self, index): return torch.full((4,), float(index))
def main():
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context={how!r})
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
if __name__ == "__main__":
    main()
"""


@needs_semaphores
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_are_workers_and_tell_what_they_load(run_text, how):
    found = run_text(LOADER.format(how=how), warm=how == "fork")
    assert (found.code, found.stderr) == (0, "")
    (main,) = {row["pid"] for row in found.rows if row["name"] == "optimizer"}
    workers = [row for row in found.rows if row["category"] == "loader" and row["pid"] != main]
    names = [row["name"] for row in workers]
    assert names.count("fetch") == names.count("collate") == 8
    assert len({row["pid"] for row in workers}) == 2
    info = found.ask("info", found.directory).stdout
    assert info.count(" worker ") == 2 and info.count(" program ") == 1
    assert found.report["steps"] == 8


def test_the_users_profiler_sees_what_it_would_see(run_text):
    source = STEPS + (
        "from torch.profiler import profile, ProfilerActivity\n"
        "with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as found:\n"
        "    train()\n"
        "print(sorted((e.key, e.count) for e in found.key_averages()))\n"
    )
    on = run_text(source, env=(("GAIT_TORCH_WINDOWS", "all"),), warm=True)
    assert (on.code, on.stdout) == (0, run_text(source, gait=False, warm=True).stdout)
    assert phases_of(on) == PHASES


@pytest.mark.parametrize(
    "windows, opened", [("off", 0), ("all", 1), ("1/1/3", 3), ("2/4", 1), ("nonsense", 1)]
)
def test_windows_open_when_they_are_told_to(run_text, windows, opened):
    source = STEPS + "for _ in range(3): train()\n"
    option = {"options": ("--quiet", "--windows", windows)}
    variable = {"env": (("GAIT_TORCH_WINDOWS", windows),)}
    way = option if windows in ("off", "1/1/3") else variable
    found = run_text(source, warm=True, **way)
    assert [row["name"] for row in found.rows if row["category"] == "torch"].count(
        "window"
    ) == opened
    assert any(row["category"] == "cpu_op" for row in found.rows) == (opened > 0)
    told = [line for line in found.stderr.splitlines() if line.startswith("gait: ")]
    assert len(told) == (windows == "nonsense"), found.stderr  # by gait run, and not again by each
    assert found.stderr.startswith("gait: GAIT_TORCH_WINDOWS: " if told else "")


def test_a_launcher_makes_no_shard_of_its_own(run_text, tmp_path):
    found = run_text(
        STEPS + "torch.distributed.init_process_group('gloo')\n"
        "train()\nprint(f'rank {torch.distributed.get_rank()}.')\n",
        processes=2,
    )
    assert "rank 0." in found.stdout and "rank 1." in found.stdout
    assert len(list(pathlib.Path(found.directory).glob("*.gait"))) == 2
    assert {row["rank"] for row in found.rows} == {"0", "1"}


def test_the_rank_is_that_of_the_group_where_no_launcher_tells(run_text):
    found = run_text(
        "import torch.multiprocessing as mp, torch.distributed as dist\n"
        "def child(rank, port):\n"
        "    dist.init_process_group('gloo', init_method=port, rank=rank, world_size=2)\n"
        "    exec(STEPS, globals())\n"
        "    train()\n"
        "    dist.barrier()\n"
        f"STEPS = {STEPS!r}\n"
        "if __name__ == '__main__':\n"
        "    mp.spawn(child, ('file://' + __file__ + '.store',), nprocs=2)\n",
        warm=True,
    )
    assert (found.code, found.stderr) == (0, "")
    assert {row["rank"] for row in found.rows if row["name"] == "optimizer"} == {"0", "1"}
    assert "communication" in phases_of(found, "communication")
