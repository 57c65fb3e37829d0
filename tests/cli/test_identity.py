# SPDX-License-Identifier: Apache-2.0
"""What a run says of itself: names of its shards, its line, versions, commit and tags."""

import json
import os
import platform
import re
import socket
import subprocess
import sys
import time

import gait_decoder
import pytest
from shard_maker import ShardMaker

LAUNCHER = re.compile(r"^(GAIT|SLURM|PMI|PMIX|OMPI|FLUX|PALS|HOROVOD|MV2|LSB|JSM)_|^RANK$")
RECORDS = "import gait\nwith gait.span('work'): pass\n"


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in list(os.environ):
        if LAUNCHER.match(name):
            monkeypatch.delenv(name)


def info(gait, path):
    return json.loads(gait("info", "--json", path).stdout)


def names(folder):
    return sorted(path.name for path in folder.glob("*.gait"))


LAUNCHED = [
    ({"RANK": "3", "WORLD_SIZE": "4"}, ".rank3"),
    ({"SLURM_PROCID": "11", "SLURM_STEP_NUM_TASKS": "12"}, ".rank11"),
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, ""),  # a batch script
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, ".rank2"),
    ({"PMI_RANK": "0", "PMI_SIZE": "2"}, ".rank0"),
    ({"RANK": "../x", "WORLD_SIZE": "4"}, ""),
    ({}, ""),
]


@pytest.mark.parametrize("launcher, rank", LAUNCHED, ids=lambda value: str(value))
def test_the_rank_stands_in_the_name_of_a_shard(gait, tmp_path, launcher, rank):
    line = ("run", "-q", "-o", "run", "--", sys.executable, "-c", RECORDS)
    assert gait(*line, env={**os.environ, **launcher}).returncode == 0
    (name,) = names(tmp_path / "run")
    host = re.escape(socket.gethostname())
    assert re.fullmatch(host + re.escape(rank) + r"\.\d+\.\d+\.gait", name)
    (shard,) = info(gait, tmp_path / "run")["shards"]
    assert shard["rank"] == (int(rank[5:]) if rank else None)


def test_a_name_that_lies_does_not_count_and_old_names_are_read(gait, tmp_path):
    """Who a shard is of its metadata say."""
    ranks = {"node0.rank7.1.2.gait": 3, "node0.2.2.gait": 5, "node0.rank1.3.2.gait": None}
    for pid, (name, rank) in enumerate(ranks.items(), 1):
        shard = ShardMaker(host="node0", pid=pid, rank=rank)
        os.replace(shard.write(tmp_path / "made"), tmp_path / name)
    told = {os.path.basename(row["path"]): row["rank"] for row in info(gait, tmp_path)["shards"]}
    assert told == ranks


def test_shards_of_many_ranks_stand_in_their_order(gait, tmp_path):
    for rank in (10, 2, 0, 1):
        made = ShardMaker(host="node0", pid=100, rank=rank).write(tmp_path / "made")
        os.replace(made, tmp_path / f"node0.rank{rank}.100.1.gait")
    assert [row["rank"] for row in info(gait, tmp_path)["shards"]] == [0, 1, 2, 10]


@pytest.fixture
def record(gait, tmp_path):
    """Runs a small recording; its metadata."""

    def run(*options, arguments=(), where=tmp_path, script=None, **environment):
        line = ("run", "-q", "-a", "-o", tmp_path / "run", *options, "--", sys.executable)
        line += (script,) if script else ("-c", RECORDS)
        done = gait(*line, *arguments, cwd=where, env={**os.environ, **environment})
        assert (done.returncode, done.stderr) == (0, "")
        shards = info(gait, tmp_path / "run")["shards"]
        return max(shards, key=lambda shard: shard["start_ns"])["metadata"]

    return run


