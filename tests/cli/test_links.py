# SPDX-License-Identifier: Apache-2.0
"""Links that another user put where gait is about to write: what they lead to stays as it is.

The folder is everybody's, once sticky and once not: there the kernel stops nothing itself.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

from tests.cli.test_scale import add_meter, make_run
from tests.support.sampled_programs import until
from tests.support.shard_maker import ShardMaker

NOBODY, USER = 65534, 4242
START = 1_700_000_000_000_000_000
TRACE = {"traceEvents": [{"ph": "X", "name": "op", "cat": "cpu_op", "pid": 7, "tid": 8, "ts": 1}]}
PROGRAM = "import time; end = time.monotonic() + 1\nwhile time.monotonic() < end: pass"

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can make links of another user")


@pytest.fixture(params=[0o777, 0o1777], ids=["open", "sticky"])
def open_folder(tmp_path, request):
    """A folder where everybody may write, with what the commands read."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(request.param)
    event = {**TRACE["traceEvents"][0], "dur": 5}
    (folder / "t.json").write_text(json.dumps({"traceEvents": [event]}))
    shard = ShardMaker(rank=0)
    track, site = shard.track(key="1000", os_id=1000), shard.site("cpu_op", "aten::mm")
    shard.spans(track, [(START + i, 1, site) for i in range(100)])
    shard.write(folder / "run")
    (folder / "stacks.txt").write_text("main;work 3\nmain;rest 2\n")
    return folder


