# SPDX-License-Identifier: Apache-2.0
"""docs/FEATURES.md promises nothing that is not there: tests, commands, names."""

import ast
import importlib
import os
import re
import shlex

import gait as package
import pytest

SPANS = re.compile(r"`([^`]+)`")
DOCUMENTS = 5


def rows(root):
    """(section, cells) of each row of the page."""
    section = ""
    for line in (root / "docs/FEATURES.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] != "feature" and set(cells[0]) != {"-"}:
            yield section, cells


def spans(text):
    return SPANS.findall(text)


def test_each_row_is_shown_by_a_test_or_says_what_to_use_meanwhile(root):
    sections = []
    for section, cells in rows(root):
        assert len(cells) == 3, cells
        feature, here, shown = cells
        sections.append(section)
        assert here
        if "**open**" in here.lower():
            assert "meanwhile" in here or "beside" in here or "records both" in here, feature
        elif feature != 'the "stack.empty()" error':
            assert spans(shown), feature
    assert len(set(sections)) == DOCUMENTS


def names_of(path):
    if path.suffix == ".py":
        return {
            node.name
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef)
        }
    return set(re.findall(r'TEST\("([^"]+)"', path.read_text()))


def test_each_test_that_is_named_exists(root):
    found = 0
    for _section, (feature, _here, shown) in rows(root):
        for span in spans(shown):
            path, _, name = span.partition("::")
            assert (root / path).is_file(), f"{feature}: {path}"
            assert not name or name in names_of(root / path), f"{feature}: {span}"
            found += 1
    assert found > 30


def commands(root):
    for _section, (_feature, here, _shown) in rows(root):
        for span in spans(here):
            if span.startswith("gait ") or " gait run " in span:
                yield "gait " + span.split("gait ", 1)[1]


def test_each_command_that_is_named_is_legal(root, gait):
    """By the tool's own tables: the man page lists what a command takes."""
    found = 0
    for line in commands(root):
        name, *words = shlex.split(line)[1:]
        page = gait("help", "--man", name)
        assert page.returncode == 0, line
        legal = set(re.findall(r"--[a-z-]+", page.stdout.replace("\\-", "-")))
        for word in words:
            if word == "--":
                break
            if word.startswith("--profiling.") or "=" in word:
                continue  # below
            assert not word.startswith("--") or word in legal, f"{line}: {word}"
        found += 1
    assert found > 10


def test_each_setting_that_is_named_is_legal(root, gait):
    for line in commands(root):
        words = shlex.split(line)[2:]
        words = words[: words.index("--")] if "--" in words else words
        ours, take = [], False
        for word in words:
            if take or word.startswith("--profiling.") or re.match(r"[a-z_.]+=", word):
                ours.append(word)
                take = word.startswith("--profiling.") and "=" not in word
        if ours:
            assert gait("config", "explain", *ours).returncode == 0, line


def test_each_name_of_python_is_there(root):
    for _section, (feature, here, _shown) in rows(root):
        for span in spans(here):
            called = re.match(r"gait((?:\.\w+)+)", span)
            if not called or span.startswith("gait "):
                continue
            place = package
            for name in called.group(1).split(".")[1:]:
                if name == "torch":
                    pytest.importorskip("torch")
                if name in ("torch", "profilers", "lightning", "compat", "parallelization"):
                    importlib.import_module(place.__name__ + "." + name)
                place = getattr(place, name, None)
                assert place is not None, f"{feature}: {span}"


def test_links_lead_somewhere(root):
    text = (root / "docs/FEATURES.md").read_text()
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert os.path.exists(root / "docs" / link), link
