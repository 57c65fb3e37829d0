# SPDX-License-Identifier: Apache-2.0
"""torch.profiler's trace files, read by a strict JSON parser and compared with the CSV export."""

import collections
import decimal
import gzip
import json

import pytest
from export_cases import HOSTILE, START, everything, in_csv, read_csv, repaired
from shard_maker import ShardMaker

QUARTER_NS = 7_889_238 * 10**9


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def no_twins(pairs):
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), keys
    return dict(pairs)


class Trace:
    def __init__(self, path):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "strict")
        self.document = json.loads(
            text, parse_float=decimal.Decimal, parse_constant=refuse, object_pairs_hook=no_twins
        )
        self.base = self.document["baseTimeNanoseconds"]
        self.events = self.document["traceEvents"]

    def of(self, **members):
        wanted = members.items()
        return [e for e in self.events if all(e.get(key) == value for key, value in wanted)]

    def ns(self, event):
        return self.base + int(event["ts"] * 1000), int(event.get("dur", 0) * 1000)


def made(gait, run, *options, output="traces", code=0):
    """The files of a folder export, by name."""
    ran = gait("export", run, "--format", "pt-trace", "-o", output, *options)
    assert (ran.returncode, ran.stderr) == (code, "")
    return ran.stdout.splitlines()


def ops_of(shard, track, ops):
    """Spans of (start, duration, depth, name, args)."""
    rows = [
        (start, duration, shard.site("cpu_op", name), depth, shard.args(args))
        for start, duration, depth, name, args in ops
    ]
    shard.spans(track, rows)


def window(shard, track, begin, end, number=1):
    site = shard.site("torch", "window")
    shard.rows("async", track, [(begin, site, number, 0), (end, site, number, 1)])


@pytest.fixture
def trained(tmp_path):
    """Two ranks with three steps and two windows each, and a loader's worker."""
    for rank in (0, 1):
        shard = ShardMaker(host="node0", pid=100 + rank, rank=rank, start_ns=START)
        track = shard.track(key=str(100 + rank), os_id=100 + rank)
        ops = [(START + 1000 * i, 500, 0, f"aten::op{i % 2}", []) for i in range(1, 40)]
        ops_of(shard, track, ops)
        shard.rows("step", track, [(START + 10_000 * i, 9_999, i) for i in range(1, 4)])
        for number, first in enumerate((1, 3)):
            window(shard, track, START + 10_000 * first, START + 10_000 * (first + 1), number)
        shard.write(tmp_path / "run")
    worker = ShardMaker(host="node0", pid=200, role="worker", start_ns=START)
    track = worker.track(key="200", os_id=200)
    worker.spans(track, [(START, 10, worker.site("loader", "fetch"))])
    worker.write(tmp_path / "run")
    return tmp_path / "run"


def test_spans_are_those_of_the_csv_export(gait, tmp_path):
    case = everything(tmp_path / "run")
    assert gait("export", case.directory, "-o", "out.csv").returncode == 0
    rows = read_csv((tmp_path / "out.csv").read_bytes().decode())
    for shard in sorted((tmp_path / "run").glob("*.gait")):
        ran = gait("export", shard, "--format", "pt-trace", "-o", f"{shard.stem}.json")
        assert (ran.returncode, ran.stderr) == (0, "")
    traces = [Trace(path) for path in sorted(tmp_path.glob("*.json"))]
    assert len(traces) == 2
    found = collections.Counter()
    for trace in traces:
        assert trace.base % QUARTER_NS == 0 and 0 <= START - trace.base < QUARTER_NS
        for event in trace.of(ph="X"):
            if event["cat"] != "Trace" and not event["args"].get("finished", True):
                found[in_csv(event["name"]), trace.ns(event)[0], -1] += 1
            elif event["cat"] != "Trace" and not event["name"].startswith("ProfilerStep#"):
                found[in_csv(event["name"]), *trace.ns(event)] += 1
    wanted = collections.Counter(
        (row["name"], int(row["start_ns"]), int(row["duration_ns"] or -1))
        for row in rows
        if row["kind"] == "span"
    )
    assert found == wanted
    one = next(trace for trace in traces if trace.document["distributedInfo"]["rank"] == 0)
    steps = [(e["name"], *one.ns(e)) for e in one.events if "ProfilerStep" in e["name"]]
    assert steps == [(f"ProfilerStep#{i}", START + i * 10_000, 9_500) for i in range(3)]
    (drop,) = one.of(name="dropped events")
    assert (drop["args"]["events"], drop["args"]["reason"]) == (7, "ring full")
    (memory,) = one.of(name="[memory]")
    assert memory["args"]["Addr"] == 2**63
    assert (memory["args"]["Bytes"], memory["args"]["Total Allocated"]) == (-512, 1024)
    begins, ends = one.of(ph="b"), one.of(ph="e")
    assert len(begins) == len(ends) == 20
    assert {e["id"] for e in begins} == {e["id"] for e in ends}


