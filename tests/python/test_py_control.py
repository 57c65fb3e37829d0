# SPDX-License-Identifier: Apache-2.0
"""Switching on and off, and what is said once."""

import ast
import importlib
import inspect
import subprocess
import sys
import zipfile

import pytest

HEAVY = [
    "ctypes",
    "json",
    "asyncio",
    "inspect",
    "typing",
    "threading",
    "multiprocessing",
    "numbers",
]


def test_off_there_is_no_file_and_nothing_is_said(record):
    run = record(
        """
        assert not gait.recording() and gait.shard_path() is None
        @gait.span("f")
        def f(): return 1
        for _ in range(1000):
            with gait.span("x"), gait.step():
                gait.count("c", 1); gait.arg("a", 1); gait.mark("m"); f()
        assert gait.snapshot("nothing.gait") is False
        assert not gait.recording()
        """,
        recording=False,
    )
    assert run.shards == []
    assert (run.stdout, run.stderr) == ("", "")


def test_gait_enable_0_switches_off(record):
    run = record("assert not gait.recording()\ngait.mark('x')", GAIT_ENABLE="0")
    assert run.shards == []
    assert run.stderr == ""


def test_importing_gait_records_under_gait_dir(record):
    run = record("assert gait.recording() and gait.shard_path()\ngait.mark('x')")
    assert len(run.shards) == 1
    assert run.names("mark") == ["x"]


def test_start_and_stop_many_times(record, tmp_path):
    run = record(
        """
        import sys
        for number in range(5):
            assert gait.start(sys.argv[1], overflow="block", ring_bytes=1 << 16)
            assert gait.recording()
            assert gait.start(sys.argv[1]) is False and gait.last_error()
            gait.mark("m%d" % number)
            assert gait.flush()
            assert gait.stop()
            gait.mark("not recorded")
        """,
        str(tmp_path / "run"),
        recording=False,
    )
    assert len(run.shards) == 5
    assert sorted(run.names("mark")) == [f"m{number}" for number in range(5)]


def test_a_start_that_fails_says_why_and_the_program_goes_on(record, tmp_path):
    (tmp_path / "file").write_text("in the way")
    run = record(
        """
        import pathlib
        assert gait.start(pathlib.Path("file")) is False
        print(gait.last_error())
        assert gait.start("elsewhere", overflow="sometimes") is False
        print(gait.last_error())
        with gait.span("x"):
            pass
        """,
        recording=False,
    )
    first, second = run.stdout.splitlines()
    assert "file" in first
    assert "sometimes" in second
    assert run.shards == []


def test_a_run_directory_that_cannot_be_does_not_stop_the_program(record, tmp_path):
    (tmp_path / "file").write_text("in the way")
    run = record("print('went on')", GAIT_DIR=str(tmp_path / "file" / "run"))
    assert run.stdout == "went on\n"


def test_snapshot_and_flush(record, tmp_path, gait):
    run = record(
        """
        gait.mark("written")
        assert gait.flush()
        gait.mark("before")
        assert gait.snapshot("now.gait"), gait.last_error()
        gait.mark("after")
        """
    )
    assert run.names("mark") == ["written", "before", "after"]
    done = gait("export", tmp_path / "now.gait", "--format", "csv")
    assert "before" in done.stdout and "after" not in done.stdout


def test_metadata_takes_any_value(record, trace_of):
    run = record(
        """
        cycle = []
        cycle.append(cycle)
        for key, value in {
            "dict": {"lr": 1e-3, "layers": [1, 2], "name": 'a"b'},
            "number": 7,
            "none": None,
            "surrogate": "\\ud800",
            "not finite": {"min": float("-inf"), "nan": [float("nan")]},
            "object": {"type": int},
            "keys": {(1, 2): 3},
            "cycle": cycle,
            "twice": 1,
        }.items():
            assert gait.metadata(key, value), key
        gait.metadata("twice", 2)
        gait.rank(3)
        gait.rank(5)
        gait.mark("x")
        """
    )
    said = trace_of(run).metadata()
    assert said["dict"] == {"lr": 1e-3, "layers": [1, 2], "name": 'a"b'}
    assert said["number"] == 7 and said["none"] is None and said["twice"] == 2
    assert said["surrogate"] == "\ud800"
    assert said["not finite"] == {"min": "-Infinity", "nan": ["NaN"]}
    assert said["object"] == {"type": "<class 'int'>"}
    assert said["keys"] == "{(1, 2): 3}" and said["cycle"] == "[[...]]"
    assert run.events("mark")[0]["rank"] == 5


def test_the_import_is_light(record):
    run = record(
        f"""
        import sys
        print([name for name in {HEAVY!r} if name in sys.modules])
        print("libgait-read" in open("/proc/self/maps").read())
        """,
        options=["-S"],
    )
    assert run.stdout == "[]\nFalse\n"


@pytest.mark.parametrize("recording", [True, False])
def test_a_free_threaded_python_gets_one_sentence_and_no_ops(record, recording):
    """Pretended, for such a build need not be here: it is told by sys.abiflags."""
    run = record(
        """
        import sys
        del gait
        for name in [n for n in sys.modules if n.split(".")[0] == "gait"]:
            del sys.modules[name]
        sys.abiflags = "t"
        import gait
        assert "gait._native" not in sys.modules
        @gait.span("f")
        def f(x): return x
        with gait.span("a", category="b") as span, span.args(c=1), gait.step():
            assert f(3) == 3
            gait.begin("x"); gait.next("y"); gait.end(); gait.mark("z"); gait.count("n", 1)
            gait.arg("k", 1); gait.metadata("k", 1); gait.rank(1); gait.thread_name("t")
        assert [i for i in gait.steps([1, 2])] == [1, 2]
        with gait.async_span("q"):
            pass
        assert gait.start() is False and "free-threaded" in gait.last_error()
        assert not gait.recording() and gait.shard_path() is None
        """,
        recording=recording,
    )
    said = " ".join(run.stderr.split()).split("gait: ")[1:]
    assert len(said) == (1 if recording else 0)
    assert all("this is a free-threaded Python, which gait does not" in line for line in said)


