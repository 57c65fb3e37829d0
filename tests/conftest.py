# SPDX-License-Identifier: Apache-2.0
"""What all tests share: where the build is, and running its tool."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest
from said_besides import without_these

# Whoever starts us in the background, or under nohup, has these ignored, and so
# would have every program that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = pathlib.Path(__file__).resolve().parent.parent
# pytest puts this folder there: tests/torch would pass for torch where there is none.
sys.path[:] = [path for path in sys.path if path != str(ROOT / "tests")]
os.environ.setdefault("GAIT_CACHE_DIR", tempfile.mkdtemp(prefix="gait-cache-"))
os.environ.setdefault("GAIT_BUILD", str(ROOT / "build"))  # programs that tests start read it too


@pytest.fixture(scope="session")
def root():
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def build():
    """The build folder under test; tools/run-tests names it in GAIT_BUILD."""
    return pathlib.Path(os.environ["GAIT_BUILD"]).resolve()


@pytest.fixture
def gait(build, tmp_path):
    """Run the tool: gait("info", path) gives a CompletedProcess, never raises."""

    def run(*args, timeout=120, **options):
        options.setdefault("cwd", tmp_path)
        options.setdefault("stdin", subprocess.DEVNULL)
        command = [str(build / "gait"), *map(str, args)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            **options,
        )
        done.stderr = without_these(done.stderr)
        return done

    return run


@pytest.fixture
def compile_c(build, root, tmp_path):
    """Compile C against the public API: compile_c(source text, *flags) gives a path."""

    def compile_program(source, *flags, name="program", library="gait"):
        path = tmp_path / (name + ".c")
        path.write_text(source)
        command = [os.environ.get("CC", "cc"), "-std=c11", "-O1", "-g", "-Wall", "-Wextra"]
        if os.environ.get("GAIT_SANITIZE"):
            command.append("-fsanitize=" + os.environ["GAIT_SANITIZE"])
        command += [f"-I{root}/include", str(path), "-o", str(tmp_path / name), *flags]
        command += [f"-L{build}", f"-l{library}", f"-Wl,-rpath,{build}", "-lpthread"]
        subprocess.run(command, check=True)
        return tmp_path / name

    return compile_program
