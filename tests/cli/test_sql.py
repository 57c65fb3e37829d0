# SPDX-License-Identifier: Apache-2.0
"""`gait sql`: with DuckDB's library, where it is, and without it."""

import csv
import ctypes.util
import io
import json
import os

import pytest

LIBRARY = os.environ.get("GAIT_DUCKDB") or ctypes.util.find_library("duckdb")
needs_duckdb = pytest.mark.skipif(not LIBRARY, reason="GAIT_DUCKDB names no library of DuckDB's")
EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": name, "ts": at, "dur": us, "pid": 7, "tid": 9,
     "args": {"External id": at}}
    for at, us, name in [(1, 5, "aten::mm"), (10, 7, "aten::mm"), (20, 1, "it's")]
]  # fmt: skip


@pytest.fixture
def trace(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": EVENTS}))
    return "t.json"


def test_without_the_library_a_line_says_how_to_get_it(gait, trace, tmp_path):
    done = gait("sql", trace, "SELECT 1", env={**os.environ, "GAIT_DUCKDB": "./none.so"})
    assert done.returncode == 2
    assert "GAIT_DUCKDB cannot be loaded: ./none.so" in done.stderr
    other = {**os.environ, "GAIT_DUCKDB": "libm.so.6"}
    assert "it is no library of DuckDB's" in gait("sql", trace, "SELECT 1", env=other).stderr


@needs_duckdb
def test_duckdb_answers_about_the_events(gait, trace, tmp_path):
    sql = ("SELECT name, count(*) AS n, sum(duration_ns) AS ns, max(duration_ns) / 2 AS half, "
           "max(args->>'$.\"External id\"') AS last, NULL AS nothing FROM events "
           "GROUP BY name ORDER BY n DESC")  # fmt: skip
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = gait("sql", "--json", trace, sql, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == [
        {"name": "aten::mm", "n": 2, "ns": 12_000, "half": 3500.0, "last": "10", "nothing": None},
        {"name": "it's", "n": 1, "ns": 1_000, "half": 500.0, "last": "20", "nothing": None},
    ]
    rows = csv.DictReader(io.StringIO(gait("sql", "--table", "rows", trace, sql, env=env).stdout))
    assert [row["ns"] for row in rows] == ["12000", "1000"]
    assert "aten::mm" in gait("sql", trace, sql, env=env).stdout
    assert not list(tmp_path.glob("gait-sql-*"))


@needs_duckdb
def test_a_statement_that_is_wrong_is_refused_in_a_line(gait, trace):
    done = gait("sql", trace, "SELECT nothing FROM events")
    assert done.returncode == 2
    assert done.stderr.startswith("gait sql: Binder Error") and done.stderr.count("\n") == 1
