# SPDX-License-Identifier: Apache-2.0
"""A wheel has all of gait in it and asks nothing of a machine but its C library.

`make test` builds one for its own Python, without optimizing. `make check-wheels` tries
those in dist/, each in the Python that it is for, and one in a bare Debian.
"""

import email
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from installed_package import assert_works, make_venv, pip, said
from minors import other_pythons

pytestmark = [
    pytest.mark.skipif(
        bool(os.environ.get("GAIT_SANITIZE")), reason="products, not sanitized ones"
    ),
    pytest.mark.xdist_group("wheel"),  # built once
]

FOLDER = os.environ.get("GAIT_WHEELS")  # of wheels that are there
READY = sorted(pathlib.Path(FOLDER).resolve().glob("gait-*.whl")) if FOLDER else []
OF_LIBC = re.compile(r"^(lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux[-\w]*\.so\.\d+)$")
TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.ones(20, 4), torch.ones(20, 1)), batch_size=4):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def build_wheel(root, build, folder):
    """With meson-python, as pip does it; what was compiled stays for the next time."""
    if subprocess.run(
        [sys.executable, "-c", "import mesonpy"], stderr=subprocess.DEVNULL
    ).returncode:
        pytest.skip("no meson-python here")
    line = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    line += [f"--config-settings=build-dir={build / 'wheel-test'}", "-w", str(folder)]
    line += ["--config-settings=setup-args=-Dbuildtype=plain", str(root)]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("gait-*.whl")
    return wheel