def git(folder, *line):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    ran = subprocess.run(
        ["git", "-C", folder, *who, *line], check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text(RECORDS)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_run_says_how_it_was_called_and_where(record):
    told = record("--tag", "lr=0.1", "--tag", "model=big,note=a b", arguments=("--epochs", "3"))
    assert told["command"] == [sys.executable, "-c", RECORDS, "--epochs", "3"]
    assert told["tags"] == {"lr": "0.1", "model": "big", "note": "a b"}
    assert told["python"] == platform.python_version()
    machine = told["machine"]
    assert machine["cpus"] == os.cpu_count()
    assert machine["kernel"] == f"{platform.system()} {platform.release()}"
    assert machine["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


def test_values_of_secrets_are_nowhere_in_the_file(record, tmp_path):
    secrets = ["--token", "s3cr3t-1", "--api-key=s3cr3t-2", "db.password=s3cr3t-3", "--lr", "1"]
    command = record(arguments=secrets, HF_TOKEN="s3cr3t-4")["command"]
    assert command[3:] == ["--token", "***", "--api-key=***", "db.password=***", "--lr", "1"]
    (shard,) = (tmp_path / "run").glob("*.gait")
    frames, _, _ = gait_decoder.scan(shard.read_bytes())
    columns = [column for frame in frames for column in frame.columns.values()]
    inflate = gait_decoder.inflate
    blobs = [inflate(c.stored, c.raw_bytes) if c.compression else c.stored for c in columns]
    assert any(b"--token" in blob for blob in blobs)  # of compressed bytes nothing would be told
    assert not any(b"s3cr3t" in blob for blob in blobs)


def test_versions_of_packages_are_those_of_importlib(record, tmp_path):
    """In order of sys.path, as an import finds them; nothing is imported for it."""
    for place, version in (("one", "9.9.1"), ("two", "1.0")):
        for name in ("Torch", "hydra_core", "not_of_interest"):
            folder = tmp_path / place / f"{name}-{version}.dist-info"
            folder.mkdir(parents=True)
            (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    path = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")])
    path += os.pathsep + os.environ.get("PYTHONPATH", "")
    packages = record(PYTHONPATH=path)["packages"]
    assert (packages["torch"], packages["hydra-core"]) == ("9.9.1", "9.9.1")
    assert "not-of-interest" not in packages
    ask = "import importlib.metadata as m; print([m.version(n) for n in ('torch', 'hydra-core')])"
    line = [sys.executable, "-c", ask]
    found = subprocess.run(line, env={**os.environ, "PYTHONPATH": path}, capture_output=True)
    assert found.stdout == b"['9.9.1', '9.9.1']\n"
    egg = tmp_path / "eggs"
    (egg / "torch-2.1.0.egg-info").mkdir(parents=True)
    (egg / "keras-3.0-py3.11.egg-info").mkdir()
    (egg / "peft-0.7.1.dist-info").mkdir()
    packages = record(PYTHONPATH=f"{egg}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")["packages"]
    assert [packages[name] for name in ("torch", "keras", "peft")] == ["2.1.0", "3.0", "0.7.1"]
    loaded = (
        "import sys, gait; gait.start('run'); "
        "print([n for n in ('importlib.metadata', 'torch', 'numpy') if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", loaded], cwd=tmp_path, capture_output=True)
    assert ran.stdout == b"[]\n"


def test_the_commit_is_that_of_the_programs_folder(gait, record, repository, tmp_path):
    id = git(repository, "rev-parse", "HEAD")
    script = str(repository / "train.py")
    assert record(script=script)["commit"] == {"id": id, "dirty": False}
    (repository / "train.py").write_text(RECORDS + "# changed\n")
    assert record(script=script)["commit"] == {"id": id, "dirty": True}
    assert record(script="train.py", where=repository)["commit"]["id"] == id
    # where no git is there, its files are
    assert record(script=script, PATH="/nowhere")["commit"] == {"id": id}
    # and without a `gait run`
    env = {**os.environ, "GAIT_DIR": str(tmp_path / "own")}
    subprocess.run([sys.executable, script], cwd=tmp_path, env=env, check=True)
    (shard,) = info(gait, tmp_path / "own")["shards"]
    assert shard["metadata"]["commit"] == {"id": id}


def test_commits_of_branches_packed_refs_worktrees_and_no_branch(record, repository, tmp_path):
    def told(folder):
        return record(script=str(folder / "train.py"))["commit"]["id"]

    git(repository, "pack-refs", "--all")
    assert not (repository / ".git/refs/heads/main").exists()
    assert told(repository) == git(repository, "rev-parse", "HEAD")
    git(repository, "worktree", "add", "-q", "-b", "feature/a", str(tmp_path / "tree"))
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "second")
    assert told(tmp_path / "tree") == git(tmp_path / "tree", "rev-parse", "HEAD")
    assert told(tmp_path / "tree") != told(repository)
    git(repository, "checkout", "-q", "--detach")
    assert told(repository) == git(repository, "rev-parse", "HEAD")


def test_a_repository_that_is_none_costs_nothing(record, tmp_path):
    folder = tmp_path / "code"
    for head in ("ref: ../../etc/passwd", "ref: refs/heads/../../../x", "z" * 40, "", "\0" * 9):
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        (folder / ".git/HEAD").write_text(head)
        (folder / "train.py").write_text(RECORDS)
        assert "commit" not in record(script=str(folder / "train.py"))
    os.unlink(folder / ".git/HEAD")
    os.mkfifo(folder / ".git/HEAD")  # nobody waits for it
    assert "commit" not in record(script=str(folder / "train.py"))


def test_a_git_that_hangs_is_not_waited_for(record, repository, tmp_path):
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(600)\n")
    slow.chmod(0o755)
    path = f"{slow.parent}:{os.environ['PATH']}"
    begin = time.monotonic()
    told = record(script=str(repository / "train.py"), PATH=path)
    assert set(told["commit"]) == {"id"}
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("how", ["clean", "process", "include", "global", "fsmonitor", "hook"])
def test_no_program_that_a_repository_names_is_started(record, repository, tmp_path, how):
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWNED\ncat\n")
    evil.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py filter=evil\n")
    (repository / "train.py").write_text(RECORDS.replace("work", "rest"))  # as long: git reads it
    home = {"HOME": str(tmp_path)}
    if how == "include":
        (tmp_path / "more").write_text(f"[Filter 'evil']\nclean = {evil}\n".replace("'", '"'))
        git(repository, "config", "include.path", str(tmp_path / "more"))
    elif how == "global":
        (tmp_path / ".gitconfig").write_text(f'[filter "evil"]\nclean = {evil}\n')
    elif how == "hook":
        (repository / ".git/hooks/post-index-change").symlink_to(evil)
    else:
        key = "core.fsmonitor" if how == "fsmonitor" else f"filter.evil.{how}"
        git(repository, "config", key, str(evil))
    told = record(script=str(repository / "train.py"), **home)["commit"]
    assert not (tmp_path / "PWNED").exists()
    assert told.get("dirty") is (True if how in ("fsmonitor", "hook") else None)


def test_variables_of_git_name_no_other_repository(record, repository, tmp_path):
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repository), str(other))
    (other / "train.py").write_text("# changed\n")
    told = record(
        script=str(repository / "train.py"),
        GIT_DIR=str(other / ".git"),
        GIT_WORK_TREE=str(other),
        GIT_INDEX_FILE=str(other / ".git/index"),
    )
    assert told["commit"] == {"id": git(repository, "rev-parse", "HEAD"), "dirty": False}


