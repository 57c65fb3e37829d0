# SPDX-License-Identifier: Apache-2.0
"""`gait export --format parquet`, read by those who read Parquet: the rows of csv, and how spans
belong together."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys

import pytest
from small_disk import small_disk_at

NUMBERS = {"pid", "start_ns", "duration_ns", "id"}
ORDER = ["start_ns", "kind", "name", "duration_ns", "tid", "id", "value"]


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
    """Two ranks in one run, a process of no rank in another; (folder, {run: rows of csv}).

    Each run is read by itself: no reader takes ranks from a folder and from a column at once."""
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
        "run=alone/part-0.parquet",
        "run=my%20job%3D1/rank=0/part-0.parquet",
        "run=my%20job%3D1/rank=3/part-0.parquet",
    ]


LINKS = "row_id parent_id op_id launch_id step"
TYPED = {
    "device": ["device"],
    "stream": ["stream"],
    "bytes": ["bytes"],
    "dtype": ["dtype", "Input type"],
    "shapes": ["Input Dims"],
    "process_group": ["Process Group Name"],
    "sequence": ["Seq", "Sequence number"],
}


def without_typed(args):
    """Arguments of csv less those that have a column, and these."""
    args = json.loads(args) if args else {}
    typed = {}
    for column, keys in TYPED.items():
        key = next((key for key in keys if key in args), None)
        typed[column] = args.pop(key) if key else ""
    return args, typed


def as_csv(row):
    """A row of Parquet as csv has it."""
    row = {key: "" if value is None else value for key, value in row.items()}
    for key in LINKS.split():
        del row[key]
    for key in NUMBERS | {"rank"}:
        row[key] = str(row[key])
    return row


def in_order(rows):
    return sorted(rows, key=lambda row: [str(row[key]) for key in ORDER])


def run_in(folder, run):
    return folder / ("run=" + run.replace(" ", "%20").replace("=", "%3D"))


def test_pyarrow_reads_the_rows_of_csv(lake):
    dataset = pytest.importorskip("pyarrow.dataset")
    folder, expected = lake
    compared = 0
    for run, rows in expected.items():
        table = dataset.dataset(run_in(folder, run), partitioning="hive").to_table()
        assert " ".join(table.column_names) == (
            "kind category name pid tid start_ns duration_ns id value "
            f"{LINKS} {' '.join(TYPED)} args rank"
        )
        table_rows = table.to_pylist()
        for rank in {row["rank"] for row in rows}:
            wanted = [row for row in rows if row["rank"] == rank]
            found = [row for row in table_rows if row["rank"] == (int(rank) if rank else None)]
            assert len(found) == len(wanted)
            starts = [row["start_ns"] for row in found]
            assert starts == sorted(starts)
            for ours, theirs in zip(in_order(map(as_csv, found)), in_order(wanted)):
                value = ours.pop("value")
                args, typed = without_typed(theirs.pop("args"))
                assert json.loads(ours.pop("args") or "{}") == args
                shapes = ours.pop("shapes")
                assert (json.loads(shapes) if shapes else "") == typed.pop("shapes")
                assert {key: ours.pop(key) for key in typed} == typed
                assert (float(theirs.pop("value") or "nan") == value) or value == ""
                assert ours == theirs
                compared += 1
    assert compared == sum(map(len, expected.values())) > 140_000


def links_of(events):
    """Of each span by (start, name): its parent, and of work of a device its call, its op and its
    step, as an interval, a correlation and a name tell them."""
    spans = [event for event in events if event.get("ph") == "X"]
    for span in spans:
        span["end"] = span["ts"] + span["dur"]
    spans.sort(key=lambda span: (span["ts"], -span["end"]))
    told, open_on, calls, steps = {}, {}, {}, []
    for span in spans:
        stack = open_on.setdefault((span["pid"], span["tid"]), [])
        while stack and (stack[-1]["end"] <= span["ts"] or stack[-1]["end"] < span["end"]):
            stack.pop()
        span["parent"] = stack[-1] if stack else None
        ops = [row for row in stack if row["cat"] == "cpu_op"]
        stack.append(span)
        if span["cat"] == "cuda_runtime":
            calls[span["args"]["correlation"]] = (span, ops[-1] if ops else None)
        if span["name"].startswith("ProfilerStep#"):
            steps.append((span["ts"], span["end"], int(span["name"][13:])))
    for span in spans:
        call, op = None, None
        if span["cat"] == "kernel":
            call, op = calls.get(span["args"]["correlation"], (None, None))
        at = (call or span)["ts"]
        step = next((number for begin, end, number in steps if begin <= at < end), None)
        told[key_of(span)] = (key_of(span["parent"]), key_of(call), key_of(op), step)
    return told


def key_of(span):
    return (span["ts"] * 1000, span["name"]) if span else None


def events_with_links():
    """Three steps with nested ops, a call on a thread, kernels of one and of the step before."""
    events = []
    for step in range(3):
        base, host = 1000 * step, {"ph": "X", "pid": 7, "tid": 9}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step + 4}", "ts": base,
             "dur": 900},
            {**host, "cat": "cpu_op", "name": f"outer {step}", "ts": base + 10, "dur": 500},
            {**host, "cat": "cpu_op", "name": f"inner {step}", "ts": base + 20, "dur": 100},
            {**host, "cat": "cuda_runtime", "name": f"call a {step}", "ts": base + 30, "dur": 5,
             "args": {"correlation": 10 * step + 1}},
            {**host, "cat": "cuda_runtime", "name": f"call b {step}", "ts": base + 200, "dur": 5,
             "args": {"correlation": 10 * step + 2}},
            {**host, "cat": "cuda_runtime", "name": f"call c {step}", "ts": base + 800, "dur": 5,
             "args": {"correlation": 10 * step + 3}},
        ]  # fmt: skip
        for place, (number, at) in enumerate([(1, 100), (2, 950), (3, 1010), (9, 1050)]):
            events.append({"ph": "X", "cat": "kernel", "name": f"kernel {place} of {step}",
                           "pid": 0, "tid": 7, "ts": base + at, "dur": 40,
                           "args": {"correlation": 10 * step + number, "device": 0,
                                    "stream": 7}})  # fmt: skip
    return events


def test_spans_tell_their_parent_call_op_and_step(gait, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    events = events_with_links()
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    assert gait("export", "t.json", "--format", "parquet", "-o", "lake").returncode == 0
    rows = parquet.read_table(tmp_path / "lake/run=t/part-0.parquet").to_pylist()
    rows = [row for row in rows if row["kind"] == "span"]
    origin = min(row["start_ns"] for row in rows)
    keys = {row["row_id"]: (row["start_ns"] - origin, row["name"]) for row in rows}
    assert len(keys) == len(rows) == 30
    found = {
        keys[row["row_id"]]: (
            *(keys.get(row[link]) for link in ("parent_id", "launch_id", "op_id")), row["step"]
        )
        for row in rows
    }  # fmt: skip
    assert found == links_of(events)
    assert {row["stream"] for row in rows if row["category"] == "kernel"} == {7}


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
    found = {}
    for run in expected:
        asked = duckdb.sql(
            "SELECT run, rank, count(*), sum(duration_ns), coalesce(sum(id), 0), sum(value) FROM "
            f"read_parquet('{run_in(folder, run)}/**/*.parquet', hive_partitioning = true) "
            "GROUP BY ALL"
        ).fetchall()
        for name, rank, *numbers in asked:
            found.setdefault(name, {})[rank] = numbers
    wanted = {run: sums_of(rows) for run, rows in expected.items()}
    assert found == wanted


def test_polars_adds_up_what_csv_adds_up(lake):
    polars = pytest.importorskip("polars")
    folder, expected = lake
    for run, rows in expected.items():
        frame = polars.scan_parquet(run_in(folder, run), hive_partitioning=True).collect()
        assert len(frame) == len(rows)
        total = sum(int(row["duration_ns"] or 0) for row in rows)
        assert frame["duration_ns"].sum() == total


SPARK = """
import json, sys
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
sums = [F.sum(F.col(key).cast("decimal(38,0)")) for key in ("duration_ns", "id")]
for folder in sys.argv[1:]:
    rows = spark.read.parquet(folder).groupBy("rank").agg(F.count("kind"), *sums, F.sum("value"))
    told = [[None if x is None else float(x) if i == 4 else int(x) for i, x in enumerate(row)]
            for row in rows.collect()]
    print(json.dumps(told))
