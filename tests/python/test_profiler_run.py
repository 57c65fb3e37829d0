# SPDX-License-Identifier: Apache-2.0
"""`gait run --profiler`, and gait.profile() around a block or a function."""

import json
import os
import sys

import pytest

PROGRAM = """
import sys
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(20))
if "fork" in sys.argv:
    import os
    if os.fork() == 0:
        fib(3)
        os._exit(0) if "_exit" in sys.argv else sys.exit(0)
    os.wait()
sys.exit(3)
"""


@pytest.fixture
def profiled(gait, tmp_path):
    def run(*words, **environment):
        (tmp_path / "program.py").write_text(PROGRAM)
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        env.update(environment)
        return gait("run", "-o", tmp_path / "run", *words, env=env)

    return run


def command(*arguments):
    return ["--", sys.executable, "program.py", *arguments]


@pytest.mark.parametrize(
    "words", [["--profiler", "advanced"], ["profiler=advanced"], ["--profiling.profiler=advanced"]]
)
def test_advanced_shows_the_functions_of_any_program(words, profiled, tmp_path):
    done = profiled(*words, *command())
    assert (done.returncode, done.stdout) == (3, "6765\n")
    assert "Profile stats for: run" in done.stderr
    assert "21891/1" in done.stderr and "program.py:3(fib)" in done.stderr
    assert [path.name for path in (tmp_path / "run").glob("*.prof")] != []


def test_the_prof_file_is_for_gait_pstats(profiled, tmp_path, gait):
    profiled("--profiler", "advanced", *command())
    (path,) = (tmp_path / "run").glob("advanced-*-run.prof")
    answer = json.loads(gait("pstats", path, "--json").stdout)
    rows = {row["name"]: (row["primitive_calls"], row["calls"]) for row in answer["functions"]}
    assert rows["fib"] == (1, 21891)


def test_imports_of_what_is_installed_are_an_action_apart(profiled, tmp_path, gait):
    source = "def later():\n    import own\n    import xml.dom.minidom\n    own.f()\nlater()\n"
    (tmp_path / "own.py").write_text("def f(): return 1\nf()\n")
    (tmp_path / "with_imports.py").write_text(source)
    done = profiled("--profiler", "advanced", "--", sys.executable, "with_imports.py")
    assert done.returncode == 0, done.stderr
    numbers = {}
    for action in "run", "imports":
        (path,) = (tmp_path / "run").glob(f"advanced-*-{action}.prof")
        for row in json.loads(gait("pstats", path, "--json").stdout)["functions"]:
            place = os.path.basename(row["file"]), row["name"]
            numbers.setdefault(action, {})[place] = (row["calls"], row["seconds"])
    run, imports = numbers["run"], numbers["imports"]
    assert run["own.py", "f"][0] == 2 and ("own.py", "f") not in imports
    assert ("minidom.py", "<module>") in imports and ("minidom.py", "<module>") not in run
    # who imports has the time of it
    calls, seconds = run["with_imports.py", "later"]
    assert calls == 1 and seconds >= imports["minidom.py", "<module>"][1]


@pytest.mark.parametrize("ending", ["", "_exit"])
def test_a_forked_child_tells_nothing(ending, profiled, tmp_path):
    done = profiled("--profiler", "advanced", *command("fork", ending))
    assert done.stderr.count("Profile stats for: run") == 1 and "21891/1" in done.stderr
    assert len(list((tmp_path / "run").glob("advanced-*.txt"))) == 1


def test_only_the_first_rank_shows_its_table(profiled, tmp_path):
    ranks = {"RANK": "1", "WORLD_SIZE": "2"}
    done = profiled("--profiler", "advanced", *command(), **ranks)
    assert "Profile stats" not in done.stderr
    assert "21891/1" in (tmp_path / "run/advanced-1.txt").read_text()


def test_a_program_without_a_training_has_no_actions(profiled, tmp_path):
    done = profiled("--profiler", "simple", *command())
    assert done.returncode == 3 and "Profiler Report" not in done.stderr
    assert done.stderr.count("no action ran, so gait prints no report") == 1


def test_reports_go_to_the_folder_that_is_named(profiled, tmp_path):
    done = profiled("--profiler", "advanced", "--profiling.dirpath", "some/where", *command())
    assert len(list((tmp_path / "run/some/where").glob("advanced-*.txt"))) == 1
    assert "run/some/where/advanced-" in done.stderr


def test_an_unknown_profiler_is_refused_with_those_there_are(profiled):
    done = profiled("--profiler", "advance", *command())
    assert done.returncode == 125 and "advanced" in done.stderr and not done.stdout


def test_rows_are_limited_as_asked(profiled):
    done = profiled("profiler=advanced", "--profiling.line_count_restriction=3", *command())
    assert "due to restriction <3>" in done.stderr


def test_a_block_and_a_function(record):
    run = record(
        """
        import gait
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        with gait.profile("advanced", "the block", line_count_restriction=5):
            fib(8)
        @gait.profile("advanced")
        def work(n): return fib(n)
        assert work(5) == 5 and work.__name__ == "work"
        @gait.profile("simple", filename="p", dirpath=".")
        def timed(): pass
        timed()
        try:
            with gait.profile():
                raise KeyError
        except KeyError:
            pass
        for wrong in (lambda: gait.profile("nothing"), lambda: gait.profile("simple", colour=1)):
            try:
                wrong()
            except (ValueError, TypeError) as error:
                print("refused:", error)
        """,
        recording=False,
    )
    assert "Profile stats for: the block" in run.stdout and "67/1" in run.stdout
    assert "Profile stats for: work" in run.stdout and "15/1" in run.stdout
    assert "block.py" not in run.stdout
    assert "advanced, pytorch, simple" in run.stdout and run.stdout.count("refused") == 2
    assert "timed" in (run.directory.parent / "p.txt").read_text()