def test_no_metadata_leaves_all_but_tags_out(record, repository, tmp_path):
    keys = {"command", "machine", "python", "packages", "commit"}
    script = str(repository / "train.py")
    assert keys <= set(record(script=script))
    told = record("--no-metadata", "--tag", "a=1", script=script)
    assert not keys & set(told) and told["tags"] == {"a": "1"}
    told = record(script=script, GAIT_METADATA="0", GAIT_TAGS="a=2")
    assert not keys & set(told) and told["tags"] == {"a": "2"}
    (tmp_path / "gait.yaml").write_text("recording:\n  tags: a=3\n  metadata: false\n")
    told = record("--config", str(tmp_path / "gait.yaml"), script=script)
    assert not keys & set(told) and told["tags"] == {"a": "3"}


def test_what_another_run_said_of_its_program_is_not_inherited(record, repository, tmp_path):
    told = "ab" * 20 + " clean"
    assert "commit" not in record(GAIT_COMMIT=told)
    assert "commit" not in record("--no-metadata", GAIT_COMMIT=told)
    script = str(repository / "train.py")
    assert record(script=script, GAIT_COMMIT=told)["commit"]["id"] == git(
        repository, "rev-parse", "HEAD"
    )
    # what is said of metadata on the line counts, and not an outer run's variable
    inner = "recording.metadata=true"
    assert "command" in record(inner, GAIT_METADATA="0")


BAD_TAGS = ["a=\x1b[31m", "a=1,b=\t", b"a=\xff", "a=" + "b" * 1025, "a=1," * 65]


@pytest.mark.parametrize("tags", BAD_TAGS, ids=range(len(BAD_TAGS)))
def test_tags_that_are_refused_are_not_recorded(gait, tmp_path, tags):
    line = ("run", "-q", "-o", "run", "--", sys.executable, "-c", RECORDS)
    done = gait(*line, env={**os.environ, "GAIT_TAGS": tags})
    assert done.returncode == 0 and "the default, none, is used" in done.stderr
    assert "\x1b" not in done.stderr and done.stderr.count("\n") == 1
    (shard,) = info(gait, tmp_path / "run")["shards"]
    assert "tags" not in shard["metadata"]
    assert "GAIT_TAGS" in shard["metadata"]["settings_ignored"]


