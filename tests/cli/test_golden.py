# SPDX-License-Identifier: Apache-2.0
"""The C reader agrees with the plain decoder on every golden file.

What the decoder makes of a file stands beside it (tests/python/test_decoder.py
keeps it there); the tool must say the same, to the byte.
"""

import csv
import io
import json
import pathlib

import pytest
from export_cases import in_csv

FILES = sorted((pathlib.Path(__file__).resolve().parent.parent / "golden").glob("v*/*.gait"))


def name_of(path):
    return path.parent.name + "/" + path.stem


def summary(path):
    return json.loads(path.with_suffix(".jsonl").read_text().splitlines()[-1])


def shown(path):
    """The decoder's rows with names as an export has them (docs/EXPORTS.md)."""
    out = io.StringIO(newline="")
    with open(path, encoding="utf-8", newline="") as file:
        rows = [[in_csv(cell) for cell in row] for row in csv.reader(file)]
    csv.writer(out).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_events_are_those_of_the_plain_decoder(gait, tmp_path, path):
    ran = gait("export", path, "--format", "csv", "-o", "out.csv")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / "out.csv").read_bytes() == shown(path.with_suffix(".csv")).encode()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_counts_and_damage_are_those_of_the_plain_decoder(gait, path):
    ran = gait("info", path, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    info = json.loads(ran.stdout)
    expected = summary(path)
    assert info["events"] == expected["events"]
    assert info["dropped"] == expected["dropped"]
    assert [[one["offset"], one["bytes"]] for one in info["damage"]] == expected["damage"]
    assert [shard["complete"] for shard in info["shards"]] == [expected["complete"]]
