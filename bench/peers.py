# SPDX-License-Identifier: Apache-2.0
"""The same instrumented loop under gait, LTTng-UST and uftrace.

A peer that is not installed is one line that says so (`make bench-peers`
installs them). Each answer: cpu_ns, floor_ns, ratio, pairs, bytes_per_pair.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

BENCH = pathlib.Path(__file__).resolve().parent
FLAGS = ["-std=gnu11", "-O2", f"-I{BENCH.parent}/include", f"-I{BENCH}"]


class Absent(Exception):
    """The peer is not on this machine."""


def folder_bytes(folder, pattern="*"):
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def compile_loop(work, name, *flags):
    program = work / name
    command = [os.environ.get("CC", "cc"), *FLAGS, str(BENCH / "peer_loop.c"), "-o", str(program)]
    done = subprocess.run([*command, *flags], capture_output=True, text=True)
    if done.returncode:
        raise Absent(f"{name}: does not compile: {done.stderr.strip().splitlines()[0]}")
    return program


def run_quietly(command, **options):
    return subprocess.run(
        [str(part) for part in command],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=300,
        **options,
    ).stdout


def answer(output, stored_bytes):
    result = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    result["bytes_per_pair"] = stored_bytes / result["pairs"]
    return result


def run_gait(build, work):
    libraries = [f"-L{build}", "-lgait", f"-Wl,-rpath,{build}"]
    program = compile_loop(work, "peer_gait", "-DPEER_GAIT", *libraries)
    folder = work / "gait-data"
    environment = dict(os.environ, GAIT_DIR=str(folder), GAIT_OVERFLOW="drop", GAIT_RING="16M")
    output = run_quietly([program], env=environment)
    return answer(output, folder_bytes(folder, "*.gait"))


@contextlib.contextmanager
def lttng_session(work):
    """A session daemon of our own, which ends with the session."""
    environment = dict(os.environ, LTTNG_HOME=str(work), LTTNG_UST_REGISTER_TIMEOUT="5000")
    daemon = subprocess.Popen(
        ["lttng-sessiond", "--no-kernel"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            with contextlib.suppress(subprocess.CalledProcessError):
                run_quietly(["lttng", "--no-sessiond", "list"], env=environment)
                break
            time.sleep(0.1)
        yield environment
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)


def run_lttng(_build, work):
    if not shutil.which("lttng-sessiond"):
        raise Absent("lttng-ust: not installed")
    program = compile_loop(work, "peer_lttng", "-DPEER_LTTNG", "-llttng-ust", "-ldl")
    folder = work / "lttng-data"
    with lttng_session(work) as environment:

        def lttng(*arguments):
            command = ["lttng", "--no-sessiond", *arguments]
            return run_quietly(command, env=environment)

        lttng("create", "gait-bench", f"--output={folder}")
        sizes = ["--subbuf-size=4M", "--num-subbuf=8"]
        lttng("enable-channel", "--userspace", *sizes, "pairs")
        lttng("enable-event", "--userspace", "--channel=pairs", "gait_peer:*")
        lttng("start")
        output = run_quietly([program], env=environment)
        lttng("stop")
        lost = re.findall(r"Discarded events: (\d+)", lttng("list", "gait-bench"))
        lttng("destroy", "gait-bench")
    result = answer(output, folder_bytes(folder, "pairs_*"))
    result["lost"] = sum(map(int, lost))
    return result


def run_uftrace(work, name, *flags):
    if not shutil.which("uftrace"):
        raise Absent("uftrace: not installed")
    program = compile_loop(work, name, "-DPEER_UFTRACE", *flags)
    folder = work / (name + "-data")
    output = run_quietly(["uftrace", "record", "--no-libcall", "-d", folder, program])
    return answer(output, folder_bytes(folder, "[0-9]*.dat"))


def run_uftrace_pg(_build, work):
    return run_uftrace(work, "uftrace_pg", "-pg")


def run_uftrace_finstrument(_build, work):
    only_ours = "-finstrument-functions-exclude-file-list=bench.h"
    return run_uftrace(work, "uftrace_fi", "-finstrument-functions", only_ours)


PEERS = {
    "gait, to file": run_gait,
    "LTTng-UST, to file": run_lttng,
    "uftrace -pg, to file": run_uftrace_pg,
    "uftrace -finstrument, to file": run_uftrace_finstrument,
}


def measure(build, work):
    """Peer by peer: a dict of figures, or {"absent": why}."""
    work.mkdir(parents=True, exist_ok=True)
    answers = {}
    for name, run in PEERS.items():
        try:
            answers[name] = run(build, work)
        except Absent as absent:
            answers[name] = {"absent": str(absent)}
        except (subprocess.SubprocessError, StopIteration, OSError) as failure:
            answers[name] = {"absent": f"{name}: did not run: {failure}"}
    return answers
