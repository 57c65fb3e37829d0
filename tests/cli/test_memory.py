# SPDX-License-Identifier: Apache-2.0
"""gait memory: a simulated allocator knows what a snapshot must tell, and Python's json what a
trace holds."""

import gzip
import json
import os
import pathlib
import pickle
import struct

import memory_snapshots
import pytest
import stored_runs

TRACES = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "traces"
DATALOADER = TRACES / "dataloader-resnet50" / "workers0.pt.trace.json.gz"
BERT = TRACES / "misc" / "h100-bert-small.json.gz"


def asked(gait, path, *more):
    done = gait("memory", path, "--json", "--no-cache", *more)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("protocol", range(6))
def test_a_snapshot_tells_what_the_allocator_counted(gait, tmp_path, protocol):
    truth = memory_snapshots.train(protocol, 300, device=protocol % 2)
    path = memory_snapshots.write(tmp_path / "rank3.pickle", truth, protocol)
    told = asked(gait, path)
    (device,) = told["devices"]
    assert (device["device"], device["rank"]) == (f"cuda:{protocol % 2}", 3)
    assert device["peak_bytes"] == truth.peak
    assert device["end_bytes"] == truth.allocated
    assert device["peak_reserved_bytes"] == truth.peak_reserved
    assert device["before_bytes"] == truth.before
    assert device["never_freed"] == len(truth.recorded)
    assert device["never_freed_bytes"] == sum(truth.live[a][0] for a in truth.recorded)
    assert sum(owner["peak_bytes"] for owner in told["owners"]) == truth.peak
    assert sum(owner["peak_blocks"] for owner in told["owners"]) == len(truth.at_peak)
    assert max(point["allocated_bytes"] for point in told["curve"]) == truth.peak


def test_who_held_memory_at_the_peak_and_why(gait, tmp_path):
    truth = memory_snapshots.Allocator(1)
    truth.record()
    truth.take(8 << 20, "optimizer state")
    kept = truth.take(4 << 20, "activation")
    truth.give(truth.take(2 << 20, "gradient"))
    told = asked(gait, memory_snapshots.write(tmp_path / "s.pickle", truth))
    categories = {row["category"]: row["bytes"] for row in told["categories"]}
    assert categories == {
        "optimizer state": 8 << 20,
        "activation": 4 << 20,
        "gradient": 2 << 20,
    }
    owners = {row["name"]: row for row in told["owners"]}
    assert owners["train.py(40): main"]["peak_bytes"] == 8 << 20
    assert owners["model.py(12): forward"]["never_freed_bytes"] == truth.live[kept][0]
    assert owners["train.py(33): step"]["never_freed"] == 0
    stack = owners["train.py(33): step"]["stack"].split(";")
    assert stack[0] == "/x/torch/autograd/graph.py(823): _engine_run_backward"
    text = gait("memory", "s.pickle", "--no-cache", cwd=tmp_path).stdout
    assert "At most 14.7 MB of 29.4 MB reserved on cuda:0" in text
    assert max(map(len, text.splitlines())) <= 78


def test_a_snapshot_says_where_memory_ran_out(gait, tmp_path):
    truth = memory_snapshots.train(1, 10)
    snapshot = truth.snapshot()
    failed = {"action": "oom", "addr": 0, "size": 80 << 30, "device_free": 1 << 20, "stream": 0}
    snapshot["device_traces"][0].append(failed | {"time_us": truth.time_us + 5, "frames": []})
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(snapshot))
    text = gait("memory", path, "--no-cache").stdout
    assert "cuda:0 was out of memory: 85.9 GB were asked for with 1.05 MB free" in text


def test_a_snapshot_without_a_history_has_its_blocks(gait, tmp_path):
    truth = memory_snapshots.train(2, 50)
    snapshot = truth.snapshot() | {"device_traces": [[]]}
    path = tmp_path / "s.pickle"
    for content in (snapshot, snapshot["segments"]):
        path.write_bytes(pickle.dumps(content))
        (device,) = asked(gait, path)["devices"]
        assert device["peak_bytes"] == device["before_bytes"] == truth.allocated


