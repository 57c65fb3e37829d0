#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it takes from the last op to the trace in its file, beside torch.profiler.

usage: torch_traces.py [--ops N] [--rounds N] [--json]

One process each, taken in turn, does the same N ops, then stop() and
export_chrome_trace(); times are those of the clock on the wall, for these two
calls. Peak memory is that of gait's exporter alone, on N ops and on ten times
as many. Needs torch.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("KINETO_LOG_LEVEL", "5")
MEMORY_FACTOR = 10


def work(count):
    import torch

    numbers = torch.zeros(4)
    add = numbers.neg_
    for _ in range(count):
        add()


def one(who, count, folder):
    """Seconds of stop and export, and what was exported."""
    import torch

    torch.set_num_threads(1)
    path = folder / f"{who}.json"
    if who == "gait":
        from gait.torch import profile

        with profile():  # what is found out once
            work(10)
        profiler = profile()
    else:
        from torch.profiler import ProfilerActivity, profile

        profiler = profile(activities=[ProfilerActivity.CPU])
    profiler.start()
    work(count)
    begin = time.perf_counter()
    profiler.stop()
    stopped = time.perf_counter()
    profiler.export_chrome_trace(str(path))
    done = time.perf_counter()
    size = path.stat().st_size
    path.unlink()
    return {"stop_s": stopped - begin, "export_s": done - stopped, "bytes": size}


def in_process(who, count, folder):
    command = [sys.executable, __file__, "--one", who, str(count), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_of(count, folder):
    """Peak resident KiB of `gait export` on a recording of so many ops."""
    import gait

    run = folder / f"run{count}"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import torch_traces; "
        "from gait.torch import profile; import gait, shutil; p = profile(); p.start(); "
        "torch_traces.work(int(sys.argv[2])); p.stop(); "
        "shutil.copy(p.capture.paths[0], sys.argv[3])"
    )
    shard = run.with_suffix(".gait")
    here = pathlib.Path(__file__).parent
    subprocess.run([sys.executable, "-c", script, here, str(count), shard], check=True)
    tool = pathlib.Path(gait.__file__).resolve().parents[2] / "build" / "gait"
    command = [os.environ.get("GAIT_TOOL", tool), "export", shard, "--format", "pt-trace"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        peak = 0
        while child.stdout.read(1 << 22):
            peak = max(peak, high_water(child.pid))
    if child.returncode:
        raise RuntimeError(f"gait export ended with {child.returncode}")
    shard.unlink()
    return peak


def high_water(pid):
    """Not rusage's: that counts the memory of the process it was made from, too."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0  # it has ended


def measure(count, rounds, folder):
    found = {"gait": [], "torch": []}
    for number in range(rounds):
        for who in sorted(found, reverse=number % 2 == 1):
            found[who].append(in_process(who, count, folder))
    result = {"ops": count, "rounds": rounds}
    for who, rows in found.items():
        result[who] = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    total = {who: result[who]["stop_s"] + result[who]["export_s"] for who in found}
    result["ratio"] = total["torch"] / total["gait"]
    counts = count, count * MEMORY_FACTOR
    result["peak_kib"] = {str(number): peak_of(number, folder) for number in counts}
    return result


def put(result):
    print(f"{result['ops']:,} ops{'stop':>14}{'export':>10}{'file':>12}")
    for who in "gait", "torch":
        row = result[who]
        size = row["bytes"] / 1e6
        print(f"  {who:<10}{row['stop_s']:>9.3f} s{row['export_s']:>8.3f} s{size:>9.0f} MB")
    print(f"  stop and export together: 1/{result['ratio']:.0f} of torch's")
    for number, peak in result["peak_kib"].items():
        print(f"  peak memory of gait export on {int(number):,} ops: {peak / 1024:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, count, folder = arguments.one
        print(json.dumps(one(who, int(count), pathlib.Path(folder))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        result = measure(arguments.ops, arguments.rounds, pathlib.Path(folder))
    print(json.dumps(result)) if arguments.json else put(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