def test_a_block_that_cannot_be_profiled_runs(record):
    run = record(
        """
        import gait, sys
        from gait.profilers import Advanced
        holders = [Advanced() for _ in range(3)]  # as many as any Python has room for
        for holder in holders:
            try:
                holder.start("held")
            except RuntimeError:
                pass
        @gait.profile("advanced")
        def work(n):
            if n < 0:
                raise KeyError(n)
            return n + 1
        with gait.profile("advanced", "the block"):
            print(work(1), work(2))
        try:
            work(-1)
        except KeyError as error:
            print("the program's own", error)
        for holder in holders:
            holder.close()
        """,
        recording=False,
    )
    assert run.stdout == "2 3\nthe program's own -1\n"
    told = [line[:30] for line in run.stderr.splitlines() if "is not profiled: " in line]
    assert told == ["gait: 'the block' is not profi", "gait: 'work' is not profiled: "]


def test_without_the_extension_a_program_runs_as_it_would_without_gait(record):
    run = record(
        """
        import sys
        sys.modules["gait._native"] = None
        import gait.torch
        from gait.profilers import Advanced, PyTorch, Simple

        print(gait._why_off)

        def train(profile):
            with profile as prof:
                for step in range(3):
                    with gait.span("work").args(step=step), gait.step(), gait.phase("x"):
                        gait.count("loss", 0.5)
                    prof.step()
                prof.add_metadata("a", 1)
                gait.trigger(2)
            return prof

        plan = gait.torch.schedule(wait=1, warmup=1, active=1)
        assert plan(1).name == "NONE" and gait.torch.at_steps([3])(3).name == "NONE"
        profiles = [gait.torch.profile(schedule=plan, on_trace_ready=print)]
        profiles += [gait.Config(enabled=enabled).profile() for enabled in (True, False)]
        for profile in profiles:
            try:
                train(profile).key_averages()
            except gait.torch.CaptureError as error:
                print(error)
        for profiler in (Simple(), Advanced(), PyTorch()):
            profiler.start("training_step")
            profiler.stop("training_step")
            with profiler.profile("load") as name:
                assert name is not None
            assert "Profiler Report" in profiler.summary()

        @gait.profiler(active=1)
        @gait.profile("simple")
        @gait.span("f")
        def f(x):
            gait.step_profiler()
            return x

        assert f(3) == 3 and isinstance(gait.step(), gait.Step)
        """,
        recording=False,
        first="",
    )
    why, *told = run.stdout.splitlines()[:4]
    assert told == [
        f"nothing was captured: {text}" for text in (why, why, "profiling is not enabled")
    ]
    assert run.stderr == f"gait: nothing is recorded: {why}\n"


def test_without_torch_a_profile_says_so_and_has_no_ops(record):
    run = record(
        """
        import sys
        sys.modules["torch"] = None
        import gait.torch
        plan = gait.torch.schedule(wait=0, warmup=1, active=1, repeat=1)
        with gait.torch.profile(schedule=plan, with_stack=True, with_modules=True) as prof:
            for _ in range(3):
                prof.step()
        profiler = gait.profilers.PyTorch(export_to_chrome=False)
        for _ in range(6):
            with profiler.profile("training_step"):
                pass
        print(len(prof.captures), len(prof.key_averages()), "training steps" in profiler.summary())
        """,
        recording=False,
        first="",
    )
    assert run.stdout == "1 0 True\n"
    assert run.stderr.count("gait: not everything is recorded: import of torch halted") == 1


def test_reports_go_through_no_link(profiled, tmp_path):
    """Their names are gait's: what lies there is replaced, and a file that grows is not opened."""
    victim, folder = tmp_path / "victim", tmp_path / "reports"
    victim.write_text("precious")
    folder.mkdir()
    for name in ("advanced-1.txt", "advanced-1-run.prof"):
        (folder / name).symlink_to(victim)
    ranks = {"RANK": "1", "WORLD_SIZE": "2"}
    profiled("--profiler", "advanced", "--profiling.dirpath", str(folder), *command(), **ranks)
    assert victim.read_text() == "precious"
    assert "21891/1" in (folder / "advanced-1.txt").read_text()
    assert {path.name for path in folder.iterdir() if not path.is_symlink()} >= {
        "advanced-1.txt",
        "advanced-1-run.prof",
    }
    assert not list(folder.glob("*.part"))


def test_a_report_that_grows_is_no_link(record, tmp_path):
    (tmp_path / "victim").write_text("precious")
    run = record(
        """
        import gait, glob, os
        @gait.profile("simple", filename="p", dirpath=".")
        def train():
            pass
        train()
        (name,) = glob.glob("*p*.txt")
        os.rename(name, "kept")
        os.symlink("victim", name)
        train()
        print(open("victim").read(), os.path.exists("kept"))
        """
    )
    assert run.stdout.endswith("precious True\n")
    assert "cannot write the report to" in run.stderr


def test_half_a_draft_replaces_nothing(record):
    run = record(
        """
        import os
        from gait import _files
        with open("whole", "w") as file:
            file.write("before")
        try:
            with _files.draft("whole") as part:
                print(os.path.exists(part), part != "whole")
                raise KeyError
        except KeyError:
            print(open("whole").read(), [name for name in os.listdir() if ".part" in name])
        """
    )
    assert run.stdout == "True True\nbefore []\n"
