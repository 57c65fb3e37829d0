#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure gait, print one table, write BUILD/bench/result.json.

Each figure stands beside its floor, taken in turn within the same run, and
beside its target. A missed target is a row that says so, not a failure.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap

import peers
import rank_runs
import sampler_load

BENCH = pathlib.Path(__file__).resolve().parent
WIDTH = 78

# name of the probe: what a person reads, the target as (what it bounds, limit)
PROBES = {
    "system_clock": ("clock_gettime", None),
    "span_off": ("span, recording off", ("cpu_ns", 0.5)),
    "mark_off": ("mark, recording off", None),
    "span": ("span: begin + end", ("ratio", 1.10)),
    "span_call": ("the same, functions alone", None),
    "next": ("next", ("ratio", 1.15)),
    "mark": ("mark", None),
    "counter": ("counter, integer", None),
    "counter_real": ("counter, real", None),
    "span_int": ("span with an integer argument", None),
    "span_text": ("span with a text of 24 bytes", None),
    "step": ("step: begin + end", None),
    "async": ("async: begin + end", None),
    "flow": ("flow: begin + end", None),
}
FULL = {
    "repeats": 51,
    "count": 200000,
    "seconds": 10,
    "trace_seconds": 9,
    "steps": 1500,
    "rounds": 51,
    "calls": 100,
    "fit_steps": 300,
    "trace_ops": 1000000,
    "sampled_s": 5,
    "dumps": 60,
    "pairs": 30,
    "turns": 20000,
    "trained": 600,
    "ranks": 512,
    "intervals": 4000000,
}
QUICK = {
    "repeats": 3,
    "count": 800,
    "seconds": 0.2,
    "trace_seconds": 0.2,
    "steps": 30,
    "rounds": 3,
    "calls": 0.1,
    "fit_steps": 12,
    "trace_ops": 2000,
    "sampled_s": 1,
    "dumps": 3,
    "pairs": 2,
    "turns": 1000,
    "trained": 20,
    "ranks": 8,
    "intervals": 20000,
}


class Row:
    """One line of the table; `met` is None where there is no target."""

    def __init__(self, name, value, ratio="", target="", met=None):
        self.cells = (name, value, ratio, target)
        self.met = met

    def __str__(self):
        name, value, ratio, target = self.cells
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return f"{name:<36.36}{value:>13}{ratio:>10}{target:>14}{met:>5}".rstrip()


