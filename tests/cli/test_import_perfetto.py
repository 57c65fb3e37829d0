# SPDX-License-Identifier: Apache-2.0
"""gait import of .pftrace files: made by Perfetto's own definitions (PyPI: perfetto), and by
gait export, whose traces must come back as they were."""

import collections
import csv
import io
import json
import pathlib
import random
import zlib

import pytest

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

TRACES = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "traces"
NAMES = ["nccl-a100/nccl_data", "misc/h100-bert-small", "misc/triton_example"]
SHARED = [path for name in NAMES if (path := TRACES / f"{name}.json.gz").exists()]
START = 1_700_000_000_000_000_000
EVENT = trace_pb2.TrackEvent


def rows_of(gait, path):
    done = gait("export", path, "--format", "csv", "--no-cache")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def told(rows, *kinds):
    """What is said of each event; where it lies has other names in the other format."""
    return collections.Counter(
        (row["kind"], row["category"], row["name"], row["start_ns"], row["duration_ns"])
        + (json.dumps(json.loads(row["args"] or "{}"), sort_keys=True),)
        for row in rows
        if row["kind"] in kinds
    )


@pytest.mark.skipif(not SHARED, reason="no ../shared/traces beside this checkout")
@pytest.mark.parametrize("source", SHARED, ids=lambda path: path.name.split(".")[0])
def test_what_gait_exports_comes_back(gait, tmp_path, source):
    exported = tmp_path / "x.pftrace"
    assert gait("export", source, "--format", "perfetto", "-o", exported).returncode == 0
    before, after = rows_of(gait, source), rows_of(gait, exported)
    assert told(before, "span", "mark") == told(after, "span", "mark")
    count = [sum(row["kind"] == "flow" for row in rows) for rows in (before, after)]
    assert count[0] == count[1]
    answers = [
        json.loads(gait("breakdown", path, "--json", "--steps").stdout)["ranks"][0]["whole"]
        for path in (source, exported)
    ]
    assert answers[0] == answers[1]


class Maker:
    """A trace by Perfetto's definitions; one sequence interns its names, the other does not."""

    def __init__(self):
        self.trace = trace_pb2.Trace()
        self.iids = {}
        first = self.packet()
        first.sequence_flags = 1
        for clock, time in ((1, START), (3, 5_000), (6, 7_000)):
            first.clock_snapshot.clocks.add(clock_id=clock, timestamp=time)
        first.clock_snapshot.clocks.add(clock_id=64, timestamp=5, is_incremental=True)
        first.clock_snapshot.clocks[-1].unit_multiplier_ns = 1000

    def packet(self, sequence=1):
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = sequence
        return packet

    def thread(self, uuid, pid, tid, name):
        packet = self.packet()
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.thread.pid = pid
        packet.track_descriptor.thread.tid = tid
        packet.track_descriptor.thread.thread_name = name

    def intern(self, packet, kind, name):
        known = self.iids.setdefault(kind, {})
        if name not in known:
            known[name] = len(known) + 1
            getattr(packet.interned_data, kind).add(iid=known[name], name=name)
        return known[name]

    def event(self, time, type_, uuid, name=None, clock=3):
        packet = self.packet()
        packet.timestamp, packet.timestamp_clock_id = time, clock
        packet.track_event.type, packet.track_event.track_uuid = type_, uuid
        if name:
            packet.track_event.category_iids.append(self.intern(packet, "event_categories", "c"))
            packet.track_event.name_iid = self.intern(packet, "event_names", name)
        return packet.track_event

    def write(self, path):
        path.write_bytes(self.trace.SerializeToString())
        return path


def test_slices_nest_and_clocks_become_times_of_the_day(gait, tmp_path):
    made = Maker()
    made.thread(9, 70, 71, "worker")
    begun = made.event(6_000, EVENT.TYPE_SLICE_BEGIN, 9, "outer")
    begun.debug_annotations.add(name="n", int_value=-3)
    begun.debug_annotations.add(name="t", string_value="text")
    begun.debug_annotations.add(name="b", bool_value=True)
    begun.debug_annotations.add(name="u", uint_value=2**64 - 1)
    nested = begun.debug_annotations.add(name="d")
    nested.dict_entries.add(name="x", double_value=0.5)
    nested.dict_entries.add(name="l").array_values.add(int_value=1)
    made.event(8_500, EVENT.TYPE_SLICE_BEGIN, 9, "inner", clock=6)  # 6,500 of clock 3
    made.event(6_700, EVENT.TYPE_SLICE_END, 9)
    made.event(2, EVENT.TYPE_INSTANT, 9, "here", clock=64)  # 2 us behind clock 64's last
    made.event(7_500, EVENT.TYPE_SLICE_END, 9)
    rows = rows_of(gait, made.write(tmp_path / "x.pftrace"))
    assert {(row["pid"], row["tid"]) for row in rows} == {("70", "71")}
    spans = {row["name"]: row for row in rows if row["kind"] == "span"}
    assert spans["outer"]["start_ns"] == str(START + 1_000)
    assert spans["outer"]["duration_ns"] == "1500"
    assert spans["inner"]["start_ns"] == str(START + 1_500)
    assert spans["inner"]["duration_ns"] == "200"
    expected = {"n": -3, "t": "text", "b": True, "u": 2**64 - 1, "d": {"x": 0.5, "l": [1]}}
    assert json.loads(spans["outer"]["args"]) == expected
    (mark,) = (row for row in rows if row["kind"] == "mark")
    assert mark["start_ns"] == str(START + 2_000)