def test_hostile_names_and_arguments_are_strict_json(gait, tmp_path):
    shard = ShardMaker(host=b'h"o\\st\xff', pid=7, rank=0, start_ns=START)
    track = shard.track(key="7", name=b'thr"ead \xff\n', os_id=7)
    args = [('k"ey', 'v"al\n'), ("shapes", '\xff[1,,x] (((" s"'), ("seq", 2**63 - 1)]
    ops_of(shard, track, [(START + i, 1, 0, n, args) for i, n in enumerate(HOSTILE)])
    shard.write(tmp_path / "run")
    assert made(gait, tmp_path / "run", output="out.json") == []
    trace = Trace(tmp_path / "out.json")
    assert [e["name"] for e in trace.of(cat="cpu_op")] == [repaired(n) for n in HOSTILE]
    assert all(e["args"]['k"ey'] == 'v"al\n' for e in trace.of(cat="cpu_op"))
    assert trace.document["host_name"] == 'h"o\\st\ufffd'


def test_each_process_has_a_file_and_none_is_overwritten(gait, trained, tmp_path):
    files = made(gait, trained)
    assert sorted(f"traces/{p.name}" for p in (tmp_path / "traces").iterdir()) == sorted(files)
    ends = [START + 40_000 - 1000 + 500] * 2  # of the last op
    names = [f"traces/node0_rank{r}_{100 + r}.{ends[r]}.pt.trace.json" for r in (0, 1)]
    assert len(files) == 2 and [f.split(".")[0] for f in files] == [n.split(".")[0] for n in names]
    before = {f: (tmp_path / f).read_bytes() for f in files}
    again = made(gait, trained)
    assert not set(again) & set(files)
    assert all((tmp_path / f).read_bytes() == data for f, data in before.items())
    assert [(tmp_path / f).read_bytes() for f in again] == list(before.values())
    packed = made(gait, trained, "--gzip", "--worker", "w")
    assert [f.split(".")[0] for f in packed] == ["traces/w_rank0", "traces/w_rank1"]
    assert all(f.endswith(".pt.trace.json.gz") for f in packed)
    plain = [gzip.decompress((tmp_path / f).read_bytes()) for f in packed]
    assert plain == list(before.values())


def test_each_window_has_a_file(gait, trained, tmp_path):
    files = made(gait, trained, "--each-window")
    assert len(files) == 4
    for place, file in enumerate(files):
        trace, first = Trace(tmp_path / file), 1 if place % 2 == 0 else 3
        starts = [trace.ns(e)[0] for e in trace.of(cat="cpu_op")]
        assert starts == [START + 10_000 * first + 1000 * i for i in range(10)]
        steps = [e["name"] for e in trace.events if e["name"].startswith("ProfilerStep#")]
        assert steps == [f"ProfilerStep#{first}"]


