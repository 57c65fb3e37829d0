# SPDX-License-Identifier: Apache-2.0
"""`gait export --steps`: the steps and phases of a hand-made PyTorch training, which are
known here to the nanosecond, in each format that has tracks."""

import json

import pytest
from export_cases import START, Case, assert_nothing_crosses, everything, in_order, read_csv, row

STEPS = 3
STEP_NS = 100
FIRST_NS = 10  # making the loader's iterator belongs to the first step
RANK_NS = 7  # a rank begins so much later than the one before
PID = 4700

# What is on record of a step: name, begin, end within it, arguments.
FACTS = [
    ("input", 0, 20, {"asks": 1, "got": 1, "loader": 100, "samples": 4}),
    ("forward", 20, 50, {"module": 1, "training": 1}),
    ("gc", 30, 35, {}),
    ("backward", 52, 80, {}),
    ("optimizer", 80, 98, {"optimizer": 3, "steps": 1}),
    ("optimizer", 98, 100, {"optimizer": 3, "steps": 0}),
]
# What that makes of it: touching times of one phase are one.
PHASES = [
    ("input", 0, 20),
    ("forward", 20, 30),
    ("gc", 30, 35),
    ("forward", 35, 50),
    ("other", 50, 52),
    ("backward", 52, 80),
    ("optimizer", 80, 100),
]


def derived(kind, shard, start, length, **cells):
    cells.update(category="derived", duration_ns=length)
    return row(kind, shard, shard.pid, start, **cells)


def add_rank(case, rank, expected):
    shard = case.shard(pid=PID + rank, rank=rank, torch={"version": "2.13.0"})
    track = shard.track(key=str(shard.pid), name="MainThread", os_id=shard.pid)
    begin = START + rank * RANK_NS
    facts = [("input", begin, begin + FIRST_NS, {"asks": 0, "loader": 7, "iterator": 100})]
    for step in range(STEPS):
        at = begin + FIRST_NS + step * STEP_NS
        facts += [(name, at + low, at + high, args) for name, low, high, args in FACTS]
        early = FIRST_NS if step == 0 else 0
        expected.append(derived("step", shard, at - early, STEP_NS + early, id=step))
        for name, low, high in PHASES:
            low -= early if low == 0 else 0
            args = f'{{"step":{step}}}'
            expected.append(derived("span", shard, at + low, high - low, name=name, args=args))
    end = begin + FIRST_NS + STEPS * STEP_NS
    facts.append(("input", end, end, {"asks": 1, "got": 0, "loader": 100}))
    rows = [(low, high - low, shard.site("phase", name), name == "gc", shard.args(args.items()))
            for name, low, high, args in facts]  # fmt: skip
    shard.spans(track, rows)


@pytest.fixture
def run(tmp_path):
    """The directory, and the rows that --steps adds."""
    case, expected = Case(tmp_path / "run"), []
    for rank in range(2):
        add_rank(case, rank, expected)
    return case.write(), expected


