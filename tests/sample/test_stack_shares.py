# SPDX-License-Identifier: Apache-2.0
"""Shares of functions and lines, and what changed between two recordings, against
counts made here."""

import collections
import json
import os
import random
import unicodedata

import pytest

from tests.sample.test_flame import HOSTILE
from tests.support.shard_maker import ShardMaker


def answer(gait, *words):
    done = gait(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\n") and not done.stdout.endswith("\n\n")
    return json.loads(done.stdout)


def random_stacks(seed, count=300):
    """[([(name, path, line), ...], samples)]: deep, with calls of themselves."""
    dice = random.Random(seed)
    places = [("f", "a.py"), ("g", "a.py"), ("f", "b.py"), ("h", "pkg/c.py"), ("k", "pkg/d.py")]
    return [
        (
            [(*dice.choice(places), dice.randrange(1, 9)) for _ in range(dice.randrange(1, 12))],
            dice.randrange(1, 50),
        )
        for _ in range(count)
    ]


def write(path, stacks, root=""):
    rows = []
    for frames, count in stacks:
        rows.append(";".join(f"{n} ({root}{p}:{line})" for n, p, line in frames) + f" {count}\n")
    path.write_text("".join(rows))


def shares_of(stacks, key):
    """{key: [self, total]}"""
    out = collections.defaultdict(lambda: [0, 0])
    for frames, count in stacks:
        out[key(frames[-1])][0] += count
        for one in {key(frame) for frame in frames}:
            out[one][1] += count
    return dict(out)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_function_counts_once_a_sample_however_often_it_calls_itself(gait, tmp_path, seed):
    stacks = random_stacks(seed)
    write(tmp_path / "s.txt", stacks)
    got = answer(gait, "leaf", "--functions", "-n", "all", "s.txt")
    total = sum(count for _, count in stacks)
    assert got["samples"] == total
    rows = {(r["name"], r["path"]): [r["self"], r["total"]] for r in got["functions"]}
    assert rows == shares_of(stacks, lambda frame: frame[:2])
    assert [r["self"] for r in got["functions"]] == sorted(v[0] for v in rows.values())[::-1]
    assert all(abs(r["total_share"] - r["total"] / total) < 1e-12 for r in got["functions"])
    table = gait("leaf", "--functions", "s.txt").stdout.splitlines()
    assert gait("leaf", "s.txt").stdout.splitlines() == table
    assert table[0].split() == ["self", "(samples)", "total", "(samples)", "function"]
    first = got["functions"][0]
    assert f"({first['self']:,})" in table[1] and f"{first['name']} ({first['path']})" in table[1]


def test_counts_beyond_all_measure_end_in_no_nonsense(gait, tmp_path):
    """Their sum is more than 64 bits hold: what is left of it are shares all the same."""
    lines = [f"f (a.py:1);g (a.py:2) {10**18 - 1}\n"] * 30
    (tmp_path / "s.txt").write_text("".join(lines))
    got = answer(gait, "leaf", "--functions", "s.txt")
    assert got["samples"] == 2**63 - 1
    assert [(r["name"], r["self_share"], r["total_share"]) for r in got["functions"]] == [
        ("g", 1, 1),
        ("f", 0, 1),
    ]
    shown = gait("flame", "s.txt").stdout
    assert f'data-c="{2**63 - 1}"' in shown and " 100.00 %" in shown


def test_threads_and_processes_are_no_functions(gait, tmp_path):
    text = 'process 1:"x";thread (2): y;f (a.py:1) 3\nprocess 1:"x";thread (2): y 2\n'
    (tmp_path / "s.txt").write_text(text)
    got = answer(gait, "leaf", "--functions", "s.txt")
    assert [(r["name"], r["self"], r["total"]) for r in got["functions"]] == [("f", 3, 3)]
    assert (got["samples"], got["samples_without_function"]) == (3, 2)


@pytest.mark.parametrize("seed", [3, 4])
def test_the_share_of_each_line_stands_beside_its_text(gait, tmp_path, seed):
    stacks = random_stacks(seed)
    write(tmp_path / "s.txt", stacks)
    source = [f"line {i} of a" for i in range(1, 31)]
    source[2] = "\tindented by a tab\t<"
    (tmp_path / "a.py").write_text("\n".join(source) + "\n")
    got = answer(gait, "leaf", "--source", "a.py", "s.txt")
    wanted = shares_of(stacks, lambda frame: frame[1:])
    rows = {("a.py", r["line"]): [r["self"], r["total"]] for r in got["lines"]}
    assert rows == {key: value for key, value in wanted.items() if key[0] == "a.py"}
    assert [r["text"] for r in got["lines"]] == [source[r["line"] - 1] for r in got["lines"]]
    inside = [count for frames, count in stacks if any(f[1] == "a.py" for f in frames)]
    assert got["samples_in_file"] == sum(inside) and got["source_read"]
    shown = gait("leaf", "--source", "a.py", "s.txt").stdout
    assert "line 8 of a" in shown and "line 30 of a" not in shown and "..." in shown
    assert "line 30 of a" in gait("leaf", "--source", "a.py", "-n", "all", "s.txt").stdout
    row = next(r for r in shown.splitlines() if "line 8 of a" in r)
    share = 100 * wanted["a.py", 8][1] / got["samples"]
    assert f"{share:.1f} %" in row and "#" in row


def test_a_source_nobody_can_read_is_said_in_a_sentence(gait, tmp_path):
    (tmp_path / "s.txt").write_text("f (gone.py:3) 5\nf (gone.py:9) 1\nf (gone.py) 1\n")
    done = gait("leaf", "--source", "gone.py", "s.txt")
    assert done.returncode == 0
    assert [line.split()[-1] for line in done.stdout.splitlines()[-2:]] == ["3", "9"]
    assert "cannot read 'gone.py': No such file" in " ".join(done.stderr.split())
    assert done.stderr.startswith("gait leaf: ") and done.stderr.count("\n") == 1
    got = answer(gait, "leaf", "--source", "gone.py", "s.txt")
    assert [(r["line"], r["text"], r["self"]) for r in got["lines"]] == [
        (None, None, 1),
        (3, None, 5),
        (9, None, 1),
    ]
    assert not got["source_read"]
    os.mkfifo(tmp_path / "gone.py")
    said = gait("leaf", "--source", "gone.py", "s.txt").stderr
    assert "it is not a file" in " ".join(said.split())


def test_a_file_that_shrank_keeps_its_samples(gait, tmp_path):
    (tmp_path / "s.txt").write_text("f (a.py:3) 5\nf (a.py:900) 1\n")
    (tmp_path / "a.py").write_bytes(b"one\n\xff\x1b[31m\0two\nthree")
    done = gait("leaf", "--source", "a.py", "s.txt")
    assert "\x1b" not in done.stdout and "three" in done.stdout
    assert "900  (the file has no such line)" in done.stdout


def test_samples_of_no_line_are_near_none(gait, tmp_path):
    (tmp_path / "s.txt").write_text("f (a.py) 5\nf (a.py:20) 5\n")
    (tmp_path / "a.py").write_text("".join(f"text {i}\n" for i in range(1, 31)))
    shown = gait("leaf", "--source", "a.py", "s.txt").stdout
    assert "line not known" in shown
    assert [line.split()[-1] for line in shown.splitlines() if "text" in line] == [
        "18", "19", "20", "21", "22"]  # fmt: skip


def test_an_empty_file_is_one_that_was_read(gait, tmp_path):
    (tmp_path / "s.txt").write_text("f (a.py:3) 5\n")
    (tmp_path / "a.py").write_text("")
    done = gait("leaf", "--source", "a.py", "s.txt")
    assert not done.stderr and "3  (the file has no such line)" in done.stdout
    got = answer(gait, "leaf", "--source", "a.py", "s.txt")
    assert got["source_read"] and [r["text"] for r in got["lines"]] == [None]


def test_half_of_a_file_that_is_too_long_is_not_put_before_another(gait, tmp_path):
    """The first one given is refused after 64 MiB; the one of the samples is read then."""
    there = tmp_path / "there" / "pkg"
    there.mkdir(parents=True)
    (there / "a.py").write_text("the first line\n")
    (tmp_path / "s.txt").write_text(f"f ({there}/a.py:1) 5\n")
    (tmp_path / "pkg").mkdir()
    with open(tmp_path / "pkg" / "a.py", "wb") as sparse:
        sparse.truncate(65 << 20)
    got = answer(gait, "leaf", "--source", "pkg/a.py", "s.txt")
    assert got["lines"][0]["text"] == "the first line"


def test_a_file_is_found_by_either_end_of_its_path(gait, tmp_path):
    (tmp_path / "x" / "pkg").mkdir(parents=True)
    (tmp_path / "x" / "pkg" / "m.py").write_text("one\ntwo\n")
    whole = tmp_path / "x" / "pkg" / "m.py"
    (tmp_path / "short.txt").write_text("f (pkg/m.py:2) 5\n")
    (tmp_path / "long.txt").write_text(f"f ({whole}:2) 5\n")
    for stacks in ("short.txt", "long.txt"):
        for name in (whole, "x/pkg/m.py"):
            got = answer(gait, "leaf", "--source", name, stacks)
            assert [(r["self"], r["text"]) for r in got["lines"]] == [(5, "two")]
    assert answer(gait, "leaf", "--source", "pkg/m.py", "long.txt")["lines"][0]["text"] == "two"
    (tmp_path / "two.txt").write_text("f (a/m.py:2) 5\nf (b/m.py:2) 5\n")
    done = gait("leaf", "--source", "m.py", "two.txt")
    assert done.returncode == 2 and "may be 'a/m.py' or 'b/m.py'" in done.stderr
    done = gait("leaf", "--source", "other.py", "two.txt")
    assert done.returncode == 2 and "no sample is in 'other.py'" in done.stderr


def test_the_very_words_count_more_than_an_end_of_the_whole_path(gait, tmp_path):
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "m.py").write_text("one\ntwo\n")
    (tmp_path / "s.txt").write_text("f (m.py:1) 3\nf (pkg/m.py:2) 5\n")
    got = answer(gait, "leaf", "--source", "pkg/m.py", "s.txt")
    assert [(r["self"], r["text"]) for r in got["lines"]] == [(5, "two")]
    done = gait("leaf", "--source", folder / "m.py", "s.txt")
    assert done.returncode == 2 and "may be 'm.py' or 'pkg/m.py'" in done.stderr


