# SPDX-License-Identifier: Apache-2.0
"""tools/setup-torch: which torch it takes, what it says before it fetches one. The Pythons
are scripts that answer for a venv, a user's Python and pip with its indexes."""

import json
import os
import subprocess
import sys

import pytest

# Answers from `answers.json` beside it, and notes what it was asked to install or link.
PYTHON = """#!{python} -IS
import json, os, sys
here = os.path.dirname(os.path.realpath(__file__))
answers = json.load(open(os.path.join(here, "answers.json")))
words = sys.argv[1:]
asked = " ".join(words)

def note(line):
    with open(answers["notes"], "a") as file:
        file.write(line + "\\n")

if "m.version(" in asked:
    if not answers["torch"]:
        sys.exit("no torch")
    print(answers["torch"])
elif "version_info" in asked:
    print("3.11")
elif "link-torch.py" in asked:
    note("link " + answers["torch"])
elif "torch-offer.py" in asked:
    os.execv(sys.executable, [sys.executable, *words])
elif asked.startswith("-m pip ") and asked.endswith(" index versions torch"):
    if not answers["offered"]:
        sys.exit("no such thing")
    print("torch (1)\\nAvailable versions: " + ", ".join(answers["offered"]))
elif asked.endswith("config list"):
    print("global.constraint='torch'" if answers["refused"] else "")
elif "--no-deps" in asked:
    if words[-1].partition("==")[2] in answers["refused"]:
        sys.exit("conflicting dependencies")
    print("Would install it")
elif "--version" in asked:
    print("pip " + answers["pip"] + " from somewhere")
elif "--dry-run" in asked:
    wheels = [{{"download_info": {{"url": url}}}} for url in answers["urls"]]
    print(json.dumps({{"install": wheels}}))
elif "install" in asked and asked.endswith(".txt"):
    note("install " + [line for line in open(words[-1]) if line.startswith("torch")][0].strip())
"""


