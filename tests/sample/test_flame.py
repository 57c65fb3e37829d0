# SPDX-License-Identifier: Apache-2.0
"""`gait flame`: one file, well-formed whatever it names, that needs no network."""

import json
import os
import re
import sys
import xml.etree.ElementTree as tree

import pytest

from tests.support.small_disk import small_disk_at

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "]]></script>",
    "a & b",
    '"quoted\' name"',
    "größe 走る",
    "tab\there",
    "x" * 5000,
    "bad \udcff byte",
    "not a character \ufffe \uffff",
    "\x1b[31m",
]


def graph(gait, tmp_path, text, *words):
    (tmp_path / "stacks.txt").write_text(text, encoding="utf-8", errors="surrogateescape")
    done = gait("flame", "-o", "flame.svg", *words, "stacks.txt")
    assert done.returncode == 0, done.stderr
    return (tmp_path / "flame.svg").read_bytes()


def frames(svg):
    """{label: (left, width, row)}"""
    out = {}
    for group in tree.fromstring(svg).iter(SVG + "g"):
        box = group.find(SVG + "rect")
        label = group.find(SVG + "title").text.rpartition(": ")[0]
        out[label] = tuple(float(box.get(key)) for key in ("x", "width", "y"))
    return out


def test_frames_are_as_wide_as_their_samples_and_stand_on_their_callers(gait, tmp_path):
    svg = graph(gait, tmp_path, "a (x.py:1);b (x.py:2) 30\na (x.py:1);c (x.py:3) 10\nd 60\n")
    got = frames(svg)
    assert set(got) == {"all", "a (x.py:1)", "b (x.py:2)", "c (x.py:3)", "d"}
    assert got["all"][1] == 1200 and got["d"][1] == 720
    assert (got["a (x.py:1)"][1], got["b (x.py:2)"][1], got["c (x.py:3)"][1]) == (480, 360, 120)
    assert got["b (x.py:2)"][2] < got["a (x.py:1)"][2] < got["all"][2]
    assert got["c (x.py:3)"][0] == got["b (x.py:2)"][0] + 360
    icicle = frames(graph(gait, tmp_path, "a;b 3\n", "--icicle"))
    assert icicle["b"][2] > icicle["a"][2] > icicle["all"][2]


def test_one_is_one_and_what_is_built_in_has_no_line(gait, tmp_path):
    text = "_load (<frozen importlib._bootstrap>:241);f (a.py:7) 1\n"
    svg = graph(gait, tmp_path, text).decode()
    assert "<title>_load (built-in): 1 sample, 100.00 %</title>" in svg
    assert "<title>f (a.py:7): 1 sample, 100.00 %</title>" in svg
    assert ">1 sample; a click zooms" in svg


def test_names_of_any_kind_are_well_formed(gait, tmp_path):
    text = "".join(f"root;{name} {10 + i}\n" for i, name in enumerate(HOSTILE))
    svg = graph(gait, tmp_path, text, "--title", "<&>\"'")
    assert len(frames(svg)) >= len(HOSTILE) + 1
    root = tree.fromstring(svg)
    assert len(list(root.iter(SVG + "script"))) == 1


def test_it_asks_for_nothing_from_outside(gait, tmp_path):
    text = graph(gait, tmp_path, "a;b 3\n").decode()
    text = text.replace("http://www.w3.org/2000/svg", "").replace(
        "http://www.w3.org/1999/xhtml", ""
    )
    assert not re.search(r"https?:|src=|href=|@import|url\(", text)


def test_a_comparison_is_red_where_more_and_blue_where_less(gait, tmp_path):
    (tmp_path / "before.txt").write_text("a;less 50\na;more 50\n")
    svg = graph(gait, tmp_path, "a;less 20\na;more 180\n", "--before", "before.txt")
    colours = {}
    for group in tree.fromstring(svg).iter(SVG + "g"):
        numbers = re.findall(r"\d+", group.find(SVG + "rect").get("fill"))
        colours[group.find(SVG + "text").text] = tuple(map(int, numbers))
    assert colours["more"][0] > colours["more"][2]
    assert colours["less"][2] > colours["less"][0]
    assert "before 50, 50.00 %" in svg.decode()


def test_a_comparison_knows_its_functions_in_another_process_and_on_other_lines(gait, tmp_path):
    stacks = (
        'process {0}:"python t.py --lr {0}";thread ({0}): main;a (t.py:{0});b (t.py:{0}) 50\n'
        'process {0}:"python t.py";a (t.py:{0}) 25\n'
        'process 9{0}:"python t.py";a (t.py:3) 25\n'
    )
    (tmp_path / "before.txt").write_text(stacks.format(11))
    svg = graph(gait, tmp_path, stacks.format(22), "--before", "before.txt")
    assert {label: box[1] for label, box in frames(svg).items()} == {
        "all": 1200,
        "a (t.py)": 1200,
        "b (t.py)": 600,
    }
    fills = {box.get("fill") for box in tree.fromstring(svg).iter(SVG + "rect")} - {None}
    assert fills == {"rgb(245,245,245)"}


