# SPDX-License-Identifier: Apache-2.0
"""gait record and gait dump beside py-spy and austin, and what a sampled program loses.

Peers are taken from the folder of this Python or from PATH; `make bench-peers`
installs them. One that is absent is left out.
"""

import contextlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent))


def pythons():
    from tests.support.sampled_programs import PYTHONS

    return PYTHONS


def tool(name):
    beside = pathlib.Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


class Target:
    """sampler_target.py, ready to begin."""

    def __init__(self, python, busy, idle, rounds=0, depth=50):
        words = [python, BENCH / "sampler_target.py", busy, idle, depth, rounds]
        self.process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid
        self.threads = busy + idle
        self.process.stdout.readline()

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def finish(self):
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def recorded(path, gait):
    done = subprocess.run([gait, "info", "--json", path], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["sampler"]


def rate_of_gait(build, target, seconds):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.gait"
        words = ["record", "-q", "-i", "-r", "1000000", "-d", str(math.ceil(seconds))]
        subprocess.run(
            [build / "gait", *words, "-o", out, "--pid", str(target.pid)], check=True, timeout=600
        )
        told = recorded(out, build / "gait")
        return told["rounds"] / told["seconds"]


def rate_of_py_spy(path, target, seconds, *options):
    """Samples it wrote, by the time it was given; it is ended by ^C."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "raw.txt"
        words = ["record", "-r", "1000000", "-i", "-f", "raw", *options]
        running = subprocess.Popen(
            [path, *words, "-o", str(out), "--pid", str(target.pid)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(timeout=60)
        running.kill()
        running.wait()
        if not out.exists():
            return 0
        count = sum(int(line.rpartition(" ")[2]) for line in out.read_text().splitlines())
        return count / target.threads / seconds


def rate_of_austin(path, target, seconds):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "mojo"
        words = ["-b", "-i", "1", "-x", str(math.ceil(seconds)), "-o", str(out)]
        done = subprocess.run(
            [path, *words, "-p", str(target.pid)], capture_output=True, text=True, timeout=600
        )
        text = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
        samples = re.search(r"Error rate *: *\d+/(\d+)", text)
        took = re.search(r"Sampling duration *: *([\d.]+) s", text)
        if not samples or not took:
            return 0
        return int(samples[1]) / target.threads / float(took[1])


def rates(build, python, busy, idle, seconds):
    """Rounds a second of each, one after the other on one process; 0: it failed."""
    with Target(python, busy, idle) as target:
        target.begin()
        time.sleep(0.5)
        found = {"gait": rate_of_gait(build, target, seconds)}
        if tool("py-spy"):
            found["py-spy"] = rate_of_py_spy(tool("py-spy"), target, seconds)
            free = rate_of_py_spy(tool("py-spy"), target, seconds, "--nonblocking")
            found["py-spy --nonblocking"] = free
        if tool("austin"):
            found["austin"] = rate_of_austin(tool("austin"), target, seconds)
    return found


def start_recording(build, pid, rate, out):
    """A recorder of a process that waits to begin; it has attached when this returns."""
    words = ["record", "-q", "-r", str(rate), "-o", str(out), "--pid", str(pid)]
    running = subprocess.Popen([build / "gait", *words], stderr=subprocess.DEVNULL)
    while running.poll() is None and not out.exists():
        time.sleep(0.01)
    time.sleep(0.2)
    return running


def cost_of_sampler(build, python, rate, seconds):
    """Its share of a core, and its memory, beside 33 threads."""
    with Target(python, 4, 29) as target, tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.gait"
        target.begin()
        begun = time.monotonic()
        running = start_recording(build, target.pid, rate, out)
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        _, _, used = os.wait4(running.pid, 0)
        running.returncode = 0
        spent = time.monotonic() - begun
        told = recorded(out, build / "gait")
    share = (used.ru_utime + used.ru_stime) / spent
    return {"share": share, "rss_mb": used.ru_maxrss / 1024, "late": told["late"], **told}


def interval(values):
    """Mean and its 95 % interval."""
    mean = statistics.mean(values)
    half = 2 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    return {"mean": mean, "low": mean - half, "high": mean + half, "pairs": len(values)}


def one_run(build, python, rounds, rate, is_sampled=True):
    with Target(python, 1, 0, rounds) as target, tempfile.TemporaryDirectory() as folder:
        running = None
        if rate and not is_sampled:
            running = subprocess.Popen([build / "bench/wake_only", str(rate)])
        elif rate:
            running = start_recording(build, target.pid, rate, pathlib.Path(folder) / "run.gait")
        target.begin()
        cpu_s = target.finish()["cpu_s"]
        if running:
            running.send_signal(signal.SIGINT)
            running.wait()
    return cpu_s


def slowdown(build, python, rate, pairs, rounds):
    """CPU seconds of a fixed amount of work alone, sampled, and beside a program that wakes
    as often and does nothing, by turns in random order."""
    runs = {"alone": (0, False), "waking": (rate, False), "sampled": (rate, True)}
    ratios = {"waking": [], "sampled": []}
    for _ in range(pairs):
        cpu = {}
        for name in random.sample(sorted(runs), len(runs)):
            cpu[name] = one_run(build, python, rounds, *runs[name])
        for name, values in ratios.items():
            values.append(cpu[name] / cpu["alone"] - 1)
    return {**interval(ratios["sampled"]), "waking": interval(ratios["waking"])}


def dump_ms(command, times):
    """Without a limit of time: to wait with one is to ask after 0.5, 1.5, 3.5 ... ms."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        taken.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(taken)


def dumps(build, python, busy, idle, times):
    """Median milliseconds of the whole command, the program's start included."""
    with Target(python, busy, idle) as target:
        target.begin()
        time.sleep(0.5)
        pid = str(target.pid)
        found = {"gait": dump_ms([build / "gait", "dump", pid], times)}
        if tool("py-spy"):
            found["py-spy"] = dump_ms([tool("py-spy"), "dump", "--pid", pid], times // 3 + 1)
        if tool("austin"):
            found["austin"] = dump_ms([tool("austin"), "-w", pid], times // 3 + 1)
    return found


def train(build, steps, is_sampled):
    command = [sys.executable, str(BENCH / "torch_loader.py"), str(steps)]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.gait"
        if is_sampled:
            record = [str(build / "gait"), "record", "-q", "-s", "-r", "1000", "-o", str(out), "--"]
            command = [*record, *command]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        told = json.loads(done.stdout.splitlines()[-1])
        if is_sampled:
            told["sampler"] = recorded(out, build / "gait")
    return told


def training(build, pairs, steps):
    """Fixed steps of a training with workers, sampled with all its processes and not."""
    cpu, wall, processes, workers = [], [], [], set()
    for _ in range(pairs):
        told = {}
        for is_sampled in random.sample((False, True), 2):
            told[is_sampled] = train(build, steps, is_sampled)
        cpu.append(told[True]["cpu_s"] / told[False]["cpu_s"] - 1)
        wall.append(told[True]["wall_s"] / told[False]["wall_s"] - 1)
        processes.append(told[True]["sampler"]["processes"])
        workers.add(tuple(told[True]["workers"]))
    return {
        "cpu": interval(cpu),
        "wall": interval(wall),
        "processes": min(processes),
        "workers": min(map(len, workers)),
    }