def test_views_of_their_own_take_no_options_of_the_other_table(gait, tmp_path):
    (tmp_path / "s.txt").write_text("f (a.py:3) 5\n")
    assert gait("leaf", "--functions", "--library", "x", "s.txt").returncode == 2
    assert gait("leaf", "--functions", "--lines", "s.txt").returncode == 2
    assert gait("leaf", "--source", "a.py", "--lines", "s.txt").returncode == 2
    assert gait("leaf", "--functions", "--source", "a.py", "s.txt").returncode == 2
    assert gait("leaf", "--source", "a.py", "--by", "process", "s.txt").returncode == 2
    for number in ("3", "none"):
        done = gait("leaf", "--source", "a.py", "-n", number, "s.txt")
        assert done.returncode == 2 and not done.stdout
        assert "'--num-rows all'" in done.stderr and done.stderr.count("\n") == 1
    assert gait("leaf", "--source", "a.py", "-n", "all", "s.txt").returncode == 0


def change_of(before, after):
    sums = [sum(count for _, count in stacks) for stacks in (before, after)]
    shares = [shares_of(stacks, lambda frame: frame[:2]) for stacks in (before, after)]
    out = {}
    for key in {**shares[0], **shares[1]}:
        old, new = ([v / n for v in s.get(key, (0, 0))] for s, n in zip(shares, sums))
        out[key] = (new[0] - old[0], new[1] - old[1])
    return out


