# SPDX-License-Identifier: Apache-2.0
"""`gait sql`: with DuckDB's library, where it is, and without it."""

import csv
import ctypes.util
import importlib.util
import io
import json
import os
import subprocess
import sys
import sysconfig

import pytest

LIBRARY = os.environ.get("GAIT_DUCKDB") or ctypes.util.find_library("duckdb")
LIBRARY = LIBRARY or importlib.util.find_spec("duckdb")
needs_duckdb = pytest.mark.skipif(not LIBRARY, reason="no library of DuckDB's, no duckdb of Python")
OWN_PATH = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
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


@pytest.fixture
def bare(tmp_path):
    """An environment whose Python has what lies in the folder beside it."""

    def make(libraries):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "python").write_text(
            f'#!/bin/sh\nPYTHONPATH="{libraries}" exec "{sys._base_executable}" -S "$@"\n'
        )
        (tmp_path / "bin" / "python").chmod(0o755)
        env = {key: value for key, value in os.environ.items() if key != "GAIT_DUCKDB"}
        return {**env, "PATH": f"{tmp_path}/bin:{env['PATH']}"}

    return make


@pytest.mark.skipif(bool(ctypes.util.find_library("duckdb")), reason="the loader finds libduckdb")
def test_of_a_python_without_duckdb_the_command_is_told_that_brings_it(gait, trace, bare, tmp_path):
    (tmp_path / "glob.py").write_text("raise SystemExit('the folder one stands in')")
    (tmp_path / "_duckdb.so").write_text("not to be loaded")
    done = gait("sql", trace, "SELECT 1", env=bare(""))
    assert done.returncode == 2
    assert done.stderr.startswith("gait sql: DuckDB's library is not here: '/")
    assert "python" in done.stderr and "-m pip install duckdb' brings it" in done.stderr


@pytest.mark.skipif(bool(ctypes.util.find_library("duckdb")), reason="the loader finds libduckdb")
@pytest.mark.parametrize("name", ["_duckdb.cpython-311.so", "duckdb/duckdb.cpython-311.so"])
def test_the_package_of_the_python_in_path_is_loaded_with_its_libpython(
    gait, trace, bare, tmp_path, name
):
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("this Python has no shared library")
    library = tmp_path / "its folder" / name
    library.parent.mkdir(parents=True)
    code = "extern void *PyExc_ImportError; void *duckdb_open(void) { return PyExc_ImportError; }"
    line = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(line, input=code, text=True, check=True)
    done = gait("sql", trace, "SELECT 1", env=bare(tmp_path / "its folder"))
    assert done.returncode == 2
    assert f"'{library}' has no duckdb_connect: it is no library of DuckDB's" in done.stderr


@needs_duckdb
def test_duckdb_answers_about_the_events(gait, trace, tmp_path):
    sql = ("SELECT name, count(*) AS n, sum(duration_ns) AS ns, max(duration_ns) / 2 AS half, "
           "max(args->>'$.\"External id\"') AS last, NULL AS nothing FROM events "
           "GROUP BY name ORDER BY n DESC")  # fmt: skip
    env = {**os.environ, "TMPDIR": str(tmp_path), "PATH": OWN_PATH}
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
def test_lists_and_nulls_have_a_text_and_numbers_all_digits(gait, trace):
    sql = ("SELECT NULL AS nothing, list(duration_ns ORDER BY start_ns) AS all_ns, "
           "{'n': count(*)} AS s, "
           "avg(duration_ns) * 1000 AS mean, 1.50 AS price, 'nan'::DOUBLE AS nan, count(*) AS n "
           "FROM events; ")  # fmt: skip
    env = {**os.environ, "PATH": OWN_PATH}
    done = gait("sql", "--json", trace, sql, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == [
        {"nothing": None, "all_ns": "[5000, 7000, 1000]", "s": "{'n': 3}",
         "mean": 13_000_000 / 3, "price": 1.5, "nan": None, "n": 3}
    ]  # fmt: skip
    assert "4333333.33" in gait("sql", trace, sql, env=env).stdout
    done = gait("sql", trace, "DELETE FROM events RETURNING [1] AS a", env=env)
    assert done.returncode == 2
    assert "the type of column 'a' has no text" in done.stderr and done.stderr.count("\n") == 1


@needs_duckdb
def test_a_statement_that_is_wrong_is_refused_in_a_line(gait, trace):
    done = gait("sql", trace, "SELECT nothing FROM events", env={**os.environ, "PATH": OWN_PATH})
    assert done.returncode == 2
    assert done.stderr.startswith("gait sql: Binder Error") and done.stderr.count("\n") == 1