"""


def test_spark_adds_up_what_csv_adds_up(lake, tmp_path):
    pytest.importorskip("pyspark")
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        pytest.skip("no java, which Spark runs on")
    folder, expected = lake
    line = [sys.executable, "-c", SPARK, *(str(run_in(folder, run)) for run in expected)]
    env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(tmp_path)}
    done = subprocess.run(line, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = [
        {rank: [number or 0 for number in numbers] for rank, *numbers in json.loads(line)}
        for line in done.stdout.splitlines()
    ]
    assert found == [sums_of(rows) for rows in expected.values()]


def parts_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))


def test_one_process_without_a_rank_makes_rank_a_column_of_all(gait, tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    (tmp_path / "run").mkdir()
    for name, rank in ("a", 2), ("b", None):
        (tmp_path / "run" / f"{name}.json").write_text(json.dumps(trace_of(rank)))
    done = gait("export", "run", "--format", "parquet", "-o", "lake")
    assert done.returncode == 0, done.stderr
    lake = tmp_path / "lake"
    assert parts_in(lake) == ["run=run/part-0.parquet", "run=run/part-1.parquet"]
    table = dataset.dataset(lake, partitioning="hive").to_table()
    field = table.schema.field("rank")
    assert (str(field.type), field.nullable) == ("int64", True)
    assert set(table["rank"].to_pylist()) == {2, None}


def test_the_same_run_leaves_no_file_of_before(gait, tmp_path):
    """It had ranks, then not, then again: and what others put there stays."""
    (tmp_path / "run").mkdir()
    (tmp_path / "lake" / "run=run" / "rank=9").mkdir(parents=True)
    (tmp_path / "lake" / "run=run" / "rank=9" / "notes").write_text("mine")
    (tmp_path / "lake" / "run=run" / "part-77.parquet").write_bytes(b"PAR1" + b"x" * 60 + b"PAR1")
    expected = {
        (0, 1): ["run=run/rank=0/part-0.parquet", "run=run/rank=1/part-0.parquet"],
        (0, 0): ["run=run/rank=0/part-0.parquet", "run=run/rank=0/part-1.parquet"],
        (None, 0): ["run=run/part-0.parquet", "run=run/part-1.parquet"],
        (None,): ["run=run/part-0.parquet"],
        (3,): ["run=run/rank=3/part-0.parquet"],
    }
    for ranks, parts in expected.items():
        for path in (tmp_path / "run").iterdir():
            path.unlink()
        for number, rank in enumerate(ranks):
            (tmp_path / "run" / f"{number}.json").write_text(json.dumps(trace_of(rank)))
        done = gait("export", "run", "--format", "parquet", "-o", "lake")
        assert done.returncode == 0, done.stderr
        assert "one by one" not in done.stderr  # one run is no mixture of two
        assert [p for p in parts_in(tmp_path / "lake") if "part-77" not in p] == parts
    left = sorted(path.name for path in (tmp_path / "lake" / "run=run").iterdir())
    assert left == ["part-77.parquet", "rank=3", "rank=9"]
    assert (tmp_path / "lake" / "run=run" / "rank=9" / "notes").read_text() == "mine"


def test_a_folder_of_both_kinds_of_runs_is_told(gait, tmp_path):
    (tmp_path / "ranked.json").write_text(json.dumps(trace_of(1)))
    (tmp_path / "alone.json").write_text(json.dumps(trace_of()))
    for path, is_told in ("ranked", False), ("alone", True), ("ranked", True):
        done = gait("export", f"{path}.json", "--format", "parquet", "-o", "lake")
        assert done.returncode == 0
        assert ("run=ranked" in done.stderr and "run=alone" in done.stderr) == is_told


def test_texts_are_exact(gait, tmp_path):
    """csv marks what a spreadsheet would calculate; Parquet has nobody who would."""
    parquet = pytest.importorskip("pyarrow.parquet")
    name = '=SUM(A1)\t"x",-y'
    event = {"ph": "X", "cat": "@c", "name": name, "ts": 1, "dur": 1, "pid": 7, "tid": 9}
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [event]}))
    assert gait("export", "t.json", "--format", "parquet", "-o", "lake").returncode == 0
    row = parquet.read_table(tmp_path / "lake/run=t/part-0.parquet").to_pylist()[0]
    assert (row["name"], row["category"]) == (name, "@c")


def test_arguments_that_are_no_value_of_their_column_stay_in_args(gait, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    args = {
        "stream": ["7", 7.0, -1, None, True, 2**63 - 1, 2**63, ""],
        "Input Dims": [[[2]], "[[2]]", 7, None, [], "", "null"],
        "Process Group Name": ["0", 0, None, "", "default"],
    }
    taken = {"stream": [-1, 2**63 - 1], "Input Dims": ["[[2]]", "[[2]]", "[]", "null"],
             "Process Group Name": ["0", "default"]}  # fmt: skip
    events = [
        {"ph": "X", "cat": "c", "name": key, "ts": at, "dur": 1, "pid": 7, "tid": 9,
         "args": {key: value}}
        for key, values in args.items() for at, value in enumerate(values)
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    assert gait("export", "t.json", "--format", "parquet", "-o", "lake").returncode == 0
    rows = parquet.read_table(tmp_path / "lake/run=t/part-0.parquet").to_pylist()
    columns = {"Input Dims": "shapes", "Process Group Name": "process_group"}
    for key, values in args.items():
        told = [row for row in rows if row["name"] == key]
        assert len(told) == len(values)
        column = [row[columns.get(key, key)] for row in told]
        assert [value for value in column if value is not None] == taken[key]
        for value, row, event in zip(column, told, [e for e in events if e["name"] == key]):
            assert json.loads(row["args"] or "null") == (event["args"] if value is None else None)


def span(category, name, at, us, tid=9, **args):
    return {"ph": "X", "cat": category, "name": name, "ts": at, "dur": us,
            "pid": 0 if args else 7, "tid": tid, "args": args}  # fmt: skip


ODD = {
    "no span": [{"ph": "C", "cat": "c", "name": "loss", "ts": 1, "pid": 7, "args": {"loss": 1}}],
    "devices alone": [
        span("kernel", "k", at, 2, 7, device=0, stream=7, correlation=at) for at in range(9)
    ],
    "no end": [{"ph": "B", "cat": "cpu_op", "name": f"op {at}", "ts": at, "pid": 7, "tid": 9}
               for at in range(9)],
    "overhanging": [span("cpu_op", "a", 0, 10), span("cpu_op", "b", 5, 10),
                    span("cpu_op", "c", 8, 3), span("cpu_op", "d", 14, 1)],
    "10,000 threads": [span("cpu_op", "op", at, 5, at + 1) for at in range(10_000)],
    "30,000 nested": [span("cpu_op", f"op {at % 3}", at, 90_000 - 2 * at) for at in range(30_000)],
    "292 years": [span("cpu_op", "long", 0, 9223372036854775.0), span("cpu_op", "b", 1, 2)],
    "a text of 1 MB": [span("cpu_op", "a", 1, 2, **{"Input Dims": "x" * (1 << 20), "y": "z"})],
}  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_odd_traces_lose_nothing(gait, tmp_path, what):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": ODD[what]}))
    assert gait("export", "t.json", "--format", "parquet", "-o", "lake").returncode == 0
    rows = parquet.read_table(tmp_path / "lake/run=t/part-0.parquet").to_pylist()
    csv.field_size_limit(1 << 24)
    text = gait("export", "t.json", "--format", "csv").stdout
    told = list(csv.DictReader(io.StringIO(text, newline="")))
    keys = "kind", "name", "start_ns", "duration_ns", "tid"
    found = sorted([str("" if row[key] is None else row[key]) for key in keys] for row in rows)
    assert found == sorted([row[key] for key in keys] for row in told)
    numbers = {row["row_id"] for row in rows if row["kind"] == "span"}
    assert len(numbers) == sum(row["kind"] == "span" for row in rows)
    by_number = {row["row_id"]: row for row in rows}
    for row in rows:
        if row["parent_id"] is not None:
            around = by_number[row["parent_id"]]
            assert around["start_ns"] <= row["start_ns"]
            end = around["start_ns"] + around["duration_ns"]
            assert row["start_ns"] + row["duration_ns"] <= end


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(gait, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(trace_of(0)))
    with small_disk_at(tmp_path / "disk", "256k") as disk:
        assert gait("export", "t.json", "--format", "parquet", "-o", disk).returncode == 0
        path = disk / "run=t/rank=0/part-0.parquet"
        before = path.read_bytes()
        (tmp_path / "t.json").write_text(json.dumps(trace_of(0, 140_000)))
        done = gait("export", "t.json", "--format", "parquet", "-o", disk)
        assert done.returncode == 2 and done.stderr.count("gait export:") == 1
        assert done.stderr.endswith(f"cannot write '{path}': No space left on device\n")
        assert [file for file in disk.rglob("*") if file.is_file()] == [path]
        assert path.read_bytes() == before


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
