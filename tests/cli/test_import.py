# SPDX-License-Identifier: Apache-2.0
"""gait import: Python's json module says what a trace holds, and what must come back."""

import collections
import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from shard_maker import ShardMaker
from terminals import open_terminal

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
TRACES = sorted([*SHARED.glob("traces/*/*.json*"), *SHARED.glob("oracles/verdict/traces/*.gz")])
BASE = 1_700_000_000_000_000_000


def number(text):
    """A float, or the integer that it is: how it is written does not matter."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def read(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data, parse_float=number)


def events_of(trace):
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    return collections.Counter(json.dumps(event, sort_keys=True) for event in events)


def imported(gait, tmp_path, source):
    """What gait says of the import, and what it exports again."""
    shard = tmp_path / "x.gait"
    told = gait("import", source, "-o", shard, "--json")
    assert (told.returncode, told.stderr) == (0, "")
    out = tmp_path / "out.json"
    done = gait("export", shard, "--format", "chrome", "-o", out)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(told.stdout), read(out), shard


def same(gait, tmp_path, trace, **facts):
    """Writes a trace of these events; it must come back as it was."""
    source = tmp_path / "made.json"
    source.write_text(json.dumps({**facts, "traceEvents": trace}))
    told, back, _ = imported(gait, tmp_path, source)
    assert events_of(back) == events_of(read(source))
    assert {key: back[key] for key in facts} == facts
    return told


@pytest.mark.skipif(not TRACES, reason="no ../shared beside this checkout")
@pytest.mark.parametrize("source", TRACES, ids=lambda path: path.name.split(".")[0])
def test_shared_traces_come_back_whole_and_are_small(gait, tmp_path, source):
    trace = read(source)
    told, back, shard = imported(gait, tmp_path, source)
    assert events_of(back) == events_of(trace)
    facts = trace if isinstance(trace, dict) else {}
    assert all(back[key] == value for key, value in facts.items() if key != "traceEvents")
    size = os.path.getsize(shard)
    names_and_facts = 24_000
    assert size <= max(64_000, names_and_facts + 5 * sum(events_of(trace).values()))
    assert told["bytes"] == size


def span(name, ts, dur, **more):
    return {"ph": "X", "name": name, "cat": "c", "pid": 7, "tid": 8, "ts": ts, "dur": dur, **more}


def test_every_kind_of_value_comes_back(gait, tmp_path):
    values = [0, -1, 2**63 - 1, -(2**63), 2**64 + 5, 1.5, -0.25, 1e300, 0.1, 12.340, True, False]
    values += [
        None,
        "",
        "a",
        'q"\\\n\u00e9\U0001f600',
        [],
        {},
        [1, [2.5, "x", None]],
        {"a": {"b": []}},
    ]
    args = {f"k{index}": value for index, value in enumerate(values)}
    same(gait, tmp_path, [span("s", 1, 2, args=args), span("t", 2, 1, args={}), span("u", 3, 1)])


def test_many_arguments_that_run_on_come_back(gait, tmp_path):
    trace = [
        span("s", index, 1, args={"n": index * index, "f": index / 8, "t": f"text {index}", "k": 1})
        for index in range(3000)
    ]
    same(gait, tmp_path, trace)


def test_all_phases_come_back(gait, tmp_path):
    at = {"pid": 7, "tid": 8, "cat": "c", "name": "n"}
    trace = [
        {"ph": "B", "ts": 1.5, "args": {"a": 1}, **at},
        {"ph": "E", "ts": 4.25, **at},
        {"ph": "i", "ts": 2, "s": "t", **at},
        {"ph": "I", "ts": 2, **at},
        {"ph": "b", "ts": 3, "id": "0x1f", "args": {"x": [1]}, **at},
        {"ph": "e", "ts": 9, "id": "0x1f", **at},
        {"ph": "s", "ts": 3, "id": 5, **at},
        {"ph": "t", "ts": 4, "id": 5, **at},
        {"ph": "f", "ts": 5, "id": 5, "bp": "e", **at},
        {"ph": "C", "ts": 6, "args": {"used": 5, "free": 2.5}, "name": "mem", "pid": 7},
        {"ph": "C", "ts": 7, "args": {"value": 3}, "name": "one", "pid": 7},
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
        {"ph": "P", "ts": 8, **at},
        span("fine", 10.123456, 1),
        span("text numbers", 11, 1, tid="8", pid="7"),
        span("named", 12, 1, tid="Spans"),
        span("nothing", 13, 1, tid=None, tts=5, cname="good"),
    ]
    told = same(gait, tmp_path, trace, displayTimeUnit="ns", baseTimeNanoseconds=BASE)
    assert told["files"][0]["repairs"] == {"text_ids": 2, "finer_than_ns": 1}


def csv_rows(gait, path):
    lines = gait("export", path, "--format", "csv").stdout.splitlines()
    return [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]


def test_times_are_integers_from_the_text(gait, tmp_path):
    texts = ["4458676522690.655", "4458676522690.6555", "4458676522690.6565", "0.001", "7"]
    source = tmp_path / "t.json"
    events = ",".join(
        f'{{"ph":"X","name":"n","pid":1,"tid":1,"ts":{t},"dur":0.002}}' for t in texts
    )
    source.write_text(f'{{"baseTimeNanoseconds": {BASE}, "traceEvents": [{events}]}}')
    gait("import", source, "-o", tmp_path / "t.gait")
    starts = [int(row["start_ns"]) - BASE for row in csv_rows(gait, tmp_path / "t.gait")]
    exact = 4458676522690655
    assert starts == [1, 7000, exact, exact + 1, exact + 1]  # halves to even


@pytest.mark.parametrize("last", [3, 3.001, 2_500_000])
def test_a_trace_ends_with_its_last_event(gait, tmp_path, last):
    trace = [span("a", 1, 1), span("b", 2, last - 2)]
    source = tmp_path / "short.json"
    source.write_text(json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": trace}))
    (shard,) = json.loads(gait("info", source, "--json", "--no-cache").stdout)["shards"]
    assert shard["start_ns"] == BASE + 1000
    assert shard["end_ns"] == BASE + round(last * 1000)


def test_devices_are_tracks_of_the_one_process(gait, tmp_path):
    trace = [
        span("op", 1, 9, cat="cpu_op", args={"External id": 3}),
        span("cudaLaunchKernel", 2, 1, cat="cuda_runtime", args={"correlation": 17}),
        span("k", 5, 2, cat="kernel", pid=0, tid=7, args={"correlation": 17, "External id": 3}),
    ]
    told = same(gait, tmp_path, trace, distributedInfo={"rank": 5, "world_size": 8})
    assert (told["files"][0]["rank"], told["files"][0]["shards"]) == (5, 1)
    info = json.loads(gait("info", tmp_path / "x.gait", "--json").stdout)
    assert info["shards"][0]["pid"] == 7 and info["shards"][0]["rank"] == 5


def test_processes_of_other_traces_get_a_shard_each(gait, tmp_path):
    source = tmp_path / "two.json"
    source.write_text(json.dumps([span("a", 1, 2), span("b", 1, 2, pid=9)]))
    one = gait("import", source, "-o", tmp_path / "x.gait")
    assert one.returncode == 2 and "name a folder with -o" in one.stderr
    assert not (tmp_path / "x.gait").exists()
    assert gait("import", source, "-o", tmp_path / "run").returncode == 0
    info = json.loads(gait("info", tmp_path / "run", "--json").stdout)
    assert sorted(shard["pid"] for shard in info["shards"]) == [7, 9]


def test_what_a_trace_of_many_processes_says_of_all_stands_in_one_shard(gait, tmp_path):
    trace = [
        event
        for pid in range(700)
        for event in (
            span("s", 1, 2, pid=pid),
            {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"{pid:050}"}},
        )
    ]
    facts = {"long": "x" * 100_000, "short": 1, "traceEvents": trace}
    (tmp_path / "many.json").write_text(json.dumps(facts))
    assert gait("import", tmp_path / "many.json", "-o", tmp_path / "run").returncode == 0
    info = json.loads(gait("info", tmp_path / "run", "--json").stdout)
    told = collections.Counter(key for shard in info["shards"] for key in shard["metadata"])
    assert (told["trace_names"], told["trace.long"], told["trace.short"]) == (1, 1, 700)
    back = tmp_path / "back.json"
    assert gait("export", tmp_path / "run", "--format", "chrome", "-o", back).returncode == 0
    assert events_of(read(back)) == events_of(trace)
    assert {key: read(back)[key] for key in facts if key != "traceEvents"} == {
        "long": facts["long"],
        "short": 1,
    }


def test_who_waits_at_a_terminal_is_told_that_shards_are_written(build, tmp_path):
    trace = [span("s", 1, 2, pid=pid) for pid in range(20_000)]
    (tmp_path / "many.json").write_text(json.dumps(trace))
    leader, terminal = open_terminal()
    begin = time.monotonic()
    with subprocess.Popen(
        [build / "gait", "import", "many.json", "-o", "run"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
    ) as running:
        os.close(terminal)
        while not list(tmp_path.glob("run*/many.*")) and running.poll() is None:
            pass
        running.send_signal(signal.SIGSTOP)
        time.sleep(max(0, begin + 1.1 - time.monotonic()))  # who waits so long is told
        running.send_signal(signal.SIGCONT)
        said = b""
        with contextlib.suppress(OSError):  # nobody has the terminal open any more
            while part := os.read(leader, 4096):
                said += part
    os.close(leader)
    assert running.returncode == 0
    assert re.match(rb"\r\x1b\[Kgait: read [0-9.]+ MB, writing what it holds", said)
    assert said.endswith(b"\r\x1b[K")


WRONG = {
    "control_characters": b'[{"ph":"X","name":"a\tb\nc","pid":1,"tid":1,"ts":1,"dur":1}]',
    "bad_utf8": b'[{"ph":"X","name":"a\xff","pid":1,"tid":1,"ts":1,"dur":1}]',
    "unescaped_quotes": b'[{"ph":"X","name":"a "b" c","pid":1,"tid":1,"ts":1,"dur":1}]',
    "not_finite": b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":NaN}}]',
    "large_integers": b'[{"ph":"X","ts":1,"dur":1,"args":{"x":99999999999999999999}}]',
    "negative_durations": b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":-1}]',
    "duplicate_keys": b'[{"ph":"X","name":"a","name":"b","pid":1,"tid":1,"ts":1,"dur":1}]',
    "bad_times": b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"i","ts":"x"}]',
    "unpaired": b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"E","ts":1,"pid":1}]',
    "unfinished": b'[{"ph":"B","ts":1,"pid":1,"tid":1},{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1}]',
    "truncated": b'{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"X"',
    "trailing_bytes": b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}] more',
    "skipped_events": b'[{"ph":"X",oops},{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]',
}


def test_ends_of_asynchronous_spans_that_never_began_are_counted(gait, tmp_path):
    at = {"pid": 7, "tid": 8, "cat": "c", "name": "n"}
    ids = {"b": [1, 1, 2, 5], "e": [1, 1, 1, 2, 3, 4]}
    trace = [{"ph": ph, "ts": 3, "id": i, **at} for ph in "be" for i in ids[ph]]
    (tmp_path / "a.json").write_text(json.dumps(trace + [span("a", 1, 1)]))
    told, _, _ = imported(gait, tmp_path, tmp_path / "a.json")
    assert told["files"][0]["repairs"] == {"unpaired": 3}  # of 1, 3 and 4


LISTS = ["[]", "[[], [1]]", '["]", {"a": [1]}]', '[{"ph": "X"}]']


@pytest.mark.parametrize("inner", LISTS)
def test_a_list_among_the_events_does_not_end_them(gait, tmp_path, inner):
    events = [json.dumps(span(name, 1, 1)) for name in "ab"]
    text = ",".join((events[0], inner, events[1]))
    (tmp_path / "l.json").write_text(f'{{"traceEvents": [{text}], "displayTimeUnit": "ms"}}')
    told, back, _ = imported(gait, tmp_path, tmp_path / "l.json")
    assert [event["name"] for event in back["traceEvents"]] == ["a", "b"]
    assert back["displayTimeUnit"] == "ms"
    assert told["files"][0]["repairs"] == {"skipped_events": 1}


def test_a_list_that_never_ends_hides_no_events(gait, tmp_path):
    events = ",".join(json.dumps(span(name, 1, 1)) for name in "bc")
    (tmp_path / "l.json").write_text(f"[{json.dumps(span('a', 1, 1))},[{events}")
    told, back, _ = imported(gait, tmp_path, tmp_path / "l.json")
    assert [event["name"] for event in back["traceEvents"]] == ["a", "b", "c"]
    assert told["files"][0]["repairs"] == {"skipped_bytes": 1, "truncated": 1}


REFUSED = {
    "empty.json": (b"", "'{}' is empty"),
    "empty.json.gz": (gzip.compress(b""), "'{}' is empty"),
    "broken.json.gz": (b"\x1f\x8b broken", "'{}' is damaged"),
    "lines.json": (b'{"a": 1}\n{"a": 2}\n', "'{}': it is JSON, but no trace: there is no event"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("command", [("import",), ("report", "--no-cache")])
def test_what_a_file_is_instead_of_a_trace_is_told(gait, tmp_path, name, command):
    data, words = REFUSED[name]
    (tmp_path / name).write_bytes(data)
    done = gait(*command, tmp_path / name)
    assert done.returncode == 2 and words.format(tmp_path / name) in done.stderr


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_read_and_counted(gait, tmp_path, kind):
    (tmp_path / "wrong.json").write_bytes(WRONG[kind])
    told, back, _ = imported(gait, tmp_path, tmp_path / "wrong.json")
    assert kind in told["files"][0]["repairs"]
    assert any(event["ph"] == "X" and event["ts"] == 1 for event in back["traceEvents"])


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_packed_data_that_end_early_are_read_up_to_there(gait, tmp_path, cut):
    whole = gzip.compress(json.dumps([span(f"s{i}", i, 1) for i in range(20_000)]).encode())
    (tmp_path / "cut.json.gz").write_bytes(whole[: int(len(whole) * cut)])
    told, back, _ = imported(gait, tmp_path, tmp_path / "cut.json.gz")
    assert told["files"][0]["repairs"].keys() >= {"gzip_damage", "truncated"}
    names = [event["name"] for event in back["traceEvents"]]
    assert names == [f"s{i}" for i in range(len(names))] and 1000 < len(names) < 20_000


def test_packed_members_follow_one_another(gait, tmp_path):
    text = json.dumps([span(f"s{i}", i, 1) for i in range(5000)]).encode()
    parts = [gzip.compress(text[at : at + 50_000]) for at in range(0, len(text), 50_000)]
    (tmp_path / "parts.json.gz").write_bytes(b"".join(parts))
    told, back, _ = imported(gait, tmp_path, tmp_path / "parts.json.gz")
    assert told["files"][0]["repairs"] == {} and len(back["traceEvents"]) == 5000


def long_trace(odd):
    """Some 8 MB as Kineto writes them; every 500th event is one of the odd texts."""
    lines = []
    for i in range(40_000):
        text = odd[i // 500 % len(odd)] if i % 500 == 499 else None
        lines.append(text or (
            f'  {{\n    "ph": "X", "cat": "cpu_op", "name": "aten::op_{i % 97}", "pid": 7, '
            f'"tid": {7 + i % 3},\n    "ts": {1689179752427128 + i * 7}.{i % 1000:03}, '
            f'"dur": {i % 900}.{i % 7}00,\n    "args": {{\n      "External id": {i}, '
            f'"Sequence number": {i * 31}, "bandwidth": {i / 7}\n    }}\n  }}'
        ))  # fmt: skip
    return '{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join(lines) + "\n]}"


EVENT = r"{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_5\""
SOUND = [
    json.dumps(span("a text of more than a stretch's front", 5, 1, args={"x": "y" * 300_000})),
    json.dumps(span("events in a text: },\n  {" + EVENT + ", { },", 6, 2)),
    json.dumps({"ph": "i", "ts": 3, "s": "t", "name": "mark", "pid": 7, "tid": 8}),
]
ODD = [
    *SOUND,
    '{"ph": "X", "name": "a "quoted" name", "pid": 7, "tid": 8, "ts": 9, "dur": 1}',
    '{"ph": "X", "name": "a\nline", "pid": 7, "tid": "8", "ts": 9, "dur": -1}',
    '{"ph": "X", "name": "cut", "pid": 7, "tid": 8, "ts": ',
    '{"ph": "X", "ts": NaN, "name": "n", "pid": 7, "tid": 8, "dur": 1, "dur": 2}',
    '[{"ph": "X"}]',
]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
@pytest.mark.parametrize("odd", [SOUND, ODD], ids=["sound", "odd"])
def test_two_processors_read_what_one_reads(gait, tmp_path, odd, name):
    text = long_trace(odd).encode()
    source = tmp_path / name
    source.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    usable = os.sched_getaffinity(0)
    told, back, _ = imported(gait, tmp_path, source)
    try:
        os.sched_setaffinity(0, [min(usable)])
        (tmp_path / "one").mkdir()
        told_one, back_one, _ = imported(gait, tmp_path / "one", source)
    finally:
        os.sched_setaffinity(0, usable)
    assert told["files"][0]["repairs"] == told_one["files"][0]["repairs"]
    assert (told["files"][0]["repairs"] == {}) == (odd is SOUND)
    assert events_of(back) == events_of(back_one)
    if odd is SOUND:
        assert events_of(back) == events_of(read(source))


def test_a_folder_is_read_but_for_its_junk(gait, tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(2):
        facts = {"distributedInfo": {"rank": rank}, "traceEvents": [span("s", 1, 2, pid=rank + 1)]}
        (folder / f"r{rank}.json").write_text(json.dumps(facts))
    (folder / "notes.txt").write_text("nothing")
    (folder / "empty.json").write_text("")
    (folder / "loop").symlink_to(folder)
    done = gait("import", folder, "-o", tmp_path / "run")
    assert done.returncode == 0
    said = " ".join(done.stdout.partition("Skipped\n")[2].split())
    unknown = "its first bytes are of no trace that gait knows"
    assert said == f"empty.json is empty notes.txt: {unknown}"
    done = gait("import", folder / "notes.txt", folder / "empty.json", "-o", tmp_path / "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"gait: skipped: notes.txt: {unknown}",
        "gait: skipped: empty.json is empty",
        "gait import: none of 2 files could be read",
    ]
    info = json.loads(gait("info", tmp_path / "run", "--json").stdout)
    assert sorted(shard["rank"] for shard in info["shards"]) == [0, 1]


@pytest.mark.parametrize("text", ["", "{}", "[]", "words", '{"a": 1}', "{", "\x1f\x8b broken"])
def test_what_is_no_trace_is_refused_in_a_sentence(gait, tmp_path, text):
    (tmp_path / "no.json").write_bytes(text.encode("latin-1"))
    done = gait("import", tmp_path / "no.json", "-o", tmp_path / "run")
    assert done.returncode == 2 and "no.json" in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("run*"))


def test_nothing_is_written_over(gait, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([span("s", 1, 2)]))
    assert gait("import", tmp_path / "a.json", "-o", tmp_path / "run").returncode == 0
    done = gait("import", tmp_path / "a.json", "-o", tmp_path / "run")
    assert done.returncode == 2 and "is there already" in done.stderr


def test_what_names_processes_comes_back_however_often_it_stands(gait, tmp_path):
    named = [
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": tid, "args": {"name": "x" * 100}}
        for tid in range(30_000)  # 5 MB
    ]
    same(gait, tmp_path, [span("s", 1, 2), *named, *named[:3] * 10_000])


def test_names_that_a_shard_says_stand_often_take_a_gibibyte_at_most(build, tmp_path):
    long = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x" * 2**20}}
    told = {"trace_names": [long, {**long, "pid": 2}], "trace_name_counts": [2**32 - 1] * 2}
    made = ShardMaker(source="a.json", **{"import": {"reader": "chrome"}}, **told)
    track = made.track(key="1", os_id=1)
    made.rows("span", track, [(made.start_ns, 1, 1)])
    made.write(tmp_path / "run")
    line = [build / "gait", "export", "--format", "chrome", "-o", "-", tmp_path / "run"]
    got, tail = 0, b""
    with subprocess.Popen(line, stdout=subprocess.PIPE) as running:
        while (part := running.stdout.read(2**20)) and got < 2**31:
            got, tail = got + len(part), tail[-(2**21) :] + part
        running.kill()
    assert 2**30 < got < 2**30 + 2**22
    assert b'"pid": 2' in tail and tail.endswith(b"\n]}\n")


def test_a_broken_name_takes_no_other_away(gait, tmp_path):
    names = [
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "loader"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 9, "args": {"name": "a\nb"}},
    ]
    text = json.dumps([span("s", 1, 2), *names]).replace("\\n", "\n")
    (tmp_path / "n.json").write_text(text)
    told, back, _ = imported(gait, tmp_path, tmp_path / "n.json")
    assert [event for event in back["traceEvents"] if event["ph"] == "M"] == names[:1]
    assert told["files"][0]["repairs"] == {"control_characters": 1, "skipped_events": 1}


def edge(ph, name, ts, **more):
    return {"ph": ph, "name": name, "cat": "c", "pid": 7, "tid": 8, "ts": ts, **more}


def durations(gait, path):
    return {row["name"]: int(row["duration_ns"]) // 1000 for row in csv_rows(gait, path)}


def test_a_trace_of_begins_alone_is_one(gait, tmp_path):
    trace = [edge("B", "a", 1, args={"k": 1}), edge("B", "b", 5), edge("B", "c", 9)]
    told = same(gait, tmp_path, trace)
    assert told["files"][0]["repairs"] == {"unfinished": 3}
    assert durations(gait, tmp_path / "x.gait") == {"a": 8, "b": 4, "c": 0}
    answer = gait("import", tmp_path / "made.json", "-o", tmp_path / "run").stdout
    assert "begins without an end, which last as long as what they are in: 3" in answer


def test_what_has_no_end_lasts_as_long_as_what_holds_it(gait, tmp_path):
    trace = [
        span("whole", 0, 50),
        edge("B", "step", 10),
        edge("B", "lost", 12),
        edge("E", "step", 20),  # not of the newest begin, but of the one that it names
        edge("B", "open", 30),
        span("call", 31, 2),
        edge("B", "last", 60),
        span("other", 0, 100, tid=9),
    ]
    told = same(gait, tmp_path, trace)
    assert told["files"][0]["repairs"] == {"unfinished": 3}
    assert durations(gait, tmp_path / "x.gait") == {
        **{"whole": 50, "step": 10, "lost": 8, "open": 20, "call": 2, "last": 40, "other": 100},
    }


def test_an_end_takes_the_newest_begin_where_none_has_its_name(gait, tmp_path):
    trace = [edge("B", "a", 1), edge("B", "b", 2), edge("E", "", 3), edge("E", "c", 9)]
    (tmp_path / "e.json").write_text(json.dumps(trace))
    told, _, shard = imported(gait, tmp_path, tmp_path / "e.json")
    assert told["files"][0]["repairs"] == {}
    assert durations(gait, shard) == {"a": 8, "b": 1}


def test_what_an_end_says_is_said_of_its_span(gait, tmp_path):
    at = {"pid": 7, "tid": 8, "cat": "c"}
    trace = [
        {"ph": "B", "ts": 1, "tts": 4, "args": {"a": 1, "both": 2}, **at},
        {"ph": "B", "ts": 2, "name": "empty", "args": {}, **at},
        {"ph": "E", "ts": 3, "args": {"late": "x"}, **at},
        {"ph": "E", "ts": 9, "tts": 6, "name": "n", "args": {"both": 3, "b": [4]}, **at},
        {"ph": "E", "ts": 10, "name": "alone", "args": {"kept": 5}, **at},
    ]
    (tmp_path / "e.json").write_text(json.dumps(trace))
    told, back, _ = imported(gait, tmp_path, tmp_path / "e.json")
    assert told["files"][0]["repairs"] == {"unpaired": 1}
    assert events_of(back) == events_of([
        {"ph": "B", "ts": 1, "tts": 4, "name": "n", "args": {"a": 1, "both": 3, "b": [4]}, **at},
        {"ph": "B", "ts": 2, "name": "empty", "args": {"late": "x"}, **at},
        {"ph": "E", "ts": 3, "name": "empty", **at},
        {"ph": "E", "ts": 9, "tts": 6, "name": "n", **at},
        trace[-1],
    ])  # fmt: skip


def test_times_with_an_exponent_are_exact(gait, tmp_path):
    events = [f'{{"ph":"X","name":"n{i}","ts":1.00{i}2e6,"dur":{i}E-3}}' for i in range(1, 9)]
    (tmp_path / "e.json").write_text(f"[{','.join(events)}]")
    told, back, _ = imported(gait, tmp_path, tmp_path / "e.json")
    assert told["files"][0]["repairs"] == {}
    assert [(event["ts"], event["dur"]) for event in back["traceEvents"]] == [
        (1_000_200 + 1000 * i, i / 1000) for i in range(1, 9)
    ]


@pytest.mark.parametrize("end", [",{}]", ", {\n}\n]", ",{},]", ",{}", ","])
@pytest.mark.parametrize("head", ['{"traceEvents":', ""])
def test_an_empty_object_closes_a_list(gait, tmp_path, head, end):
    text = head + "[" + json.dumps(span("a", 1, 1)) + end + "}" * (head != "" and "]" in end)
    (tmp_path / "e.json").write_text(text)
    told, back, _ = imported(gait, tmp_path, tmp_path / "e.json")
    assert told["files"][0]["repairs"] == ({} if "]" in end else {"truncated": 1})
    assert [event["name"] for event in back["traceEvents"]] == ["a"]


@pytest.mark.parametrize("between", ["\n", "\r\n", "", ",\n"])
def test_a_line_for_each_event_is_a_trace(gait, tmp_path, between):
    trace = [span(f"s{i}", i, 1, args={"n": i, "t": f"}} {{ {i}"}) for i in range(15_000)]
    trace[7] = {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}}
    (tmp_path / "l.json").write_text(between.join(map(json.dumps, trace)) + between)
    told, back, _ = imported(gait, tmp_path, tmp_path / "l.json")
    assert told["files"][0]["repairs"] == {}
    assert events_of(back) == events_of(trace)


def test_a_line_that_is_cut_or_no_event_takes_no_other_away(gait, tmp_path):
    lines = [
        {"tool": "x", "version": 3},
        span("a", 1, 1),
        {"odd": 1},
        span("b", 2, 1),
        span("c", 3, 1),
    ]
    (tmp_path / "l.json").write_text("\n".join(map(json.dumps, lines))[:-9])
    told, back, _ = imported(gait, tmp_path, tmp_path / "l.json")
    assert told["files"][0]["repairs"] == {"skipped_events": 2, "truncated": 1}
    assert [event["name"] for event in back["traceEvents"]] == ["a", "b"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_trace_in_utf_16_or_32_is_read(gait, tmp_path, code, mark, pack):
    trace = [span(f"s{i} \u00e9\u6f22\U0001f600", i, 1, args={"n": i}) for i in range(40_000)]
    text = mark + json.dumps(trace, ensure_ascii=False)
    (tmp_path / "w.json").write_bytes(pack(text.encode(code)))
    told, back, _ = imported(gait, tmp_path, tmp_path / "w.json")
    assert told["files"][0]["repairs"] == {}
    assert events_of(back) == events_of(trace)


def test_half_a_pair_in_utf_16_is_repaired(gait, tmp_path):
    text = "\ufeff" + json.dumps([span("a", 1, 1), span("b-c", 2, 1)])
    data = text.encode("utf-16-le").replace(b"-\0", b"\x3d\xd8") + b"x"
    (tmp_path / "w.json").write_bytes(data)
    told, back, _ = imported(gait, tmp_path, tmp_path / "w.json")
    assert told["files"][0]["repairs"] == {"bad_utf8": 2, "trailing_bytes": 3}
    assert [event["name"] for event in back["traceEvents"]] == ["a", "b\ufffdc"]


def test_what_is_no_character_of_utf_32_is_repaired(gait, tmp_path):
    data = json.dumps([span("a-b+c", 1, 1)]).encode("utf-32-le")
    data = data.replace(b"-\0\0\0", b"\0\xd8\0\0").replace(b"+\0\0\0", b"\xff\xff\xff\x7f")
    (tmp_path / "w.json").write_bytes(data + b"x")
    told, back, _ = imported(gait, tmp_path, tmp_path / "w.json")
    assert told["files"][0]["repairs"] == {"bad_utf8": 3, "trailing_bytes": 3}
    assert [event["name"] for event in back["traceEvents"]] == ["a\ufffdb\ufffdc"]


def test_ranks_that_are_missing_or_here_twice_are_said(gait, tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for name, rank in {"a": 0, "b": 1, "c": 1}.items():
        facts = {
            "distributedInfo": {"rank": rank, "world_size": 8},
            "traceEvents": [span("s", 1, 2)],
        }
        (folder / f"{name}.json").write_text(json.dumps(facts))
    told = gait("info", "--no-cache", folder).stdout
    assert "Ranks  2 of 8 are here" in told
    assert 'rank 1 is said by "b.json" and by "c.json"' in told


@pytest.mark.parametrize("command", ["info", "report"])
def test_of_many_files_with_one_rank_few_are_named(gait, tmp_path, command):
    (tmp_path / "traces").mkdir()
    facts = {"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [span("s", 1, 2)]}
    for number in range(10):
        (tmp_path / "traces" / f"w{number}.json").write_text(json.dumps(facts))
    told = gait(command, "--no-cache", tmp_path / "traces").stdout
    assert told.count("rank 0 is said by ") == 4
    assert "5 more say a rank that another says\n" in told


LIKE = {"distributedInfo": {"backend": "nccl", "world_size": 2}, "cuda_runtime_version": 12040}
UNLIKE = {
    'the world size is 2 in "a.json" and 4 in "b.json"': {
        "distributedInfo": {"backend": "nccl", "world_size": 4}
    },
    'the backend is "nccl" in "a.json" and "gloo" in "b.json"': {
        "distributedInfo": {"backend": "gloo", "world_size": 2}
    },
    'the device is "H100" in "a.json" and "MI300X" in "b.json"': {
        "deviceProperties": [{"id": 0, "name": "MI300X"}]
    },
    'CUDA\'s version is 12040 in "a.json" and 12060 in "b.json"': {"cuda_runtime_version": 12060},
    "": {"deviceProperties": [{"id": 0, "name": "H100", "totalGlobalMem": 7}], "more": 1},
}


@pytest.mark.parametrize("words", UNLIKE)
@pytest.mark.parametrize("command", ["info", "report"])
def test_traces_of_different_runs_are_told(gait, tmp_path, words, command):
    (tmp_path / "traces").mkdir()
    devices = {"deviceProperties": [{"id": 0, "name": "H100", "totalGlobalMem": 5}]}
    for rank, (name, facts) in enumerate({"a": {}, "b": UNLIKE[words]}.items()):
        facts = {**devices, **LIKE, **facts, "traceEvents": [span("s", 1, 2)]}
        facts["distributedInfo"] = {"rank": rank, **facts["distributedInfo"]}
        (tmp_path / "traces" / f"{name}.json").write_text(json.dumps(facts))
    told = " ".join(gait(command, "--no-cache", tmp_path / "traces").stdout.split())
    if words:
        assert f"look like different runs, and are judged as one: {words}" in told
    else:
        assert "different runs" not in told


def test_a_name_that_packs_too_well_is_still_read(gait, tmp_path):
    """5 MB of one letter became 500 bytes, which no reader of shards believes."""
    trace = tmp_path / "huge.json"
    spans = [
        {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 2}
        for name in ("a" * 5000000, "b")
    ]
    trace.write_text(
        json.dumps({"deviceProperties": [{"name": "x" * 40}] * 200000, "traceEvents": spans})
    )
    info = json.loads(gait("info", "--json", trace).stdout)
    assert (info["events"], info["damage"]) == (2, [])