@pytest.fixture
def victims(tmp_path):
    """A file and a folder that nobody may change."""
    folder = tmp_path / "victims"
    folder.mkdir()
    for name in ("file", "folder/kept"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("precious")
    return folder


def untouched(victims):
    return sorted(victims.rglob("*")) == sorted(
        [victims / "file", victims / "folder", victims / "folder/kept"]
    ) and all((victims / name).read_text() == "precious" for name in ("file", "folder/kept"))


def run_with(build, folder, links, *command, **environment):
    """Runs the tool where links lie, made by another user; $$ in a name is the tool's pid."""
    lines = [f'ln -s "{target}" "{name}" && chown -h {NOBODY} "{name}"' for name, target in links]
    script = "\n".join(["set -e", *lines, 'exec "$@"'])
    return subprocess.run(
        ["sh", "-c", script, "sh", build / "gait", *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_import_empties_no_other_folder(build, open_folder, victims):
    links = [("out.$$.draft", victims / "folder")]
    ran = run_with(build, open_folder, links, "import", "t.json", "-o", "out")
    assert (ran.returncode, untouched(victims)) == (0, True), ran.stderr
    assert len(list((open_folder / "out").glob("*.gait"))) == 1


def test_a_shard_of_an_import_goes_through_no_link(build, open_folder, victims):
    links = [("out.gait.$$.draft", victims / "file"), ("out.gait", victims / "nothing")]
    ran = run_with(build, open_folder, links, "import", "t.json", "-o", "out.gait")
    assert ran.returncode == 2 and "is there already" in ran.stderr
    assert untouched(victims)


def test_a_cache_of_another_user_is_not_taken(build, open_folder, victims):
    """Neither is one that a link of another user's leads to, nor one where everybody writes."""
    cache = open_folder / "cache"
    cache.mkdir()
    (cache / "traces").mkdir()
    for uid, mode in ((NOBODY, 0o755), (0, 0o777)):
        os.chown(cache / "traces", uid, uid)
        (cache / "traces").chmod(mode)
        ran = run_with(build, open_folder, [], "info", "t.json", GAIT_CACHE_DIR=str(cache))
        assert ran.returncode == 0 and "is not a folder that is yours alone" in ran.stderr
        assert os.listdir(cache / "traces") == []
    (cache / "traces").rmdir()
    links = [("cache/traces", victims / "folder")]
    ran = run_with(build, open_folder, links, "info", "t.json", GAIT_CACHE_DIR=str(cache))
    assert ran.returncode == 0 and "imported for this time only" in ran.stderr
    assert untouched(victims)


def test_tidying_the_cache_follows_no_link(build, open_folder, victims):
    cache = open_folder / "cache"
    run_with(build, open_folder, [], "info", "t.json", GAIT_CACHE_DIR=str(cache))
    (kept,) = (cache / "traces").iterdir()
    links = [(f"cache/traces/{kept.name.partition('-')[0]}-0", victims / "folder")]
    ran = run_with(build, open_folder, links, "info", "t.json", GAIT_CACHE_DIR=str(cache))
    assert (ran.returncode, ran.stderr, untouched(victims)) == (0, "", True)
    assert list((cache / "traces").iterdir()) == [kept]


@pytest.mark.parametrize("name", ["x.svg", "x.txt", "x.speedscope.json", "x.pb.gz", "x.trace.json"])
def test_a_recording_writes_through_no_link(build, open_folder, victims, name):
    planted = (name, f"{name}.new", f"{name}.samples-$$.gait", f"{name}.samples-$$.gait.json")
    links = [(link, victims / "file") for link in planted]
    program = [sys.executable, "-c", PROGRAM]
    ran = run_with(build, open_folder, links, "record", "-o", name, "--", *program)
    assert (ran.returncode, untouched(victims)) == (0, True), ran.stderr
    assert (open_folder / name).stat().st_size > 0 and not (open_folder / name).is_symlink()


EXPORTS = {
    "chrome": ["export", "run", "--format", "chrome", "-o", "out"],
    "csv": ["export", "run", "--format", "csv", "-o", "out"],
    "flame": ["flame", "stacks.txt", "-o", "out"],
    "report": ["report", "run", "--format", "json", "-o", "out"],
    "steps": ["steps", "run", "--format", "csv", "-o", "out"],
}


@pytest.mark.parametrize("command", EXPORTS.values(), ids=EXPORTS)
@pytest.mark.parametrize("target", ["file", "nothing"])
def test_an_output_replaces_a_planted_link(build, open_folder, victims, command, target):
    """The link, and not what it leads to: so it does where nothing stands behind it."""
    ran = run_with(build, open_folder, [("out", victims / target)], *command)
    assert ran.returncode == 0, ran.stderr
    assert untouched(victims)
    assert (open_folder / "out").stat().st_size > 0 and not (open_folder / "out").is_symlink()


def test_a_link_of_the_users_own_is_followed(build, open_folder, victims):
    (open_folder / "out").symlink_to(victims / "file")
    ran = run_with(build, open_folder, [], *EXPORTS["csv"])
    assert ran.returncode == 0
    assert (open_folder / "out").is_symlink()
    assert (victims / "file").read_text().startswith("kind,category")


def test_an_index_and_a_mark_of_a_run_go_through_no_link(build, open_folder, victims):
    (shard,) = (open_folder / "run").glob("*.gait")
    (open_folder / "run").chmod(0o777)
    links = [(f"run/{shard.name}-facts{end}", victims / "file") for end in ("", ".$$")]
    ran = run_with(build, open_folder, links, "index", "run")
    assert (ran.returncode, untouched(victims)) == (0, True), ran.stderr
    assert not (open_folder / "run" / f"{shard.name}-facts").is_symlink()
    links = [("run/.gait-run", victims / "file")]
    program = [sys.executable, "-c", "pass"]
    run_with(build, open_folder, links, "run", "--append", "-o", "run", "--", *program)
    assert untouched(victims)


def test_a_run_joins_no_folder_behind_a_link(build, open_folder, victims):
    """Where the name is gait's. A folder that the user named may be behind any link."""
    job = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    program = [sys.executable, "-c", "import os; print(os.environ.get('GAIT_DIR'))"]
    plain = run_with(build, open_folder, [], "run", "--", *program, **job)
    name = os.path.basename(plain.stdout.strip())  # it is gone: nothing was recorded
    assert name.startswith("gait-") and "7" in name
    ran = run_with(build, open_folder, [(name, victims / "folder")], "run", "--", *program, **job)
    assert "it is a link that another user made" in ran.stderr
    assert untouched(victims)


FOLDERS = {
    "parquet": (["export", "run", "--format", "parquet", "-o", "out"], "out/run=run"),
    "rank": (["export", "run", "--format", "parquet", "-o", "out"], "out/run=run/rank=0"),
}


@pytest.mark.parametrize(("command", "name"), FOLDERS.values(), ids=FOLDERS)
def test_no_folder_of_an_export_is_one_behind_a_link(build, open_folder, victims, command, name):
    above = (open_folder / name).parent
    above.mkdir(parents=True)
    above.chmod(0o777)
    ran = run_with(build, open_folder, [(name, victims / "folder")], *command)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert f"cannot make the folder '{name}': it is a link that another user made" in ran.stderr
    assert untouched(victims)


def test_a_socket_of_another_user_is_not_removed(build, open_folder):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(open_folder / "view"))
    os.chown(open_folder / "view", NOBODY, NOBODY)
    ran = run_with(build, open_folder, [], "view", "run", "--socket", "view")
    assert ran.returncode == 2 and "cannot listen on 'view'" in ran.stderr
    assert (open_folder / "view").exists()


def test_plots_and_backups_of_scale_go_through_no_link(build, open_folder, victims):
    for nodes, seconds in ((1, 9), (2, 5)):
        where = open_folder / "runs/run0/epoch-time"
        where.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{i + 1},{seconds},ddp,{nodes}\n" for i in range(3))
        (where / f"epochtime_ddp_{nodes}N.csv").write_text("epoch_id,time,name,nodes\n" + rows)
    (open_folder / "plots").mkdir(mode=0o777)
    (open_folder / "plots").chmod(0o777)
    name = "plots/absolute_epoch_time.svg"
    links = [(name, victims / "file"), ("plots/.absolute_epoch_time.$$.svg", victims / "file")]
    words = ["--log-dir", "runs", "--plot-dir", "plots", "-o", "page.html", "--backup", "kept"]
    ran = run_with(build, open_folder, [*links, ("page.html", victims / "file")], "scale", *words)
    assert (ran.returncode, untouched(victims)) == (0, True), ran.stderr
    assert "<svg" in (open_folder / name).read_text() and not (open_folder / name).is_symlink()
    assert len(list((open_folder / "kept").rglob("epochtime*.csv"))) == 2


HANGS = """
import gait, os, sys, time
victim, run = sys.argv[1], os.environ["GAIT_DIR"]
for name in ("stuck.txt", f"stuck.txt.{os.getppid()}"):
    os.symlink(victim, os.path.join(run, name))
    os.lchown(os.path.join(run, name), 65534, 65534)
time.sleep(3600)
"""


def test_the_report_of_a_hanging_run_goes_through_no_link(build, open_folder, victims):
    program = [sys.executable, "-c", HANGS, victims / "file"]
    tool = [build / "gait", "run", "-q", "--stuck-after", "1s", "-o", "hangs", "--", *program]
    report = open_folder / "hangs/stuck.txt"
    with subprocess.Popen(
        tool, cwd=open_folder, start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            is_there = until(lambda: report.exists() and not report.is_symlink())
        finally:
            os.killpg(run.pid, signal.SIGKILL)
    assert is_there and untouched(victims)
    assert "has not moved" in report.read_text()


def test_a_trace_for_tensorboard_takes_no_name_that_is_there(build, open_folder, victims):
    command = ["export", "run", "--format", "pt-trace", "-o", "out"]
    name = run_with(build, open_folder, [], *command).stdout.strip()
    (open_folder / name).unlink()
    ran = run_with(build, open_folder, [(name, victims / "file")], *command)
    assert (ran.returncode, untouched(victims)) == (0, True), ran.stderr
    assert ran.stdout.strip() != name and (open_folder / ran.stdout.strip()).stat().st_size > 0


def test_tables_for_itwinai_go_through_no_link(build, open_folder, victims):
    make_run(open_folder, "metered", 1, 1000, 100)
    add_meter(open_folder, "metered", 150, 60)
    command = ["export", "metered", "--format", "itwinai", "-o", "out"]
    (name,) = run_with(build, open_folder, [], *command).stdout.split()
    (open_folder / name).unlink()
    ran = run_with(build, open_folder, [(name, victims / "file")], *command)
    assert (ran.returncode, untouched(victims)) == (0, True), ran.stderr
    (open_folder / name).unlink()
    (open_folder / name).parent.rmdir()
    folder = os.path.dirname(name)
    ran = run_with(build, open_folder, [(folder, victims / "folder")], *command)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert f"cannot make the folder '{folder}': it is a link that another user" in ran.stderr
    assert untouched(victims)


@pytest.fixture
def sticky(build):
    """A copy of the tool and a folder like /tmp, of root's, with a user's own folder in it."""
    with tempfile.TemporaryDirectory() as home:  # whose parents are everybody's
        os.chmod(home, 0o1777)
        shutil.copy(build / "gait", home)
        own = pathlib.Path(home) / "own"
        own.mkdir()
        (own / "file").write_text("precious")
        for path in (own, own / "file"):
            os.chown(path, USER, USER)
        yield pathlib.Path(home)


def test_in_a_folder_like_tmp_a_user_gets_a_sentence(sticky, open_folder):
    """There nobody may rename over another user's link, and drafts are in nobody's way."""
    shutil.copy(open_folder / "t.json", sticky)
    (sticky / "t.json").chmod(0o644)
    lines = ["set -e"]
    for name in ("taken.csv", "out.$$.draft"):
        lines += [f'ln -s own/file "{name}"', f'chown -h {NOBODY} "{name}"']

    def run(*command):
        script = (
            f'{"; ".join(lines)}; exec setpriv --reuid {USER} --regid {USER} --clear-groups "$@"'
        )
        del lines[1:]
        return subprocess.run(
            ["sh", "-c", script, "sh", sticky / "gait", *command],
            cwd=sticky,
            capture_output=True,
            text=True,
            timeout=60,
        )

    ran = run("import", "t.json", "-o", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = run("export", "out", "--format", "csv", "-o", "taken.csv")
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "cannot write 'taken.csv': " in ran.stderr
    assert (sticky / "own/file").read_text() == "precious"
    assert not list(sticky.glob("*.part"))
