# SPDX-License-Identifier: Apache-2.0
"""Answers from foreign traces: imported once, kept, and made anew when they change."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest
from failing import Counts, failing


def trace(count, rank=0):
    op = {"ph": "X", "cat": "cpu_op", "pid": 7, "tid": 8, "dur": 1}
    events = [{**op, "name": f"op{i}", "ts": 10 + i} for i in range(count)]
    return json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events})


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "deep" / "cache"
    monkeypatch.setenv("GAIT_CACHE_DIR", str(folder))
    return folder / "traces"


def events(gait, path, *more):
    done = gait("info", path, "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["events"]


def test_a_trace_is_imported_once_and_again_when_it_changed(gait, tmp_path, cache):
    source = tmp_path / "t.json"
    source.write_text(trace(5))
    assert events(gait, source) == 5
    (kept,) = cache.iterdir()
    state = [entry.stat().st_ino for entry in kept.iterdir()]
    assert events(gait, source) == 5
    assert [entry.stat().st_ino for entry in kept.iterdir()] == state
    source.write_text(trace(6))
    assert events(gait, source) == 6
    assert len(list(cache.iterdir())) == 1  # what was kept of the old one is gone
    text = source.read_text()
    source.write_text(text.replace("op5", "xx5"))  # as long as before, and as old
    assert events(gait, source) == 6
    assert list(tmp_path.glob("*.gait")) == []


def test_the_head_of_a_file_counts_beside_size_and_time(gait, tmp_path, cache):
    source = tmp_path / "t.json"
    source.write_text(trace(5))
    os.utime(source, ns=(10**18, 10**18))
    gait("info", source)
    source.write_text(trace(5).replace("op", "po"))
    os.utime(source, ns=(10**18, 10**18))
    assert "po4" in gait("export", source, "--format", "csv").stdout


def test_without_a_cache_nothing_is_kept(gait, tmp_path, cache, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "t.json").write_text(trace(5))
    assert events(gait, tmp_path / "t.json", "--no-cache") == 5
    assert not cache.exists() and not list((tmp_path / "tmp").iterdir())


def test_a_cache_that_cannot_be_made_is_said_and_the_answer_given(gait, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GAIT_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "t.json").write_text(trace(5))
    done = gait("info", tmp_path / "t.json", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["events"] == 5
    assert "cannot make the cache" in done.stderr


@pytest.fixture
def full(tmp_path):
    """A cache on a file system of its own that is full; needs leave to mount."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no leave to mount a file system")
    with contextlib.suppress(OSError), open(folder / "ballast", "wb", buffering=0) as ballast:
        while ballast.write(bytes(4096)):
            pass
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_cache_that_is_full_is_said_and_the_answer_given(gait, tmp_path, monkeypatch, full):
    (full / "traces").mkdir()
    monkeypatch.setenv("GAIT_CACHE_DIR", str(full))
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(2):
        (folder / f"rank{rank}.json").write_text(trace(5, rank))
    done = gait("info", folder, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["events"] == 10
    assert "No space left" in done.stderr and "for this time only" in done.stderr
    assert not list((full / "traces").iterdir())


def test_a_cache_that_cannot_be_filled_is_said_and_the_answer_given(
    gait, tmp_path, monkeypatch, cache
):
    (tmp_path / "t.json").write_text(trace(5))
    gait("info", tmp_path / "t.json")
    (kept,) = cache.iterdir()
    shutil.rmtree(kept)
    kept.symlink_to(tmp_path / "nowhere")  # as good as a place that cannot be written
    done = gait("info", tmp_path / "t.json", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["events"] == 5
    assert "for this time only" in done.stderr


def test_processes_that_import_at_once_all_answer(build, tmp_path, cache):
    (tmp_path / "t.json").write_text(trace(20_000))
    command = [build / "gait", "info", "--json", tmp_path / "t.json"]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(subprocess.run, command, capture_output=True) for _ in range(6)]
    answers = [job.result() for job in jobs]
    assert [done.stderr for done in answers] == [b""] * 6
    assert [json.loads(done.stdout)["events"] for done in answers] == [20_000] * 6
    assert len(list(cache.iterdir())) == 1


def test_a_folder_of_ranks_with_junk_answers_and_says_what_it_left_out(gait, tmp_path, cache):
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(3):
        (folder / f"rank{rank}.json").write_text(trace(4 + rank, rank))
    (folder / "readme.txt").write_text("hello")
    (folder / "loop").symlink_to(folder)
    done = gait("info", folder, "--json")
    shards = json.loads(done.stdout)["shards"]
    assert sorted((shard["rank"], shard["events"]) for shard in shards) == [(0, 4), (1, 5), (2, 6)]
    assert done.stderr == (
        "gait: skipped: readme.txt: its first bytes are of no trace that gait knows\n"
    )
    for command in ("report", "breakdown"):
        assert gait(command, folder, "--json").returncode == 0


def test_what_was_repaired_is_said_once_and_in_words(gait, tmp_path, cache):
    (tmp_path / "cut.json").write_text(trace(5)[:-20])
    said = [gait("info", tmp_path / "cut.json").stderr for _ in range(2)]
    assert said == ["gait: repaired: ends before it is complete: 1\n", ""]


def test_numbers_that_are_texts_are_no_news(gait, tmp_path, cache):
    (tmp_path / "old.json").write_text(trace(5).replace('"tid": 8', '"tid": "8"'))
    done = gait("info", tmp_path / "old.json")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_neither_a_trace_nor_a_run_is_refused(gait, tmp_path, cache):
    (tmp_path / "no.json").write_text('{"a": 1}')
    (tmp_path / "empty").mkdir()
    for path in ("no.json", "empty", "missing.json"):
        done = gait("report", tmp_path / path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "no *.gait file and no trace" in gait("report", tmp_path / "empty").stderr


def started(pid):
    """When a process started, as its name for a draft has it."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[19])


@pytest.mark.skipif(bool(os.environ.get("GAIT_SANITIZE")), reason="nothing is preloaded there")
def test_what_a_killed_import_left_goes_with_the_next(gait, build, tmp_path, cache):
    source = tmp_path / "t.json"
    source.write_text(trace(20_000))
    variables = failing(build, "gait", Counts(tmp_path), "rename:1:kill")
    killed = subprocess.run([build / "gait", "info", source], env={**os.environ, **variables})
    assert killed.returncode == -signal.SIGKILL
    (left,) = cache.iterdir()
    assert left.name.endswith(".draft")
    # one whose process lives, as a name tells, and two of whom nothing is known
    space, pid, _ = left.name.split(".")[-2].split("-")
    lives = f"0-0.salt.{space}-{os.getpid():x}-{started(os.getpid()):x}.draft"
    for name in (lives, "1-1.salt.draft", "2-2.salt.draft"):
        (cache / name).mkdir()
    os.utime(cache / "2-2.salt.draft", (10**9, 10**9))
    (tmp_path / "other.json").write_text(trace(3))
    assert events(gait, tmp_path / "other.json") == 3
    kept = {entry.name for entry in cache.iterdir() if entry.name.endswith(".draft")}
    assert kept == {lives, "1-1.salt.draft"}
    assert events(gait, source) == 20_000
