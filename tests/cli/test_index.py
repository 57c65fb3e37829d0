# SPDX-License-Identifier: Apache-2.0
"""`gait index`: the sums beside a shard, worked out again in Python."""

import random

import pytest

from tests.support import gait_decoder
from tests.support.shard_maker import ShardMaker


def make_shard(directory, spans, rank=0):
    shard = ShardMaker(pid=100 + rank, rank=rank)
    track = shard.track(key="7", name=b"main", os_id=7)
    site = shard.site(b"cat", b"work")
    shard.spans(track, [(start, length, site) for start, length in spans])
    shard.write(directory)


def make_spans(count, start):
    chance = random.Random(count)
    spans = []
    for _ in range(count):
        length = chance.randrange(1000)
        spans.append((start, length))
        start += length + chance.randrange(100)
    return spans


def expected_levels(spans):
    """[(level, start, duration, count, busy, longest)], as FORMAT.md section 9 says."""
    rows, level = [(at, at + length, 1, length, length) for at, length in spans], 0
    result, parts = [], 32
    while rows and (level == 0 or len(rows) > 1):
        groups = [rows[i : i + parts] for i in range(0, len(rows), parts)]
        rows = [
            (
                min(row[0] for row in group),
                max(row[1] for row in group),
                sum(row[2] for row in group),
                sum(row[3] for row in group),
                max(row[4] for row in group),
            )
            for group in groups
        ]
        result += [(level, row[0], row[1] - row[0], *row[2:]) for row in rows]
        level, parts = level + 1, 8
    return result


def read_sums(path):
    shard = gait_decoder.Shard(path.read_bytes())
    assert shard.is_complete and not shard.damage
    rows = []
    for frame, columns in shard.data:
        if shard.table_name(frame) != "lod":
            continue
        names = ("level", "start", "duration", "count", "busy", "longest", "site", "depth")
        for *row, site, depth in shard.rows(columns, *names):
            assert (shard.site(site), depth) == ((b"cat", b"work"), 0)
            rows.append(tuple(row))
    return rows


@pytest.mark.parametrize("count", [1, 32, 33, 300, 5000])
def test_sums_are_those_of_the_spans(gait, tmp_path, count):
    spans = make_spans(count, 1_700_000_000_000_000_000)
    make_shard(tmp_path / "run", spans)
    done = gait("index", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"1 written ({count} spans), 0 up to date; ")
    (index,) = (tmp_path / "run").glob("*.gait-index")
    assert sorted(read_sums(index)) == sorted(expected_levels(spans))
    # it is no shard of the run
    assert "1 shard" in gait("info", "run").stdout


def test_an_index_that_fits_is_left_alone(gait, tmp_path):
    for rank in range(3):
        make_shard(tmp_path / "run", make_spans(100, 1_700_000_000_000_000_000), rank)
    assert gait("index", "run").stdout.startswith("3 written (300 spans), 0 up to date; ")
    assert gait("index", "run").stdout.startswith("0 written (0 spans), 3 up to date; ")
    assert gait("index", "--force", "run").stdout.startswith("3 written (300 spans), 0 up ")


def test_what_is_no_trace_is_refused(gait, tmp_path):
    (tmp_path / "x.gait").write_text("no trace")
    done = gait("index", "x.gait")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gait index: 'x.gait' is not a gait file")
    assert [path.name for path in tmp_path.iterdir()] == ["x.gait"]
