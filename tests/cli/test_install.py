# SPDX-License-Identifier: Apache-2.0
"""`make install` and `make uninstall`: what is there afterwards works, and what is not ours
stays. Below a DESTDIR, so that nobody's machine is touched."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(
        bool(os.environ.get("GAIT_SANITIZE")), reason="products, not sanitized ones"
    ),
    pytest.mark.xdist_group("install"),  # one build folder, one Meson in it
]

PROGRAM = """
#include <gait/record.h>
int main(void) {
    gait_start(0);
    for (int step = 1; step <= 3; step++) {
        gait_step_begin(step);
        gait_begin(GAIT_SITE("phase", "forward"));
        gait_end();
        gait_step_end();
    }
    gait_stop();
}
"""
TRAINING = """
import gait, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
print(gait.__file__)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.ones(20, 4), torch.ones(20, 1)), batch_size=4):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def make(root, build, folder, *words, check=True):
    line = ["make", "-s", "-C", root, f"BUILD={build}", f"PYTHON={sys.executable}"]
    line += [f"DESTDIR={folder}", *words]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=280)
    assert not check or done.returncode == 0, done.stderr
    return done


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="module")
def installed(root, build, tmp_path_factory):
    """PREFIX, in a DESTDIR."""
    folder = tmp_path_factory.mktemp("a root")
    make(root, build, folder, "install")
    return folder / "usr/local"


@pytest.fixture
def said(installed, tmp_path):
    """Runs a line with what is installed alone: no build folder, no package but that one."""

    def run(*words, **variables):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GAIT_", "PYTHON"))}
        env.update(variables)
        line = list(map(str, words))
        done = subprocess.run(
            line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_all_that_belongs_to_it_is_there(root, installed, said):
    files = files_of(installed)
    headers = {f"include/gait/{path.name}" for path in root.glob("include/gait/*.h")}
    pages = {f"share/man/man1/{path.name}" for path in root.glob("docs/man/*.1")}
    assert len(headers) > 4 and len(pages) > 15
    assert headers | pages | {"bin/gait"} <= files
    assert not [name for name in files if "/internal/" in name]
    names = [pathlib.Path(name).name for name in files]
    for name in ("libgait.so", "libgait-read.so"):
        assert names.count(name) == 2  # in lib, and the package's link to it
    assert {"gait.pc", "gait-read.pc"} <= set(names)
    tool = installed / "bin/gait"
    for shell, place in {
        "bash": "bash-completion/completions/gait",
        "zsh": "zsh/site-functions/_gait",
        "fish": "fish/vendor_completions.d/gait.fish",
    }.items():
        assert (installed / "share" / place).read_text() == said(tool, "completion", shell)


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_pkg_config_looks_where_it_is(installed, said):
    searched = said("pkg-config", "--variable=pc_path", "pkg-config").strip().split(":")
    (about,) = installed.rglob("gait.pc")
    below = [path for path in searched if path.startswith("/usr/local/lib")]
    if not below:
        pytest.skip("this pkg-config looks nowhere below /usr/local")
    assert f"/usr/local/{about.parent.relative_to(installed)}" in below


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_a_c_program_is_built_and_recorded_with_it(installed, said, tmp_path):
    (about,) = installed.rglob("gait.pc")
    (tmp_path / "root").symlink_to(installed)  # of a path without blanks
    ask = ["pkg-config", f"--define-variable=prefix={tmp_path}/root", "--cflags", "--libs", "gait"]
    flags = said(*ask, PKG_CONFIG_PATH=str(about.parent)).split()
    (tmp_path / "program.c").write_text(PROGRAM)
    said("cc", "-std=c11", "program.c", "-o", "program", *flags)
    tool = installed / "bin/gait"
    said(tool, "run", "-q", "-o", "run", "--", "./program")
    assert "Steps  3" in said(tool, "report", "run")


def test_a_training_is_recorded_with_it(installed, said, tmp_path):
    pytest.importorskip("torch")
    (package,) = (path.parent for path in installed.rglob("gait/__main__.py"))
    (tmp_path / "train.py").write_text(TRAINING)
    line = [installed / "bin/gait", "run", "-q", "-o", "run", "--", sys.executable, "train.py"]
    # the Python of the tests finds the build's package, too
    printed = said(*line, PYTHONPATH=str(package.parent))
    assert printed == f"{package}/__init__.py\n"
    assert "Steps  5" in said(installed / "bin/gait", "report", "run")


def test_the_tool_finds_its_package_by_itself(installed, said):
    base = getattr(sys, "_base_executable", None) or sys.executable
    if "None" not in said(base, "-c", "from importlib.util import *; print(find_spec('gait'))"):
        pytest.skip("this Python has a gait of its own")
    ask = "import gait; print(gait.recording(), gait.__file__)"
    printed = said(installed / "bin/gait", "run", "-q", "-o", "run", "--", base, "-c", ask)
    assert printed.startswith(f"True {installed}/lib")


def test_the_debian_package_bears_the_version_of_the_project(root, gait):
    first = (root / "debian/changelog").read_text().split("\n")[0]
    assert first.startswith(f"gait ({gait('--version').stdout.split()[1]}) ")


def test_uninstall_takes_all_of_it_and_nothing_else(root, build, tmp_path):
    theirs = tmp_path / "usr/local/bin/theirs"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    make(root, build, tmp_path, "install")
    (package,) = (path.parent for path in tmp_path.rglob("gait/__main__.py"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", package], check=True)
    done = make(root, build, tmp_path, "uninstall")
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["usr", "usr/local", "usr/local/bin", "usr/local/bin/theirs"]
    assert "files are gone from" in done.stdout
    again = make(root, build, tmp_path, "uninstall", check=False)
    assert again.returncode != 0
    assert "nothing of gait is installed there" in again.stderr


def test_a_file_of_an_earlier_version_goes(root, build, tmp_path):
    make(root, build, tmp_path, "install")
    listed = tmp_path / "usr/local/share/gait/installed"
    old = tmp_path / "usr/local/share/gait/of_old.txt"
    old.write_text("")
    listed.write_text(f"/usr/local/share/gait/{old.name}\n" + listed.read_text())
    make(root, build, tmp_path, "install")
    assert not old.exists()
    make(root, build, tmp_path, "uninstall")
    assert list(tmp_path.iterdir()) == []