@pytest.mark.parametrize("kind", ["raw", "folder", "long paths"])
def test_changes_of_shares_are_those_of_each_own_samples(gait, tmp_path, kind):
    before, after = random_stacks(5), random_stacks(6, 500)
    after = [(frames, count * 3 if frames[-1][0] == "h" else count) for frames, count in after]
    write(tmp_path / "before.txt", before)
    if kind == "folder":
        (tmp_path / "after").mkdir()
        write(tmp_path / "after" / "1.txt", after[:200])
        write(tmp_path / "after" / "2.txt", after[200:])
    else:
        write(tmp_path / "after", after, "/home/me/" if kind == "long paths" else "")
    got = answer(gait, "diff-stacks", "-n", "all", "before.txt", "after")
    root = "/home/me/" if kind == "long paths" else ""
    wanted = {(n, root + p): v for (n, p), v in change_of(before, after).items()}
    assert {(r["name"], r["path"]) for r in got["functions"]} == set(wanted)
    for row in got["functions"]:
        change = wanted[row["name"], row["path"]]
        assert abs(row["self_change"] - change[0]) < 1e-12
        assert abs(row["total_change"] - change[1]) < 1e-12
    greatest = [max(map(abs, (r["self_change"], r["total_change"]))) for r in got["functions"]]
    assert greatest == sorted(greatest, reverse=True)
    words = gait("diff-stacks", "before.txt", "after").stdout.splitlines()
    assert any(line.startswith("More time in h (") for line in words)


