# SPDX-License-Identifier: Apache-2.0
"""The Perfetto export, parsed with Perfetto's own protobuf definitions (PyPI: perfetto)
and compared with the CSV export. Perfetto's trace processor is no part of that package
(it is downloaded on first use), so what it would make of a packet is modelled here from
its documentation: packets in order of time, a stack of slices for each track."""

import collections
import math
import pathlib
import random

import pytest
from export_cases import (
    LABELS,
    START,
    Case,
    assert_nothing_crosses,
    everything,
    in_csv,
    read_csv,
    spans_of,
)

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

Slice = collections.namedtuple("Slice", "track category name start end args flows")
EVENT = trace_pb2.TrackEvent


class Model:
    """Tracks, slices, instants and counter values of a trace."""

    def __init__(self, data):
        self.tracks, self.slices, self.instants, self.open = {}, [], [], []
        self.counters = []
        self.names, self.categories, self.keys = {}, {}, {}
        trace = trace_pb2.Trace.FromString(data)
        assert trace.packet[0].sequence_flags == 1
        assert len({p.trusted_packet_sequence_id for p in trace.packet}) == 1
        self.clocks = trace.packet[0].clock_snapshot
        self.stacks = collections.defaultdict(list)
        for packet in trace.packet:
            self.learn(packet)
        events = [p for p in trace.packet if p.HasField("track_event")]
        for packet in sorted(events, key=lambda p: p.timestamp):
            self.take(packet.timestamp, packet.track_event)
        for stack in self.stacks.values():
            self.open += stack

    def learn(self, packet):
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in self.tracks
            self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            parent = packet.track_descriptor.parent_uuid
            assert not parent or parent in self.tracks
        if packet.HasField("track_event"):
            assert packet.track_event.track_uuid in self.tracks
        interned = packet.interned_data
        for known, entries in (
            (self.categories, interned.event_categories),
            (self.names, interned.event_names),
            (self.keys, interned.debug_annotation_names),
        ):
            for entry in entries:
                assert entry.iid and entry.iid not in known
                known[entry.iid] = entry.name
        assert packet.sequence_flags == 2 or not self.needs_names(packet.track_event)

    @staticmethod
    def needs_names(event):
        return event.name_iid or event.category_iids or event.debug_annotations

    def take(self, time, event):
        stack = self.stacks[event.track_uuid]
        if event.type == EVENT.TYPE_SLICE_END:
            begun = stack.pop()
            self.slices.append(begun._replace(end=time))
        elif event.type == EVENT.TYPE_COUNTER:
            which = event.WhichOneof("counter_value_field")
            self.counters.append((event.track_uuid, time, getattr(event, which)))
        else:
            categories = [self.categories[i] for i in event.category_iids] or event.categories
            name = self.names[event.name_iid] if event.name_iid else event.name
            flows = (list(event.flow_ids), list(event.terminating_flow_ids))
            args = [self.annotation(a) for a in event.debug_annotations]
            one = Slice(event.track_uuid, categories[0], name, time, None, args, flows)
            if event.type == EVENT.TYPE_SLICE_BEGIN:
                stack.append(one)
            else:
                assert event.type == EVENT.TYPE_INSTANT
                self.instants.append(one)

    def annotation(self, annotation):
        iid = annotation.name_iid
        key = self.keys[iid] if iid else annotation.name
        return (key, getattr(annotation, annotation.WhichOneof("value")))

    def process(self, uuid):
        track = self.tracks[uuid]
        return track.process if track.HasField("process") else self.process(track.parent_uuid)

    def rank(self, uuid):
        name = self.process(uuid).process_name
        return name[name.index(" rank ") + 6]

    def label(self, uuid):
        """The name of the gait track that a lane belongs to."""
        track = self.tracks[uuid]
        if track.HasField("thread"):
            return track.thread.thread_name
        is_lane = self.tracks[track.parent_uuid].HasField("process") is False
        return self.label(track.parent_uuid) if is_lane else track.name


