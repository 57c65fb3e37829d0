# SPDX-License-Identifier: Apache-2.0
"""The CSV export, read back by Python's own csv module."""

import os
import random

import pytest
from export_cases import HEADER, HOSTILE, START, Case, everything, in_csv, in_order, read_csv
from shard_maker import ShardMaker


def exported(gait, path, *options):
    ran = gait("export", path, "--format", "csv", "-o", "out.csv", *options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    return ran


def rows_of(path):
    return read_csv(path.read_bytes().decode("utf-8"))


def test_every_kind_has_its_row(gait, tmp_path):
    case = everything(tmp_path / "run")
    exported(gait, case.directory)
    rows = rows_of(tmp_path / "out.csv")
    assert in_order(rows) == in_order(case.expected)
    starts = [int(r["start_ns"]) for r in rows]
    assert starts == sorted(starts)


def test_lines_end_as_rfc_4180_has_it(gait, tmp_path):
    case = Case(tmp_path / "run")
    shard = case.shard()
    track = shard.track(key="1000", os_id=1000)
    case.spans(shard, track, 1000, [(START, 5, "c", "a\nb"), (START + 9, 5, "c", "d")])
    exported(gait, case.write())
    lines = (tmp_path / "out.csv").read_bytes().split(b"\r\n")
    assert lines[0].decode() == ",".join(HEADER)
    assert lines[1] == b'span,c,"a\nb",,1000,1000,%d,5,,,' % START
    assert lines[3:] == [b""]


def test_standard_output_gets_what_a_file_gets(gait, tmp_path):
    case = everything(tmp_path / "run")
    exported(gait, case.directory)
    for options in ([], ["-o", "-"]):
        ran = gait("export", case.directory, "--format", "csv", *options)
        assert ran.returncode == 0
        printed = ran.stdout.encode("utf-8", "surrogateescape")
        # text mode on the way here made every line end \n
        assert printed == (tmp_path / "out.csv").read_bytes().replace(b"\r\n", b"\n").replace(
            b"\r", b"\n"
        )


def test_internal_tracks_only_when_asked_for(gait, tmp_path):
    case = Case(tmp_path / "run")
    shard = case.shard()
    track = shard.track(key="1000", os_id=1000)
    drainer = shard.track(key="1001", name="gait", os_id=1001, internal=1)
    case.spans(shard, track, 1000, [(START, 5, "c", "yours")])
    case.write()
    seen = in_order(case.expected)
    case = Case(tmp_path / "run2")
    case.shards.append(shard)
    shard.spans(drainer, [(START + 1, 5, shard.site("gait", "drain"))])
    exported(gait, case.write())
    assert in_order(rows_of(tmp_path / "out.csv")) == seen
    exported(gait, case.directory, "--internal")
    names = [r["name"] for r in rows_of(tmp_path / "out.csv")]
    assert names == ["yours", "drain"]


# More than any buffer on the way holds, in several frames.
MANY = 1_000_000 if os.environ.get("GAIT_TEST_FULL") else 150_000
FRAME = MANY // 5


def test_many_events_stay_exact(gait, tmp_path):
    rng = random.Random(3)
    shard = ShardMaker(rank=12)
    track = shard.track(key="1000", os_id=1000)
    names = [bytes(rng.randrange(1, 256) for _ in range(rng.randrange(40))) for _ in range(500)]
    sites = [shard.site("c,\n", name) for name in names]
    rows = [(START + i * 7, i % 7, sites[i % 500]) for i in range(MANY)]
    for first in range(0, MANY, FRAME):
        shard.spans(track, rows[first : first + FRAME])
    shard.write(tmp_path / "run")
    exported(gait, tmp_path / "run")
    got = rows_of(tmp_path / "out.csv")
    wanted = [in_csv(name.decode("utf-8", "replace")) for name in names]
    assert len(got) == MANY
    for i, r in enumerate(got):
        assert r["name"] == wanted[i % 500]
        assert (int(r["start_ns"]), int(r["duration_ns"])) == (START + i * 7, i % 7)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_one_field(gait, tmp_path, name):
    case = Case(tmp_path / "run")
    shard = case.shard()
    track = shard.track(key="1000", os_id=1000, name=name)
    case.spans(shard, track, 1000, [(START, 5, name, name)])
    exported(gait, case.write())
    rows = rows_of(tmp_path / "out.csv")
    assert rows == case.expected
