# SPDX-License-Identifier: Apache-2.0
"""Files that no recorder writes: the C reader and the plain decoder say the same."""

import random

import gait_events
import pytest
from shard_maker import ShardMaker

START = 1_700_000_000_000_000_000


def assert_same_rows(gait, tmp_path, shard):
    path = shard.write(tmp_path / "run")
    done = gait("export", path, "--format", "csv", "-o", "out.csv")
    assert (done.returncode, done.stderr) == (0, "")
    ours = (tmp_path / "out.csv").read_bytes().decode()
    assert ours == gait_events.csv_text(gait_events.EventShard(path.read_bytes()))
    return ours.splitlines()[1:]


@pytest.mark.parametrize("track", [7, 0])
def test_rows_of_a_track_that_was_lost_run_by_clock_1(gait, tmp_path, track):
    shard = ShardMaker(tick_hz=2_000_000_000)
    site = shard.site("c", "a")
    anchors = [(1, tick, 5000 + tick // 2, START + tick // 2, 0) for tick in (0, 10**9)]
    shard.rows("clock", 0, anchors)
    shard.spans(track, [(1000, 200, site, 0)])
    (row,) = assert_same_rows(gait, tmp_path, shard)
    assert row == f"span,c,a,,1000,{track},{START + 500},100,,,"


def test_a_track_without_a_key_has_its_id(gait, tmp_path):
    shard = ShardMaker()
    shard.spans(shard.track(kind=2), [(START, 1, shard.site("c", "a"))])
    (row,) = assert_same_rows(gait, tmp_path, shard)
    assert row.split(",")[5] == "1"


def test_rows_that_start_together_come_parents_first(gait, tmp_path):
    shard = ShardMaker()
    track = shard.track(key="1000", os_id=1000)
    site = [shard.site("c", name) for name in "abcdef"]
    rows = [(START, 1, site[2], 2), (START, 5, site[1], 1), (START, 9, site[0], 0)]
    shard.spans(track, rows + [(START + 9, 0, site[3]), (START + 9, 4, site[4])])
    shard.rows("step", track, [(START, 90, 1)])
    shard.rows("open", 0, [(track, START, site[5], 0, 0, 0, b""), (track, START, 0, 0, 2, 1, b"")])
    names = [row.split(",")[:3] for row in assert_same_rows(gait, tmp_path, shard)]
    # an open step and span are around the rest; the one of no length came first
    steps = [["step", "", ""]] * 2
    assert names == steps + [["span", "c", name] for name in "fabcde"]


def test_any_rows_at_few_places_come_in_the_same_order(gait, tmp_path):
    rng = random.Random(8)
    shard = ShardMaker()
    sites = [shard.site("c", f"s{i}") for i in range(50)]
    tracks = [shard.track(key=str(i), os_id=1000 + i) for i in range(3)]
    for _ in range(60):
        track, count = rng.choice(tracks), rng.randrange(1, 12)
        at = [START + rng.randrange(4) for _ in range(count)]
        spans = [(t, rng.randrange(3), rng.choice(sites), rng.randrange(3)) for t in at]
        other = [(t, rng.choice(sites)) for t in at]
        kind = rng.choice(["span", "span", "mark", "counter", "step"])
        if kind == "span":
            shard.spans(track, spans if rng.random() < 0.5 else sorted(spans, key=lambda s: s[0]))
        elif kind == "step":
            shard.rows("step", track, [(t, 2, i) for i, t in enumerate(at)])
        else:
            shard.rows(kind, track, other)
    assert_same_rows(gait, tmp_path, shard)
