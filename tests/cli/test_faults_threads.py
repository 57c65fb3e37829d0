# SPDX-License-Identifier: Apache-2.0
"""Ten thousand threads alive at once: what they cost, and that all are there."""

import json
import os
import pathlib
import subprocess

import pytest

# A sanitizer wants to be loaded first, and much memory.
plain_build = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="not in a build with a sanitizer"
)

PROGRAM = pathlib.Path(__file__).with_name("programs") / "many_alive.c"
WANTED = 10000
MIB = 1024
MEMORY = 700 * MIB  # KiB
DESCRIPTORS = 5


def run(line, **variables):
    done = subprocess.run(
        list(map(str, line)),
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **variables},
    )
    return done, [int(word) for word in done.stdout.split()]


@plain_build
@pytest.mark.parametrize("policy", ["drop", "block", "overwrite"])
def test_ten_thousand_threads_alive_fit(gait, build, compile_c, tmp_path, policy):
    program = compile_c(PROGRAM.read_text(), name="many_alive")
    threads = WANTED
    bare, numbers = run([program, threads], GAIT_ENABLE="0")
    while bare.returncode == 77 and threads > 500:  # this machine has fewer to give
        threads = numbers[0] * 9 // 10
        bare, numbers = run([program, threads], GAIT_ENABLE="0")
    assert bare.returncode == 0
    _, bare_kib, bare_descriptors, _ = numbers
    line = [build / "gait", "run", "-q", "-o", tmp_path / "run", "--overflow", policy, "--"]
    done, numbers = run([*line, program, threads])
    assert done.returncode == 0, done.stderr
    _, kib, descriptors, _ = numbers
    print(f"{policy}: {threads} threads: {kib / MIB:.0f} MiB, without gait {bare_kib / MIB:.0f}")
    assert kib <= MEMORY
    assert descriptors - bare_descriptors <= DESCRIPTORS
    info = json.loads(gait("info", tmp_path / "run", "--json").stdout)
    assert info["events"] == threads * 11
    assert (info["dropped"], info["damage"]) == (0, [])
    assert info["tracks"] >= threads
