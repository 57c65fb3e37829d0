# SPDX-License-Identifier: Apache-2.0
"""The ops on record: as torch.profiler sees them, and where that is not easy.

The programs run the collector of libgait.so by itself, without the package.
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

# one worker: what all of it looks at is run once
pytestmark = pytest.mark.xdist_group("ops")

PROGRAMS = pathlib.Path(__file__).parent / "programs"
KINDS = ["mlp", "cnn", "transformer"]
DTYPES = {
    "f32": "float",
    "f64": "double",
    "i64": "long int",
    "i32": "int",
    "u8": "unsigned char",
    "bool": "bool",
}


def run_program(name, folder, build, *args):
    values = {**os.environ, "GAIT_BUILD": str(build), "GAIT_DIR": str(folder / "run")}
    values.pop("PYTHONPATH", None)
    command = [sys.executable, str(PROGRAMS / name), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, env=values, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    # torch tells of an exception in a C function of its own there
    assert "aoti" not in done.stderr and "Exception" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def compared(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    run_program("compare_ops.py", folder, build, folder)
    return folder


@pytest.fixture(scope="module")
def cases(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    run_program("cases.py", folder, build, folder)
    return folder


@pytest.fixture(scope="module")
def said(cases):
    return json.loads((cases / "said.json").read_text(encoding="utf-8"))


@pytest.fixture
def read(gait):
    """The events of a run directory, as the CSV export has them."""

    def read_rows(path):
        done = gait("export", "-f", "csv", path)
        assert done.returncode == 0, done.stderr
        table = list(csv.DictReader(io.StringIO(done.stdout)))
        for row in table:
            row["args"] = json.loads(row["args"]) if row["args"] else {}
        return table

    return read_rows


def ops_of(rows):
    categories = ("cpu_op", "user_annotation")
    return [row for row in rows if row["kind"] == "span" and row["category"] in categories]


def names_of(rows):
    return [row["name"] for row in ops_of(rows)]


def profiled(folder):
    events = json.loads((folder / "torch.json").read_text(encoding="utf-8"))
    ops = [event for event in events if event["name"] != "[memory]"]
    ops.sort(key=lambda event: (event["start"], -event["duration"]))
    return ops, [event for event in events if event["name"] == "[memory]"]


def words_of(text):
    """The arguments in a text of shapes; a list of tensors is one."""
    return re.findall(r"\([^)]*\)|\S+", text)


def described(word):
    """(dtype, sizes) as torch.profiler tells an argument."""
    match = re.fullmatch(r"(\w+)\[([\d,]*)\]", word)
    if match and match[1] != "S":
        return DTYPES[match[1]], [int(number) for number in match[2].split(",") if number]
    if word[0] == "(":
        return "TensorList", []
    return {"s": "Scalar", "S": "ScalarList", "-": ""}[word[0]], []


def check_shapes(row, op):
    """Every argument is what torch.profiler saw; how many were tensors."""
    got = [described(word) for word in words_of(row["args"].get("shapes", ""))]
    assert got == list(zip(op["dtypes"], op["shapes"])), (row, op)
    return sum(dtype in DTYPES.values() for dtype, _ in got)


def check_links(row, op):
    seq = row["args"].get("seq", -1)
    # torch.profiler gives the engine's own range the number of what it evaluates
    if not row["name"].startswith("autograd::engine::evaluate_function"):
        assert seq == op["seq"], (row, op)
        assert row["args"].get("fwd_thread", 0) == (op["fwd_thread"] if seq >= 0 else 0)
    assert row["args"].get("scope", 0) == op["scope"]
    return seq >= 0


@pytest.mark.parametrize("way", ["together", "apart"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_equals_torch_profilers(compared, read, kind, way):
    folder = compared / f"{kind}-{way}"
    wanted, _ = profiled(folder)
    got = ops_of(read(folder / "run"))
    assert [row["name"] for row in got] == [op["name"] for op in wanted]
    assert len(got) > 100
    tensors = links = 0
    for row, op in zip(got, wanted):
        tensors += check_shapes(row, op)
        links += check_links(row, op) if way == "together" else 0
    assert tensors > 100 and (links > 20 or way == "apart")
    assert {row["category"] for row in got} == {"cpu_op", "user_annotation"}


@pytest.mark.parametrize("kind", KINDS)
def test_memory_equals_torch_profilers(compared, read, kind):
    folder = compared / f"{kind}-together"
    _, events = profiled(folder)
    wanted = [event["bytes"] for event in sorted(events, key=lambda event: event["start"])]
    rows = [row for row in read(folder / "run") if row["kind"] == "memory"]
    got = [int(row["value"]) for row in rows]
    allocated = [value for value in got if value > 0]
    assert allocated == [value for value in wanted if value > 0]
    assert sum(allocated) > 1000
    # releases of blocks older than the window have no size
    assert [value for value in got if value < 0] == [value for value in wanted if value < 0]
    assert {row["name"] for row in rows} == {"cpu"}
    total = 0
    for row in rows:
        total += int(row["value"])
        assert row["args"]["total"] == total


def test_everything_is_found_in_the_torch_under_test(said):
    described = said["describe"]
    assert said["lacks"] == ""
    assert described["levels"] == {"names": True, "shapes": True, "memory": True}
    assert all(field["matches"] == 1 for field in described["fields"]), described["fields"]
    assert described["spares_rebuilds"] is True
    places = [field["place"] for field in described["fields"]]
    assert len(set(places)) == len(places)


def test_strides_stand_where_they_say_something(cases, read):
    texts = [
        row["args"]["shapes"] for row in ops_of(read(cases / "strided")) if "neg" in row["name"]
    ]
    assert texts == ["f32[6,4]{1,6}", "f32[4,6]"]


def test_tensors_with_code_behind_them_are_left_alone(cases, said, read):
    asked = [call for call in said["exotic"] if "size" in call]
    assert asked == []
    adds = [row for row in ops_of(read(cases / "exotic")) if row["name"] == "aten::add"]
    texts = [row["args"]["shapes"] for row in adds]
    assert texts[0] == "? i64[] s" and "? i64[] s" in texts[1:], texts
    assert any(text.startswith("f32[5,7]") for text in texts), texts
    fakes = [text for text in texts if "[5,9]" in text]
    assert fakes == []


def test_losses_are_bitwise_the_same(said):
    without, with_windows = said["losses"]
    assert len(without) == 12 and without == with_windows


def test_nothing_remains_of_a_window(cases, read):
    rows = read(cases / "outside")
    assert "aten::mul_" in names_of(rows)
    assert not {"aten::add_", "aten::sub_"} & set(names_of(rows))


def test_ranges_stay_on_and_come_once(cases, read):
    rows = read(cases / "ranges")
    annotations = [row["name"] for row in rows if row["category"] == "user_annotation"]
    assert annotations == ["outside", "inside"]
    assert names_of(rows).count("aten::zeros") == 1


def test_ranges_that_are_cut_or_cross(cases, read):
    rows = read(cases / "halves")
    names = names_of(rows)
    assert "before the window" not in names
    assert names.count("whole") == 1 and names.count("past the window") == 1
    spans = {row["name"]: row for row in ops_of(rows)}
    outer, inner = spans["outer"], spans["inner"]
    ends = [int(row["start_ns"]) + int(row["duration_ns"]) for row in (outer, inner)]
    assert ends[1] <= ends[0]
    whole = spans["aten::ones"]
    assert int(whole["duration_ns"]) > 0


def test_a_backward_names_its_forwards_thread(cases, read):
    rows = ops_of(read(cases / "backward_thread"))
    forward = next(row for row in rows if row["name"] == "aten::mul" and "seq" in row["args"])
    backward = next(row for row in rows if row["name"] == "MulBackward0")
    assert backward["args"]["seq"] == forward["args"]["seq"]
    assert backward["tid"] != forward["tid"]
    assert backward["args"]["fwd_thread"] > 1


def test_children_of_fork_have_no_window(cases, read):
    rows = ops_of(read(cases / "forked"))
    by_process = {}
    for row in rows:
        by_process.setdefault(row["pid"], []).append(row["name"])
    assert len(by_process) == 2, by_process
    parent, child = sorted(by_process.values(), key=len, reverse=True)
    assert {"aten::add_", "aten::sub_"} <= set(parent)
    assert "aten::mul_" not in parent + child
    assert "aten::div_" in child


def test_names_are_told_apart_by_their_text(cases, read):
    names = names_of(read(cases / "many_names"))
    assert [name for name in names if name.startswith("range ")] == [
        "range " + "x" * (number % 40) + str(number) for number in range(300)
    ]
    deep = [name for name in names if name.startswith("deep ")]
    assert deep == [f"deep {number}" for number in range(512)]  # as many as may be open
    assert names[-1] == "after the deep ones"


def test_switches_of_a_thread_are_set_as_ever(cases, read):
    names = names_of(read(cases / "switched"))
    assert "ExpBackward0" in names and "aten::erf" in names and "aten::tanh" in names
    assert "SinBackward0" in names  # behind the node whose hook switched off
    assert "aten::tan" not in names


def test_callbacks_of_a_thread_come_and_go_as_ever(cases, said, read):
    names = names_of(read(cases / "own_callbacks"))
    theirs = said["own_callbacks"]
    assert {"ExpBackward0", "MulBackward0", "SinBackward0"} <= set(theirs)
    assert {"ExpBackward0", "MulBackward0", "SinBackward0", "aten::erf"} <= set(names)
    assert "aten::erf" not in theirs


def test_windows_leave_no_memory_behind(said):
    """The ring is touched for the first time until it is full: 1 MiB of the growth."""
    early, late = said["many_windows"]
    assert late - early < 2 << 20


def test_windows_come_and_go_under_load(cases, said, gait):
    load = said["under_load"]
    assert load["windows"] > 50 and min(load["steps"]) > 5
    info = json.loads(gait("info", "--json", cases / "under_load").stdout)
    assert info["damage"] == []


def test_compiled_regions_are_on_record(cases, read):
    names = names_of(read(cases / "compiled"))
    assert any(name.startswith("Torch-Compiled Region") for name in names), names
    assert "CompiledFunction" in names and "CompiledFunctionBackward" in names
    assert "aten::mm" in names


def test_misuse_is_told_and_missing_parts_are_left_out(build, tmp_path, read):
    said = dict(
        line.split(": ", 1) for line in run_program("unguarded.py", tmp_path, build).splitlines()
    )
    assert said == {
        "not attached": "-5 -5",
        "not held": "-5",
        "lacks": "this torch does not expose: shapes",
        "wrong keys": "-5",
        "no tensor": "-1",
        "close unopened": "-5",
        "twice": "-5 -5",
        "then": "''",
        "held": "True True -1",
    }
    rows = ops_of(read(tmp_path / "run"))
    assert "aten::add_" in [row["name"] for row in rows]
    names = [row["name"] for row in rows]
    assert "aten::mul_" not in names and "aten::div_" not in names
    assert names.count("aten::sub_") == 2  # one in each holder's time
    assert not any("shapes" in row["args"] for row in rows)


def test_the_doctor_tries_everything_out(gait):
    environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin"}
    done = gait("doctor", "torch", env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 78
    assert all(line.startswith(("ok ", " ")) for line in lines), done.stdout
    answer = json.loads(gait("doctor", "torch", "--json", env=environment).stdout)
    assert answer["torch"]["python"] == sys.executable
    assert len(answer["self_test"]) == 6 and all(answer["self_test"].values())
    assert all(field["matches"] == 1 for field in answer["fields"])


@pytest.mark.needs_no_torch
def test_the_doctor_says_what_is_missing(gait, tmp_path):
    (tmp_path / "python").symlink_to("/bin/false")
    done = gait("doctor", "torch", env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1
    (tmp_path / "python").unlink()
    done = gait("doctor", "torch", env={**os.environ, "PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "neither 'python' nor 'python3' is in PATH" in done.stderr
    done = gait("doctor", "tensorflow")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown subject 'tensorflow'; the only one is 'torch'" in done.stderr
