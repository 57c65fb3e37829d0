# SPDX-License-Identifier: Apache-2.0
"""Paths that hold no trace: one sentence and exit code 2. Damaged traces: an
answer, and exit code 0."""

import json
import os

import pytest

from tests.support.shard_maker import ShardMaker

COMMANDS = [["info"], ["info", "--json"], ["report"], ["report", "--json"], ["export", "-f", "csv"]]


@pytest.fixture
def odd_paths(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no trace\n")
    (tmp_path / "nothing.gait").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo.gait")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "path, reason",
    [
        ("missing", "No such file or directory"),
        ("dangling", "No such file or directory"),
        ("text/below", "Not a directory"),
        ("", "No such file or directory"),
        ("empty", "holds no *.gait file"),
        ("text", "is not a gait file"),
        ("nothing.gait", "is empty"),
        ("fifo.gait", "is a pipe"),
        ("/dev/zero", "is a device"),
        ("x" * 300, "File name too long"),
    ],
    ids=lambda value: value[:12] or "no name",
)
def test_what_is_no_trace_is_refused_in_one_sentence(gait, odd_paths, command, path, reason):
    done = gait(*command, path, timeout=10)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"gait {command[0]}: ")
    assert reason in done.stderr and f"'{path}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_of_runs_is_told_where_one_is(gait, tmp_path):
    ShardMaker().write(tmp_path / "runs" / "second")
    (tmp_path / "runs" / "first").mkdir()
    done = gait("report", "runs")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gait report: 'runs' holds no *.gait file, but 'runs/second' does\n"
    assert "but" not in gait("report", "runs/first").stderr  # nor in the folder above


@pytest.mark.parametrize("closed", ["the file", "its directory"])
def test_what_may_not_be_read_is_refused(as_nobody, closed):
    run, home = as_nobody
    shard = ShardMaker().write(home / "run")
    (shard if closed == "the file" else shard.parent).chmod(0)
    done = run("info", f"run/{shard.name}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gait info: cannot open 'run/{shard.name}': Permission denied\n"


def make(tmp_path):
    shard = ShardMaker(pid=4711)
    track = shard.track(key="4711", name="main", os_id=4711)
    start = shard.start_ns
    for i in range(20):
        at = start + 1000 * i
        shard.spans(track, [(at + 10, 600, shard.site("app", "work"))])
        shard.rows("step", track, [(at, 900, i)])
    return shard.write(tmp_path / "run")


def test_a_file_cut_anywhere_is_answered(gait, tmp_path):
    whole = make(tmp_path).read_bytes()
    cut = tmp_path / "cut.gait"
    steps = set()
    for bytes in range(64, len(whole), 509):
        cut.write_bytes(whole[:bytes])
        done = gait("report", "--json", cut)
        assert done.returncode in (0, 2), bytes
        if done.returncode == 0:
            report = json.loads(done.stdout)
            assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"]
            steps.add(report["steps"])
    assert min(steps) == 0 and max(steps) > 15 and len(steps) > 10


def test_damage_is_named_and_the_rest_answered(gait, tmp_path):
    path = make(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
    info = json.loads(gait("info", "--json", path).stdout)
    assert len(info["damage"]) >= 1
    for damage in info["damage"]:
        assert damage["path"] == str(path)
        assert 0 < damage["offset"] < len(content) and damage["what"]
    text = gait("report", path)
    assert text.returncode == 0
    assert "\nDamage  1 place" in text.stdout
