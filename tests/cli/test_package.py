# SPDX-License-Identifier: Apache-2.0
"""What pip makes of a checkout: `pip install -e .` gives the tool and the whole package."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from installed_package import assert_works, make_venv, pip

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="products, not sanitized ones"
)

# An editable wheel as meson-python makes them: a module that imports the build anew.
MESONPY = """
import os, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    assert os.path.isabs(config_settings["builddir"])
    name = "gait-1.2.3-cp3-cp3-linux_x86_64.whl"
    about = "gait-1.2.3.dist-info/"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\\nName: gait\\nVersion: 1.2.3\\n")
        wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\n"
                                        "Tag: py3-none-any\\n")
        wheel.writestr("_gait_editable_loader.py", "raise SystemExit('the loader')\\n")
        wheel.writestr("gait-editable.pth", "import _gait_editable_loader\\n")
        wheel.writestr(about + "RECORD", "\\n")
    return name

def build_sdist(): pass
build_wheel = get_requires_for_build_editable = build_sdist
get_requires_for_build_sdist = get_requires_for_build_wheel = build_sdist
"""
BUILD = """
import os, package_backend
name = package_backend.build_editable(os.getcwd(), {"builddir": os.environ["GAIT_BUILD"]})
os.rename(name, "gait-1.2.3-py3-none-any.whl")
"""


@pytest.fixture
def python(tmp_path):
    return make_venv(tmp_path / "venv")


def test_an_editable_package_has_the_tool_and_all_that_stands_beside_it(
    root, build, python, tmp_path
):
    (tmp_path / "mesonpy.py").write_text(MESONPY)
    folders = os.pathsep.join([str(tmp_path), str(root / "tools")])
    env = {**os.environ, "PYTHONPATH": folders, "GAIT_BUILD": str(build)}
    subprocess.run([sys.executable, "-c", BUILD], cwd=tmp_path, env=env, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "_gait_editable_loader.py" not in archive.namelist()
    done = pip(python, "install", "--no-index", "--no-deps", wheel)
    assert done.returncode == 0, done.stderr
    assert_works(python, tmp_path)
    assert pip(python, "uninstall", "-y", "gait").returncode == 0
    left = [path.name for path in python.parent.parent.rglob("*gait*")]
    assert left == []


@pytest.mark.skipif(not os.environ.get("GAIT_TEST_FULL"), reason="GAIT_TEST_FULL=1 runs it")
def test_pip_install_e_of_a_checkout(root, python, tmp_path):
    """With meson-python itself, which builds all of it: half a minute."""
    listed = ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    copy = tmp_path / "a copy"
    for name in filter(None, names.split("\0")):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    done = pip(python, "install", "-q", "-e", copy)
    if "No matching distribution found" in done.stderr:
        pytest.skip("no index has meson-python")
    assert done.returncode == 0, done.stderr
    assert_works(python, tmp_path)
