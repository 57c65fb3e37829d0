# SPDX-License-Identifier: Apache-2.0
"""The plain decoder reads every golden file as it was first read.

`make golden` (GAIT_GOLDEN=write) writes what is expected of a golden file that
has no expectations yet; it never changes any: those are kept for ever, like
the files.
"""

import json
import os
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

import gait_decoder  # noqa: E402
import gait_events  # noqa: E402

FILES = sorted((ROOT / "tests/golden").glob("v*/*.gait"))


def name_of(path):
    return path.parent.name + "/" + path.stem


def read(path):
    return gait_events.EventShard(path.read_bytes())


def golden(name):
    return ROOT / "tests/golden/v1" / (name + ".gait")


def compare(path, text):
    if os.environ.get("GAIT_GOLDEN") == "write" and not path.exists():
        path.write_bytes(text.encode())
    assert path.read_bytes().decode() == text


def test_there_are_golden_files():
    assert len(FILES) >= 15


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_frames_and_damage_are_as_ever(path):
    lines = [json.dumps(line) + "\n" for line in gait_events.describe(read(path))]
    compare(path.with_suffix(".jsonl"), "".join(lines))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_events_are_as_ever(path):
    compare(path.with_suffix(".csv"), gait_events.csv_text(read(path)))


def test_the_decoder_knows_the_tables_of_the_document():
    text = (ROOT / "docs/FORMAT.md").read_text().split("\n## 5")[0]
    rows = re.findall(r"^\| (\d+) \| ([a-z_]+) \| ([a-z0-9_, ]+ [a-z]+) \|$", text, re.M)
    document = {int(number): f"{name}: {columns}" for number, name, columns in rows}
    assert document == gait_decoder.TABLES


def test_every_table_is_in_a_golden_file():
    shard = read(golden("all_tables"))
    assert {frame.table for frame in shard.frames} | {14, 23, 24} == set(gait_decoder.TABLES)
    assert 23 in {frame.table for frame in read(golden("imported")).frames}
    assert 14 in {frame.table for frame in read(golden("open")).frames}
    facts = (ROOT / "tests/fuzz/corpus/fuzz_facts/1_steps_0").read_bytes()[1:]
    assert 24 in {frame.table for frame in gait_decoder.Shard(facts).frames}


def test_every_encoding_is_in_a_golden_file():
    seen = set()
    for path in FILES:
        for frame in read(path).frames:
            for column in frame.columns.values():
                seen.add((column.transform, column.packing, column.compression))
    quads = {0, 5, 6}
    for compression in range(2):
        for transform in range(7):
            assert quads & {p for t, p, c in seen if (t, c) == (transform, compression)}
        assert quads <= {p for t, p, c in seen if c == compression}
    assert {packing for _, packing, _ in seen} >= set(range(7))
    assert (3, 3, 0) in seen  # ids in a row
    assert {(0, 2, 1), (0, 4, 1)} <= seen


@pytest.mark.parametrize("name", ["chain", "all_tables", "encodings"])
def test_the_index_lists_the_frames_that_hopping_finds(name):
    shard = read(golden(name))
    offset, count = shard.trailer
    assert count == len(shard.frames)
    by_offset = {frame.offset: (frame, columns) for frame, columns in shard.data}
    listed = [offset]
    while offset:
        frame, columns = by_offset[offset]
        assert frame.table == 21
        listed = columns["offset"] + listed
        first = by_offset[columns["offset"][0]][0]
        offset = first.offset if first.table == 21 else None
    assert listed == [frame.offset for frame in shard.frames]


def test_the_chain_has_several_links():
    tables = [frame.table for frame in read(golden("chain")).frames]
    assert tables.count(21) > 3


@pytest.mark.parametrize("cut", range(0, 700, 13))
def test_what_stands_before_a_cut_is_served(cut):
    data = golden("all_tables").read_bytes()
    whole = read(golden("all_tables"))
    end = whole.frames[20].offset + cut
    frames, damage, trailer = gait_decoder.scan(data[:end])
    expected = [frame.offset for frame in whole.frames if frame.end <= end]
    assert [frame.offset for frame in frames] == expected
    assert trailer is None
    tail = frames[-1].end
    assert damage == [(tail, end - tail)]


def test_what_is_unknown_is_read_by_its_own_description():
    shard = read(golden("unknown"))
    tables = {shard.table_name(frame): columns for frame, columns in shard.data}
    assert tables["power"]["watts"] == [250.5, 300.0, 0.0]
    assert tables["power"]["note"] == [b"on", b"", b"off"]
    assert tables["span"]["device"] == [6, 7]
    assert "later" not in tables["span"]
    assert not shard.damage


# Numbers worked out by hand from section 5 of the document.
def test_clocks_are_converted_in_exact_integers():
    clock = gait_decoder.Clock(
        [(1000, 500, 7500), (26_001_000, 10_000_500, 0), (262_001_000, 100_000_503, 0)], 1
    )
    assert clock.ns(1000) == 7500
    assert clock.ns(1000 + 262) == 7500 + 100  # 262 × 100000003 / 262000000 = 100.000003
    assert clock.ns(999) == 7500 - 1  # floor of -0.38
    assert clock.ns(262_001_000) == 7500 + 100_000_003
    assert clock.ns(262_001_000 + 262) == 7500 + 100_000_003 + 100
    assert gait_decoder.Clock([(77, 9, 1009)], 2_600_000_000).ns(77 + 26) == 1009 + 10
    assert gait_decoder.Clock([], 1).ns(5) == 5
