# SPDX-License-Identifier: Apache-2.0
"""gait import of MLPerf's :::MLLOG lines, among whatever else a training prints."""

import csv
import io
import json

START_MS = 1_592_860_987_117


def line(key, kind, after_ms, value=None, prefix="", **metadata):
    entry = {"namespace": "", "time_ms": START_MS + after_ms, "event_type": kind, "key": key}
    entry |= {"value": value, "metadata": {"file": "train.py", "lineno": 7, **metadata}}
    return f"{prefix}:::MLLOG {json.dumps(entry)}\n"


LOG = [
    "loading the data\n",
    line("submission_benchmark", "POINT_IN_TIME", 0, "resnet"),
    line("run_start", "INTERVAL_START", 10),
    line("block_start", "INTERVAL_START", 20, first_epoch_num=1, epoch_count=2),
    line("epoch_start", "INTERVAL_START", 30, epoch_num=1, prefix="3: "),
    "step 17: loss 0.5 {not json\n",
    line("epoch_stop", "INTERVAL_END", 530, epoch_num=1),
    line("epoch_start", "INTERVAL_START", 540, epoch_num=2),
    line("epoch_stop", "INTERVAL_END", 940, epoch_num=2),
    line("eval_accuracy", "POINT_IN_TIME", 950, 0.759, epoch_num=2),
    line("block_stop", "INTERVAL_END", 960, first_epoch_num=1),
    line("run_stop", "INTERVAL_END", 970, status="success"),
]


def rows_of(gait, path):
    done = gait("export", path, "--format", "csv", "--no-cache")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_intervals_points_and_accuracy(gait, tmp_path):
    path = tmp_path / "result_0.log"
    path.write_text("".join(LOG))
    rows = rows_of(gait, path)
    spans = [
        (row["name"], int(row["start_ns"]) // 10**6 - START_MS, int(row["duration_ns"]) // 10**6)
        for row in rows
        if row["kind"] == "span"
    ]
    assert spans == [
        ("run", 10, 960),
        ("block", 20, 940),
        ("epoch", 30, 500),
        ("epoch", 540, 400),
    ]
    args = [json.loads(row["args"]) for row in rows if row["name"] == "epoch"]
    assert [told["epoch_num"] for told in args] == [1, 2]
    marks = {row["name"]: json.loads(row["args"]) for row in rows if row["kind"] == "mark"}
    assert marks["submission_benchmark"]["value"] == "resnet"
    assert marks["eval_accuracy"] == {
        "value": 0.759,
        "file": "train.py",
        "lineno": 7,
        "epoch_num": 2,
    }
    exported = json.loads(gait("export", path, "--format", "chrome").stdout)["traceEvents"]
    assert [e["args"] for e in exported if e["ph"] == "C"] == [{"value": 0.759}]


def test_lines_that_are_broken_are_counted(gait, tmp_path):
    path = tmp_path / "x.log"
    broken = [":::MLLOG {", ":::MLLOG", ':::MLLOG {"key": 3}', ":::MLLOG " + "[" * 100_000]
    broken += [LOG[6].strip(), LOG[1].replace(str(START_MS), "1e999").strip(), "x" * 3_000_000]
    path.write_text("".join(LOG[:6]) + "\n".join(broken))
    told = json.loads(gait("import", path, "-o", tmp_path / "x.gait", "--json").stdout)
    repairs = told["files"][0]["repairs"]
    assert repairs["skipped_events"] == 5
    assert repairs["unfinished"] == 2  # run and block last to the end
    assert {row["name"] for row in rows_of(gait, path)} >= {"run", "block", "epoch"}
    path.write_text(":::MLLOG {")
    assert gait("info", path, "--no-cache").returncode == 2


def test_a_line_of_more_than_a_mib_is_left_out_and_counted_once(gait, tmp_path):
    path = tmp_path / "x.log"
    long = [line("long", "POINT_IN_TIME", 5, "y" * size) for size in (1 << 20, 5 << 20)]
    most = line("most", "POINT_IN_TIME", 6, "y" * 1_000_000)
    csv.field_size_limit(2 << 20)
    path.write_text(most + long[0] + LOG[1] + long[1] + LOG[9])
    told = json.loads(gait("import", path, "-o", tmp_path / "x.gait", "--json").stdout)
    assert told["files"][0]["repairs"] == {"skipped_events": 2}
    assert {row["name"] for row in rows_of(gait, path)} == {
        "most",
        "submission_benchmark",
        "eval_accuracy",
    }
