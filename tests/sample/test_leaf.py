# SPDX-License-Identifier: Apache-2.0
"""`gait leaf`: itwinai's report of sampled stacks, and what that one dies of."""

import collections
import contextlib
import json
import os
import random
import re
import subprocess

import pytest
from terminals import open_terminal

from tests.support.sampled_programs import until
from tests.support.shard_maker import ShardMaker

NOT_FOUND = (None, None, None)


def rows_of(gait, *words):
    done = gait("leaf", "--lines", "--json", "-n", "all", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def frame_of(text):
    """How itwinai reads a frame: a name without blanks, a path, a line."""
    name, path, line = re.match(r"([^\s]+) \(([^():]+):(\d+)\)", text).groups()
    return (name, "built-in", -1) if "frozen importlib" in path else (name, path, int(line))


def itwinai(lines, library, aggregate):
    """Its rows, most samples first: ((leaf, function of the library), samples)."""
    rows = []
    for line in lines:
        stack, _, count = line.rpartition(" ")
        frames = [frame for frame in stack.split(";") if frame]
        kept = [
            frame_of(frame)
            for frame in frames
            if not re.match(r'process [0-9]+:".*"', frame) and "<module>" not in frame
        ]
        if kept:
            inside = [frame for frame in kept if library in frame[1]]
            rows.append(((kept[-1], inside[-1] if inside else NOT_FOUND), int(count)))
    if aggregate:
        sums = collections.Counter()
        for key, count in rows:
            sums[key] += count
        rows = list(sums.items())
    return sorted(rows, key=lambda row: -row[1])


def key_of(row):
    leaf = row["name"], row["path"], row["line"]
    return leaf, tuple(row["library_function_" + part] for part in ("name", "path", "line"))


def random_lines(seed):
    dice = random.Random(seed)
    files = ["train.py", "mypkg/model.py", "mypkg/data/load.py", "torch/nn/modules/module.py"]
    files += ["<frozen importlib._bootstrap>"]
    lines = []
    for _ in range(400):
        depth = dice.randrange(1, 8)
        frames = [
            f"f{dice.randrange(6)} ({dice.choice(files)}:{dice.randrange(1, 9)})"
            for _ in range(depth)
        ]
        if dice.random() < 0.5:
            frames.insert(0, "<module> (train.py:1)")
        if dice.random() < 0.3:
            frames.insert(0, f'process {dice.randrange(100, 103)}:"python train.py"')
        lines.append(";".join(frames) + f" {dice.randrange(1, 50)}")
    return lines


@pytest.mark.parametrize("aggregate", [False, True])
def test_counts_are_those_of_itwinai(gait, tmp_path, aggregate):
    lines = random_lines(17)
    (tmp_path / "stacks.txt").write_text("\n".join(lines) + "\n")
    words = ["-l", "mypkg", "--without-modules", "stacks.txt"]
    got = rows_of(gait, *words, *(["-a"] if aggregate else []))
    wanted = itwinai(lines, "mypkg", aggregate)
    assert [row["samples"] for row in got["rows"]] == [count for _, count in wanted]
    total = sum(count for _, count in wanted)
    assert got["samples"] == total
    mine = sorted(repr((key_of(row), row["samples"])) for row in got["rows"])
    assert mine == sorted(map(repr, wanted))
    assert all(abs(row["proportion"] - row["samples"] / total) < 1e-9 for row in got["rows"])


TABLE = """\
 name     | path          |   line | library_function_name   | library_function_path   | \
library_function_line   | proportion (n)
----------+---------------+--------+-------------------------+-------------------------+\
-------------------------+------------------
 foo      | numpy/core.py |      5 | step                    | mypkg/t.py              | \
10                      | 75.00% (30)
 <module> | train.py      |      3 | Not Found               | Not Found               | \
Not Found               | 17.50% (7)
"""


def test_the_table_is_the_one_people_know(gait, tmp_path):
    (tmp_path / "stacks.txt").write_text(
        "<module> (train.py:3);step (mypkg/t.py:10);foo (numpy/core.py:5) 10\n"
        "<module> (train.py:3) 7\n"
        "<module> (train.py:4);step (mypkg/t.py:10);foo (numpy/core.py:5) 20\n"
        "bar (x.py:1) 3\n"
    )
    done = gait("leaf", "-a", "-n", 2, "-l", "mypkg", "stacks.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout == TABLE + "1 more row; -n all shows them\n"


def test_below_the_table_stands_what_is_not_in_it_and_why_rows_look_the_same(gait, tmp_path):
    (tmp_path / "stacks.txt").write_text(
        "a (x.py:1);f (x.py:2) 5\nb (x.py:1);f (x.py:2) 4\ng (x.py:3) 3\nh (x.py:3) 2\n"
        'process 12:"python t.py" 1001\n'
    )

    def notes(*words):
        return gait("leaf", *words, "stacks.txt").stdout.splitlines()

    rows, twins = "2 more rows; -n all shows them", "Rows that look the same belong to different"
    left_out = "1,001 samples in no function are left out."
    assert notes("--lines", "-n", 2)[4:] == [
        rows,
        f"{twins} stacks; -a merges them.",
        left_out,
    ]
    assert notes("--lines", "-n", 1)[3:] == ["3 more rows; -n all shows them", left_out]
    assert notes("-a", "-n", "all")[5:] == [left_out]
    assert notes()[-1] == left_out


DIALECTS = [
    ("main (a.py:1);work (b.py:22) 5", [("work", "b.py", 22, 5)]),
    ("work (b.py) 5", [("work", "b.py", None, 5)]),
    ("work 5", [("work", "", None, 5)]),
    ("<module> (a.py:1) 4", [("<module>", "a.py", 1, 4)]),
    ("f (a.py:1);operator new(unsigned long) (libstdc++.so.6) 2",
     [("operator new(unsigned long)", "libstdc++.so.6", None, 2)]),
    ("std::pair<int, int>::first (x.cc:7) 2", [("std::pair<int, int>::first", "x.cc", 7, 2)]),
    ("f (a.py:1);g(int; long) (lib.so:9) 3", [("g(int; long)", "lib.so", 9, 3)]),
    ('process 7:"sh -c a; b";f (a.py:1) 3', [("f", "a.py", 1, 3)]),
    ('process 7:"sh -c "a;b"; c";f (a.py:1) 3', [("f", "a.py", 1, 3)]),
    ('process 7:"sh -c (a";f (a.py:1) 3', [("f", "a.py", 1, 3)]),
    ('process 7:"sh -c print(\'"\')";f (a.py:1) 3', [("f", "a.py", 1, 3)]),
    ('process 6:"sh";process 7:"a -c b\nc = 4\n\n";f (a.py:1);g (b.py:2) 3', [("g", "b.py", 2, 3)]),
    ("process (a.py:4) 3", [("process", "a.py", 4, 3)]),
    ("f (a.py:1);thread (b.py:2) 3", [("thread", "b.py", 2, 3)]),
    ("process (a.py:1);thread (b.py) 3", [("thread", "b.py", None, 3)]),
    ("thread (0x7F00): worker;f (a.py:1) 3", [("f", "a.py", 1, 3)]),
    ("thread (12);f (C:/x y/a.py:1) 3", [("f", "C:/x y/a.py", 1, 3)]),
    ("  f (a.py:1) 3", [("  f", "a.py", 1, 3)]),
    ("f (a.py:1)   3", [("f", "a.py", 1, 3)]),
    ("f (a.py:1) 3\r", [("f", "a.py", 1, 3)]),
    (";;f (a.py:1); 3", [("f", "a.py", 1, 3)]),
    ("größe (naïve.py:4) 1", [("größe", "naïve.py", 4, 1)]),
    ("f (a.py:1) 0", []),
    ("(unbalanced (a.py:1);g (b.py:2) 6", None),
]  # fmt: skip


@pytest.mark.parametrize("line, wanted", DIALECTS)
def test_dialects_of_folded_text_are_understood(gait, tmp_path, line, wanted):
    (tmp_path / "stacks.txt").write_text(line + "\nanchor (z.py:9) 1000\n", encoding="utf-8")
    got = rows_of(gait, "stacks.txt")
    assert got["bad_lines"] == 0
    rows = [(r["name"], r["path"], r["line"], r["samples"]) for r in got["rows"][1:]]
    if wanted is not None:
        assert rows == wanted


def test_lines_that_are_no_stacks_are_counted(gait, tmp_path):
    (tmp_path / "stacks.txt").write_bytes(
        b"f (a.py:1) 3\nno count\n\n12\nf (a.py:1) -3\nf (a.py:1) 99999999999999999999\n"
        b"\0\0\0 3\nf (a.py:1) 1e5\n" + b"x;" * 3_000_000 + b" 3\n"
    )
    got = rows_of(gait, "stacks.txt")
    assert got["samples"] == 3 and got["bad_lines"] == 7
    done = gait("leaf", "stacks.txt")
    told = "7 of 8 lines are not stacks in 'stacks.txt' (1 longer than 4 MiB)"
    assert done.returncode == 0 and told in done.stderr
    (tmp_path / "long.txt").write_bytes(b"x;" * 3_000_000 + b" 3\n")
    told = "'long.txt' contains no stacks: its only line is longer than 4 MiB"
    assert told in gait("leaf", "long.txt").stderr


def test_the_leaf_of_a_stack_of_any_depth_is_its_innermost_frame(gait, tmp_path):
    frames = [f"f{at} (deep.py:{at})" for at in range(1, 150_001)]
    (tmp_path / "deep.txt").write_text(";".join(frames) + " 3\nf1 (deep.py:1);g (deep.py:9) 2\n")
    got = rows_of(gait, "deep.txt")
    assert [(row["name"], row["line"], row["samples"]) for row in got["rows"]] == [
        ("f150000", 150_000, 3),
        ("g", 9, 2),
    ]


def test_a_mark_of_the_byte_order_is_no_name(gait, tmp_path):
    (tmp_path / "stacks.txt").write_bytes(b"\xef\xbb\xbff (a.py:1) 3\n")
    assert rows_of(gait, "stacks.txt")["rows"][0]["name"] == "f"


def test_commands_of_several_lines_are_one_and_those_that_never_end_lose_no_stack(gait, tmp_path):
    command = 'process 5:"python -c import time\nfor i in 3\n  print("a;b")";'
    (tmp_path / "stacks.txt").write_text(
        f"{command}f (a.py:1) 3\n"
        'process 6:"python -c cut\nf (a.py:1) 5\n' + "g (b.py:2) 1\n" * 600 +
        f'{command}f (a.py:1);h (c.py:3) 2\nprocess 7:"cut\nh (c.py:3) 20\n'
    )  # fmt: skip
    got = rows_of(gait, "stacks.txt", "-a", "--by", "process")
    process = command[:-1].replace("\n", " ")
    assert [(r["process"], r["name"], r["samples"]) for r in got["rows"]] == [
        (None, "g", 600), (None, "h", 20), (None, "f", 5), (process, "f", 3), (process, "h", 2),
    ]  # fmt: skip
    assert got["bad_lines"] == 2


def test_stacks_come_through_a_pipe_too(build):
    words = [build / "gait", "leaf", "--lines", "--json", "/dev/stdin"]
    done = subprocess.run(
        words, input="f (a.py:1) 30\ng (a.py:2) 10\n", capture_output=True, text=True
    )
    rows = json.loads(done.stdout)["rows"]
    assert [(row["name"], row["samples"]) for row in rows] == [("f", 30), ("g", 10)]


@pytest.mark.parametrize("count, samples", [(2**63 - 1, 2**63 - 1), (2**63, 0), (2**64 + 5, 0)])
def test_counts_are_taken_up_to_what_a_counter_holds(gait, tmp_path, count, samples):
    (tmp_path / "stacks.txt").write_text(f"f (a.py:1) {count}\ng (a.py:2) 0000{7}\n")
    got = rows_of(gait, "stacks.txt", "-a")
    rows = {row["name"]: row["samples"] for row in got["rows"]}
    assert rows == ({"f": samples, "g": 0} if samples else {"g": 7})
    assert got["bad_lines"] == (not samples)


def test_who_waits_at_a_terminal_is_told_how_much_is_read(build, tmp_path):
    leader, terminal = open_terminal()
    os.mkfifo(tmp_path / "stacks")
    environ = {**os.environ, "TERM": "xterm"}
    words = [build / "gait", "leaf", "--json", "-a", "stacks"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, env=environ
    ) as running:
        os.close(terminal)
        os.set_blocking(leader, False)
        said, lines = b"", 0
        with open(tmp_path / "stacks", "w") as out:

            def tell():
                nonlocal said, lines
                out.write("f (a.py:1) 1\n" * 100)
                out.flush()
                lines += 100
                with contextlib.suppress(BlockingIOError):
                    said += os.read(leader, 4096)
                return b"gait: read " in said

            assert until(tell, 60)
        document = json.load(running.stdout)
        with contextlib.suppress(OSError):  # nobody has the terminal open any more
            while part := os.read(leader, 4096):
                said += part
    os.close(leader)
    assert [row["samples"] for row in document["rows"]] == [lines]
    assert re.search(rb"\r\x1b\[Kgait: read [0-9.]+ k?M?B", said)
    assert said.endswith(b"\r\x1b[K")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x7fELF\0\1\2" * 900, b"words only\n"])
def test_files_without_stacks_are_refused(gait, tmp_path, content):
    (tmp_path / "stacks.txt").write_bytes(content)
    done = gait("leaf", "stacks.txt")
    assert done.returncode == 2 and "contains no stacks" in done.stderr
    assert gait("leaf", "missing.txt").returncode == 2


def test_a_sample_of_a_stack_that_cannot_be_is_of_none(gait, tmp_path):
    shard = ShardMaker()
    track = shard.track(key="1", name=b"main", os_id=1)
    shard.rows("stack", 0, [(1, 0, shard.site("frame", "f"), 12)])
    samples = [(shard.start_ns, 1, 3, 1), (shard.start_ns + 1, 2**32 + 1, 40, 1)]
    shard.rows("sample", track, samples)
    shard.write(tmp_path / "run")
    assert rows_of(gait, "run")["samples"] == 3


def test_folders_in_a_folder_are_not_added_to_it_and_that_is_said(gait, tmp_path):
    for name in ("a.txt", "old/a.txt", "older/deep/a.txt", ".hidden/a.txt"):
        (tmp_path / "nodes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "nodes" / name).write_text("f (a.py:1) 30\n")
    (tmp_path / "nodes/more").symlink_to(tmp_path / "nodes")  # no way round in a circle
    done = gait("leaf", "-a", "--json", "nodes")
    assert done.returncode == 0 and json.loads(done.stdout)["samples"] == 30
    assert done.stderr == "gait: 'nodes': its 3 folders are not read: name one to read it\n"
    (tmp_path / "nodes/.gait-run").write_text("")  # a run is one, whatever lies in it
    assert gait("leaf", "-a", "--json", "nodes").stderr == ""
    done = gait("leaf", "nodes/older")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "gait leaf: 'nodes/older' contains no stacks; its 1 folder is not read: name it to read "
        "it\n"
    )


def test_a_folder_is_read_whole_and_shares_are_by_process(gait, tmp_path):
    folder = tmp_path / "nodes"
    folder.mkdir()
    (folder / "a.txt").write_text('process 1:"x";f (a.py:1) 30\nprocess 1:"x";g (a.py:2) 10\n')
    (folder / "b.txt").write_text('process 2:"y";f (a.py:1) 5\n')
    got = rows_of(gait, "nodes", "-a", "--by", "process")
    assert [(r["process"][:9], r["name"], r["proportion"]) for r in got["rows"]] == [
        ("process 1", "f", 0.75),
        ("process 1", "g", 0.25),
        ("process 2", "f", 1.0),
    ]
    assert [r["samples"] for r in rows_of(gait, "nodes", "-a")["rows"]] == [35, 10]


def test_processes_of_one_command_are_told_apart(gait, tmp_path):
    lines = [f'process {pid}:"/usr/bin/python3 /home/user/train.py";f (/home/user/train.py:1) {n}\n'
             for pid, n in ((4711, 30), (4712, 10))]  # fmt: skip
    (tmp_path / "two.txt").write_text("".join(lines))
    shown = gait("leaf", "-a", "--by", "process", "two.txt").stdout.splitlines()
    told = [line.split("|")[0].strip() for line in shown[2:]]
    assert told == ["4711 train.py", "4712 train.py"]
    assert max(map(len, shown)) <= 78


def test_what_tells_groups_apart_stands_first(gait, tmp_path):
    stacks = {
        'process 1:"python3 -m a/b.c x/y"': "1 -m a/b.c x/y",
        'process 2:"/a/bin/python3.12 /b/it.py"': "2 it.py",
        'process 3:"/a/bin/python"': "3 python",
        'process 8:"python -u -X dev -Wd /a/it.py -x"': "8 it.py -x",
        'process 9:"python -B -c import a/b"': "9 -c import a/b",
        'process 10:"python -u"': "10 -u",
        'process 4:"/a/bin/torchrun b/c"': "4 torchrun b/c",
        'process 5:""': "5",
        "thread (6): MainThread": "6 MainThread",
        "thread (0x7f)": "0x7f",
    }
    lines = [f"{group};f (a.py:1) 1\n" for group in stacks]
    (tmp_path / "stacks.txt").write_text("".join(lines))
    for what in ("process", "thread"):
        done = gait("leaf", "-a", "--by", what, "stacks.txt").stdout
        told = {line.split("|")[0].strip() for line in done.splitlines()[2:]} - {"-"}
        assert told == {shown for group, shown in stacks.items() if group.startswith(what)}
        whole = {row[what] for row in rows_of(gait, "--by", what, "stacks.txt")["rows"]}
        assert whole - {None} == {group for group in stacks if group.startswith(what)}


@pytest.mark.parametrize("rows", ["0", "-1", "x", "1.5", ""])
def test_a_number_of_rows_makes_sense_or_is_refused(gait, tmp_path, rows):
    (tmp_path / "stacks.txt").write_text("f (a.py:1) 3\n")
    assert gait("leaf", "-n", rows, "stacks.txt").returncode == 2


def test_a_function_that_calls_itself_counts_once_a_stack(gait, tmp_path):
    (tmp_path / "stacks.txt").write_text(
        "a (x.py:1);b (x.py:2);a (x.py:1);b (x.py:2) 3\na (x.py:1);c (x.py:3);c (x.py:3) 4\n"
    )
    done = gait("leaf", "--functions", "--json", "-n", "all", "stacks.txt")
    rows = {
        row["name"]: (row["self"], row["total"]) for row in json.loads(done.stdout)["functions"]
    }
    assert rows == {"a": (0, 7), "b": (3, 3), "c": (4, 4)}


def test_the_words_of_itwinai_ask_for_the_same(gait, tmp_path):
    (tmp_path / "s.txt").write_text("a (x.py:1);b (lib/y.py:2) 3\na (x.py:1);b (lib/y.py:2) 4\n")
    ours = gait("leaf", "-n", "5", "--aggregate", "--library", "lib", "s.txt")
    words = ["--num-rows", "5", "--aggregate-leaf-paths", "--library-name", "lib"]
    for file in ["--file", "s.txt"], ["--file=s.txt"]:
        theirs = gait("leaf", *file, *words)
        assert (theirs.returncode, theirs.stdout) == (0, ours.stdout)
    done = gait("leaf", "--file", "s.txt", "other.txt")
    assert done.returncode == 2 and "'other.txt' is an extra argument" in done.stderr
    done = gait("leaf", "--file", "")
    assert done.returncode == 2 and "'--file' needs a PATH that is not empty" in done.stderr
    assert "--file" not in gait("leaf", "--help").stdout
    assert gait("flame", "--file", "s.txt", "--output-filename", "f.svg").returncode == 0
    assert (tmp_path / "f.svg").read_text() == gait("flame", "s.txt").stdout