def test_each_way_to_be_no_tag_has_its_own_words(gait):
    many = ["--tag", "a=1," * 64, "--tag", "b=2"]
    for options, words in (
        (["--tag", "note=a,b"], "and no V has a comma; not 'note=a,b'"),
        (["--tag", "a=" + "b" * 1025], "V of up to 1024 bytes; not 'a=b"),
        (["--tag", "k" * 65 + "=1"], "K of up to 64 letters"),
        (["--tag", "a=\x1b[2J"], "without control characters; not 'a="),
        (many, "takes up to 64 K=V; not 'a=1,"),
        (["--tag", "a=1," * 65], "takes up to 64 K=V; not 'a=1,"),
        (["--tag", ""], "takes K=V with commas between, K of"),
    ):
        done = gait("run", *options, "--", "true")
        assert done.returncode == 125 and words in done.stderr and "\x1b" not in done.stderr


def test_as_many_tags_as_there_may_be_can_be_given_one_by_one(gait, record):
    options = [word for n in range(64) for word in ("--tag", f"k{n}={n}")]
    assert len(record(*options)["tags"]) == 64
    done = gait("run", *options, "--tag", "more=1", "--", "true")
    assert done.returncode == 125 and "'--tag' may be given 64 times at most" in done.stderr


@pytest.mark.parametrize(
    "tags, words",
    [("a=1," * 65, "takes up to 64 K=V"), ("a=1," + " " * 4095, "of up to 4095 bytes")],
    ids=["many", "long"],
)
def test_a_variable_of_too_many_tags_is_told_the_bound(gait, tmp_path, tags, words):
    line = ("run", "-q", "-o", "run", "--", sys.executable, "-c", RECORDS)
    done = gait(*line, env={**os.environ, "GAIT_TAGS": tags})
    assert f"{words}, not 'a=1," in done.stderr
    (shard,) = info(gait, tmp_path / "run")["shards"]
    assert words in shard["metadata"]["settings_ignored"]


def test_of_tags_with_one_key_the_last_counts(gait, record, tmp_path):
    """The others are not on record, where each reader of JSON would choose for itself."""
    told = record("--tag", "lr=1", "--tag", "m=x,lr=2", "--tag", "lr=3")
    assert told["tags"] == {"m": "x", "lr": "3"}
    assert gait("info", "--json", tmp_path / "run").stdout.count('"lr"') == 1
    assert "lr 3" in gait("info", tmp_path / "run").stdout


def test_tags_that_are_none_are_refused_or_ignored_with_a_sentence(gait, tmp_path):
    for bad in ("a", "=1", "a b=1", "a=1,b"):
        done = gait("run", "--tag", bad, "--", "true")
        assert done.returncode == 125 and "'--tag' takes K=V" in done.stderr
    line = ("run", "-q", "-o", "run", "--", sys.executable, "-c", RECORDS)
    done = gait(*line, env={**os.environ, "GAIT_TAGS": "nonsense"})
    assert done.returncode == 0 and "not 'nonsense'; the default, none, is used" in done.stderr
    (shard,) = info(gait, tmp_path / "run")["shards"]
    assert "tags" not in shard["metadata"]
    assert "GAIT_TAGS takes K=V" in shard["metadata"]["settings_ignored"]


def shard_of(folder, pid=1, rank=None, **told):
    made = ShardMaker(host="node0", pid=pid, rank=rank, **told)
    track = made.track(key="1", os_id=1)
    made.rows("step", track, [(made.start_ns + 1000 * i, 900, i) for i in range(1, 9)])
    made.write(folder)
    return folder


def test_a_command_line_is_shown_as_a_shell_reads_it(gait, tmp_path):
    words = [
        "python",
        "a b.py",
        "it's",
        "$HOME",
        "",
        'say "no"',
        "a;b",
        "`x`",
        "*.py",
        "\\",
        "#",
        "lr=1",
    ]
    shard_of(tmp_path / "run", pid=1, command=words)
    (line,) = (
        row["value"] for row in info(gait, tmp_path / "run")["identity"] if row["name"] == "command"
    )
    shown = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split("\0")[:-1] == words
    assert line.startswith("python 'a b.py' ") and line.endswith(" lr=1")