# --- hostile ----------------------------------------------------------------


class Calls:
    def __reduce__(self):
        return (os.system, ("touch pwned",))


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_would_run_code_is_not_run(gait, tmp_path, protocol):
    path = tmp_path / "evil.pickle"
    path.write_bytes(pickle.dumps(Calls(), protocol=protocol))
    done = gait("memory", path, "--no-cache", cwd=tmp_path)
    assert done.returncode == 2
    assert "would call 'posix.system' when loaded, which gait does not do" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "pwned").exists()


def test_calls_within_a_snapshot_are_left_out_and_counted(gait, tmp_path):
    truth = memory_snapshots.train(3, 30)
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(truth.snapshot() | {"more": Calls()}))
    told = json.loads(gait("import", path, "-o", tmp_path / "s.gait", "--json").stdout)
    assert told["files"][0]["repairs"] == {"opaque_values": 1}
    (device,) = asked(gait, tmp_path / "s.gait")["devices"]
    assert device["peak_bytes"] == truth.peak
    assert not (tmp_path / "pwned").exists()


def test_a_snapshot_that_is_cut_off_is_read_as_far_as_it_goes(gait, tmp_path):
    truth = memory_snapshots.train(4, 200)
    whole = pickle.dumps(truth.snapshot())
    path = tmp_path / "s.pickle"
    for part in range(1, 40):
        path.write_bytes(whole[: len(whole) * part // 40])
        done = gait("memory", path, "--json", "--no-cache")
        assert done.returncode in (0, 2) and len(done.stderr.splitlines()) <= 2
    path.write_bytes(whole[: len(whole) - 2000])
    (device,) = asked_of_broken(gait, path)["devices"]
    assert 0 < device["allocations"] <= 200


def asked_of_broken(gait, path):
    return json.loads(gait("memory", path, "--json", "--no-cache").stdout)


@pytest.mark.parametrize(
    "body",
    [
        b"X" + struct.pack("<I", 0xFFFFFFFF) + b"segments",
        b"\x8d" + struct.pack("<Q", 1 << 62) + b"segments",
        b"\x8e" + struct.pack("<Q", (1 << 64) - 1) + b"segments",
        b"r" + struct.pack("<I", 0xFFFFFFF0) + b"segments",
        b"(" * 100_000 + b"segments",
        b"]" * 100_000 + b"a" * 99_999 + b".segments",
        b"}\x94h\x00h\x00s.segments",
        b"uuuu.segments",
        b"\xff\xfe.segments",
        b"\x8c\x08segmentsh\x07.",
        b".segments",
    ],
    ids=range(11),
)
def test_pickles_that_lie_are_refused_in_a_sentence(gait, tmp_path, body):
    path = tmp_path / "s.pickle"
    path.write_bytes(b"\x80\x04" + body)
    done = gait("memory", path, "--no-cache", timeout=20)
    assert done.returncode == 2
    assert done.stderr.startswith("gait memory: cannot") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"X" + struct.pack("<I", (256 << 20) + 1), "a text is longer than 256 MiB"),
        (b"V" + b"x" * (5 << 20), "a line is longer than 1 MiB"),
        (b"V" + b"x" * (1 << 20) + b"x\n.", "a line is longer than 1 MiB"),
    ],
    ids=["text", "without end", "line"],
)
def test_pickles_beyond_the_limits_are_refused_in_a_sentence(gait, tmp_path, body, why):
    path = tmp_path / "s.pickle"
    path.write_bytes(b"\x80\x02" + b"}X\x08\0\0\0segments0" + body)
    done = gait("memory", path, "--no-cache", timeout=20)
    assert done.returncode == 2
    assert why in done.stderr


def test_stacks_that_are_shared_without_end_stay_small(gait, tmp_path):
    loop = []
    loop.append(loop)
    truth = memory_snapshots.train(5, 20)
    snapshot = truth.snapshot()
    for entry in snapshot["device_traces"][0]:
        entry["frames"] = loop
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(snapshot))
    (device,) = asked(gait, path)["devices"]
    assert device["peak_bytes"] == truth.peak