def test_a_time_can_be_chosen(gait, trained, tmp_path):
    span = ("--since", START + 12_000, "--until", START + 15_000)
    for file in made(gait, trained, *span):
        trace = Trace(tmp_path / file)
        assert [trace.ns(e)[0] - START for e in trace.of(cat="cpu_op")] == [12_000, 13_000, 14_000]
        (whole,) = trace.of(cat="Trace")
        assert trace.ns(whole) == (START + 12_000, 3_000)
        assert file.split(".")[1] == str(START + 15_000)


def test_what_cannot_be_is_one_sentence(gait, trained, tmp_path):
    (tmp_path / "file").write_text("kept")
    cases = [
        (["-o", "x.json"], "this run has 2: name a folder"),
        (["-o", "x.json", "--each-window"], "one file for each window needs a folder"),
        (["-o", "file/x"], "cannot make the folder 'file/x': Not a directory"),
        (["-o", "file"], "a pt-trace file holds one process"),
        (["-o", "none/x.json"], "cannot write 'none/x.json': No such file or directory"),
        (["-o", "x", "--since", 5, "--until", 5], "'--from' 5 is not before '--to' 5"),
    ]
    for options, why in cases:
        path = trained if "none" not in options[1] else next(trained.glob("*.gait"))
        ran = gait("export", path, "--format", "pt-trace", *options)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), options
        assert why in ran.stderr, options
    assert (tmp_path / "file").read_text() == "kept"
    ran = gait("export", trained, "--format", "csv", "--worker", "w")
    assert "--worker is for --format pt-trace alone" in ran.stderr


def test_ops_that_cross_and_ops_of_other_threads(gait, tmp_path):
    """Async ops stand where they began; what never ended lasts to the end of the file."""
    shard = ShardMaker(pid=7, start_ns=START)
    main, other = (shard.track(key=str(tid), os_id=tid) for tid in (7, 8))
    reduce = shard.site("cpu_op", "gloo:all_reduce")
    backward = shard.site("module", "layer1")
    barrier = shard.site("user_annotation", "gloo:barrier")
    shard.rows("async", main, [(START + 5, backward, 1, 0), (START + 110, backward, 1, 1)])
    shard.rows("async", main, [(START + 15, barrier, 1, 0), (START + 115, barrier, 1, 1)])
    shard.rows("async", main, [(START + 10, reduce, 1, 0)])
    shard.rows("async", other, [(START + 60, reduce, 1, 1)])
    ops_of(shard, main, [(START + 20, 100, 0, "aten::add", [])])
    shard.rows("open", 0, [(main, START + 130, shard.site("cpu_op", "aten::wait"), 0)])
    shard.rows("commit", 0, [(main,)])
    ops_of(shard, other, [(START + 200, 50, 0, "aten::mul", [])])
    shard.write(tmp_path / "run")
    made(gait, tmp_path / "run", output="out.json")
    trace = Trace(tmp_path / "out.json")
    rows = [(e["name"], e["tid"], trace.ns(e)[0] - START) for e in trace.of(cat="cpu_op")]
    assert sorted(rows, key=lambda row: row[2]) == [
        ("gloo:all_reduce", 7, 10),
        ("aten::add", 7, 20),
        ("aten::wait", 7, 130),
        ("aten::mul", 8, 200),
    ]
    beside = [(e["ph"], trace.ns(e)[0] - START) for e in trace.of(name="layer1")]
    assert beside == [("b", 5), ("e", 110)]
    (crossing,) = trace.of(name="gloo:barrier", ph="X", cat="user_annotation")
    assert trace.ns(crossing) == (START + 15, 100)
    (crossing,) = trace.of(name="gloo:all_reduce")
    assert trace.ns(crossing)[1] == 50
    (waiting,) = trace.of(name="aten::wait")
    assert waiting["args"]["finished"] is False
    assert {e["args"]["name"] for e in trace.of(ph="M", name="thread_name")} == {
        "thread 7 (maker)",
        "thread 8 (maker)",
    }