def test_info_shows_what_the_first_rank_says(gait, tmp_path):
    shard_of(tmp_path / "run", pid=1, command=["torchrun", "train.py"], tags={"lr": "9"})
    shard_of(tmp_path / "run", pid=2, rank=1, command=["python", "-u", "x y"], tags={"lr": "2"})
    told = {
        "command": ["python", "train.py", "--note", "a b"],
        "tags": {"lr": "0.1", "model": "big"},
        "commit": {"id": "ab" * 20, "dirty": True},
        "python": "3.11.7",
        "packages": {"numpy": "2.4.6", "torch": "2.9.1"},
        "machine": {"cpus": 16, "memory_bytes": 128 * 10**9, "kernel": "Linux 6.1"},
        "device_name": "NVIDIA H200",
    }
    shard_of(tmp_path / "run", pid=3, rank=0, **told)
    facts = {row["name"]: row["value"] for row in info(gait, tmp_path / "run")["identity"]}
    assert facts == {
        "command": "python train.py --note 'a b'",
        "tags.lr": "0.1",
        "tags.model": "big",
        "commit": "ab" * 20 + ", files changed",
        "python": "3.11.7",
        "packages.numpy": "2.4.6",
        "packages.torch": "2.9.1",
        "machine.host": "node0",
        "machine.cpus": "16",
        "machine.memory": "128 GB",
        "machine.kernel": "Linux 6.1",
        "device_name": "NVIDIA H200",
    }
    text = gait("info", tmp_path / "run").stdout
    lines = [line.strip() for line in text.partition("Program\n")[2].splitlines()[:7]]
    assert lines[0] == "tags        lr 0.1, model big"
    assert lines[1] == "command     python train.py --note 'a b'"
    assert lines[4] == "packages    numpy 2.4.6, torch 2.9.1"
    for command in ("info", "report"):
        assert gait(command, tmp_path / "run", "-o", "a.html").returncode == 0
        page = (tmp_path / "a.html").read_text()
        assert "lr 0.1, model big" in page and "NVIDIA H200" in page
    # on a screen a report is about the time
    assert "lr 0.1" not in gait("report", tmp_path / "run").stdout
    data = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    assert {"name": "tags.lr", "value": "0.1"} in data["identity"]


HOSTILE = [
    {"tags": "no object", "command": {"a": "b"}, "commit": 7, "packages": [1], "machine": None},
    {"tags": {"k" * 9999: "v" * 99999, "<b>": "<script>x</script>", "e\x1b[2J": "\x1b[31m\u202e"}},
    {"command": [["deep"], {"a": 1}, "x" * 99999, "\x1b]0;title\x07", "<img src=x>"] * 50},
    {"commit": {"id": "\x1b[31m<b>", "dirty": "yes"}, "python": {"a": ["\x1b"]}},
    {"tags": {f"k{i}": str(i) for i in range(5000)}},
    {"machine": {"memory_bytes": -(10**40), "cpus": [[[]]], "kernel": "\u202e"}},
]


@pytest.mark.parametrize("told", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_file_says_is_bounded_and_obeyed_by_nobody(gait, tmp_path, told):
    shard_of(tmp_path / "a", **told)
    shard_of(tmp_path / "b")
    for line in (("info", "a"), ("report", "a"), ("compare", "a", "--", "b")):
        for options in ((), ("--format", "csv"), ("--format", "md"), ("-o", "page.html")):
            done = gait(line[0], *options, *line[1:])
            assert done.returncode in (0, 1) and not done.stderr, done
            assert "csv" in options or len(done.stdout) < 60_000  # data are whole
            assert not re.search("[\x1b\x07\u202e]", done.stdout)
        page = (tmp_path / "page.html").read_text()
        assert "<script>x" not in page and "<img" not in page and "\x1b" not in page
        assert len(page) < 60_000


def test_compare_lists_what_the_runs_differ_in_and_nothing_else(gait, tmp_path):
    same = {"python": "3.11.7", "machine": {"cpus": 16}}
    one = {**same, "tags": {"lr": "0.1", "m": "x"}, "packages": {"torch": "2.8", "numpy": "2"}}
    two = {**same, "tags": {"lr": "0.2", "m": "x"}, "packages": {"torch": "2.9", "numpy": "2"}}
    for name, told in (("a1", one), ("a2", one), ("b1", two), ("b2", two)):
        shard_of(tmp_path / name, commit={"id": name[0] * 40}, command=["t", name], **told)
    done = gait("compare", "--format", "json", "a1", "a2", "--", "b1", "b2")
    rows = {row.pop("name"): tuple(row.values()) for row in json.loads(done.stdout)["identity"]}
    assert rows == {
        "tags.lr": ("0.1", "0.2", False, False),
        "command": ("t a1", "t b1", True, True),
        "commit": ("a" * 40, "b" * 40, False, False),
        "packages.torch": ("2.8", "2.9", False, False),
    }
    text = gait("compare", "a1", "a2", "--", "b1", "b2").stdout
    assert text.index("Runs differ in") < text.index("Figures")
    assert re.search(r"packages.torch +A +2.8\n +B +2.9\n", text)
    assert re.search(r"command +A +t a1, and others\n", text)
    text = gait("compare", "a1", "--", "a1").stdout
    assert "Runs differ in" not in text and "Figures" in text
