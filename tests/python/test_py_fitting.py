# SPDX-License-Identifier: Apache-2.0
"""Of several packages of gait the one is taken that has an extension for the Python that runs."""

import os
import shutil
import sys
import sysconfig

import pytest
from installed_package import make_venv

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="a fresh Python has no sanitizer"
)
VERSION = "python{}.{}".format(*sys.version_info)
PROGRAM = """
import os, sys, gait
hook = sys.modules["_gait_start"]
assert os.path.dirname(os.path.dirname(hook.__file__)) == os.path.dirname(gait.__file__)
print(os.path.dirname(gait.__file__), gait.recording())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """One that has no gait of its own."""
    return make_venv(tmp_path_factory.mktemp("python") / "venv")


def put_package(build, place, minor):
    """The package as pip puts it there, with an extension named for this minor, `cp311`."""
    package = place / "gait"
    shutil.copytree(build / "python" / "gait", package, ignore=shutil.ignore_patterns("_native.c*"))
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    own = "cpython-{}{}".format(*sys.version_info)
    name = "_native" + suffix.replace(own, f"cpython-{minor}")
    shutil.copy(build / "python" / "gait" / f"_native{suffix}", package / name)
    (place / "gait-1.2.3.dist-info").mkdir()
    return package


def run(gait, package, *line):
    env = {**os.environ, "GAIT_PACKAGE": str(package)}
    done = gait("run", "-q", "-o", "run", "--", *line, "-c", PROGRAM, env=env)
    assert done.returncode == 0
    return done


@pytest.fixture
def others(build, tmp_path):
    """What the tool finds beside itself: a package for Python 3.99."""
    return put_package(build, tmp_path / "lib" / "python3.99" / "site-packages", "399")


def test_the_package_of_its_version_in_the_same_prefix(gait, build, python, others, tmp_path):
    own = "{}{}".format(*sys.version_info)
    package = put_package(build, tmp_path / "lib" / VERSION / "site-packages", own)
    done = run(gait, others, python)
    assert (done.stdout, done.stderr) == (f"{package} True\n", "")


def test_the_package_that_this_python_has_installed(gait, build, others, tmp_path):
    python = make_venv(tmp_path / "venv")
    site = tmp_path / "venv" / "lib" / VERSION / "site-packages"
    (site / "build.pth").write_text(f"{build / 'python'}\n")
    done = run(gait, others, python)
    assert (done.stdout, done.stderr) == (f"{build / 'python' / 'gait'} True\n", "")


def test_the_command_that_brings_it_where_none_fits(gait, python, others):
    done = run(gait, others, python)
    assert done.stdout == f"{others} False\n"
    minor, tag = "{}.{}".format(*sys.version_info), "cp{}{}".format(*sys.version_info)
    assert done.stderr == (
        f"gait: nothing is recorded: gait was built for Python 3.99, and this is {minor}: "
        f"'{python} -m pip install gait-1.2.3-{tag}-*.whl' brings it, the wheel of that Python\n"
    )
