# SPDX-License-Identifier: Apache-2.0
"""The man pages say what the tool's tables say; `make docs` writes them."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = (ROOT / "src/answer/answers.def").read_text().replace("_", "-")
ANSWERS = re.findall(r"^ANSWER\((\w+),", TABLE, re.MULTILINE)
COMMANDS = sorted(
    path.stem[len("cmd_") :].replace("_", "-") for path in ROOT.glob("src/cli/cmd/cmd_*.c")
)


@pytest.mark.parametrize("command", COMMANDS + ANSWERS)
def test_the_page_of_a_command_is_current(gait, command):
    page = (ROOT / f"docs/man/gait-{command}.1").read_text()
    assert gait("help", "--man", command).stdout == page


def test_the_page_of_the_tool_is_current(gait):
    if not COMMANDS:
        pytest.skip("no command yet")
    assert gait("help", "--man").stdout == (ROOT / "docs/man/gait.1").read_text()


def test_each_page_is_installed(build):
    installed = json.loads((build / "meson-info" / "intro-installed.json").read_text())
    pages = {pathlib.Path(place).name for place in installed.values()}
    assert {page.name for page in ROOT.glob("docs/man/*.1")} <= pages
