# SPDX-License-Identifier: Apache-2.0
"""Tables of ops against what other tools say of the same traces (../shared/oracles)."""

import json
import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
TABLES = SHARED / "oracles" / "torch-table" / "cnn"
pytestmark = pytest.mark.skipif(not TABLES.exists(), reason="there is no ../shared with answers")


def options_of(averages, table):
    """The arguments of key_averages() and table() as ours; None: we have no such option."""
    if averages is None or averages.get("group_by_overload_name") or "group_by_stack_n" in averages:
        return None
    options = ["--shapes"] if averages.get("group_by_input_shapes") else []
    for name, value in table.items():
        if name not in ("sort_by", "row_limit"):
            return None
        options += ["--" + name.replace("_", "-"), str(value)]
    return options


def test_each_table_of_the_stored_session_comes_out_of_its_trace(gait):
    tables = json.loads((TABLES / "cnn.expect.json").read_text())["tables"]
    asked = 0
    for table in tables.values():
        options = options_of(table["key_averages"], table["table"])
        if options is None:
            continue
        asked += 1
        told = gait("ops", "--torch", *options, TABLES / "cnn.pt.trace.json").stdout
        # Kineto wrote that name, which is not of ASCII, as another one
        name = "forward pass: café"
        expected = (TABLES / table["file"]).read_text().replace(name, "unknown".rjust(len(name)))
        assert told == expected, table["file"]
    assert asked >= 20
