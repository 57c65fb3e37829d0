# SPDX-License-Identifier: Apache-2.0
"""gait import of what `nsys export --type sqlite` writes: files are made here by Python's
sqlite3 in that schema, and the figures of the truth are counted here."""

import csv
import io
import json
import sqlite3

import pytest
from work import peak_bytes

START = 1_700_000_000_000_000_000
PID, TID = 4711, 4712
GLOBAL = PID << 24
TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, "
    "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
    "demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, "
    "gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER, end INTEGER, deviceId INTEGER, "
    "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER, end INTEGER, deviceId INTEGER, "
    "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, "
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, "
    "textId INTEGER, domainId INTEGER",
}
STRINGS = {
    1: "void gemm(float*)",
    2: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
    3: "cudaLaunchKernel_v7000",
    4: "ProfilerStep#5",
}
NINE = ["span", "idle", "compute", "comm", "mem", "compute+comm", "compute+mem", "comm+mem"]
ROWS = {
    "StringIds": list(STRINGS.items()),
    "TARGET_INFO_SESSION_START_TIME": [(START, "x")],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        (1_000, 3_000, 0, 1, 7, 11, GLOBAL, 1, 1, 64, 2, 3, 1, 128, 1, 1),
        (2_500, 5_000, 0, 1, 9, 12, GLOBAL, 2, 2, 96, 1, 1, 1, 512, 1, 1),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [(6_000, 6_500, 0, 7, 13, GLOBAL, 4096, 1)],
    "CUPTI_ACTIVITY_KIND_MEMSET": [(7_000, 7_250, 0, 7, 14, GLOBAL, 0, 512)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [(500, 600, 0, GLOBAL | TID, 11, 3, 0)],
    "NVTX_EVENTS": [
        (400, 8_000, 59, None, GLOBAL | TID, 4, 0),
        (450, 7_900, 59, "forward", GLOBAL | TID, None, 0),
        (900, None, 34, "here", GLOBAL | TID, None, 0),
        (0, None, 75, "a domain", GLOBAL | TID, None, 1),
    ],
}


def write(path, rows=None, tables=None):
    with sqlite3.connect(path) as made:
        for table, columns in (tables or TABLES).items():
            made.execute(f"CREATE TABLE {table} ({columns})")
            for row in (rows or ROWS).get(table, []):
                made.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    made.close()
    return path


def test_every_activity_is_told(gait, tmp_path):
    done = gait("export", write(tmp_path / "x.sqlite"), "--format", "csv", "--no-cache")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    times = {
        name: (int(row["start_ns"]) - START, int(row["duration_ns"] or 0))
        for name, row in rows.items()
    }
    assert times == {
        "void gemm(float*)": (1_000, 2_000),
        STRINGS[2]: (2_500, 2_500),
        "Memcpy HtoD (Host -> Device)": (6_000, 500),
        "Memset (Device)": (7_000, 250),
        "cudaLaunchKernel": (500, 100),
        "ProfilerStep#5": (400, 7_600),
        "forward": (450, 7_450),
        "here": (900, 0),
    }
    assert {row["pid"] for row in rows.values()} == {str(PID)}
    assert rows["forward"]["tid"] == str(TID)
    args = json.loads(rows["void gemm(float*)"]["args"])
    assert args == {
        "device": 0,
        "context": 1,
        "stream": 7,
        "correlation": 11,
        "registers per thread": 64,
        "grid": [2, 3, 1],
        "block": [128, 1, 1],
    }


def test_breakdown_and_kernels_answer(gait, tmp_path):
    path = write(tmp_path / "rank2.sqlite")
    (rank,) = json.loads(gait("breakdown", path, "--json", "--steps").stdout)["ranks"]
    assert rank["rank"] == 2
    whole = {key: value for key, value in rank["whole"].items() if value and key in NINE}
    assert whole == {
        "span": 6_250,
        "idle": 1_500,
        "compute": 1_500,
        "comm": 2_000,
        "mem": 750,
        "compute+comm": 500,
    }
    assert [step["name"] for step in rank["steps"]] == ["ProfilerStep#5"]
    kernels = json.loads(gait("kernels", path, "--json").stdout)["kernels"]
    assert {row["name"]: row["total_ns"] for row in kernels} == {STRINGS[1]: 2000, STRINGS[2]: 2500}
    report = gait("report", path)
    assert report.returncode == 0 and report.stdout


def test_a_device_has_its_own_number_in_each_process(gait, tmp_path):
    """Two processes, each with a kernel on device 1 and one on device 0."""
    kernel = (1, 7, 11, GLOBAL, 1, 1, 64, 2, 3, 1, 128, 1, 1)
    rows = ROWS | {
        "CUPTI_ACTIVITY_KIND_KERNEL": [
            (start, start + 1_000, device, *kernel[:3], number << 24, *kernel[4:])
            for number in (PID, PID + 1)
            for device, start in ((1, 1_000), (0, 5_000))
        ],
        "NVTX_EVENTS": [
            (400, 8_000, 59, None, number << 24 | TID, 4, 0) for number in (PID, PID + 1)
        ],
    }
    path = write(tmp_path / "x.sqlite", rows)
    assert gait("import", path, "-o", tmp_path / "run").returncode == 0
    told = json.loads(gait("steps", tmp_path / "run", "--json").stdout)
    assert sorted(row["device"] for row in told["devices"]) == [0, 0, 1, 1]
    text = gait("export", tmp_path / "run", "--format", "csv").stdout
    work = [row for row in csv.DictReader(io.StringIO(text)) if row["category"] == "kernel"]
    assert sorted((row["pid"], row["tid"]) for row in work) == [
        (str(number), key) for number in (PID, PID + 1) for key in ("0 7", "1 7")
    ]


def test_older_and_newer_columns_do_not_matter(gait, tmp_path):
    tables = {
        "StringIds": "id INTEGER, value TEXT",
        "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, globalPid INTEGER, "
        "streamId INTEGER, deviceId INTEGER, shortName INTEGER, brandNew REAL",
    }
    rows = {
        "StringIds": [(1, "k")],
        "CUPTI_ACTIVITY_KIND_KERNEL": [(1, 2, GLOBAL, 7, 0, 1, 0.5), (None, 2, None, 7, 0, 1, 1)],
    }
    path = write(tmp_path / "x.sqlite", rows, tables)
    told = json.loads(gait("import", path, "-o", tmp_path / "x.gait", "--json").stdout)
    assert told["files"][0]["repairs"] == {"skipped_events": 1}
    (row,) = csv.DictReader(io.StringIO(gait("export", path, "--format", "csv").stdout))
    assert (row["name"], json.loads(row["args"])["brandNew"]) == ("k", 0.5)


def test_a_damaged_file_is_read_as_far_as_it_goes_or_refused(gait, tmp_path):
    rows = ROWS | {"CUPTI_ACTIVITY_KIND_KERNEL": ROWS["CUPTI_ACTIVITY_KIND_KERNEL"] * 2000}
    whole = write(tmp_path / "whole.sqlite", rows).read_bytes()
    path = tmp_path / "x.sqlite"
    for part in range(8):
        path.write_bytes(whole[: max(20, len(whole) * part // 8)])
        done = gait("info", path, "--no-cache", timeout=20)
        assert done.returncode in (0, 1, 2)
        assert all(line.startswith("gait") for line in done.stderr.splitlines())
    path.write_bytes(whole[:8192] + bytes(4096) + whole[12288:])
    assert gait("info", path, "--no-cache", timeout=20).returncode in (0, 1, 2)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE r(start) AS (SELECT 1 UNION ALL "
        "SELECT start + 1 FROM r) SELECT start, start AS end, 1 AS globalTid FROM r",
        "CREATE TABLE other (x)",
    ],
)
def test_a_file_of_something_else_is_refused_and_runs_nothing(gait, tmp_path, sql):
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as made:
        made.execute(sql)
    made.close()
    done = gait("info", path, "--no-cache", timeout=20)
    assert done.returncode == 2
    assert "without any CUDA or NVTX event" in done.stderr


PLAIN = (
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER)"
)
HOSTILE = {
    "computed column": (
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
        "INTEGER, text TEXT AS (hex(zeroblob(400000000 + start))))",
        "has a column that is computed",
    ),
    "view": (
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start "
        "+ 1 FROM n) SELECT start, start AS end, 59 AS eventType, 1 AS globalTid FROM n",
        "without any CUDA or NVTX event",
    ),
    "value of many rows": (
        PLAIN[:-1] + f", text TEXT DEFAULT '{'x' * 900_000}')",
        "more than a file of its length can hold",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_says_no_more_than_it_holds(build, gait, tmp_path, kind):
    """The computed column took 1.9 GB, in a file of 8 KB."""
    path = tmp_path / "x.sqlite"
    table, told = HOSTILE[kind]
    with sqlite3.connect(path) as made:
        made.execute(PLAIN if "TABLE" in table else table)
        if "TABLE" in table:
            rows = [(i, i, 59, 1) for i in range(4000)]
            made.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?)", rows)
            # an insert would compute it
            made.execute("PRAGMA writable_schema=ON")
            made.execute("UPDATE sqlite_master SET sql = ?", (table,))
    made.close()
    command = (build / "gait", "import", path, "-o", tmp_path / "x.gait")
    peak, code = peak_bytes(*command)
    assert code == 2
    assert peak < 64 << 20
    assert told in gait(*command[1:]).stderr


def test_an_id_far_out_takes_no_memory(build, tmp_path):
    path = write(tmp_path / "x.sqlite", ROWS | {"StringIds": [(2**24 - 1, "x")]})
    peak, code = peak_bytes(build / "gait", "import", path, "-o", tmp_path / "x.gait")
    assert code == 0
    assert peak < 48 << 20  # 71 MB with room for all ids below it
