# SPDX-License-Identifier: Apache-2.0
"""Twice the input costs about twice the work, whatever it looks like (docs/LIMITS.md)."""

import json

import pytest
from work import MOST, least_work


def import_work(build, tmp_path, source):
    shard = tmp_path / "x.gait"
    command = [build / "gait", "import", source, "-o", shard]
    spent, done = least_work(command, before=lambda: shard.unlink(missing_ok=True))
    assert (done.returncode, done.stderr) == (0, "")
    return spent


def threads(count, tmp_path):
    source = tmp_path / f"{count}.json"
    source.write_text(
        json.dumps(
            [{"ph": "X", "pid": 1, "tid": i, "name": "a", "ts": i, "dur": 1} for i in range(count)]
        )
    )
    return source


@pytest.mark.parametrize(("make", "count"), [(threads, 8000)])
def test_twice_the_input_takes_twice_the_work(build, tmp_path, make, count):
    once = import_work(build, tmp_path, make(count, tmp_path))
    twice = import_work(build, tmp_path, make(2 * count, tmp_path))
    assert twice < MOST * once
