# SPDX-License-Identifier: Apache-2.0
"""Names and metadata that nobody would expect, seen through the tool."""

import csv
import io
import json
import os
import sys

import pytest

NAMES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gait/record.h>

int main(void)
{
    static const char *const odd[] = {"{", "nan", "\"\xff\"", "[[[[", "\x01\x02", "{}{}", "01"};
    static char endless[100001];
    char name[40];
    gait_start(NULL);
    memset(endless, 'e', 100000);
    gait_mark(gait_site("", ""));
    gait_mark(gait_site("endless", endless));
    gait_mark(gait_site("quotes \" , \n", "\xc3\x28 \x1b[31m"));
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "odd \" %d", i);
        gait_metadata(name, odd[i]);
    }
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "site %d", i);
        gait_site("many", name);
        snprintf(name, sizeof name, "key %d", i);
        gait_key(name);
    }
    gait_mark(gait_site("many", "beyond"));
    gait_thread_name("late");
    return 0;
}
"""


@pytest.fixture
def run(gait, compile_c):
    program = compile_c(NAMES, name="names")
    done = gait("run", "-q", "-o", "run", "--", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return "run"


def test_tables_that_overflow_are_told_of(gait, run):
    info = json.loads(gait("info", run, "--json").stdout)
    assert (info["events"], info["dropped"], info["damage"]) == (4, 0, [])
    metadata = info["shards"][0]["metadata"]
    assert metadata["names_lost"] >= 140000 - 131072  # texts
    assert "\nNames  " in gait("info", run).stdout
    lines = gait("info", run).stdout.splitlines()
    assert all(len(line) <= 78 for line in lines if "command" not in line)  # a path is whole


def test_metadata_that_is_no_json_is_text(gait, run):
    done = gait("info", run, "--json")
    metadata = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
    metadata = metadata["shards"][0]["metadata"]
    odd = [metadata[f'odd " {i}'] for i in range(7)]
    assert odd == ["{", "nan", '"\ufffd"', "[[[[", "\x01\x02", "{}{}", "01"]


def test_exports_of_such_names_are_valid(gait, run, tmp_path):
    csv.field_size_limit(sys.maxsize)
    rows = list(csv.DictReader(io.StringIO(gait("export", run, "--format", "csv").stdout)))
    assert [row["kind"] for row in rows] == ["mark"] * 4
    assert rows[1]["name"] == "e" * 100000
    assert rows[2]["category"] == 'quotes " , \n'
    assert rows[3]["name"] == ""  # beyond the table
    trace = json.loads(gait("export", run, "--format", "chrome").stdout)
    names = [event["args"].get("name") for event in trace["traceEvents"] if event["ph"] == "M"]
    assert "late" in " ".join(map(str, names))


SETTINGS = """
#include <gait/record.h>
#include <stdio.h>
int main(void)
{
    int status = gait_start(NULL);
    gait_mark(gait_site("a", "b"));
    printf("%d %d\\n", status, gait_shard_path() != NULL);
    return 7;
}
"""

NONSENSE = [
    ({"GAIT_OVERFLOW": "keep"}, "--overflow"),
    ({"GAIT_RING": "abc"}, "--ring"),
    ({"GAIT_RING": "-1"}, "--ring"),
    ({"GAIT_RING": "1E9G"}, "--ring"),
]


@pytest.mark.parametrize("variables, remedy", NONSENSE)
def test_settings_that_make_no_sense_cost_a_sentence_and_nothing_else(
    compile_c, gait, variables, remedy
):
    program = compile_c(SETTINGS, name="settings")
    ((name, value),) = variables.items()
    done = gait("run", "-q", "-o", "run", "--", program, env={**os.environ, **variables})
    assert (done.stdout, done.returncode) == ("0 1\n", 7)
    assert done.stderr.startswith(f"gait: {name}: '") and f"not '{value}'" in done.stderr
    assert done.stderr.endswith(f"or use {remedy}\n") and done.stderr.count("\n") == 1
    assert json.loads(gait("info", "run", "--json").stdout)["events"] == 1
    screen = gait("report", "run").stdout
    assert "ignored setting in process" in screen and f"{name} '{value}'" in screen
    assert max(map(len, screen.splitlines())) <= 78
    (told,) = json.loads(gait("report", "run", "--json").stdout)["settings_ignored"]
    assert told["text"].startswith(f"{name} '{value}' is ")
    # the option of gait run takes the place of what was wrong
    choice = {"--overflow": "drop", "--ring": "64K"}[remedy]
    line = ["run", "-q", "-o", "right", remedy, choice, "--", program]
    assert gait(*line, env={**os.environ, **variables}).stderr == ""
    assert json.loads(gait("report", "right", "--json").stdout)["settings_ignored"] == []


def test_processes_with_the_same_wrong_setting_are_told_once(compile_c, gait):
    program = compile_c(SETTINGS, name="settings")
    line = ["run", "-q", "-o", "run", "--", "sh", "-c", f"{program}; {program}"]
    gait(*line, env={**os.environ, "GAIT_RING": "\x1b[31mred"})
    assert len(json.loads(gait("report", "run", "--json").stdout)["settings_ignored"]) == 1
    assert "\x1b" not in gait("report", "run").stdout


def test_switched_off_nothing_is_said_of_other_settings(tmp_path, compile_c, gait):
    program = compile_c(SETTINGS, name="settings")
    variables = {**os.environ, "GAIT_ENABLE": "0", "GAIT_RING": "abc"}
    done = gait("run", "-o", "run", "--", program, env=variables)
    assert (done.stdout, done.returncode) == ("0 0\n", 7)
    assert "GAIT_RING" not in done.stderr
    assert not list(tmp_path.glob("run/*.gait"))