def exported(gait, path, name, *options):
    ran = gait("export", path, "-o", name, *options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def both(gait, path, tmp_path, name):
    """The bytes of an export without --steps and with it."""
    exported(gait, path, name)
    without = (tmp_path / name).read_bytes()
    exported(gait, path, name, "--steps")
    return without, (tmp_path / name).read_bytes()


def steps_of(rows):
    """(rank, name, begin, length) of the derived rows of a CSV export."""
    return sorted(
        (r["rank"], r["name"] or "step " + r["id"], int(r["start_ns"]), int(r["duration_ns"]))
        for r in rows
    )


def test_csv_has_the_rows_in_order_of_time_beside_those_on_record(gait, run, tmp_path):
    directory, expected = run
    without, with_steps = both(gait, directory, tmp_path, "out.csv")
    rows = read_csv(with_steps.decode())
    assert in_order([r for r in rows if r["category"] == "derived"]) == in_order(expected)
    starts = [int(r["start_ns"]) for r in rows]
    assert starts == sorted(starts)
    assert [r for r in rows if r["category"] != "derived"] == read_csv(without.decode())


def test_chrome_draws_them_on_a_lane_of_their_own(gait, run, tmp_path):
    directory, expected = run
    before, document = map(json.loads, both(gait, directory, tmp_path, "out.json"))
    ranks = {s["pid"]: str(s["rank"]) for s in document["otherData"]["shards"]}
    events = document["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    added = [e for e in events if e.get("cat") == "derived"]
    base = document["baseTimeNanoseconds"]
    times = [(base + round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in added]
    got = sorted((ranks[e["pid"]], e["name"], *time) for e, time in zip(added, times))
    assert got == steps_of(expected)
    assert {names[e["pid"], e["tid"]] for e in added} == {"MainThread derived"}
    assert_lanes_nest(((e["pid"], e["tid"]), *time) for e, time in zip(added, times))
    lanes = {(e["pid"], e["tid"]) for e in added}
    assert len(lanes) == 2
    assert [e for e in events if (e["pid"], e["tid"]) not in lanes] == before["traceEvents"]
    assert {e["args"]["step"] for e in added} == set(range(STEPS))


def assert_lanes_nest(spans):
    lanes = {}
    for lane, start, length in spans:
        lanes.setdefault(lane, []).append((start, start + length))
    for lane in lanes.values():
        assert_nothing_crosses(lane)


def test_perfetto_draws_them_on_a_track_of_their_own(gait, run, tmp_path):
    pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    from test_export_perfetto import Model

    directory, expected = run
    without, with_steps = both(gait, directory, tmp_path, "out.pftrace")
    before, model = Model(without), Model(with_steps)
    added = [s for s in model.slices if s.category == "derived"]
    got = sorted((model.rank(s.track), s.name, s.start, s.end - s.start) for s in added)
    assert got == steps_of(expected)
    assert not model.open
    assert {model.tracks[s.track].name for s in added} == {"MainThread derived"}
    assert len({s.track for s in added}) == 2
    assert_lanes_nest((s.track, s.start, s.end - s.start) for s in added)
    others = [s for s in model.slices if s.category != "derived"]
    assert sorted(s[1:] for s in others) == sorted(s[1:] for s in before.slices)


def test_times_asked_for_hold_for_them_too(gait, run, tmp_path):
    directory, expected = run
    since, until = START + 60, START + 200
    exported(gait, directory, "out.csv", "--steps", "--since", since, "--until", until)
    rows = read_csv((tmp_path / "out.csv").read_bytes().decode())
    wanted = [r for r in expected if since <= int(r["start_ns"]) < until]
    assert len(wanted) > 10
    assert in_order([r for r in rows if r["category"] == "derived"]) == in_order(wanted)


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.pftrace"])
def test_a_run_without_pytorch_says_that_nothing_is_added(gait, tmp_path, name):
    directory = everything(tmp_path / "run").directory
    exported(gait, directory, name)
    without = (tmp_path / name).read_bytes()
    ran = gait("export", directory, "-o", name, "--steps")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (0, "", 1)
    assert "--steps adds nothing: the run contains no PyTorch" in ran.stderr
    assert (tmp_path / name).read_bytes() == without


def test_a_training_without_steps_says_so(gait, tmp_path):
    case = Case(tmp_path / "run")
    shard = case.shard(torch={"version": "2.13.0"})
    track = shard.track(key="1", os_id=shard.pid)
    case.spans(shard, track, shard.pid, [(START, 5, "phase", "forward")])
    ran = gait("export", case.write(), "--format", "csv", "--steps", "-o", "out.csv")
    assert ran.returncode == 0
    assert "--steps adds nothing: this run has no steps" in ran.stderr


def test_steps_on_record_are_not_told_twice(gait, tmp_path):
    """gait.step() in a training of PyTorch: its phases are added, cut at those steps."""
    case = Case(tmp_path / "run")
    shard = case.shard(rank=0, torch={"version": "2.13.0"})
    track = shard.track(key="1", os_id=shard.pid)
    shard.rows("step", track, [(START, 50, 8), (START + 50, 40, 9)])
    case.spans(shard, track, shard.pid, [(START + 30, 40, "phase", "forward")])
    exported(gait, case.write(), "out.csv", "--steps")
    rows = read_csv((tmp_path / "out.csv").read_bytes().decode())
    assert [(r["category"], r["id"]) for r in rows if r["kind"] == "step"] == [("", "8"), ("", "9")]
    spans = [(r["name"], int(r["start_ns"]) - START, int(r["duration_ns"]), r["args"])
             for r in rows if r["category"] == "derived"]  # fmt: skip
    assert spans == [
        ("other", 0, 30, '{"step":8}'),
        ("forward", 30, 20, '{"step":8}'),
        ("forward", 50, 20, '{"step":9}'),
        ("other", 70, 20, '{"step":9}'),
    ]


@pytest.mark.parametrize("form, said", [("pt-trace", "leave out --steps"), ("stacks", "chrome")])
def test_formats_without_a_place_for_them_refuse(gait, run, tmp_path, form, said):
    ran = gait("export", run[0], "--format", form, "--steps", "-o", "out.json")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert said in ran.stderr
    assert not (tmp_path / "out.json").exists()


# ---- from Python ------------------------------------------------------------------


@pytest.fixture
def trace(build, run, monkeypatch):
    monkeypatch.syspath_prepend(str(build / "python"))
    import gait

    with gait.open(run[0]) as trace:
        yield trace


def test_python_has_the_same_events(run, trace):
    _, expected = run
    recorded, events = list(trace.events()), list(trace.events(steps=True))
    assert [e.start_ns for e in events] == sorted(e.start_ns for e in events)
    assert [e for e in events if e.category != "derived"] == recorded
    found = [e for e in events if e.category == "derived"]
    assert in_order(map(as_row, found)) == in_order(expected)


def as_row(event):
    cells = {key: "" if value is None else str(value) for key, value in event._asdict().items()}
    return {**cells, "args": json.dumps(event.args, separators=(",", ":")) if event.args else ""}


def test_python_chooses_among_them(trace):
    steps = list(trace.events(kind="step", steps=True))
    assert [(e.rank, e.id) for e in steps] == [(r, n) for n in range(STEPS) for r in range(2)]
    assert list(trace.events(kind="step")) == []
    (one,) = [i for i, t in enumerate(trace.tracks) if t["tid"] == PID + 1]
    assert {e.rank for e in trace.events(kind="step", tracks=[one], steps=True)} == {1}
    later = START + FIRST_NS + STEP_NS
    touched = trace.events(kind="step", since_ns=later, until_ns=later + 1, steps=True)
    assert [(e.rank, e.id) for e in touched] == [(1, 0), (0, 1)]


def test_python_exports_them(gait, run, trace, tmp_path):
    without, with_steps = both(gait, run[0], tmp_path, "out.csv")
    for steps, wanted in ((True, with_steps), (False, without)):
        trace.export(tmp_path / "mine.csv", "csv", steps=steps)
        assert (tmp_path / "mine.csv").read_bytes() == wanted
