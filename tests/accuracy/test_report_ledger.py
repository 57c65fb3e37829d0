# SPDX-License-Identifier: Apache-2.0
"""`gait report` against a second opinion: the same questions answered by brute
force from the rows of the CSV export, on random traces."""

import csv
import io
import json
import random
from collections import defaultdict

import pytest

from tests.support.shard_maker import ShardMaker

START = 1_700_000_000_000_000_000


def nested(rng, start, end, depth, names):
    """Random properly nested spans within [start, end): (start, end, name, depth)."""
    spans, at = [], start
    while at < end and rng.random() < 0.85:
        begin = at + rng.choice([0, 0, 1, rng.randint(0, max(1, (end - at) // 3))])
        stop = begin + rng.choice([0, 1, rng.randint(0, max(1, end - begin))])
        if stop > end:
            break
        spans.append((begin, stop, rng.choice(names), depth))
        if depth < 4 and rng.random() < 0.6:
            spans += nested(rng, begin, stop, depth + 1, names)
        at = stop
    return spans


def add_in_frames(rng, shard, track, spans):
    """As a recorder writes: by end, cut anywhere, each frame sorted by start."""
    spans = sorted(spans, key=lambda span: (span[1], -span[3]))
    while spans:
        size = rng.randint(1, 12)
        frame, spans = spans[:size], spans[size:]
        frame.sort(key=lambda span: (span[0], -span[1], span[3]))
        shard.spans(track, [(s, e - s, shard.site("", n), d) for s, e, n, d in frame])


def random_steps(rng, count):
    steps, at = [], START + rng.randint(0, 50)
    for number in range(count):
        length = rng.choice([0, 1, rng.randint(1, 400)])
        steps.append((at, length, number % rng.choice([count, count, max(1, count // 2)])))
        at += length + rng.choice([0, 0, rng.randint(0, 60)])
    return steps, at


def make_rank(rng, directory, rank, count):
    meta = {} if rank is None else {"rank": rank}
    shard = ShardMaker(pid=1000 + (rank or 0), start_ns=START, **meta)
    names = ["data", "forward", "backward", "other", 'odd "name"\n', "data"]
    for thread in range(2):
        tid = shard.pid + 100 * thread
        track = shard.track(key=str(tid), name=f"t{thread}", os_id=tid)
        steps, end = random_steps(rng, count if thread == 0 or rng.random() < 0.2 else 0)
        spans = nested(rng, START - 20, end + 30, 1, names)
        if rng.random() < 0.5:
            spans.append((START - 20, end + 40, "train", 0))
        add_in_frames(rng, shard, track, spans)
        if steps:
            shard.rows("step", track, steps)
        if rng.random() < 0.3:
            begin = rng.randint(START, end)
            shard.rows("open", 0, [(track, begin, shard.site("", "unfinished"), 0, 0, 0)])
    shard.write(directory)


def read_rows(gait, run):
    text = gait("export", run, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        row["start"] = int(row["start_ns"])
        row["end"] = row["start"] + int(row["duration_ns"]) if row["duration_ns"] else None
    return rows


def job_steps(rows):
    """One row a step of the job: its slowest rank's."""
    by_rank = defaultdict(list)
    for row in rows:
        if row["kind"] == "step" and row["end"] is not None:
            by_rank[(row["rank"], row["pid"] if row["rank"] == "" else "")].append(row)
    jobs = defaultdict(list)
    for steps in by_rank.values():
        seen, starts = defaultdict(int), set()
        for step in sorted(steps, key=lambda s: (s["start"], -(s["end"] - s["start"]))):
            key = (int(step["id"]), step["start"])
            if key in starts:
                continue
            starts.add(key)
            jobs[int(step["id"]), seen[step["id"]]].append(step)
            seen[step["id"]] += 1
    return {key: max(steps, key=lambda s: s["end"] - s["start"]) for key, steps in jobs.items()}


def parts_of(step, spans):
    """Time of one step by the name of the outermost span, instant by instant."""
    low, high = step["start"], step["end"]
    inside = []
    for order, span in enumerate(spans):
        if (span["pid"], span["tid"]) != (step["pid"], step["tid"]):
            continue
        end = span["end"] if span["end"] is not None else 1 << 63
        if span["start"] < low and end >= high:
            continue
        if span["start"] < high and end > low:
            inside.append((span["start"], -end, order, span["name"]))
    borders = {low, high}
    for start, end, _, _ in inside:
        borders |= {max(low, start), min(high, -end)}
    borders = sorted(borders)
    parts = defaultdict(int)
    for left, right in zip(borders, borders[1:]):
        covering = [s for s in inside if s[0] <= left and -s[1] >= right]
        parts[min(covering)[3] if covering else "other"] += right - left
    return parts


def nearest_rank(values, percent):
    return sorted(values)[-(-len(values) * percent // 100) - 1]


@pytest.mark.parametrize("seed", range(60))
def test_steps_and_phases_agree_with_brute_force(gait, tmp_path, seed):
    rng = random.Random(seed)
    ranks = rng.choice([[None], [0], [0, 1], [0, 1, 5]])
    for rank in ranks:
        make_rank(rng, tmp_path / "run", rank, rng.randint(1, 25))
    rows = read_rows(gait, tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    steps = job_steps(rows)
    lengths = [step["end"] - step["start"] for step in steps.values()]
    assert report["steps"] == len(steps)
    assert report["step_total_ns"] == sum(lengths)
    for percent in (50, 95, 99):
        assert report["step"][f"p{percent}_ns"] == nearest_rank(lengths, percent)
    assert report["step"]["max_ns"] == max(lengths)
    assert report["step"]["slowest"] in {
        number for (number, _), s in steps.items() if s["end"] - s["start"] == max(lengths)
    }
    # ranks that were equally slow in a step may each speak for it: no ties, no doubt
    phases = {phase["name"]: phase["total_ns"] for phase in report["phases"]}
    assert sum(phases.values()) == report["step_total_ns"]
    if not has_ties(rows, steps):
        wanted = defaultdict(int)
        spans = [row for row in rows if row["kind"] == "span"]
        for step in steps.values():
            for name, length in parts_of(step, spans).items():
                wanted[name] += length
        got = {name: total for name, total in phases.items() if total}
        assert got == {name: total for name, total in wanted.items() if total}


def has_ties(rows, steps):
    chosen = {id(step) for step in steps.values()}
    lengths = {(int(s["id"]), s["end"] - s["start"]) for s in steps.values()}
    return any(
        row["kind"] == "step"
        and row["end"] is not None
        and id(row) not in chosen
        and (int(row["id"]), row["end"] - row["start"]) in lengths
        and row["end"] > row["start"]
        for row in rows
    )


@pytest.mark.parametrize("seed", range(20))
def test_without_steps_the_main_threads_run_is_split(gait, tmp_path, seed):
    rng = random.Random(1000 + seed)
    shard = ShardMaker(pid=1000, start_ns=START)
    track = shard.track(key="1000", name="main", os_id=1000)
    spans = nested(rng, START, START + 5000, 0, ["a", "b", "c"]) or [(START, START + 9, "a", 0)]
    add_in_frames(rng, shard, track, spans)
    shard.write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    assert (report["steps"], report["step"], report["phases"]) == (0, None, [])
    whole = report["whole_run"]
    assert (whole["pid"], whole["tid"]) == (1000, 1000)
    assert sum(phase["total_ns"] for phase in whole["phases"]) == whole["total_ns"]
    info = json.loads(gait("info", "--json", tmp_path / "run").stdout)["shards"][0]
    window = {"pid": "1000", "tid": "1000", "start": info["start_ns"], "end": info["end_ns"]}
    assert whole["total_ns"] == window["end"] - window["start"]
    rows = [row for row in read_rows(gait, tmp_path / "run") if row["kind"] == "span"]
    # nothing surrounds a whole run: begin a tick earlier, so that no span can
    for row in rows:
        row["start"] = max(row["start"], window["start"])
    wanted = parts_of(window, rows)
    got = {phase["name"]: phase["total_ns"] for phase in whole["phases"] if phase["total_ns"]}
    assert got == {name: total for name, total in wanted.items() if total}


def test_busy_time_is_that_of_outermost_spans(gait, tmp_path):
    rng = random.Random(7)
    shard = ShardMaker(pid=1000, start_ns=START)
    wanted = {}
    for tid in (1000, 1001, 1002):
        track = shard.track(key=str(tid), os_id=tid)
        spans = nested(rng, START, START + 100_000, 0, ["a", "b"])
        add_in_frames(rng, shard, track, spans)
        wanted[tid] = sum(end - start for start, end, _, depth in spans if depth == 0)
    shard.write(tmp_path / "run")
    report = json.loads(gait("report", "--json", tmp_path / "run").stdout)
    busy = {thread["tid"]: thread["busy_ns"] for thread in report["threads"]}
    assert {tid: busy.get(tid, 0) for tid in wanted} == wanted