@pytest.fixture(scope="session", params=READY or [None], ids=lambda p: p and p.name.split("-")[2])
def wheel(request, root, build, tmp_path_factory):
    return request.param or build_wheel(root, build, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A fresh environment of the Python that the wheel is for."""
    home = tmp_path_factory.mktemp("python") / "venv"
    tag = wheel.name.split("-")[2]
    if tag == "cp{}{}".format(*sys.version_info):
        return make_venv(home)
    minor = tag[2] + "." + tag[3:]
    found = other_pythons().get(minor)
    if not found:
        pytest.skip(f"no Python {minor} here: this wheel is untested")
    return make_venv(home, found[0])


@pytest.fixture(scope="module")
def installed(wheel, python):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(python.parent))
        assert shutil.which("cc") is shutil.which("gcc") is None
        done = pip(python, "install", "-q", "--no-index", "--no-deps", wheel)
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def no_compiler(python, monkeypatch):
    monkeypatch.setenv("PATH", str(python.parent))


def contents(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_wheel_holds_the_tool_the_manuals_the_completions_and_the_package(
    wheel, root, build, tmp_path
):
    names = contents(wheel, tmp_path)
    version = wheel.name.split("-")[1]
    data = f"gait-{version}.data"
    wanted = {f"{data}/data/share/man/man1/{page.name}" for page in root.glob("docs/man/*.1")}
    completions = {"bash-completion/completions/gait", "zsh/site-functions/_gait"}
    completions |= {"fish/vendor_completions.d/gait.fish"}
    wanted |= {f"{data}/data/share/{name}" for name in completions}
    wanted |= {f"{data}/scripts/gait", "gait/libgait.so", "gait/libgait-read.so", "gait/py.typed"}
    wanted |= {str(p.relative_to(root / "python")) for p in root.glob("python/gait/**/*.py*")}
    wanted = {name for name in wanted if "__pycache__" not in name}
    assert wanted <= names, wanted - names
    assert len([name for name in names if name.startswith("gait/_native.cpython-")]) == 1
    assert not [name for name in names if name.endswith((".h", ".a", ".c", ".pc"))]
    licenses = [name for name in names if "/licenses/" in name]
    assert {os.path.basename(name) for name in licenses} == {"LICENSE", "THIRD-PARTY.txt"}


def test_it_needs_no_library_but_those_of_libc(wheel, tmp_path):
    binaries = [name for name in contents(wheel, tmp_path) if re.search(r"\.so$|/scripts/", name)]
    assert len(binaries) == 4
    for name in binaries:
        told = subprocess.run(["readelf", "-d", tmp_path / name], capture_output=True, text=True)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", told.stdout)
        others = {library for library in needed if not OF_LIBC.match(library)}
        assert others <= ({"libgait.so"} if "_native." in name else set())
        paths = ":".join(re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", told.stdout))
        assert all(path.startswith("$ORIGIN") for path in paths.split(":") if path)


def test_it_says_what_it_is(wheel, root, build):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        about = email.message_from_bytes(archive.read(name))
    introduced = json.loads((build / "meson-info" / "intro-projectinfo.json").read_text())
    assert about["Version"] == introduced["version"] == wheel.name.split("-")[1]
    assert about["License-Expression"] == "Apache-2.0"
    assert set(about.get_all("Provides-Extra")) == {"torch", "lightning", "hydra"}
    assert all("extra ==" in need for need in about.get_all("Requires-Dist"))
    minor = "{}.{}".format(*sys.version_info)
    assert f"Programming Language :: Python :: {minor}" in about.get_all("Classifier")
    assert about.get_payload().startswith("# gait")


def test_it_works_where_no_compiler_is(installed, no_compiler, tmp_path):
    assert_works(installed, tmp_path)
    assert (installed.parent.parent / "share/man/man1/gait-run.1").is_file()


@pytest.fixture
def with_torch(root, installed):
    """The torch of the Python that runs this, where the wheel is for that one."""
    pytest.importorskip("torch")
    if said(installed, "-c", "import sys; print(sys.version_info[:2])").stdout.strip() != str(
        sys.version_info[:2]
    ):
        pytest.skip("torch is here for another Python")
    line = [sys.executable, str(root / "tools/link-torch.py"), str(installed.parent.parent)]
    subprocess.run(line, check=True)
    return installed


def test_it_records_a_training_where_no_compiler_is(with_torch, no_compiler, tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    tool = with_torch.parent / "gait"
    done = said(tool, "run", "-o", "first", "--", "python", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Time per step" in done.stderr + done.stdout
    report = json.loads(said(tool, "report", "--json", "first", cwd=tmp_path).stdout)
    assert report["steps"] == 5


def test_uvx_runs_the_tool_out_of_the_wheel(wheel, python, tmp_path):
    uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")
    if not uv:
        pytest.skip("no uv here")
    env = {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": str(python)}
    line = [uv, "tool", "run", "--offline", "--from", str(wheel), "gait", "--version"]
    done = subprocess.run(line, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.stdout.startswith("gait " + wheel.name.split("-")[1]), done.stderr


def test_pipx_installs_the_tool_with_its_manuals(wheel, python, tmp_path):
    env = {**os.environ, "HOME": str(tmp_path)}
    for name in ("HOME", "BIN_DIR", "MAN_DIR"):
        env["PIPX_" + name] = str(tmp_path / f"pipx-{name}")
    line = [sys.executable, "-m", "pipx", "install", "--python", str(python), str(wheel)]
    done = subprocess.run(line, capture_output=True, text=True, env=env, cwd=tmp_path)
    if "No module named pipx" in done.stderr or "Connection" in done.stderr:
        pytest.skip("no pipx here, or nothing that it can set itself up from")
    assert done.returncode == 0, done.stderr
    tool = tmp_path / "pipx-BIN_DIR" / "gait"
    assert said(tool, "--version").stdout.startswith("gait " + wheel.name.split("-")[1])
    assert (tmp_path / "pipx-MAN_DIR" / "man1" / "gait-run.1").exists()
    # the package beside the tool is found through the link that pipx makes
    (tmp_path / "program.py").write_text("import gait; print(gait.recording())")
    inner = tmp_path / "pipx-HOME" / "venvs" / "gait" / "bin" / "python"
    done = said(tool, "run", "-q", "-o", "run", "--", inner, "program.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.skipif(not READY, reason="GAIT_WHEELS=dist tries those that are there")
def test_auditwheel_agrees_with_the_tag(wheel, root):
    auditwheel = root / "build" / "wheels" / "tools" / "bin" / "auditwheel"
    if not auditwheel.exists():
        pytest.skip("no auditwheel here")
    told = subprocess.run([auditwheel, "show", wheel], capture_output=True, text=True).stdout
    machine = sysconfig.get_platform().split("-", 1)[1]
    assert f'platform tag: "manylinux_2_28_{machine}"' in " ".join(told.split())


def test_pip_takes_away_all_that_it_brought(installed):
    assert pip(installed, "uninstall", "-y", "gait").returncode == 0
    assert [path.name for path in installed.parent.parent.rglob("*gait*")] == []
