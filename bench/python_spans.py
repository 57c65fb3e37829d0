#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a span costs in Python: added CPU time, the loop taken off.

usage: python_spans.py [--json] [--rounds N]

Each round runs every loop once, the empty ones among them, so that all of them
meet the same machine; a row is the median over the rounds of loop minus empty
loop. Ten statements stand in each turn of a loop.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

UNROLLED = 10
TURNS = 2000

# name: (statement, statement it is compared with, ns it may cost)
ON = {
    "begin + end, by site": ("begin(site); end()", "pass", 40),
    "begin + end, by name": ("gait.begin('step'); gait.end()", "pass", None),
    "next, by site": ("next(site)", "pass", None),
    "mark, by site": ("mark(site)", "pass", None),
    "count, by site": ("count(site, 5)", "pass", None),
    "with gait.span('name')": ("with gait.span('step'): pass", "pass", 120),
    "with gait.span(..., category=...)": (
        "with gait.span('step', category='data'): pass",
        "pass",
        None,
    ),
    "with span": ("with span: pass", "pass", None),
    "with span and an argument": ("with span: gait.arg('batch', 5)", "pass", None),
    "with gait.step()": ("with gait.step(): pass", "pass", None),
    "decorated function": ("decorated()", "plain()", None),
}
OFF = {
    "begin + end": ("begin(site); end()", "pass", None),
    "with gait.span('name')": ("with gait.span('step'): pass", "pass", None),
    "decorated function": ("decorated()", "plain()", None),
}
FLOOR = {"a call of an empty builtin": ("floor(site)", "pass", None)}


def compile_loop(gait, statement):
    def plain():
        pass

    names = {
        "gait": gait,
        "plain": plain,
        "decorated": gait.span("decorated")(plain),
        "site": gait.site("python", "bench"),
        "span": gait.span("bench"),
    }
    locals_ = ", ".join(f"{name}={name}" for name in ("begin", "end", "mark", "next", "count"))
    body = "\n".join(" " * 8 + statement for _ in range(UNROLLED))
    source = (
        f"def loop(turns, site, span, plain, decorated, floor, {locals_}):\n"
        f"    for _ in range(turns):\n{body}\n"
    )
    functions = {name: getattr(gait, name) for name in ("begin", "end", "mark", "next", "count")}
    scope = dict(functions, gait=gait)
    exec(source, scope)
    arguments = [names[n] for n in ("site", "span", "plain", "decorated")]
    return lambda turns: scope["loop"](turns, *arguments, callable)  # METH_O, the quickest kind


def time_loop(loop):
    before = time.thread_time_ns()
    loop(TURNS)
    return (time.thread_time_ns() - before) / (TURNS * UNROLLED)


def measure(gait, cases, rounds):
    """{name: ns}, medians over the rounds."""
    statements = {s for statement, base, _ in cases.values() for s in (statement, base)}
    loops = {statement: compile_loop(gait, statement) for statement in sorted(statements)}
    taken = {statement: [] for statement in loops}
    for loop in loops.values():
        loop(200)  # CPython specialises what it has run before
    for _ in range(rounds):
        for statement, loop in loops.items():
            taken[statement].append(time_loop(loop))
    medians = {}
    for name, (statement, base, _) in cases.items():
        differences = [a - b for a, b in zip(taken[statement], taken[base])]
        medians[name] = statistics.median(differences)
    return medians


def rows_of(gait, cases, suffix, rounds):
    medians = measure(gait, cases, rounds)
    for name, (_, _, target) in cases.items():
        row = {"name": name + suffix, "ns": round(medians[name], 2)}
        if target:
            row["target_ns"] = target
        yield row


def run(rounds):
    import gait

    if not gait.recording():
        sys.exit("python_spans.py: cannot record: " + gait.last_error())
    rows = list(rows_of(gait, FLOOR, "", rounds))
    rows += rows_of(gait, ON, "", rounds)
    gait.stop()
    rows += rows_of(gait, OFF, ", recording off", rounds)
    return {"python": sys.version.split()[0], "rounds": rounds, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object for bench/run")
    parser.add_argument("--rounds", type=int, default=51)
    options = parser.parse_args()
    os.environ["GAIT_OVERFLOW"] = "overwrite"  # a full buffer is then as quick as an empty one
    with tempfile.TemporaryDirectory() as directory:
        os.environ.setdefault("GAIT_DIR", directory)
        result = run(options.rounds)
    if options.json:
        print(json.dumps(result))
        return
    print(f"Python {result['python']}, median of {options.rounds} rounds")
    for row in result["rows"]:
        limit = f"  (at most {row['target_ns']} ns)" if "target_ns" in row else ""
        print(f"{row['name']:<44}{row['ns']:8.1f} ns{limit}")


if __name__ == "__main__":
    main()
