# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile's lines, run in a bare Debian that debootstrap makes: no daemon is needed.

Minutes and a network: `make check-docker` asks for it."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

PROGRAM = "import gait; print(gait.recording(), gait.__file__)"
C_PROGRAM = "#include <gait/record.h>\nint main(void) { gait_start(0); gait_stop(); return 0; }\n"


def lines_of(dockerfile):
    """(instruction, rest) of each line that is no comment."""
    lines = [line.split(None, 1) for line in dockerfile.read_text().splitlines()]
    return [tuple(line) for line in lines if line and not line[0].startswith("#")]


def test_there_are_five_lines_of_a_debian(root):
    lines = lines_of(root / "Dockerfile")
    assert [line[0] for line in lines] == ["FROM", "COPY", "RUN", "RUN", "ENTRYPOINT"]
    assert lines[0][1].partition(":")[0] == "debian"
    ignored = (root / ".dockerignore").read_text().split()
    assert {".venv", "build"} <= set(ignored)


def test_who_is_not_root_is_told_that_no_debian_can_be_made(root, tmp_path, monkeypatch):
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for line in (["bare-debian", "new", "bookworm", tmp_path / "root"], ["try-bare", "bookworm"]):
        done = subprocess.run([root / "tools" / line[0], *line[1:]], capture_output=True, text=True)
        told = "bare-debian: only root can make a Debian\n"
        assert (done.returncode, done.stderr) == (77, told)
    assert not (tmp_path / "root").exists()


class Container:
    """A folder with a Debian in it, whose base tools/bare-debian keeps."""

    def __init__(self, tool, folder, suite):
        self.tool, self.root = tool, folder / "root"
        made = self.call("new", suite, self.root)
        if made.returncode == 77:
            pytest.skip(made.stderr.strip())
        assert made.returncode == 0, made.stdout + made.stderr

    def call(self, *words):
        line = list(map(str, [self.tool, *words]))
        return subprocess.run(line, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def copy(self, source, target):
        listed = ["git", "-C", source, "ls-files", "-co", "--exclude-standard", "-z"]
        names = subprocess.run(listed, stdout=subprocess.PIPE, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            place = pathlib.Path(f"{self.root}{target}", name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, place)

    def run(self, *words):
        done = self.call("run", self.root, *words)
        assert done.returncode == 0, f"{shlex.join(map(str, words))}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not os.environ.get("GAIT_DOCKER"), reason="make check-docker runs it")
def test_its_lines_make_a_debian_with_gait(root, tmp_path):
    lines = lines_of(root / "Dockerfile")
    container = Container(root / "tools/bare-debian", tmp_path, lines[0][1].partition(":")[2])
    for instruction, rest in lines[1:]:
        if instruction == "COPY":
            container.copy(root, rest.split()[1])
        elif instruction == "RUN":
            container.run("sh", "-c", rest)
    entry = json.loads(lines[-1][1])
    assert container.run(*entry, "--version").startswith("gait ")
    printed = container.run(*entry, "run", "-q", "-o", "/run1", "--", "python3", "-c", PROGRAM)
    assert printed.startswith("True /usr/local/lib/python3")
    assert "1 shard" in container.run(*entry, "info", "/run1")
    (container.root / "root/program.c").write_text(C_PROGRAM)
    compiled = "cd /root && cc program.c -o program $(pkg-config --cflags --libs gait)"
    container.run("sh", "-ec", compiled)
    container.run(*entry, "run", "-q", "-o", "/run2", "--", "/root/program")
    assert "1 shard" in container.run(*entry, "info", "/run2")
    shutil.rmtree(container.root)  # a Debian: pytest would keep three
