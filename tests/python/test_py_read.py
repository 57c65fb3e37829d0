# SPDX-License-Identifier: Apache-2.0
"""gait.open(): the same answers as the tool's, and no library before it is asked."""

import ctypes
import re
import subprocess

import pytest

PROGRAM = """
import threading
gait.rank(2)
gait.metadata("config", {"lr": 0.5})
with gait.step():
    with gait.span("größe", category="data").args(n=1, big=2**70, f=0.5, t="x"):
        gait.count("gauge", 3)
        gait.count("gauge", 0.25)
        gait.flow_begin("arrow", 9)
thread = threading.Thread(target=gait.mark, args=("elsewhere",))
thread.start()
thread.join()
gait.flow_end("arrow", 9)
gait.async_begin("request", 5)
gait.async_end("request", 5)
gait.mark("\\ud800")
gait.begin("left open")
import os
os._exit(0)
"""


def test_events_equal_the_csv_export(record, trace_of):
    run = record(PROGRAM)
    trace = trace_of(run)
    events = list(trace.events())
    assert len(events) == len(run.rows) == trace.info()["events"]
    for event, row in zip(events, run.rows):
        values = {**event._asdict(), "category": event.category, "name": event.name}
        for column, value in values.items():
            is_text = column in ("category", "name")
            expected = row[column] if row[column] != "" or is_text else None
            assert value == expected, (column, event, row)


def test_events_can_be_chosen(record, trace_of):
    trace = trace_of(record(PROGRAM))
    assert [e.value for e in trace.events(kind="counter")] == [3, 0.25]
    assert {e.kind for e in trace.events(kind=["mark", "step"])} == {"mark", "step"}
    everything = list(trace.events())
    moment = everything[-1].start_ns
    assert len(list(trace.events(until_ns=moment))) < len(everything)
    threads = [i for i, t in enumerate(trace.tracks) if not t["internal"]]
    per_track = [len(list(trace.events(tracks=[index]))) for index in threads]
    assert sum(per_track) == len(everything) and len(per_track) == 2
    assert list(trace.events(tracks=[])) == []
    with pytest.raises(ValueError, match="span, mark"):
        trace.events(kind="spam")


def test_what_is_known_of_shards(record, trace_of, gait):
    run = record(PROGRAM)
    trace = trace_of(run)
    (shard,) = trace.shards
    told = run.info()
    assert trace.info()["events"] == told["events"]
    assert shard["rank"] == told["shards"][0]["rank"] == 2
    assert shard["pid"] == told["shards"][0]["pid"]
    assert trace.metadata()["config"] == {"lr": 0.5}
    assert trace.metadata()["pid"] == shard["pid"]


def test_a_closed_trace_says_so(record, trace_of, read):
    run = record(PROGRAM)
    with read.open(run.directory) as trace:
        iterator = iter(trace.events())
        next(iterator)
    assert list(iterator) == []
    with pytest.raises(read.trace.TraceError, match="closed"):
        trace.events()
    trace.close()


def test_what_is_no_trace_is_said_in_words(tmp_path, read):
    (tmp_path / "text.gait").write_text("not a trace")
    for path in (tmp_path / "absent", tmp_path / "text.gait"):
        with pytest.raises(read.trace.TraceError) as raised:
            read.open(path)
        assert len(str(raised.value)) > 10


def test_the_reading_library_comes_with_the_first_question(record):
    record(
        """
        def maps():
            with open("/proc/self/maps") as file:
                return "libgait-read" in file.read()
        gait.mark("x")
        gait.flush()
        assert not maps()
        import gait.trace
        assert not maps()
        with gait.open(gait.shard_path()) as trace:
            assert [event.name for event in trace.events(kind="mark")] == ["x"]
        assert maps()
        """
    )


def c_layout(names):
    lines = [
        "#include <stddef.h>",
        "#include <stdio.h>",
        "#include <gait/trace.h>",
        "int main(void) {",
    ]
    for name, fields in names.items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        lines += [f'printf("{name}.{f} %zu\\n", offsetof(struct {name}, {f}));' for f in fields]
    return "\n".join([*lines, "return 0; }"])


def test_the_structures_are_those_of_the_header(compile_c, read, root):
    """The compiler says how trace.h lies in memory."""
    from gait import _read

    structures = {
        "gait_shard_info": _read.ShardInfo,
        "gait_track_info": _read.TrackInfo,
        "gait_damage_info": _read.DamageInfo,
        "gait_arg": _read.Arg,
        "gait_event": _read.RawEvent,
        "gait_query": _read.Query,
    }
    names = {name: [f for f, _ in s._fields_] for name, s in structures.items()}
    program = compile_c(c_layout(names), library="gait-read")
    told = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    ours = []
    for name, structure in structures.items():
        ours.append(f"{name} {ctypes.sizeof(structure)}")
        ours += [f"{name}.{f} {getattr(structure, f).offset}" for f in names[name]]
    assert told.split("\n")[:-1] == ours
    header = (root / "include/gait/trace.h").read_text()
    kinds = re.search(r"enum gait_kind \{(.*?)\}", header, re.S).group(1)
    listed = [k.lower() for k in re.findall(r"GAIT_KIND_(\w+)", kinds) if k != "COUNT"]
    assert listed == _read.KINDS


def test_damage_is_listed_and_loses_what_it_hit_alone(record, read):
    made = 100_000  # in frames of a twentieth, however late they would be written else
    run = record(f"""
        for i in range({made}):
            gait.mark('m')
            if i % {made // 20} == 0:
                gait.flush()
    """)
    (shard,) = run.shards
    whole = shard.read_bytes()
    hit, tenth = len(whole) // 2, len(whole) // 10  # what stands between marks is small
    shard.write_bytes(whole[:hit] + b"\xff" * tenth + whole[hit + tenth :])
    with read.open(run.directory) as trace:
        assert trace.damage and trace.damage[0]["what"]
        assert made // 2 < sum(event.name == "m" for event in trace.events()) < made


def test_a_library_of_another_version_is_refused_in_one_sentence(monkeypatch):
    from gait import _read

    library = _read._library()
    told = _read.layouts(library)
    assert {"gait_event", "gait_op", "gait_config_request"} <= set(told)
    bytes_, members = told["gait_event"]
    other = {**members, "start_ns": (members["start_ns"][0] + 8, 8)}
    for found in (
        {**told, "gait_event": (bytes_, other)},
        {**told, "gait_event": (8, members)},
        {},
    ):
        monkeypatch.setattr(_read, "layouts", lambda library, found=found: found)
        with pytest.raises(_read.TraceError, match="of another version than this package: struct"):
            _read.check_layout(library, _read.RawEvent)