@pytest.mark.parametrize(
    "words", ["speedscope --before b.txt", "pprof --icicle", "pprof --functions", "pprof --title x"]
)
def test_what_a_format_cannot_show_is_refused(gait, tmp_path, words):
    (tmp_path / "stacks.txt").write_text("a;b 3\n")
    (tmp_path / "b.txt").write_text("a;b 2\n")
    done = gait("flame", "stacks.txt", "-f", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    name, option = words.split()[:2]
    assert done.stderr.startswith(f"gait flame: '-f {name}' takes no --")
    assert option in done.stderr


def test_lines_that_are_no_stacks_are_told(gait, tmp_path):
    (tmp_path / "stacks.txt").write_text("a;b 3\nno stack\n")
    (tmp_path / "before.txt").write_text("a;b 3\nnone\nnone\n")
    done = gait("flame", "-o", "f.svg", "--before", "before.txt", "stacks.txt")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "gait flame: 1 of 2 lines is not a stack in 'stacks.txt'",
        "gait flame: 2 of 3 lines are not stacks in 'before.txt'",
    ]


def test_speedscope_gets_every_stack_with_its_weight(gait, tmp_path):
    (tmp_path / "stacks.txt").write_text("a (x.py:1);b (x.py:2) 30\na (x.py:1);é 10\n")
    done = gait("flame", "-f", "speedscope", "stacks.txt")
    document = json.loads(done.stdout)
    (profile,) = document["profiles"]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    stacks = [[names[i] for i in stack] for stack in profile["samples"]]
    assert dict(zip(map(tuple, stacks), profile["weights"])) == {("a", "b"): 30, ("a", "é"): 10}
    assert profile["endValue"] == 40 and profile["type"] == "sampled"


def test_what_is_no_recording_is_refused(gait, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    assert gait("flame", "empty.txt").returncode == 2
    (tmp_path / "some.txt").write_text("a 3\n")
    assert gait("flame", "-b", "empty.txt", "some.txt").returncode == 2
    assert gait("flame", "-o", "no/such/folder.svg", "some.txt").returncode == 2


@pytest.mark.parametrize("words", [["--functions"], []])
def test_lines_of_a_function_are_one_frame_if_asked(gait, tmp_path, words):
    got = frames(graph(gait, tmp_path, "a (x.py:1) 30\na (x.py:2) 10\n", *words))
    assert len(got) == (2 if words else 3)


def test_what_is_written_on_a_frame_fits_on_it(gait, tmp_path):
    """Who shows the picture without its script sees no words over others."""
    svg = graph(gait, tmp_path, "größe 走る module (some/path.py:12);b (b.py:1) 8\nc 1192\n")
    texts = {}
    for group in tree.fromstring(svg).iter(SVG + "g"):
        words, width = (
            group.find(SVG + "text").text or "",
            float(group.find(SVG + "rect").get("width")),
        )
        assert len(words) * 7.2 <= max(0, width - 3)
        texts[group.find(SVG + "title").text.rpartition(": ")[0]] = words
    assert texts["c"] == "c" and texts["b (b.py:1)"] == ""
    svg = graph(gait, tmp_path, "größe 走る module (some/path.py:12) 8\nc 92\n")
    cut = [g.find(SVG + "text").text for g in tree.fromstring(svg).iter(SVG + "g")]
    assert "größe 走る mo…" in cut


def test_a_tall_graph_has_its_root_on_top(gait, tmp_path):
    low, tall = (";".join(f"d{i}" for i in range(deep)) + " 1\n" for deep in (20, 120))
    assert frames(graph(gait, tmp_path, low))["d1"][2] > frames(graph(gait, tmp_path, low))["d2"][2]
    got = frames(graph(gait, tmp_path, tall))
    assert got["d1"][2] < got["d2"][2] < 150


def test_no_graph_takes_the_place_of_what_it_is_made_of(gait, tmp_path):
    stacks, before, old = (tmp_path / name for name in ("run.txt", "before.txt", "old.svg"))
    for path in (stacks, before, old):
        path.write_text("a (x.py:1);b (x.py:2) 3\n")
    link = tmp_path / "link.svg"
    link.symlink_to(stacks)
    recording = tmp_path / "run.samples"
    program = [sys.executable, "-c", "sum(range(10**7))"]
    gait("record", "-q", "-f", "gait", "-o", recording, "--", *program)
    kept = {path: path.read_bytes() for path in (stacks, before, recording)}
    for words in (
        ["flame", "-o", stacks, stacks],
        ["flame", "-o", link, stacks],
        ["flame", "-o", before, "-b", before, stacks],
        ["flame", "-o", recording, recording],
        ["flame", "-o", recording, stacks],
        ["export", "-f", "stacks", "-o", recording, recording],
    ):
        done = gait(*words)
        assert done.returncode == 2 and "choose another name" in done.stderr
    assert {path: path.read_bytes() for path in kept} == kept
    assert gait("flame", "-o", old, stacks).returncode == 0 and "<svg" in old.read_text()


def test_a_graph_that_finds_no_room_leaves_the_old_one(gait, tmp_path):
    deep = ";".join(f"function_{i} (file.py:{i})" for i in range(900))
    (tmp_path / "run.txt").write_text(f"{deep} 3\n")
    with small_disk_at(tmp_path / "disk", "64k") as disk:
        old = disk / "old.svg"
        old.write_text("the old one")
        done = gait("flame", "-o", old, tmp_path / "run.txt")
        assert done.returncode == 2 and "No space left" in done.stderr
        assert old.read_text() == "the old one" and os.listdir(disk) == ["old.svg"]