def test_another_python_is_told_what_to_build(gait):
    """One that calls itself newer, and so does not find what was built for this one."""
    newer = "sys.version_info = (3, 99, 0, 'final', 0)"
    code = f"import sys; sys.modules['gait._native'] = None; {newer}; import gait"
    minor = "{}.{}".format(*sys.version_info)
    done = gait("run", "-o", "run", "--", sys.executable, "-c", code)
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"gait: nothing is recorded: gait was built for Python {minor}, and this is 3.99: "
        f"'make PYTHON={sys.executable}' builds it anew\n"
    )


def test_a_package_in_an_archive_records_nothing_and_is_no_failure(root, tmp_path):
    with zipfile.ZipFile(tmp_path / "gait.zip", "w") as archive:
        for path in (root / "python/gait").rglob("*.py"):
            archive.write(path, path.relative_to(root / "python"))
    done = subprocess.run(
        [sys.executable, "-c", "import gait; print(gait.recording())"],
        env={"PYTHONPATH": str(tmp_path / "gait.zip")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_the_stand_in_offers_what_the_extension_does(python_path):
    program = """
import gait, gait._native, gait._off
public = {n for n in dir(gait._native) if not n.startswith("_")} | {"_metadata"}
print(sorted(public - set(dir(gait._off)) - {"Step"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


PUBLIC = """
    __version__ Config Span Step add_arguments arg async_begin async_end async_span begin count end
    epoch flow_begin flow_end flow_step flush init last_error mark metadata next open phase
    profile profiler profilers rank recording shard_path site snapshot span start step
    step_begin step_end step_profiler steps stop thread_name trace trigger
    uninstall
"""


def test_the_public_surface_changes_on_purpose_only(read):
    """Who adds a name here promises it; who takes one away breaks somebody's program."""
    assert sorted(read.__all__) == sorted(PUBLIC.split())
    names = {name for name in dir(read) if not name.startswith("_")}
    others = names - set(read.__all__)
    assert all(inspect.ismodule(getattr(read, name)) for name in others), others
    assert all(getattr(read, name).__name__ == f"gait.{name}" for name in others)


def test_the_package_tells_its_version_as_the_tool_does(read, build):
    tool = subprocess.run([build / "gait", "version"], capture_output=True, text=True, check=True)
    assert tool.stdout.split()[1] == read.__version__


def test_the_stub_names_what_there_is(read, root):
    from gait import _native

    tree = ast.parse((root / "python/gait/_native.pyi").read_text())
    told = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert told == {name for name in dir(_native) if not name.startswith("__")}


def parameters_told(function):
    """(kind, name, has a default) of each parameter of a stub's function."""
    arguments, empty = function.args, inspect.Parameter
    positional = [(arg.arg, empty.POSITIONAL_ONLY) for arg in arguments.posonlyargs]
    positional += [(arg.arg, empty.POSITIONAL_OR_KEYWORD) for arg in arguments.args]
    first = len(positional) - len(arguments.defaults)
    told = [(kind, name, place >= first) for place, (name, kind) in enumerate(positional)]
    if arguments.vararg:
        told.append((empty.VAR_POSITIONAL, arguments.vararg.arg, False))
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        told.append((empty.KEYWORD_ONLY, arg.arg, default is not None))
    if arguments.kwarg:
        told.append((empty.VAR_KEYWORD, arguments.kwarg.arg, False))
    return told


def parameters_taken(function):
    """The same of the function itself."""
    found = inspect.signature(function).parameters.values()
    return [(one.kind, one.name, one.default is not one.empty) for one in found]


def test_the_stub_takes_what_the_functions_take(read, root):
    """The only one: all other annotations stand in the code."""
    assert [path.name for path in (root / "python").rglob("*.pyi")] == ["_native.pyi"]
    stub, module = "_native", importlib.import_module("gait._native")
    tree = ast.parse((root / "python/gait/_native.pyi").read_text())
    compared = 0
    for node in ast.walk(tree):
        if getattr(node, "name", "") == "_Report":  # what the profilers have in common
            node.name = "Simple"
        for function in getattr(node, "body", ()):
            if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
                if getattr(function, "name", "") != "__init__":
                    continue
            decorators = {getattr(one, "id", "") for one in function.decorator_list}
            if decorators & {"property", "overload"}:
                continue
            owner = getattr(module, node.name) if isinstance(node, ast.ClassDef) else module
            told, taken = parameters_told(function), parameters_taken(getattr(owner, function.name))
            told = [one for one in told if one[1] not in ("self", "cls")]
            taken = [one for one in taken if one[1] != "self"]
            options = [one for one in taken if one[1] == "options"]  # which the stub lists
            if options and told[-1][0] is inspect.Parameter.KEYWORD_ONLY:
                told = [one for one in told if one[0] is not inspect.Parameter.KEYWORD_ONLY]
                taken.remove(options[0])
            assert told == taken, f"{stub}.{function.name}"
            compared += 1
    assert compared


def test_python_m_gait_is_the_tool(gait, python_path, tmp_path):
    environment = {"PYTHONPATH": python_path, "GAIT_DIR": str(tmp_path / "run")}
    command = [sys.executable, "-m", "gait", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, gait("--version").stdout)
    assert not (tmp_path / "run").exists()
