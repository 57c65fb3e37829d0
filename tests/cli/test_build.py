# SPDX-License-Identifier: Apache-2.0
"""What the build leaves behind works for somebody who only has its products."""

import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "src"
HEADERS = sorted(path.name for path in (ROOT / "include" / "gait").glob("*.h"))
INNER_HEADERS = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.glob("**/*.h"))
C_FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="products, not sanitized ones"
)


def first_compiler(*names):
    return next((name for name in names if shutil.which(name)), None)


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_stands_alone_in_c(root, tmp_path, header):
    source = tmp_path / "a.c"
    source.write_text(f"#include <gait/{header}>\n#include <gait/{header}>\n")
    command = ["cc", "-std=c11", "-pedantic", *C_FLAGS, f"-I{root}/include", str(source)]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("header", INNER_HEADERS)
def test_an_inner_header_stands_alone(root, header):
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", *C_FLAGS, f"-I{root}/src", f"-I{root}/include"]
    subprocess.run([*command, "-x", "c", "-include", header, "/dev/null"], check=True)


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_stands_alone_in_cxx(root, tmp_path, header):
    compiler = first_compiler("g++", "clang++", "c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    source = tmp_path / "a.cc"
    source.write_text(f"#include <gait/{header}>\n#include <gait/{header}>\n")
    command = [compiler, "-std=c++17", *C_FLAGS, f"-I{root}/include", str(source)]
    subprocess.run(command, check=True)


PROGRAMS = {
    "gait": "#include <gait/record.h>\nint main(void) { gait_begin(0); gait_end(); return 0; }\n",
    "gait-read": "#include <gait/trace.h>\n"
    "int main(void) { gait_trace_close(0); return gait_error_text(-1) == 0; }\n",
}


@pytest.mark.parametrize("package", PROGRAMS)
def test_pkg_config_is_enough_to_build_and_run(build, tmp_path, package):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(build / "meson-uninstalled")}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", package],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    source = tmp_path / "a.c"
    source.write_text(PROGRAMS[package])
    subprocess.run(
        ["cc", "-std=c11", str(source), "-o", str(tmp_path / "a"), *shlex.split(flags)], check=True
    )
    environment.pop("LD_LIBRARY_PATH", None)  # the program must find the library by itself
    subprocess.run([str(tmp_path / "a")], check=True, env=environment)


@pytest.mark.parametrize("name", ["libgait.so", "libgait-read.so"])
def test_the_package_holds_the_very_libraries(build, name):
    assert os.path.samefile(build / name, build / "python/gait" / name)


@pytest.mark.parametrize("name", ["libgait.so", "libgait-read.so"])
def test_a_library_is_bound_at_once_and_stays(build, name):
    dynamic = subprocess.run(
        ["readelf", "-dW", str(build / name)], check=True, capture_output=True, text=True
    ).stdout
    assert f"soname: [{name}]" in dynamic
    assert "NODELETE" in dynamic
    assert "NOW" in dynamic
    assert "TEXTREL" not in dynamic