def test_a_recording_compares_with_a_file_of_lines(gait, tmp_path):
    shard = ShardMaker(role="sampler")
    thread = shard.track(key="7", name="main", os_id=7)
    f, g = (shard.site("python", name, "/home/me/x.py", 1) for name in "fg")
    shard.rows("stack", 0, [(1, 0, f, 5), (2, 1, g, 6)])
    shard.rows("sample", thread, [(10**18, 2, 300, 1), (10**18 + 5, 1, 100, 1)])
    shard.write(tmp_path / "run")
    (tmp_path / "s.txt").write_text("f (x.py:5);g (x.py:9) 10\nf (x.py:5) 190\nnew (n.py:1) 200\n")
    got = answer(gait, "diff-stacks", "run", "s.txt")
    rows = {r["name"]: (r["before"]["self"], r["after"]["self"]) for r in got["functions"]}
    assert rows == {"f": (100, 190), "g": (300, 10), "new": (0, 200)}
    words = gait("diff-stacks", "run", "s.txt").stdout
    assert "new (n.py) is new: 50.0 % of the samples are in it." in words
    assert "Less time in g (/home/me/x.py): 75.0 % itself before, 2.5 % after." in words


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_short_path_that_two_files_end_in_is_neither(gait, tmp_path, is_turned):
    (tmp_path / "two.txt").write_text("f (/x/pkg/m.py:1) 30\nf (/y/pkg/m.py:1) 70\n")
    (tmp_path / "short.txt").write_text("f (pkg/m.py:1) 100\n")
    names, sides = ["two.txt", "short.txt"], ["before", "after"]
    if is_turned:
        names.reverse()
        sides.reverse()
    got = answer(gait, "diff-stacks", *names)
    counts = {r["path"]: [r[side]["self"] for side in sides] for r in got["functions"]}
    assert counts == {"/x/pkg/m.py": [30, 0], "/y/pkg/m.py": [70, 0], "pkg/m.py": [0, 100]}