# --- traces -----------------------------------------------------------------


def test_a_run_has_one_peak(gait, tmp_path):
    """On two devices (h200), and in three windows (profile)."""
    stored_runs.unpack(tmp_path)
    for name in ("h200", "profile", "bf16"):
        window = json.loads(gait("report", "--json", name).stdout)["memory"]["window"]
        devices = json.loads(gait("memory", "--json", name).stdout)["devices"]
        (device,) = [one for one in devices if one["device"] == window["device"]]
        for key in ("peak_bytes", "before_bytes", "peak_ns"):
            assert window[key] == device[key], (name, key)
        ops = [one for one in devices if one["device"] != "process"]
        assert window["peak_bytes"] == max(one["peak_bytes"] for one in ops)
        assert window["peak_bytes"] == max(bytes for _, bytes in window["curve"])
        held = sum(row["peak_bytes"] for row in window["by_phase"])
        assert held <= window["peak_bytes"] <= held + window["before_bytes"]


def changes_of(path, device):
    """(ts, bytes, total or None) of a device's [memory] events in a trace."""
    trace = json.loads(gzip.decompress(path.read_bytes()))
    for event in trace["traceEvents"]:
        args = event.get("args", {})
        if event.get("name") == "[memory]" and args["Device Type"] == device:
            yield float(event["ts"]), args["Bytes"], args.get("Total Allocated")


@pytest.mark.skipif(not BERT.exists(), reason="no ../shared/traces beside this checkout")
def test_a_trace_with_totals_answers_by_them(gait):
    changes = sorted(changes_of(BERT, 1), key=lambda change: change[0])
    told = asked(gait, BERT)
    device = next(row for row in told["devices"] if row["device"].startswith("cuda"))
    assert device["peak_bytes"] == max(total for _, _, total in changes)
    assert device["end_bytes"] == changes[-1][2]
    assert device["allocations"] == sum(size > 0 for _, size, _ in changes)
    rows = [row["bytes"] for row in told["categories"] if row["device"] == device["device"]]
    assert sum(rows) == device["peak_bytes"]


@pytest.mark.skipif(not DATALOADER.exists(), reason="no ../shared/traces beside this checkout")
def test_who_took_memory_is_known_across_more_rows_than_are_read_at_once(gait, tmp_path):
    """An op is around 70,000 others of its thread, and another thread's are between them."""
    events = []

    def add(ph, name, ts, tid, **more):
        category = "cpu_op" if ph == "X" else "cpu_instant_event"
        row = {"ph": ph, "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts}
        events.append({**row, **more})

    def take(at, address, size):
        where = {"Device Type": 0, "Device Id": -1, "Addr": address, "Bytes": size}
        add("i", "[memory]", at, 1, s="t", args=where)

    add("X", "aten::outer", 0, 1, dur=700_000)
    for i in range(70_000):
        add("X", "aten::inner", 10 * i, 1, dur=8)
        add("X", "aten::other", 10 * i + 1, 2, dur=5)
    take(690_005, 16, 100)
    take(690_009, 32, 20)
    take(800_000, 64, 3)
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    owners = {row["name"]: row for row in asked(gait, tmp_path / "trace.json")["owners"]}
    assert {name: row["peak_bytes"] for name, row in owners.items()} == {
        "aten::inner": 100, "aten::outer": 20, "not known": 3}  # fmt: skip


def test_a_trace_without_addresses_says_so_and_has_its_curve(gait):
    sums, total = [], 0
    for _, size, _ in sorted(changes_of(DATALOADER, 1), key=lambda change: change[0]):
        total += size
        sums.append(total)
    device = next(row for row in asked(gait, DATALOADER)["devices"] if row["device"] == "cuda:0")
    before = -min(0, *sums)
    assert device["before_bytes"] == before
    assert device["end_bytes"] == before + sums[-1]
    assert device["never_freed"] is None
    assert "The record has no addresses" in gait("memory", DATALOADER).stdout
