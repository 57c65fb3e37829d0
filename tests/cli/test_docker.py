# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile's lines, run in a bare Debian that debootstrap makes: no daemon is needed.

Minutes and a network: `make check-docker` asks for it. Mounts are of a namespace of their
own, so none is left behind."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

NETWORK = ["/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"]
PROGRAM = "import gait; print(gait.recording(), gait.__file__)"


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


class Container:
    """A folder with a Debian in it."""

    def __init__(self, folder, suite):
        self.root = folder / "root"
        line = ["debootstrap", "--variant=minbase", suite, self.root]
        made = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            pytest.skip(f"debootstrap made no {suite}: {made.stdout.splitlines()[-1:]}")
        for path in filter(os.path.exists, NETWORK):
            copy = pathlib.Path(f"{self.root}{path}")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)

    def copy(self, source, target):
        listed = ["git", "-C", source, "ls-files", "-co", "--exclude-standard", "-z"]
        names = subprocess.run(listed, stdout=subprocess.PIPE, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            place = pathlib.Path(f"{self.root}{target}", name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, place)

    def run(self, *words):
        inside = self.root
        mounts = f"mount -t proc proc {inside}/proc && mount -t tmpfs tmpfs {inside}/dev/shm"
        line = ["unshare", "--mount", "--fork", "sh", "-ec"]
        line += [f'{mounts}; exec chroot {inside} "$@"', "sh", *map(str, words)]
        kept = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        env = {"PATH": path, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", **kept}
        done = subprocess.run(
            line, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{shlex.join(map(str, words))}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not os.environ.get("GAIT_DOCKER"), reason="make check-docker runs it")
def test_its_lines_make_a_debian_with_gait(root, tmp_path):
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("unshare"):
        pytest.skip("needs root, debootstrap and unshare")
    lines = lines_of(root / "Dockerfile")
    container = Container(tmp_path, lines[0][1].partition(":")[2])
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
    shutil.rmtree(container.root)  # a Debian: pytest would keep three
