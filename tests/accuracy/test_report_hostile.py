# SPDX-License-Identifier: Apache-2.0
"""Files of PyTorch runs whose times no clock shows: an answer, whatever it is, and no more
than that. `make check` asks the same with the sanitizers in."""

import json

import pytest

from tests.support.shard_maker import ShardMaker

LAST = (1 << 63) - 1
# One tick is a nanosecond: tick 0 is far before the epoch, so that times lie as far apart
# as 64 bits go.
FAR_BEFORE = -(1 << 63) + 10
CLOCK = [(1, 0, 0, FAR_BEFORE, 1), (1, 100_000_000, 100_000_000, FAR_BEFORE + 100_000_000, 1)]


def maker(**meta):
    shard = ShardMaker(pid=7, start_ns=0, torch={"version": "2.13.0"}, **meta)
    shard.rows("clock", 0, CLOCK)
    return shard


def phase(shard, name, start, length, **args):
    return (start, length, shard.site("phase", name), 0, shard.args(list(args.items())))


def told(gait, shard, folder):
    shard.write(folder)
    screen, report = gait("report", folder), gait("report", "--json", folder)
    for done in (screen, report, gait("export", "--steps", folder, "-o", folder / "out.csv")):
        assert done.returncode in (0, 1), done.stderr
        assert "runtime error" not in done.stderr and "Sanitizer" not in done.stderr
    return json.loads(report.stdout)


def test_steps_that_were_marked_and_last_longer_than_time(gait, tmp_path):
    shard = maker()
    busy = shard.track(key="1", os_id=7, clock=1)
    other = shard.track(key="2", os_id=8, clock=1)
    shard.rows("step", busy, [(n, LAST * 2, n) for n in range(6)])
    shard.rows("step", other, [(1000, 50, 1)])
    shard.spans(busy, [phase(shard, "backward", 500, 10)])
    window = shard.site("torch", "window")  # of them, many at a time
    begins = [(-FAR_BEFORE + n, window, n, 0) for n in range(9)]
    shard.rows("async", busy, begins + [(LAST * 2 - 10, window, n, 1) for n in range(9)])
    report = told(gait, shard, tmp_path / "run")
    assert report["steps"] == 6


def test_steps_that_are_found_and_last_longer_than_time(gait, tmp_path):
    shard = maker()
    track = shard.track(key="1", os_id=7, clock=1)
    rows = []
    for n in range(8):
        start = n * 1000 if n < 4 else LAST * 2 - (9 - n) * 1000
        rows.append(phase(shard, "input", start, 10, loader=5, asks=1, got=1))
        rows.append(phase(shard, "forward", start + 20, 10, module=1, training=1))
        rows.append(phase(shard, "backward", start + 40, 10))
        rows.append(phase(shard, "optimizer", start + 60, 10, optimizer=2, steps=1))
    shard.spans(track, rows)
    window = shard.site("torch", "window")
    shard.rows("async", track, [(0, window, 1, 0), (LAST * 2 - 10, window, 1, 1)])
    report = told(gait, shard, tmp_path / "run")
    assert report["steps"] == 0  # hook_facts.c takes times that differences cannot leave


@pytest.mark.parametrize("at", [LAST, LAST * 2])
def test_an_epoch_that_begins_at_the_end_of_time(gait, tmp_path, at):
    shard = ShardMaker(pid=7, start_ns=0, torch={"version": "2.13.0"})
    track = shard.track(key="1", os_id=7)
    rows = []
    for n in range(8):
        rows.append(phase(shard, "input", n * 1000, 10, loader=5, asks=1, got=1))
        rows.append(phase(shard, "backward", n * 1000 + 40, 10))
        rows.append(phase(shard, "optimizer", n * 1000 + 60, 10, optimizer=2, steps=1))
    shard.spans(track, rows)
    shard.rows("mark", track, [(at, shard.site("torch", "epoch"))])
    report = told(gait, shard, tmp_path / "run")
    assert report["steps"] == 8
