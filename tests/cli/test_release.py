# SPDX-License-Identifier: Apache-2.0
"""`make release`: what it refuses, and where it puts the version."""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="no part of what is sanitized"
)

DEBIAN = """gait (0.0.1) unstable; urgency=medium

  * First package.

 -- gait <gait@localhost>  Mon, 23 Nov 2026 12:00:00 +0000
"""


@pytest.fixture
def git(root, tmp_path):
    """A clone of this checkout with its release tool: git("tag", …) works in it."""
    clone = tmp_path / "clone"

    def git(*words):
        line = ["git", "-C", str(clone), *words]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout

    subprocess.run(["git", "clone", "-q", "--shared", root, clone], check=True)
    shutil.copy(root / "tools" / "release", clone / "tools" / "release")
    git("config", "user.name", "tests")
    git("config", "user.email", "tests@localhost")
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "as it is")
    return git


def release(tmp_path, version, **variables):
    tool = tmp_path / "clone" / "tools" / "release"
    line = [sys.executable, str(tool), version]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **variables})


def test_a_tree_that_is_not_committed_is_refused(git, tmp_path):
    (tmp_path / "clone" / "more.c").write_text("")
    done = release(tmp_path, "9.8.7")
    assert done.returncode == 1
    assert done.stderr == "release: these are not committed:\n?? more.c\n"


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3-rc1"])
def test_a_version_of_another_form_is_refused(git, tmp_path, version):
    done = release(tmp_path, version)
    assert "must be of the form 1.2.3" in done.stderr


def test_a_version_that_was_there_and_an_older_one_are_refused(git, tmp_path):
    git("tag", "v9.10.0")
    assert "a release 9.10.0 already" in release(tmp_path, "9.10.0").stderr
    assert "9.9.0 is older than the last release, 9.10.0" in release(tmp_path, "9.9.0").stderr


def test_a_release_without_news_is_refused(git, tmp_path):
    pytest.importorskip("torch")  # asked for before
    (tmp_path / "clone" / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n## 1.0.0\n\n- a\n"
    )
    git("commit", "-q", "-a", "-m", "nothing new")
    assert "says nothing below '## Unreleased'" in release(tmp_path, "9.8.7").stderr


def test_the_version_comes_into_all_places(git, root, tmp_path):
    tool = root / "tools" / "release"
    loader = importlib.machinery.SourceFileLoader("release", str(tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    clone = tmp_path / "clone"
    debian = clone / "debian" / "changelog"
    if not debian.exists():
        debian.parent.mkdir()
        debian.write_text(DEBIAN)
        git("add", "-A")
        git("commit", "-q", "-m", "a Debian package")
    pages = {f"docs/man/{page.name}" for page in clone.glob("docs/man/*.1")}
    module.stamp(clone, "9.8.7")
    assert git("describe") == "v9.8.7\n"
    changed = set(git("diff", "--name-only", "HEAD~1").split())
    assert changed == pages | {
        "meson.build",
        "CHANGELOG.md",
        "debian/changelog",
        "python/gait/__init__.py",
    }
    line = ["meson", "introspect", "--projectinfo", str(clone / "meson.build")]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    told = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert json.loads(told.stdout)["version"] == "9.8.7"
    added = [line for line in git("diff", "-U0", "HEAD~1").splitlines() if line.startswith("+")]
    assert sum("9.8.7" in line for line in added) == len(changed)
    assert debian.read_text().startswith("gait (9.8.7) ")
    if shutil.which("dpkg-parsechangelog"):
        line = ["dpkg-parsechangelog", "--all", "-l", str(debian), "-S", "Version"]
        told = subprocess.run(line, capture_output=True, text=True)
        assert (told.stdout.split("\n")[0], told.stderr) == ("9.8.7", "")
    assert module.news((clone / "CHANGELOG.md").read_text()) == ""


@pytest.mark.skipif(not os.environ.get("GAIT_TEST_FULL"), reason="GAIT_TEST_FULL=1 runs it")
def test_a_dry_run_builds_and_tries_all_and_leaves_nothing(git, tmp_path):
    """With zig's compiler, for this Python: some minutes."""
    pytest.importorskip("torch")
    before = git("log", "--all", "--format=%H %D")
    done = release(tmp_path, "9.8.7", DRY="1", PYTHONS=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gait-9.8.7.tar.gz" in done.stdout
    assert "nothing was changed (DRY)" in done.stdout
    assert git("log", "--all", "--format=%H %D") == before
    assert git("status", "--porcelain") == ""
