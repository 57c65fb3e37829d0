# SPDX-License-Identifier: Apache-2.0
"""`gait export --format parquet`, read by those who read Parquet: the rows of csv."""

import csv
import io
import json

import pytest

NUMBERS = {"pid", "start_ns", "duration_ns", "id"}


def trace_of(rank=None, count=0):
    """Events of all sorts; `count` more of few names."""
    common = {"pid": 7, "tid": 9}
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 10, "dur": 5.25, **common,
         "args": {"External id": 3, "Input Dims": [[2, 3], []], "text": "a \"quote\", caf\u00e9"}},
        {"ph": "X", "name": "no category", "ts": 11.001, "dur": 0, **common},
        {"ph": "X", "cat": "kernel", "name": "gemm \u8a13\u7df4 \n", "ts": 12, "dur": 4, "pid": 0,
         "tid": "stream 7", "args": {"stream": 7}},
        {"ph": "i", "cat": "mark", "name": "here", "s": "t", "ts": 13, **common},
        {"ph": "C", "cat": "c", "name": "loss", "ts": 14, "pid": 7, "args": {"loss": 0.125}},
        {"ph": "C", "cat": "c", "name": "loss", "ts": 15, "pid": 7, "args": {"loss": 3}},
        {"ph": "b", "cat": "a", "name": "async", "id": 5, "ts": 16, **common},
        {"ph": "e", "cat": "a", "name": "async", "id": 5, "ts": 19, **common},
        {"ph": "s", "cat": "f", "name": "flow", "id": 6, "ts": 10, **common},
        {"ph": "f", "cat": "f", "name": "flow", "id": 6, "ts": 12, "bp": "e", **common},
        {"ph": "B", "cat": "open", "name": "never ends", "ts": 30, **common},
    ]  # fmt: skip
    for number in range(count):
        name = {"name": f"op {number % 300}", "cat": "cpu_op"}
        events.append({"ph": "X", **name, "ts": 40 + number, "dur": number % 7, **common})
    told = {"distributedInfo": {"rank": rank, "world_size": 4}} if rank is not None else {}
    return {"schemaVersion": 1, **told, "traceEvents": events}


@pytest.fixture
def lake(gait, tmp_path):
    """Two ranks in one run, a process of no rank in another; (folder, {run: rows of csv})."""
    (tmp_path / "my job=1").mkdir()
    for rank in (0, 3):
        path = tmp_path / "my job=1" / f"rank{rank}.json"
        path.write_text(json.dumps(trace_of(rank, 140_000 if rank else 0)))
    (tmp_path / "alone.pt.trace.json").write_text(json.dumps(trace_of()))
    rows = {}
    for path, name in ("my job=1", "my job=1"), ("alone.pt.trace.json", "alone"):
        done = gait("export", path, "--format", "parquet", "-o", "lake")
        assert done.returncode == 0, done.stderr
        text = gait("export", path, "--format", "csv").stdout
        rows[name] = list(csv.DictReader(io.StringIO(text, newline="")))
    return tmp_path / "lake", rows


def test_files_lie_where_hives_partitions_lie(lake):
    folder, _ = lake
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))
    assert found == [
        "run=alone/rank=__HIVE_DEFAULT_PARTITION__/part-0.parquet",
        "run=my%20job%3D1/rank=0/part-0.parquet",
        "run=my%20job%3D1/rank=3/part-0.parquet",
    ]


def as_csv(row):
    """A row of Parquet as csv has it."""
    row = {key: "" if value is None else value for key, value in row.items() if key != "run"}
    for key in NUMBERS | {"rank"}:
        row[key] = str(row[key])
    return row


def test_pyarrow_reads_the_rows_of_csv(lake):
    dataset = pytest.importorskip("pyarrow.dataset")
    folder, expected = lake
    table = dataset.dataset(folder, partitioning="hive").to_table()
    assert table.column_names[:10] == (
        "kind category name pid tid start_ns duration_ns id value args".split())  # fmt: skip
    table_rows, compared = table.to_pylist(), 0
    for run, rows in expected.items():
        for rank in {row["rank"] for row in rows}:
            wanted = [row for row in rows if row["rank"] == rank]
            place = (run, int(rank) if rank else None)
            found = [row for row in table_rows if (row["run"], row["rank"]) == place]
            assert len(found) == len(wanted)
            for ours, theirs in zip(map(as_csv, found), wanted):
                value = ours.pop("value")
                assert (float(theirs.pop("value") or "nan") == value) or value == ""
                assert ours == theirs
                compared += 1
    assert compared == table.num_rows > 140_000


def sums_of(rows):
    """By rank: how many rows, and what each number adds up to."""
    sums = {}
    for row in rows:
        told = sums.setdefault(int(row["rank"]) if row["rank"] else None, [0, 0, 0, 0.0])
        told[0] += 1
        for place, key in enumerate(("duration_ns", "id"), 1):
            told[place] += int(row[key] or 0)
        told[3] += float(row["value"] or 0)
    return sums


def test_duckdb_adds_up_what_csv_adds_up(lake):
    duckdb = pytest.importorskip("duckdb")
    folder, expected = lake
    asked = duckdb.sql(
        "SELECT run, rank, count(*), sum(duration_ns), coalesce(sum(id), 0), sum(value) "
        f"FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true) GROUP BY ALL"
    ).fetchall()
    found = {}
    for run, rank, *numbers in asked:
        found.setdefault(run, {})[rank] = numbers
    wanted = {run: sums_of(rows) for run, rows in expected.items()}
    assert found == wanted


def test_polars_adds_up_what_csv_adds_up(lake):
    polars = pytest.importorskip("polars")
    folder, expected = lake
    frame = polars.scan_parquet(folder, hive_partitioning=True).collect()
    assert len(frame) == sum(map(len, expected.values()))
    total = sum(int(row["duration_ns"] or 0) for rows in expected.values() for row in rows)
    assert frame["duration_ns"].sum() == total


def test_what_cannot_be_meant_is_refused(gait, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(trace_of()))
    done = gait("export", "t.json", "--format", "parquet")
    assert done.returncode == 2 and "name it with -o" in done.stderr
    for option in "--steps", "--gzip":
        done = gait("export", "t.json", "--format", "parquet", "-o", "lake", option)
        assert done.returncode == 2 and option in done.stderr
    (tmp_path / "file").write_text("")
    done = gait("export", "t.json", "--format", "parquet", "-o", "file")
    assert done.returncode == 2 and "cannot make the folder" in done.stderr