class Bench:
    """Runs the programs of a build folder, each in a run directory of its own."""

    def __init__(self, build, sizes, baseline=None):
        self.build = build
        self.baseline = baseline  # a tool to compare with
        self.folder = build / "bench"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="runs-", dir=self.folder))
        self.sizes = sizes
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("GAIT_")
        }

    def run_directory(self, name):
        directory = self.work / name
        shutil.rmtree(directory, ignore_errors=True)
        return directory

    def program(self, name, *arguments, environment=None):
        done = subprocess.run(
            [str(self.folder / name), *map(str, arguments)],
            env=environment or self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def events(self, policy, threads, *options):
        directory = self.run_directory("events")
        sizes = ("--repeats", self.sizes["repeats"], "--count", self.sizes["count"])
        arguments = ("--directory", directory, "--policy", policy, "--threads", threads)
        return self.program("event_cost", *arguments, *sizes, *options)

    def stream(self, seconds, **options):
        directory = self.run_directory(options.pop("name", "stream"))
        arguments = ["--directory", directory, "--seconds", seconds]
        for key, value in options.items():
            arguments += ["--" + key, value]
        return self.program("stream_load", *arguments)

    def example(self):
        directory = self.run_directory("example")
        environment = dict(self.environment, GAIT_DIR=str(directory))
        subprocess.run(
            [
                str(self.build / "examples/train_c/train_c"),
                *("--steps", str(self.sizes["steps"]), "--quiet"),
                *("--checkpoint", str(self.work / "example.checkpoint")),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        info = [str(self.build / "gait"), "info", str(directory), "--json"]
        done = subprocess.run(info, stdout=subprocess.PIPE, check=True)
        events = json.loads(done.stdout)["events"]
        stored = peers.folder_bytes(directory, "*.gait")
        return {"events": events, "bytes": stored, "bytes_per_event": stored / events}

    def python(self):
        program = BENCH / "python_spans.py"
        if not program.exists():
            return None
        environment = dict(self.environment, GAIT_DIR=str(self.run_directory("python")))
        command = [sys.executable, str(program), "--json", "--rounds", str(self.sizes["rounds"])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            return {"absent": done.stderr.strip().splitlines()[-1:]}
        return json.loads(done.stdout)


def bounded(name, value, shown, limit, unit):
    return Row(name, shown, "", f"<= {limit:g} {unit}", value <= limit)


def probe_row(probe, suffix=""):
    name, target = PROBES[probe["name"]]
    ns, ratio = f"{probe['cpu_ns']:.2f} ns", f"{probe['ratio']:.2f} x"
    if target is None:
        return Row(name + suffix, ns, ratio)
    measure, limit = target
    wanted = f"<= {limit:.2f} x" if measure == "ratio" else f"<= {limit:g} ns"
    return Row(name + suffix, ns, ratio, wanted, probe[measure] <= limit)


def floor_rows(result):
    floors = {probe["floor"]: probe["floor_ns"] for probe in result["probes"]}
    named = {
        "one_clock": "one clock read",
        "two_clocks": "two clock reads",
        "one_flag": "one flag test",
        "two_flags": "two flag tests",
    }
    return [Row(text, f"{floors[key]:.2f} ns") for key, text in named.items()]


def account_row(result):
    """Every event is in the file or counted as dropped."""
    missing = result["made"] - result["recorded"] - result["dropped"]
    lost = f"{100 * result['dropped'] / result['made']:.0f} % lost"
    return Row("  neither recorded nor counted lost", missing, lost, "0 events", missing == 0)


def event_tables(bench):
    results = {}
    yield "Recording on, nobody waits (overwrite), CPU of the recording thread"
    for threads in (1, 2):
        result = bench.events("overwrite", threads)
        results[f"overwrite-{threads}"] = result
        if threads == 1:
            yield from floor_rows(result)
        for probe in result["probes"]:
            if threads == 1 or probe["name"] in ("span", "next", "mark", "counter"):
                yield probe_row(probe, f", {threads} threads" if threads > 1 else "")
        yield account_row(result)
    yield "Drainer at full rate (1 MiB ring always full), and in bursts that fit"
    for policy in ("drop", "block"):
        for threads in (1, 2):
            yield from pressed_rows(bench, results, policy, threads)
    return results


def pressed_rows(bench, results, policy, threads):
    for name, options in (
        ("full rate", ("--ring", "1M")),
        ("bursts", ("--ring", "16M", "--flush")),
    ):
        result = bench.events(policy, threads, *options)
        results[f"{policy}-{threads}-{name.replace(' ', '-')}"] = result
        span = next(probe for probe in result["probes"] if probe["name"] == "span")
        yield Row(
            f"span, {policy}, {name}, {threads}T",
            f"{span['cpu_ns']:.2f} ns",
            f"{span['ratio']:.2f} x",
            f"{span['wall_ns']:.0f} ns wall",
        )
        yield account_row(result)


def ring_table(bench):
    results = {}
    yield "Ring sizes (span, overwrite, 1 thread)"
    for ring in ("64K", "256K", "1M", "4M", "16M"):
        result = bench.events("overwrite", 1, "--ring", ring)
        results[ring] = result
        span = next(probe for probe in result["probes"] if probe["name"] == "span")
        yield Row(f"  {ring}", f"{span['cpu_ns']:.2f} ns", f"{span['ratio']:.2f} x")
    return results


def stream_table(bench):
    rate = 5000000
    yield "One thread at 5,000,000 spans/s, drainer on the other core, 16 MiB ring"
    result = bench.stream(bench.sizes["seconds"], rate=rate, ring="16M")
    kept = result["rate"] >= 0.99 * rate
    yield Row("rate", f"{result['rate'] / 1e6:.2f} M/s", "", ">= 4.95 M/s", kept)
    yield bounded("spans dropped", result["dropped"], result["dropped"], 0, "spans")
    cost = result["drainer_ns_per_record"]
    yield bounded("drainer, per begin or end", cost, f"{cost:.2f} ns", 15, "ns")
    size = result["bytes_per_span"]
    yield bounded("on disk, nested stream", size, f"{size:.2f} B/event", 5, "B")
    example = bench.example()
    size = example["bytes_per_event"]
    yield bounded("on disk, examples/train_c", size, f"{size:.2f} B/event", 5, "B")
    yield account_row(result)
    return {"stream": result, "example": example}


def memory_table(bench, minutes, rate):
    yield f"Memory of the recorder over {minutes:g} minutes at {rate:,} spans/s"
    result = bench.stream(60 * minutes, rate=rate, ring="16M", name="memory")
    growth = result["rss_growth_bytes"] / 1e6
    yield Row("resident", f"{result['rss_bytes'] / 1e6:.1f} MB")
    yield bounded("growth after 5 s", growth, f"{growth:.2f} MB", 5, "MB")
    shutil.rmtree(bench.work / "memory", ignore_errors=True)
    return result


def decode_table(bench):
    yield "Reading back"
    bench.stream(
        bench.sizes["trace_seconds"], rate=5000000, ring="64M", policy="block", name="trace"
    )
    result = bench.program("decode_speed", bench.work / "trace")
    speed, first = result["spans_per_second"] / 1e6, result["first_answer_ns"] / 1e6
    yield Row("spans in the trace", f"{result['spans'] / 1e6:.1f} M")
    yield Row("three columns, one core", f"{speed:.1f} M/s", "", ">= 60 M/s", speed >= 60)
    yield Row("open", f"{result['open_ns'] / 1e6:.1f} ms")
    yield bounded("open and first answer, warm", first, f"{first:.1f} ms", 300, "ms")
    return result


def ranks_table(bench):
    """Beside the report of another build, where --baseline names its tool."""
    yield "A report on runs of many ranks (CPU, and the most memory it took)"
    tool, count, results = bench.build / "gait", bench.sizes["ranks"], {}
    for name, kind, ranks, limit, share in (
        ("report_512_ranks", "spans", count, 64, 0.6),
        ("report_256_torch", "torch", count // 2, 128, 1),
        ("report_128_torch", "torch", count // 4, 128, 1),
    ):
        run = bench.run_directory(name)
        rank_runs.make(kind, ranks, run, bench.build)
        cpu, wall, peak = results[name] = rank_runs.best_report(tool, run, 3)
        before = rank_runs.best_report(bench.baseline, run, 3) if bench.baseline else None
        if before:
            results[name] += before
            ratio = wall / before[1]
            yield Row(name, f"{wall:.2f} s", f"{ratio:.2f} x", f"<= {share:.2f} x", ratio <= share)
        else:
            yield Row(name, f"{wall:.2f} s")
        yield Row("  CPU", f"{cpu:.2f} s", f"{before[0]:.2f} s" if before else "")
        yield bounded("  memory", peak / 1e6, f"{peak / 1e6:.1f} MB", limit, "MB")
    ratio = results["report_256_torch"][0] / results["report_128_torch"][0]
    yield Row("twice the ranks", f"{ratio:.2f} x", "", "<= 2.30 x", ratio <= 2.3)
    return results


def sweep_table(bench):
    yield "Rows of devices into exclusive states"
    result = bench.program("sweep_speed", bench.sizes["intervals"])
    speed = result["intervals_per_second"] / 1e6
    yield Row("in order of start, one core", f"{speed:.1f} M/s", "", ">= 5 M/s", speed >= 5)
    return result


def python_table(bench):
    result = bench.python()
    if result is None:
        return None
    yield "Python " + platform.python_version()
    if "absent" in result:
        yield Row("not measured", "")
        return result
    for row in result["rows"]:
        ns = f"{row['ns']:.1f} ns"
        if row.get("target_ns"):
            yield bounded(row["name"], row["ns"], ns, row["target_ns"], "ns")
        else:
            yield Row(row["name"], ns)
    return result


def profilers_on(bench, python, path):
    command = [python, str(BENCH / "python_profilers.py"), "--json", "--rounds"]
    command += [str(max(3, bench.sizes["rounds"] // 2)), "--calls", str(bench.sizes["calls"])]
    environment = dict(bench.environment, PYTHONPATH=str(path))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"absent": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout)


def profiler_rows(minor, result):
    """Tracing beside cProfile, a start and stop beside Lightning's, memory."""
    if "absent" in result:
        yield Row(f"{minor}: not measured", "")
        return
    limit = 0.45 if tuple(map(int, minor.split("."))) >= (3, 12) else 0.80
    for name, row in result["tracing"].items():
        cost, ratio = f"{row['added_ns']['gait']:.1f} ns", row["ratio"]
        wanted = f"<= {limit:.2f} x"
        yield Row(f"{minor}, a call of {name}", cost, f"{ratio:.2f} x", wanted, ratio <= limit)
    pair = result["pair"]
    cost, ratio = f"{pair['gait_ns']:.1f} ns", pair["ratio"]
    yield Row(f"{minor}, a start and stop", cost, f"{ratio:.2f} x", "<= 0.25 x", ratio <= 0.25)
    grown = result["memory"]["grown_bytes"]
    name = f"{minor}, memory over {result['memory']['calls'] / 1e6:.0f} M calls"
    yield bounded(name, grown, grown, 1000000, "bytes")


def profilers_table(bench):
    """This Python and, unless it has to be quick, all others with headers."""
    sys.path.insert(0, str(BENCH.parent / "tests/support"))
    import minors

    yield "Named profilers, beside cProfile and Lightning's SimpleProfiler"
    own = "{}.{}".format(*sys.version_info[:2])
    results = {own: profilers_on(bench, sys.executable, bench.build / "python")}
    yield from profiler_rows(own, results[own])
    others = minors.other_pythons() if bench.sizes["calls"] > 1 else {}
    for minor, (python, include, suffix) in sorted(others.items()):
        folder = bench.work / f"python-{minor}"
        folder.mkdir()
        minors.build_package(BENCH.parent, bench.build, folder, include, suffix, "-O2")
        results[minor] = profilers_on(bench, python, folder)
        yield from profiler_rows(minor, results[minor])
    return results


def bounded_ratio(name, cost, quotient, limit):
    """A quotient [value, low, high]: met where all of its interval is."""
    value, low, high = quotient
    yield Row(name, cost, f"{value:.3f} x", f"<= {limit:.2f} x", high <= limit)
    yield Row("  its 95 % interval", f"{low:.3f} to {high:.3f}")


def lightning_table(bench):
    """Issue figures: in a real Lightning training of 1 ms steps, beside Lightning's own."""
    yield "Named profilers in Lightning's steps, beside Lightning's own"
    command = [sys.executable, str(BENCH / "lightning_steps.py"), "--json", "--rounds"]
    command += [str(max(2, bench.sizes["rounds"] // 2)), "--steps", str(bench.sizes["fit_steps"])]
    environment = dict(bench.environment, PYTHONPATH=str(bench.build / "python"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:]
        yield Row("not measured: no torch or no Lightning", "")
        return {"absent": why}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    pair, steps = result["pair"], result["steps"]
    ns = pair["added_ns"]["simple"][0]
    yield from bounded_ratio("a start and stop", f"{ns:.1f} ns", pair["ratio"], 0.25)
    yield Row("a step without a profiler", f"{steps['step_us']:.0f} us")
    for name, (mean, half) in steps["added_us"].items():
        yield Row(f"  {name} adds", f"{mean:.1f} us", f"+-{half:.1f}")
    cost = f"{steps['added_us']['advanced'][0]:.1f} us"
    yield from bounded_ratio("advanced / AdvancedProfiler", cost, steps["advanced"], 0.40)
    value, low, high = steps["floor"]
    yield Row("  an empty profile function", "", f"{value:.3f} x")
    yield Row("  its 95 % interval", f"{low:.3f} to {high:.3f}")
    cost = f"{steps['added_us']['pytorch'][0]:.1f} us"
    yield from bounded_ratio("pytorch / PyTorchProfiler", cost, steps["pytorch"], 0.05)
    return result


def torch_rows(load, result):
    limit = 0.45 if load == "add_" else 0.50
    for level, row in result["levels"].items():
        ratio = row["gait_ns"] / row["torch_ns"]
        cost, above = f"{row['gait_ns']:.0f} ns", row["gait_ns"] - row["empty_ns"]
        yield Row(f"{load}, {level}", cost, f"{ratio:.2f} x", f"<= {limit:.2f} x", ratio <= limit)
        yield bounded("  above an empty callback", above, f"{above:.0f} ns", 60, "ns")
        stops = row["torch_stop_ns"] / max(row["gait_stop_ns"], 0.001)
        yield Row("  its stop", f"1/{stops:.0f}", "", "<= 1/50", stops >= 50)


def torch_table(bench):
    if importlib.util.find_spec("torch") is None:
        yield "No torch here: `make setup-torch` brings it"
        return None
    command = [sys.executable, str(BENCH / "torch_ops.py"), str(bench.build), "--json"]
    command += ["--rounds", str(max(3, bench.sizes["rounds"] // 3))]
    done = subprocess.run(command, env=bench.environment, capture_output=True, text=True)
    if done.returncode:
        yield "Torch: not measured"
        return {"absent": done.stderr.strip().splitlines()[-1:]}
    result = json.loads(done.stdout.splitlines()[-1])
    yield f"Ops of torch {result['torch']}, beside torch.profiler (CPU an op)"
    for load, measured in result["loads"].items():
        yield from torch_rows(load, measured)
    grown = result["resident_bytes_per_op"]
    share = grown["torch"] / max(grown["gait"], 0.001)
    yield Row("resident, of an op", f"{grown['gait']:.1f} B", "", "<= 1/50", share >= 50)
    size = result["disk_bytes_per_op"]
    yield bounded("on disk, of an op with shapes", size, f"{size:.2f} B", 8, "B")
    return result


def torch_program(bench, *command):
    """The lines of JSON that a program of ours prints; None where it fails."""
    command = [str(word) for word in command]
    done = subprocess.run(command, env=bench.environment, capture_output=True, text=True)
    if done.returncode:
        return None
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def interval(low, high):
    return f"[{low:.0f}, {high:.0f}] us" if high > 100 else f"[{low:.1f}, {high:.1f}] us"


# (what, windows, pairs of blocks, ms a step, steps a block, us a step at most). A block has
# one window, and 5 steps more which are not measured. Windows
# four times as dense as the default ones show in blocks that take a quarter of the time.
STEP_COSTS = (
    ("phases alone, 1 ms", "off", 400, 1, 10, 10),
    ("default windows, 1 ms", "5/3/105", 200, 1, 100, 30),
    ("windows 5/3/25, 20 ms", "5/3/30", 200, 20, 25, 200),
)

STEP_INSTRUCTIONS = 4330  # at most, of gait's own code, phases alone


def steps_table(bench):
    if importlib.util.find_spec("torch") is None:
        yield "No torch here: `make setup-torch` brings it"
        return None
    yield "A whole `gait run`: CPU added to a step of 25 modules, median [95 %]"
    results = {}
    for what, windows, pairs, step_ms, steps, limit in STEP_COSTS:
        pairs = pairs if bench.sizes["rounds"] > QUICK["rounds"] else 4
        gait = [bench.build / "gait", "run", "-q", "--windows", windows]
        program = [sys.executable, BENCH / "torch_phases.py", pairs, step_ms, steps]
        directory = bench.run_directory("phases")
        lines = torch_program(bench, *gait, "-o", directory, "--", *program)
        if lines is None:
            yield Row(what, "not measured")
            continue
        results[what] = lines
        cpu = lines[-1]
        yield bounded(what, cpu["added_us"], f"{cpu['added_us']:.1f} us", limit, "us")
        shown = interval(cpu["low_us"], cpu["high_us"])
        yield Row(f"  of {cpu['step_us']:.0f} us, {pairs} pairs", "", "", shown)
    rounds = 300 if bench.sizes["rounds"] > QUICK["rounds"] else 10
    program = [sys.executable, BENCH / "torch_after.py", "--json", "--rounds", rounds]
    after = torch_program(bench, *program)
    if after:
        results["after"] = after[0]
        yield from after_rows(after[0])
    counted = torch_program(bench, sys.executable, BENCH / "step_instructions.py", bench.build)
    if counted:
        own = results["instructions"] = counted[0]["instructions"]
        yield bounded("own instructions a step", own, f"{own:.0f}", STEP_INSTRUCTIONS, "")
    else:
        yield Row("own instructions a step", "not measured: no valgrind")
    return results


def after_rows(after):
    value, low, high = (ns / 1e3 for ns in after["more_ns"])
    yield Row("behind windows, against never", f"{value:+.2f} us", "", "no more", low <= 0)
    yield Row(f"  of {after['step_ns'] / 1e3:.0f} us", "", "", interval(low, high))
    grown = after["grown_bytes"] / 1e6
    yield bounded(f"resident, over {after['windows']} windows", grown, f"{grown:+.2f} MB", 1, "MB")


def truth_table(bench):
    if importlib.util.find_spec("torch") is None:
        yield "No torch here: `make setup-torch` brings it"
        return None
    yield "What a run tells of its own cost, windows on every step, against the truth"
    repeats = 7 if bench.sizes["rounds"] > QUICK["rounds"] else 1
    program = [sys.executable, BENCH / "torch_truth.py", bench.build, "--json"]
    lines = torch_program(bench, *program, "--repeats", repeats)
    if lines is None:
        yield Row("not measured", "")
        return None
    for name, row in lines[-1].items():
        true, ratio = row["true_cpu_ns"], row["ratio"]
        said = f"{row['said_ns']['value'] / 1e3:.0f} us"
        yield Row(f"{name}: told", said, f"{ratio:.2f} x", "0.80 to 1.20", 0.8 <= ratio <= 1.2)
        share = true["value"] / row["step_ns"]
        bounds = interval(true["low"] / 1e3, true["high"] / 1e3)
        yield Row(f"  true, {share:.0%} of a step", f"{true['value'] / 1e3:.0f} us", "", bounds)
    return lines[-1]


def trace_table(bench):
    if importlib.util.find_spec("torch") is None:
        yield "No torch here: `make setup-torch` brings it"
        return None
    command = [sys.executable, str(BENCH / "torch_traces.py"), "--json"]
    command += ["--ops", str(bench.sizes["trace_ops"])]
    environment = {**bench.environment, "GAIT_TOOL": str(bench.build / "gait")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        yield "Traces: not measured"
        return {"absent": done.stderr.strip().splitlines()[-1:]}
    result = json.loads(done.stdout.splitlines()[-1])
    yield f"stop() and export_chrome_trace() of {result['ops']:,} ops, beside torch.profiler"
    for who in "gait", "torch":
        row = result[who]
        yield Row(f"{who}: stop + export", f"{row['stop_s']:.2f} + {row['export_s']:.2f} s")
    ratio = result["ratio"]
    yield Row("share of torch's time", f"1/{ratio:.0f}", "", "<= 1/20", ratio >= 20)
    small, large = result["peak_kib"].values()
    yield Row("memory of gait export", f"{small / 1024:.1f} MB")
    grown = (large - small) / 1024
    yield bounded("  more for ten times the ops", grown, f"{grown:.1f} MB", 5, "MB")
    return result


def peer_table(bench):
    yield "The same loop under each recorder (CPU of a begin and its end)"
    results = peers.measure(bench.build, bench.run_directory("peers"))
    for name, result in results.items():
        if "absent" in result:
            yield f"{result['absent']}; `make bench-peers` installs the peers"[:WIDTH]
            continue
        size = f"{result['bytes_per_pair']:.1f} B/pair"
        yield Row(name, f"{result['cpu_ns']:.1f} ns", f"{result['ratio']:.2f} x", size)
    return results


# At 1, 4 + 4 and 8 + 56 threads (busy + idle): times the better peer, and ms of a dump.
SAMPLED = {(1, 0): (30, 12, 3, 15), (4, 4): (100, 35, None, None), (8, 56): (700, 250, 8, 15)}


def sampler_rates(bench, minor, python):
    found = {}
    for (busy, idle), limits in SAMPLED.items():
        rates = sampler_load.rates(bench.build, python, busy, idle, bench.sizes["sampled_s"])
        found[f"{busy}+{idle}"] = rates
        own, wanted = rates["gait"], limits[minor <= 10]
        best = max((rate for name, rate in rates.items() if name != "gait"), default=0)
        ratio, met = ("", None) if not best else (f"{own / best:.0f} x", own >= wanted * best)
        name = f"3.{minor}, {busy} + {idle} threads, rounds/s"
        yield Row(name, f"{own:,.0f}", ratio, f">= {wanted} x", met)
        peers_text = ", ".join(f"{k} {v:,.0f}" for k, v in rates.items() if k != "gait")
        yield f"  {peers_text or 'no peers: `make bench-peers` installs them'}"
    return found


def sampler_dumps(bench, minor, python):
    found = {}
    for (busy, idle), limits in SAMPLED.items():
        limit = limits[2 + (minor <= 10)]
        if limit is None:
            continue
        took = sampler_load.dumps(bench.build, python, busy, idle, bench.sizes["dumps"])
        found[f"{busy}+{idle}"] = took
        name = f"3.{minor}, dump, {busy + idle} threads"
        yield bounded(name, took["gait"], f"{took['gait']:.1f} ms", limit, "ms")
        peers_text = ", ".join(f"{k} {v:.1f} ms" for k, v in took.items() if k != "gait")
        if peers_text:
            yield f"  {peers_text}"
    return found


def percent(part):
    return f"[{100 * part['low']:.2f}, {100 * part['high']:.2f}] %"


def sampler_costs(bench, minor, python):
    cost = sampler_load.cost_of_sampler(bench.build, python, 1000, 2 * bench.sizes["sampled_s"])
    name, share = f"3.{minor}, 1 kHz, 33 threads, of a core", 100 * cost["share"]
    yield bounded(name, share, f"{share:.2f} %", 3, "%")
    yield bounded("  resident", cost["rss_mb"], f"{cost['rss_mb']:.1f} MB", 64, "MB")
    found, pairs = {"cost": cost}, bench.sizes["pairs"]
    for rate, limit in ((1000, 1.5), (10000, 3)):
        slower = sampler_load.slowdown(bench.build, python, rate, pairs, bench.sizes["turns"])
        found[f"slowdown at {rate} Hz"] = slower
        high = 100 * slower["high"]
        yield bounded(
            f"  program slower at {rate // 1000} kHz, up to", high, f"{high:.2f} %", limit, "%"
        )
        yield Row(f"    95 %, {pairs} pairs", "", "", percent(slower))
        yield Row("    beside one that only wakes", "", "", percent(slower["waking"]))
    return found


def sampler_training(bench):
    pairs = max(2, bench.sizes["pairs"] // 3)
    found = sampler_load.training(bench.build, pairs, bench.sizes["trained"])
    yield "A training with 4 loader workers and 160 native threads at 1 kHz"
    yield Row("workers at work", found["workers"], "", "4", found["workers"] == 4)
    yield Row("processes sampled", found["processes"], "", ">= 5", found["processes"] >= 5)
    for what in "cpu", "wall":
        value = f"{100 * found[what]['mean']:+.2f} %"
        yield Row(f"slower, {what} ({pairs} pairs)", value, "", percent(found[what]))
    return found


def sampler_table(bench):
    """All Pythons there are; with --quick this one alone."""
    yield "Sampling from outside, beside py-spy and austin"
    results = {}
    minors = sampler_load.pythons()
    own = sys.version_info[1]
    chosen = sorted(minors) if bench.sizes["pairs"] > QUICK["pairs"] else [own]
    for minor in chosen:
        rates = yield from sampler_rates(bench, minor, minors[minor])
        took = yield from sampler_dumps(bench, minor, minors[minor])
        results[f"3.{minor}"] = {"rates": rates, "dumps": took}
    for minor in {own, max(chosen)}:
        results[f"3.{minor}"]["costs"] = yield from sampler_costs(bench, minor, minors[minor])
    if importlib.util.find_spec("torch"):
        results["training"] = yield from sampler_training(bench)
    return results


def machine():
    model = "unknown"
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {
        "processor": model,
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    }


def show(table):
    """Print a table row by row as it is measured; what it measured."""
    missed = []
    while True:
        try:
            row = next(table)
        except StopIteration as end:
            return end.value, missed
        if isinstance(row, str):
            is_plain = row.startswith("  ") or row.endswith("peers")
            print(row if is_plain else f"\n{row}\n{'-' * WIDTH}", flush=True)
            continue
        print(row, flush=True)
        if row.met is False:
            missed.append(row.cells[0].strip())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only see that it runs")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--output", type=pathlib.Path, help="default: BUILD/bench/result.json")
    parser.add_argument(
        "--baseline", help="the tool of another build, for what is timed of reports"
    )
    parser.add_argument("--minutes", type=float, default=0, help="watch memory so long")
    parser.add_argument("--rate", type=int, default=1000000, help="spans/s while watching memory")
    return parser.parse_args()


TABLES = {
    "events": event_tables,
    "rings": ring_table,
    "stream": stream_table,
    "decode": decode_table,
    "ranks": ranks_table,
    "sweep": sweep_table,
    "python": python_table,
    "profilers": profilers_table,
    "lightning": lightning_table,
    "torch": torch_table,
    "steps": steps_table,
    "truth": truth_table,
    "traces": trace_table,
    "peers": peer_table,
    "sampler": sampler_table,
}


def main():
    arguments = parse_arguments()
    sizes = QUICK if arguments.quick else FULL
    bench = Bench(arguments.build.resolve(), sizes, arguments.baseline)
    try:
        return run(bench, arguments)
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)


def run(bench, arguments):
    tables = {name: TABLES[name](bench) for name in arguments.only}
    if arguments.minutes:
        tables["memory"] = memory_table(bench, arguments.minutes, arguments.rate)
    result, missed = {"machine": machine(), "quick": arguments.quick}, []
    about = result["machine"]
    print(f"{about['processor']}, {about['processors']} processors, load {about['load']:.1f}")
    print(f"{'':<36}{'figure':>13}{'floor':>10}{'target':>14}{'met':>5}")
    for name, table in tables.items():
        result[name], failed = show(table)
        missed += failed
    result["missed"] = missed
    path = arguments.output or bench.folder / "result.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten to {os.path.relpath(path)}")
    summary = "targets missed: " + ("; ".join(dict.fromkeys(missed)) or "none")
    print(textwrap.fill(summary, WIDTH))
    return 0


if __name__ == "__main__":
    sys.exit(main())