class Setup:
    """A venv and a user's Python; run() gives what was said and what was done."""

    def __init__(self, root, home):
        self.root, self.home = root, home
        self.notes = home / "notes"
        self.venv = {"torch": "", "offered": [], "urls": [], "pip": "25.0", "refused": []}
        self.user = {"torch": ""}

    def run(self, *version, code=0):
        for name, answers in (("venv/bin", self.venv), ("user", self.user)):
            folder = self.home / name
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({**answers, "notes": str(self.notes)})
            (folder / "answers.json").write_text(text)
            (folder / "python").write_text(PYTHON.format(python=sys.executable))
            (folder / "python").chmod(0o755)
        self.notes.write_text("")
        done = subprocess.run(
            [str(self.root / "tools" / "setup-torch"), str(self.home / "venv"), *version],
            env={**os.environ, "PYTHON": str(self.home / "user" / "python")},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        return done.stdout, self.notes.read_text().splitlines()


@pytest.fixture
def setup(root, tmp_path):
    return Setup(root, tmp_path)


OFFERED = [
    "2.16.0",
    "2.15.1",
    "2.15.0",
    "2.14.1",
    "2.14.1+cpu",
    "2.13.0+cpu",
    "2.13.0",
    "2.1.0+cpu",
]


@pytest.mark.parametrize("there", ["2.2.0", "2.13.0", "2.20.1"])
def test_a_torch_that_is_there_stays(setup, there):
    setup.venv["torch"] = there
    assert setup.run() == ("", [])


@pytest.mark.parametrize("users", ["2.2.2", "2.10.0", "2.16.0", "3.0.1"])
def test_the_users_torch_serves_if_it_is_new_enough(setup, users):
    setup.user["torch"], setup.venv["offered"] = users, OFFERED
    said, done = setup.run()
    assert done == ["link " + users]
    assert f"torch {users} of " in said


@pytest.mark.parametrize("users", ["", "2.1.2", "1.13.1"])
def test_else_the_newest_cpu_build_that_is_supported_is_fetched(setup, users):
    setup.user["torch"], setup.venv["offered"] = users, OFFERED
    assert setup.run()[1] == ["install torch==2.14.1+cpu"]


def test_without_a_cpu_build_the_newest_that_is_supported_is(setup):
    setup.venv["offered"] = [version for version in OFFERED if "+" not in version]
    assert setup.run()[1] == ["install torch==2.15.1"]


def test_one_that_the_users_constraints_refuse_is_passed_over(setup):
    setup.venv.update(offered=["2.15.0", "2.14.1", "2.14.0"], refused=["2.15.0"])
    assert setup.run()[1] == ["install torch==2.14.1"]


def test_the_size_is_said_before_anything_is_fetched(setup, tmp_path):
    setup.venv["offered"] = OFFERED
    for name, size in (("a.whl", 190_000_000), ("b 1.whl", 29_400_000)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(size)
        setup.venv["urls"].append((tmp_path / name).as_uri())
    said, _ = setup.run()
    first, last = said.splitlines()
    assert first.endswith(": 219 MB") and "torch 2.14.1+cpu" in first
    assert last.startswith("setup: torch 2.14.1+cpu is in")
    with open(tmp_path / "a.whl", "wb") as file:
        file.truncate(2_970_000_000)
    assert ": 3.0 GB\n" in setup.run()[0]


def test_who_would_fetch_cuda_for_want_of_a_cpu_build_is_told_how_to_get_one(setup, tmp_path):
    with open(tmp_path / "a.whl", "wb") as file:
        file.truncate(2_970_000_000)
    setup.venv["urls"].append((tmp_path / "a.whl").as_uri())
    for offered, told in (["2.15.0"], True), (["2.15.0+cpu", "2.15.0"], False):
        setup.venv["offered"] = offered
        assert ("PIP_EXTRA_INDEX_URL" in setup.run()[0]) == told


@pytest.mark.parametrize("pip, url", [("23.1", "file:///"), ("25.0", "http://127.0.0.1:1/a.whl")])
def test_an_index_that_does_not_tell_the_size_is_no_reason_to_stop(setup, pip, url):
    setup.venv.update(offered=OFFERED, pip=pip, urls=[url])
    said, done = setup.run()
    assert "how much, no index tells" in said
    assert done == ["install torch==2.14.1+cpu"]


def test_a_version_that_is_asked_for_is_the_one(setup):
    setup.venv.update(torch="2.13.0", offered=OFFERED)
    setup.user["torch"] = "2.14.1"
    assert setup.run("2.15.0")[1] == ["install torch==2.15.0"]
    assert setup.run("2.13.0") == ("", [])
    assert setup.run("2.14.1")[1] == ["link 2.14.1"]
    assert setup.run("2.1.0")[1] == ["install torch==2.1.0+cpu"]


def test_without_any_it_is_one_line(setup):
    setup.user["torch"] = "2.0.1"
    said, done = setup.run(code=1)
    assert done == []
    assert said.count("\n") == 1
    assert said.startswith("setup: no torch from 2.2 to 2.15: no index gave it, ")
    assert " has 2.0.1 (see " in said


def test_a_torch_of_the_distribution_is_linked_though_it_lists_no_files(root, tmp_path):
    """As in Debian's python3-torch: metadata without RECORD, names that differ from modules."""
    site = tmp_path / "site"
    for module in ("torch", "functorch", "numpy", "jinja2"):
        (site / module).mkdir(parents=True)
        (site / module / "__init__.py").write_text(f"name = {module!r}\n")
    (site / "typing_extensions.py").write_text("name = 'typing_extensions'\n")
    about = {
        "torch-2.6.0+debian.egg-info": ("torch", "Requires-Dist: typing-extensions\n"
                                        "Requires-Dist: Jinja2\n"),
        "numpy-2.2.4.dist-info": ("numpy", ""),
        "typing_extensions-4.13.2.dist-info": ("typing_extensions", ""),
        "jinja2-3.1.6.dist-info": ("Jinja2", ""),
    }  # fmt: skip
    for folder, (name, needs) in about.items():
        (site / folder).mkdir()
        kind = "PKG-INFO" if folder.endswith("egg-info") else "METADATA"
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.6.0\n{needs}"
        (site / folder / kind).write_text(text)
    (site / "torch-2.6.0+debian.egg-info" / "top_level.txt").write_text("torch\nfunctorch\n")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    link = [sys.executable, root / "tools/link-torch.py", venv]
    subprocess.run(link, check=True, env={**os.environ, "PYTHONPATH": str(site)})
    modules = ("torch", "functorch", "numpy", "jinja2", "typing_extensions")
    ask = f"import {', '.join(modules)}; import importlib.metadata as m; print(m.version('torch'))"
    done = subprocess.run([venv / "bin/python", "-c", ask], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("2.6.0\n", "")


def test_the_folder_of_its_tests_does_not_pass_for_torch(root):
    assert str(root / "tests") not in sys.path