def test_counters_keep_their_values(gait, tmp_path):
    made = Maker()
    made.packet().track_descriptor.uuid = 4
    made.trace.packet[-1].track_descriptor.name = "used"
    made.trace.packet[-1].track_descriptor.counter.unit_multiplier = 1024
    made.event(6_000, EVENT.TYPE_COUNTER, 4).counter_value = 3
    made.packet().track_descriptor.uuid = 5
    made.trace.packet[-1].track_descriptor.name = "load"
    made.trace.packet[-1].track_descriptor.counter.SetInParent()
    made.event(6_001, EVENT.TYPE_COUNTER, 5).double_counter_value = 0.25
    exported = gait("export", made.write(tmp_path / "x.pftrace"), "--format", "chrome")
    counters = [e for e in json.loads(exported.stdout)["traceEvents"] if e["ph"] == "C"]
    assert {e["name"]: list(e["args"].values()) for e in counters} == {
        "used": [3072],
        "load": [0.25],
    }


def test_compressed_packets_and_forgotten_names(gait, tmp_path):
    made = Maker()
    made.thread(9, 70, 71, "worker")
    made.event(6_000, EVENT.TYPE_INSTANT, 9, "first")
    again = made.packet()
    again.sequence_flags, made.iids = 1, {}
    inner = Maker()
    inner.trace.ClearField("packet")
    inner.event(6_001, EVENT.TYPE_INSTANT, 9, "second")
    made.packet().compressed_packets = zlib.compress(inner.trace.SerializeToString())
    rows = rows_of(gait, made.write(tmp_path / "x.pftrace"))
    assert [row["name"] for row in rows] == ["first", "second"]


def test_a_trace_that_is_cut_off_has_what_came_before(gait, tmp_path):
    made = Maker()
    made.thread(9, 70, 71, "worker")
    for number in range(50):
        made.event(6_000 + number, EVENT.TYPE_SLICE_BEGIN, 9, f"slice {number}")
    whole = made.trace.SerializeToString()
    path = tmp_path / "x.pftrace"
    path.write_bytes(whole[:-3])
    told = json.loads(gait("import", path, "-o", tmp_path / "x.gait", "--json").stdout)
    assert told["files"][0]["repairs"] == {"truncated": 1, "unfinished": 49}
    assert len(rows_of(gait, tmp_path / "x.gait")) == 49


def test_bytes_that_lie_end_in_a_sentence(gait, tmp_path):
    made, chance = Maker(), random.Random(3)
    made.thread(9, 70, 71, "worker")
    for number in range(20):
        event = made.event(6_000 + number, EVENT.TYPE_SLICE_BEGIN, 9, f"slice {number}")
        deep = event.debug_annotations.add(name="deep")
        for _ in range(60):
            deep = deep.array_values.add()
    whole = made.trace.SerializeToString()
    path = tmp_path / "x.pftrace"
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(8):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        done = gait("info", path, "--no-cache", timeout=20)
        assert done.returncode in (0, 1, 2)
        assert all(line.startswith("gait") for line in done.stderr.splitlines())
    path.write_bytes(b"\x0a\xff\xff\xff\xff\x0f\x40\x01")
    assert gait("info", path, "--no-cache").returncode == 2


def test_times_that_are_ages_apart_are_told(gait, tmp_path):
    """Their difference fits no signed number: the run was told as 0 ns long, and whole."""
    made = Maker()
    made.trace.packet[0].ClearField("clock_snapshot")
    for number, time in enumerate((2**63 + 1, 2**63 + 100, 2**63 - 16, 2**63 - 8)):
        kind = EVENT.TYPE_SLICE_END if number % 2 else EVENT.TYPE_SLICE_BEGIN
        made.event(time, kind, 9, f"slice {number}")
    path = made.write(tmp_path / "x.pftrace")
    spans = [(int(row["start_ns"]), int(row["duration_ns"])) for row in rows_of(gait, path)]
    assert spans == [(1 - 2**63, 99), (2**63 - 16, 8)]
    report = json.loads(gait("report", path, "--json", "--no-cache").stdout)
    assert report["wall_ns"] == report["whole_run"]["total_ns"] == 2**63 - 1


def test_tracks_that_are_their_own_parents(gait, tmp_path):
    made = Maker()
    for uuid, parent in ((4, 5), (5, 4), (6, 6)):
        packet = made.packet()
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.parent_uuid = parent
        made.event(6_000 + uuid, EVENT.TYPE_INSTANT, uuid, "here")
    assert len(rows_of(gait, made.write(tmp_path / "x.pftrace"))) == 3