def test_what_chance_may_do_is_called_so(gait, tmp_path):
    """Two samplings of one program: nothing is said of it, and rarely is a row not marked."""
    dice, sure = random.Random(7), 0
    for _ in range(20):
        for name in ("a.txt", "b.txt"):
            drawn = collections.Counter(dice.choices("fghk", [50, 30, 15, 5], k=2000))
            text = "".join(f"root (x.py:1);{n} (x.py:2) {count}\n" for n, count in drawn.items())
            (tmp_path / name).write_text(text)
        got = answer(gait, "diff-stacks", "a.txt", "b.txt")
        sure += sum(not row["may_be_chance"] for row in got["functions"])
    assert sure <= 5  # of 80; at 2.5 deviations 1 is to be expected
    same = gait("diff-stacks", "a.txt", "a.txt").stdout
    assert "No function's share changed by more than chance." in same
    assert answer(gait, "diff-stacks", "a.txt", "a.txt")["functions"] == []


def width(text):
    seen = [c for c in text if not unicodedata.combining(c) and c not in "\ufffe\uffff"]
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in seen)


LONG = ["n" * 3000, "走" * 900, "a/" * 1000 + "end.py", *HOSTILE]


@pytest.mark.parametrize(
    "words",
    [
        ["leaf", "--lines"],
        ["leaf", "--by", "process"],
        ["leaf", "--functions"],
        ["diff-stacks", "other.txt"],
    ],
    ids=" ".join,
)
def test_no_table_is_wider_than_78_columns(gait, tmp_path, words):
    lines = [f'process {i}:"{"p" * 200}";{n} ({n}/{i}.py:{i + 1}) {i + 1}\n'
             for i, n in enumerate(LONG)]  # fmt: skip
    (tmp_path / "s.txt").write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
    (tmp_path / "other.txt").write_text("f (a.py:1) 5\n")
    done = gait(*words, "-n", "all", "s.txt")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert len(rows) > len(LONG) and "\x1b" not in done.stdout
    assert [row for row in rows if width(row) > 78] == []
    if words != ["leaf", "--lines"]:
        return
    assert any("/end.py " in row and "a/..." in row for row in rows)
    got = answer(gait, "leaf", "--lines", "-n", "all", "s.txt")
    assert "n" * 3000 in [row["name"] for row in got["rows"]]


@pytest.mark.parametrize("words", [["leaf", "--functions"], ["diff-stacks", "s.txt"]])
def test_answers_to_nothing_are_sentences(gait, tmp_path, words):
    (tmp_path / "s.txt").write_text("f (a.py:1) 5\n")
    (tmp_path / "empty.txt").write_text("")
    # no program's file: among the words in one, some lines are stacks by chance
    (tmp_path / "binary").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 400)
    for name in ("empty.txt", "missing.txt", "binary"):
        done = gait(*words, name)
        assert done.returncode == 2 and done.stderr.startswith(f"gait {words[0]}: ")
    done = gait("diff-stacks", "s.txt")
    assert done.returncode == 2


def test_screens_name_installed_files_behind_their_folder_and_json_whole(gait, tmp_path):
    path = "/opt/e/lib/python3.11/site-packages/torch/nn/functional.py"
    (tmp_path / "s.txt").write_text(f"relu ({path}:7) 5\n")
    (tmp_path / "t.txt").write_text(f"relu ({path}:7) 5\nx (y.py:1) 5\n")
    for words in (["leaf"], ["leaf", "--functions"], ["flame"], ["diff-stacks", "t.txt"]):
        text = gait(*words, "s.txt").stdout
        assert "torch/nn/functional.py" in text and "site-packages" not in text
    assert answer(gait, "leaf", "--lines", "s.txt")["rows"][0]["path"] == path
    assert answer(gait, "leaf", "--functions", "s.txt")["functions"][0]["path"] == path
    assert path in gait("flame", "-f", "speedscope", "s.txt").stdout
