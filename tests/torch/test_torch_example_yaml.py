# SPDX-License-Identifier: Apache-2.0
"""examples/yaml: a profiling section, dotted flags, and where the traces go.

The command lines are those of the guide that people come from, with the example's
script in the place of theirs.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("example_yaml")

FLAGS = """--profiling.wait 1 --profiling.warmup 1 --profiling.active 3 --profiling.repeat 1
    --profiling.record_shapes True --profiling.profile_memory True
    --profiling.with_stack False""".split()
SHORT = ["--training.pendulums", "256"]
LINES = {
    "section": ["my_profiling_run", *SHORT],
    "flags": ["latent_default", "--training.epochs", "6", *SHORT, *FLAGS],
    "workflow": ["profile_test", "--training.epochs", "10", "--profiling.active", "2", *SHORT],
    "off": ["latent_default", "--training.epochs", "10", *SHORT],
    "under gait run": ["my_profiling_run", *SHORT],
    "lean": ["profile_test", *SHORT, "profiling.repeat=2", "profiling.record_shapes=false",
             "profiling.profile_memory=no", "--profiling.wait=0", "--profiling.active", "1"],
    "wrong key": ["profile_test", "--profiling.actve", "2"],
    "wrong value": ["profile_test", "--profiling.active", "0"],
    "a file in the way": ["profile_test", "--profiling.output_dir", "/dev/null"],
}  # fmt: skip
NAME = re.compile(r"[^/]+\.\d{15,}\.pt\.trace\.json$")


# Each line as a program of its own costs an import of torch; one process may stand for
# several, which shows that nothing of one profile is left over for the next.
IN_TURN = """
import contextlib, io, json, os, runpy, sys, traceback
script, lines = sys.argv[1], json.loads(sys.argv[2])
answers = {}
for name, (folder, line) in lines.items():
    os.chdir(folder)
    sys.argv = [script, *line]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = end.code
            if isinstance(code, str):
                err.write(code)
                code = 1
        except BaseException:
            code = 1
            traceback.print_exc()
    answers[name] = code or 0, out.getvalue(), err.getvalue()
print(json.dumps(answers))
"""


class Finished:
    def __init__(self, folder, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.folders = sorted(folder.glob("runs/*/*"))

    @property
    def traces(self):
        return sorted(self.folders[0].glob("profiler_traces/*"))

    @property
    def losses(self):
        return re.findall(r"loss ([\d.]+)", self.out)


@pytest.fixture(scope="module")
def finished(root, build, trainings, tmp_path_factory):
    script = str(root / "examples" / "yaml" / "main.py")
    paths = [str(build / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GAIT_")}
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    folders = {name: tmp_path_factory.mktemp("yaml") for name in LINES}

    def begin(folder, *command):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes)

    before = [build / "gait", "run", "-q", "-o", "run", "--"]
    alone = {
        "under gait run": [*before, sys.executable, script],
        "section": trainings.python(script),
    }
    running = {
        name: begin(folders[name], *command, *LINES[name]) for name, command in alone.items()
    }
    rest = {name: (str(folders[name]), LINES[name]) for name in LINES if name not in alone}
    in_turn = tmp_path_factory.mktemp("yaml") / "in_turn.py"
    in_turn.write_text(IN_TURN)
    line = trainings.python(in_turn, script, json.dumps(rest))
    out, err = begin("/", *line).communicate()
    assert out, err
    done = {name: Finished(folders[name], *answer) for name, answer in json.loads(out).items()}
    for name, process in running.items():
        out, err = process.communicate(timeout=200)
        done[name] = Finished(folders[name], process.returncode, out, err)
    return done


def events(path):
    return json.loads(pathlib.Path(path).read_text())["traceEvents"]


def steps(path):
    found = {e["name"] for e in events(path) if str(e.get("name", "")).startswith("ProfilerStep#")}
    return sorted(int(name.split("#")[1]) for name in found)


@pytest.mark.parametrize("name", ["section", "flags", "under gait run"])
def test_three_epochs_are_in_one_trace_of_the_run_directory(finished, name):
    run = finished[name]
    assert run.code == 0, run.err
    assert len(run.folders) == 1
    (trace,) = run.traces
    assert NAME.match(trace.name)
    assert steps(trace) == [2, 3, 4]
    ops = [e for e in events(trace) if e.get("cat") == "cpu_op"]
    assert {"aten::addmm", "aten::gelu"} <= {e["name"] for e in ops}
    assert any(e["args"].get("Input Dims") for e in ops)
    assert any(e.get("name") == "[memory]" for e in events(trace))


def test_the_documents_own_workflow_takes_two_epochs(finished):
    run = finished["workflow"]
    assert run.code == 0, run.err
    assert len(run.losses) == 10
    (trace,) = run.traces
    assert steps(trace) == [2, 3]


def test_the_plan_is_printed_and_is_what_happens(finished):
    assert "schedule in epochs: wait 1, warmup 1, active 2, repeat 1" in finished["workflow"].err
    assert "needs 4 epochs" in finished["workflow"].err


def test_without_a_section_nothing_is_recorded_and_nothing_written(finished):
    run = finished["off"]
    assert (run.code, run.err) == (0, "")
    assert not (run.folders[0] / "profiler_traces").exists()


def test_the_losses_are_the_same_with_and_without(finished):
    assert finished["off"].losses == finished["workflow"].losses
    assert finished["section"].losses == finished["under gait run"].losses
    losses = [float(loss) for loss in finished["off"].losses]
    assert losses[-1] < 0.5 * losses[0]


def test_two_cycles_make_two_traces_without_what_was_switched_off(finished):
    run = finished["lean"]
    assert run.code == 0, run.err
    assert [steps(trace) for trace in run.traces] == [[1], [3]]
    found = [event for trace in run.traces for event in events(trace)]
    ops = [e for e in found if e.get("cat") == "cpu_op"]
    assert ops and not any("Input Dims" in e["args"] for e in ops)
    assert not any(e.get("name") == "[memory]" for e in found)


def test_what_is_wrong_is_said_before_the_training(finished):
    for name, sentence in {
        "wrong key": "unknown setting 'profiling.actve'; did you mean 'profiling.active'?",
        "wrong value": "'profiling.active' takes a number of units, 1 or more, not '0'",
        "a file in the way": "it is a file; name a folder",
    }.items():
        run = finished[name]
        assert run.code == 1 and sentence in run.err and not run.losses, name