def exported(gait, path, *options):
    ran = gait("export", path, "--format", "perfetto", "-o", "out.pftrace", *options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert gait("export", path, "--format", "csv", "-o", "out.csv").returncode == 0


def read_back(directory):
    model = Model((directory / "out.pftrace").read_bytes())
    return model, read_csv((directory / "out.csv").read_bytes().decode())


@pytest.fixture
def model_and_rows(gait, tmp_path):
    exported(gait, everything(tmp_path / "run").directory)
    return read_back(tmp_path)


OTHER_SLICES = ("step", "drop", "io")


def test_spans_are_those_of_the_csv_export(model_and_rows):
    model, rows = model_and_rows
    got = sorted(
        (model.rank(s.track), model.label(s.track), in_csv(s.category), in_csv(s.name), s.start,
         -1 if s.end is None else s.end - s.start)
        for s in model.slices + model.open
        if s.category not in OTHER_SLICES
    )  # fmt: skip
    assert got == spans_of(rows)


def test_steps_drops_and_async_spans_are_those_of_the_csv_export(model_and_rows):
    model, rows = model_and_rows
    names = {"step": "step {id}", "drop": "dropped {id} events", "async": "load"}
    want = sorted(
        (names[r["kind"]].format(**r), int(r["start_ns"]), int(r["duration_ns"] or -1))
        for r in rows
        if r["kind"] in names
    )
    got = sorted(
        (s.name, s.start, -1 if s.end is None else s.end - s.start)
        for s in model.slices + model.open
        if s.category in OTHER_SLICES
    )
    assert got == want
    ids = {dict(s.args)["id"] & (2**64 - 1) for s in model.slices if s.category == "io"}
    assert ids == {2**64 - 1 - i for i in range(19)}


def test_slices_nest_on_every_track(model_and_rows):
    model, _ = model_and_rows
    lanes = collections.defaultdict(list)
    for s in model.slices:
        assert s.end >= s.start
        lanes[s.track].append((s.start, s.end))
    assert len(lanes) > len(LABELS) + 20  # the async spans and kernels overlap
    for spans in lanes.values():
        assert_nothing_crosses(spans)


def test_parents_hold_their_children_also_on_equal_stamps(gait, tmp_path):
    case = Case(tmp_path / "run")
    shard = case.shard(rank=0)
    track = shard.track(key="4711", name='main "thread"', os_id=4711)
    spans = [(START, 10, "c", "outer", 0), (START, 10, "c", "inner", 1), (START, 0, "c", "in", 2)]
    case.spans(shard, track, 4711, [*spans, (START + 10, 0, "c", "last", 1)])
    exported(gait, case.write())
    model, rows = read_back(tmp_path)
    # what ends first is innermost, since one track is one stack
    assert [s.name for s in model.slices] == ["in", "inner", "last", "outer"]
    assert len({s.track for s in model.slices}) == 1
    assert len(rows) == 4


def test_instants_and_their_arguments(model_and_rows):
    model, rows = model_and_rows
    kinds = ("mark", "sample", "memory", "log", "flow")
    assert len(model.instants) == sum(r["kind"] in kinds for r in rows)
    mark = next(i for i in model.instants if i.name == "here, there")
    args = dict(mark.args)
    assert math.isnan(args.pop("nan"))
    assert args == {
        "int": -(2**63),
        "big": 2**63 - 1,
        "real": 0.1,
        "whole": 3.0,
        'k"ey': 'v"alue\n\x00end',
        "raw": "123456789012345678901234567890",
        "bad": "\ufffd",
    }
    log = next(i for i in model.instants if i.category == "log")
    assert (log.name, log.args) == ('a "log",\nof two lines', [("level", 2)])


def test_flow_points_share_an_id(model_and_rows):
    model, _ = model_and_rows
    flows = [i.flows for i in model.instants if i.category == "flow"]
    (first, none), (step, none2), (none3, last) = flows
    assert first == step == last and len(first) == 1
    assert none == none2 == none3 == []


def test_counters_keep_their_values(model_and_rows):
    model, rows = model_and_rows
    got = collections.Counter()
    for uuid, time, value in model.counters:
        track = model.tracks[uuid]
        assert track.HasField("counter")
        owner = "" if model.tracks[track.parent_uuid].HasField("process") else model.label(uuid)
        got[track.name, owner, time, float(value)] += 1
    want = collections.Counter()
    for r in rows:
        if r["kind"] == "counter":
            owner = "" if r["tid"] == "4711" else LABELS[r["rank"], r["tid"]]
            want[r["name"], owner, int(r["start_ns"]), float(r["value"])] += 1
    assert got == want


def test_processes_and_threads_have_numbers_of_their_own(model_and_rows):
    model, _ = model_and_rows
    processes = [t.process for t in model.tracks.values() if t.HasField("process")]
    assert len({p.pid for p in processes}) == len(processes) == 2
    threads = [t.thread for t in model.tracks.values() if t.HasField("thread")]
    assert len({t.tid for t in threads}) == len(threads) == 3
    mains = {(t.pid, t.tid) for t in threads if t.pid == t.tid}
    assert len(mains) == 2  # the first thread of each is still the one


def test_only_lanes_are_drawn_together(model_and_rows):
    model, _ = model_and_rows
    lane_words = (" steps", " drops", " async", " overlapping")
    for track in model.tracks.values():
        if track.HasField("thread") or track.HasField("process"):
            continue
        merges = track.sibling_merge_behavior != track.SIBLING_MERGE_BEHAVIOR_NONE
        assert merges == track.name.endswith(lane_words), track


def test_times_are_those_of_the_wall_clock(model_and_rows):
    model, _ = model_and_rows
    stamps = {c.clock_id: c.timestamp for c in model.clocks.clocks}
    builtin = trace_pb2
    assert stamps[builtin.BUILTIN_CLOCK_REALTIME] == stamps[builtin.BUILTIN_CLOCK_BOOTTIME]
    assert model.clocks.primary_trace_clock == builtin.BUILTIN_CLOCK_BOOTTIME


def test_exports_joined_to_one_file_stay_apart(gait, tmp_path):
    joined = b""
    for rank in range(2):
        case = Case(tmp_path / f"run{rank}")
        shard = case.shard(rank=rank, pid=100 + rank)
        track = shard.track(key="1", os_id=100 + rank)
        case.spans(shard, track, 1, [(START + rank, 5, "c", "n")])
        exported(gait, case.write())
        joined += pathlib.Path(tmp_path / "out.pftrace").read_bytes()
    uuids = [p.track_descriptor.uuid for p in trace_pb2.Trace.FromString(joined).packet
             if p.HasField("track_descriptor")]  # fmt: skip
    assert len(uuids) == len(set(uuids)) == 4


@pytest.mark.parametrize("seed", range(4))
def test_random_overlapping_spans_are_all_there(gait, tmp_path, seed):
    rng = random.Random(seed)
    case = Case(tmp_path / "run")
    shard = case.shard(rank=0)
    track = shard.track(kind=2, key="stream 7")
    spans, start = [], START
    for i in range(3000):
        start += rng.randrange(0, 4)
        length = rng.choice([0, 1, 3, 10, 100, 1000])
        spans.append((start, length, "c", f"n{i % 50}", rng.randrange(3)))
    case.spans(shard, track, "stream 7", spans)
    exported(gait, case.write())
    model, rows = read_back(tmp_path)
    got = sorted(("0", model.label(s.track), s.category, in_csv(s.name), s.start, s.end - s.start)
                 for s in model.slices)  # fmt: skip
    assert got == spans_of(rows)
    assert len(got) == 3000 and not model.open
