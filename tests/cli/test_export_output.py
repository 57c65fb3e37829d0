# SPDX-License-Identifier: Apache-2.0
"""Where exports go: files, pipes, full disks; and what they take in memory."""

import gzip
import json
import os
import signal
import subprocess

import pytest
from export_cases import START, Case
from shard_maker import ShardMaker
from terminals import open_terminal

FORMATS = ("chrome", "perfetto", "pt-trace", "csv")


@pytest.fixture
def small_run(tmp_path):
    case = Case(tmp_path / "run")
    shard = case.shard(rank=0)
    track = shard.track(key="1000", os_id=1000)
    case.spans(shard, track, 1000, [(START + i, 1, "c", f"n{i % 9}") for i in range(20_000)])
    return case.write()


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_is_one_sentence(build, small_run, form):
    for path in ("/dev/full", "/dev/stdout"):
        with open("/dev/full", "wb") as full:
            command = ["export", small_run, "--format", form, "-o", path]
            ran = run_with_stdout(build, full, *command)
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1
        assert f"cannot write '{path}': No space left on device" in ran.stderr


def run_with_stdout(build, stdout, *arguments):
    """The tool with its standard output where the test wants it."""
    command = [build / "gait", *map(str, arguments)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


def test_a_reader_that_leaves_ends_the_export(build, small_run):
    """Quietly, as the system does it; in words where a caller has that signal ignored."""
    command = [build / "gait", "export", small_run, "--format", "csv"]
    for shell, ends in (('exec "$@"', -signal.SIGPIPE), ("trap '' PIPE; exec \"$@\"", 2)):
        read, write = os.pipe()
        os.close(read)
        ran = subprocess.run(
            ["sh", "-c", shell, "sh", *command], stdout=write, stderr=subprocess.PIPE, text=True
        )
        os.close(write)
        said = "" if ends < 0 else "gait export: cannot write 'standard output': Broken pipe\n"
        assert (ran.returncode, ran.stderr) == (ends, said)


SAYS = " is a Chrome trace, for ui.perfetto.dev and chrome://tracing; "


def test_without_a_format_it_is_chromes(gait, small_run):
    asked, plain = gait("export", small_run, "--format", "chrome"), gait("export", small_run)
    assert (plain.returncode, plain.stdout) == (0, asked.stdout)
    assert plain.stderr == (f"gait: the output{SAYS}--format names another format, -o a file\n")
    assert asked.stderr == ""


def test_at_a_terminal_a_file_is_made_beside_the_reader_and_never_twice(build, small_run, tmp_path):
    told = []
    for code in (0, 2):
        ours, its = open_terminal()
        line = [build / "gait", "export", small_run]
        done = subprocess.run(
            line, stdout=its, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=60
        )
        os.close(its)
        os.close(ours)
        assert done.returncode == code, done.stderr
        told.append(done.stderr)
    assert told[0].startswith(f"gait: run.json.gz{SAYS}")
    assert told[1] == "gait export: 'run.json.gz' is already here; name a file with -o\n"
    with gzip.open(tmp_path / "run.json.gz") as file:
        assert json.load(file)["traceEvents"]


def test_a_file_that_cannot_be_made_is_named(gait, small_run, tmp_path):
    for path, why in ((tmp_path / "none" / "x.csv", "No such file"), (tmp_path, "directory")):
        ran = gait("export", small_run, "--format", "csv", "-o", path)
        assert ran.returncode == 2
        assert f"cannot write '{path}': " in ran.stderr and why in ran.stderr


@pytest.mark.parametrize("signal_is", ["trap '' XFSZ; ", ""])
def test_a_failed_export_leaves_no_half_of_a_file(build, small_run, tmp_path, signal_is):
    limit = ["sh", "-c", f'{signal_is}ulimit -f 100; exec "$@"', "sh"]
    command = [
        str(build / "gait"),
        "export",
        str(small_run),
        "--format",
        "chrome",
        "-o",
        "out.json",
    ]
    ran = subprocess.run([*limit, *command], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "cannot write 'out.json': File too large" in ran.stderr
    assert os.listdir(tmp_path) == ["run"]
    (tmp_path / "out.json").write_text("before")
    subprocess.run([*limit, *command], cwd=tmp_path, capture_output=True, text=True)
    assert (tmp_path / "out.json").read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["out.json", "run"]


def test_a_file_is_replaced_when_the_new_one_is_whole(gait, small_run, tmp_path):
    """Through a link to it, with its mode, and not while somebody reads the old one."""
    kept, link = tmp_path / "kept.csv", tmp_path / "link.csv"
    kept.write_text("before")
    kept.chmod(0o640)
    link.symlink_to(kept)
    with open(kept) as reader:
        assert gait("export", small_run, "-o", link).returncode == 0
        assert reader.read() == "before"
    assert kept.read_bytes().startswith(b"kind,category")
    assert link.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640


def test_an_unknown_format_is_refused_before_a_file_is_touched(gait, small_run, tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_text("kept")
    ran = gait("export", small_run, "--format", "speedscope", "-o", kept)
    assert ran.returncode == 2
    assert "speedscope" in ran.stderr
    assert kept.read_text() == "kept"


def test_a_recording_is_not_overwritten_by_its_own_export(gait, small_run):
    (shard,) = small_run.glob("*.gait")
    before = shard.read_bytes()
    ran = gait("export", shard, "--format", "csv", "-o", shard)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert shard.read_bytes() == before


def test_a_trace_without_events_is_a_valid_export(gait, tmp_path):
    ShardMaker().write(tmp_path / "run")
    for form in FORMATS:
        ran = gait("export", tmp_path / "run", "--format", form, "-o", f"{form}.json")
        assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "csv.json").read_bytes().count(b"\r\n") == 1
    assert b'"traceEvents":[\n]' in (tmp_path / "chrome.json").read_bytes()
    head = json.loads((tmp_path / "pt-trace.json").read_bytes())
    assert {e["ph"] for e in head["traceEvents"]} == {"M", "X", "i"}


def peak_kib(build, path, form):
    command = [build / "gait", "export", path, "--format", form, "-o", path.parent / "out"]
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    assert status == 0
    return usage.ru_maxrss


def test_memory_does_not_grow_with_the_trace(build, tmp_path):
    """Eight times the events, with arguments, take no more than 12 MB more."""
    runs = []
    for count in (100_000, 800_000):
        shard = ShardMaker(rank=0)
        track, site = shard.track(key="1000", os_id=1000), shard.site("c", "name")
        args = shard.args([("k", "v" * 20)])
        shard.spans(track, [(START + i * 5, 4, site, 0, args) for i in range(count)])
        shard.write(tmp_path / str(count))
        runs.append(tmp_path / str(count))
    for form in FORMATS:
        small, large = (peak_kib(build, run, form) for run in runs)
        assert large - small < 12 << 10, (form, small, large)


def test_what_a_descriptor_was_given_before_stays(gait, build, tmp_path):
    """`gait report -o /dev/stdout >> log` put a new file in the place of the log."""
    run = Case(tmp_path / "run")
    shard = run.shard()
    run.spans(shard, shard.track(key="1", os_id=1), 1, [(START, 5, "c", "a")])
    run.write()
    for command in ("report -o /dev/stdout", "export --format csv -o /dev/fd/1"):
        log = tmp_path / "log"
        log.write_text("before\n")
        with open(log, "a") as file:
            line = [build / "gait", *command.split(), tmp_path / "run"]
            assert subprocess.run(line, stdout=file).returncode == 0
        assert log.read_text().startswith("before\n")
        assert len(log.read_text()) > 50
