# SPDX-License-Identifier: Apache-2.0
"""A run with one of everything, and what its CSV rows must be."""

import csv
import io
import random
import re

from shard_maker import ShardMaker

HEADER = "kind,category,name,rank,pid,tid,start_ns,duration_ns,id,value,args".split(",")
START = 1_700_000_000_123_456_789

HOSTILE = [
    b"",
    b"plain",
    b'say "hi", \\ back',
    b"line\nbreak\r\nand\ttab",
    bytes(range(1, 32)) + b"\x7f",
    "caf\u00e9 \U0001f525 \u2028\u2029 \ufeff".encode(),
    b"bad \xff\xfe \xc3( \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98 end",
    b"=1+1",
    b"</script><!--",
    b"comma, only",
    b"return\ronly",
    b" spaces ",
    b"n" * 100_000,
    b"\xff" * 5_000,
]


def repaired(text):
    """What gait promises outside .gait: U+FFFD for each ill-formed run."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


SHOWN = "\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"


def in_csv(text):
    """docs/EXPORTS.md: what a terminal obeys is shown, a formula gets an apostrophe."""

    def show(found):
        code = ord(found[0])
        return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:04x}}}"

    shown = re.sub(f"[{SHOWN}]", show, text)
    is_number = re.fullmatch(r"[-+][0-9.eE+-]*", text)
    return "'" + shown if text[:1] in tuple("=+-@\t\r") and not is_number else shown


def row(kind, shard, tid, start, **cells):
    """A CSV row as a dictionary; what is not named is empty."""
    cells = {key: repaired(value) for key, value in cells.items()}
    rank = shard.meta.get("rank", "")
    out = dict.fromkeys(HEADER, "")
    out.update(kind=kind, rank=rank, pid=shard.pid, tid=tid, start_ns=start, **cells)
    return {key: in_csv(str(value)) for key, value in out.items()}


def read_csv(text):
    """The rows of an export, parsed by Python's csv module; the header is checked."""
    csv.field_size_limit(1 << 30)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows[0] == HEADER
    assert {len(cells) for cells in rows} == {len(HEADER)}
    return [dict(zip(HEADER, cells, strict=True)) for cells in rows[1:]]


def in_order(rows):
    return sorted(rows, key=lambda r: sorted(r.items()))


class Case:
    """A run directory in the making, with the rows it must give."""

    def __init__(self, directory):
        self.directory, self.expected, self.shards = directory, [], []

    def shard(self, **about):
        self.shards.append(ShardMaker(start_ns=START, **about))
        return self.shards[-1]

    def spans(self, shard, track, tid, spans):
        """Rows of (start, duration, category, name[, depth])."""
        spans = sorted(spans, key=lambda s: (s[0], s[4] if len(s) > 4 else 0))
        shard.spans(track, [(s[0], s[1], shard.site(s[2], s[3]), *s[4:]) for s in spans])
        for start, duration, category, name, *_ in spans:
            cells = {"category": category, "name": name, "duration_ns": duration}
            self.expected.append(row("span", shard, tid, start, **cells))

    def write(self):
        for shard in self.shards:
            shard.write(self.directory)
        return self.directory


def nested_spans(start, count, rng):
    """Nested spans like a program's: children within parents, some of no length."""
    spans = []
    for i in range(count):
        begin = start + i * 1000
        length = rng.choice([0, 1, 500, 999, 1000])
        name = HOSTILE[i % len(HOSTILE)] if i % 7 == 0 else f"op {i % 10}"
        spans.append((begin, length, "outer", name, 0))
        if length >= 500:
            spans.append((begin, length, "same stamps", "child", 1))
            spans.append((begin + 10, 100, "inner", "first", 2))
            spans.append((begin + 110, 0, "inner", "none", 2))
            spans.append((begin + 110, length - 110, "inner", "second", 2))
            spans.append((begin + length, 0, "inner", "at the end", 2))
    return spans


def add_instants(case, shard, track, tid):
    site = shard.site("mark", "here, there")
    args = [("int", -(2**63)), ("big", 2**63 - 1), ("real", 0.1), ("whole", 3.0)]
    args += [('k"ey', 'v"alue\n\x00end'), ("raw", "raw", "123456789012345678901234567890")]
    args += [("nan", float("nan")), ("bad", b"\xff")]
    shard.rows("mark", track, [(START + 5, site, shard.args(args))])
    text = (
        '{"int":-9223372036854775808,"big":9223372036854775807,"real":0.10000000000000001,'
        '"whole":3.0,"k\\"ey":"v\\"alue\\n\\u0000end","raw":123456789012345678901234567890,'
        '"nan":"nan","bad":"\ufffd"}'
    )
    cells = {"category": "mark", "name": "here, there", "args": text}
    case.expected.append(row("mark", shard, tid, START + 5, **cells))

    shard.rows("log", track, [(START + 6, 2, b'a "log",\nof two lines')])
    log = row("log", shard, tid, START + 6, name='a "log",\nof two lines', value=2)
    case.expected.append(log)

    stack_site = shard.site("frame", "leaf")
    shard.rows("stack", 0, [(1, 0, stack_site, 12)])
    shard.rows("sample", track, [(START + 7, 1, 3, 1)])
    sample = row("sample", shard, tid, START + 7, category="frame", name="leaf", value=3)
    case.expected.append(sample)

    tensor = shard.site("memory", "tensor")
    shard.rows("memory", track, [(START + 8, 1, 2**63, -512, 1024, tensor)])
    cells = {"category": "memory", "name": "tensor", "id": 2**63, "value": -512}
    cells["args"] = '{"total":1024}'
    case.expected.append(row("memory", shard, tid, START + 8, **cells))


def add_numbered(case, shard, track, tid):
    shard.rows("step", track, [(START + i * 10_000, 9_500, i) for i in range(3)])
    for i in range(3):
        cells = {"duration_ns": 9_500, "id": i}
        case.expected.append(row("step", shard, tid, START + i * 10_000, **cells))
    shard.rows("drop", track, [(START + 100, 50, 7, shard.string("ring full"))])
    cells = {"name": "ring full", "duration_ns": 50, "id": 7}
    case.expected.append(row("drop", shard, tid, START + 100, **cells))


def add_counters(case, shard, track, tid):
    loss, count = shard.site("metric", "loss"), shard.site("metric", "count")
    reals = [0.1, -1e300, float("inf"), 2.0]
    ints = [-(2**63), 0, 2**63 - 1]
    shard.rows("counter_real", track, [(START + 20 + i, loss, v) for i, v in enumerate(reals)])
    shard.rows("counter", track, [(START + 30 + i, count, v) for i, v in enumerate(ints)])
    for i, text in enumerate(["0.10000000000000001", "-1.0000000000000001e+300", "inf", "2.0"]):
        cells = {"category": "metric", "name": "loss", "value": text}
        case.expected.append(row("counter", shard, tid, START + 20 + i, **cells))
    for i, value in enumerate(ints):
        cells = {"category": "metric", "name": "count", "value": value}
        case.expected.append(row("counter", shard, tid, START + 30 + i, **cells))


def add_joined(case, shard, track, other, tids):
    """Async spans that overlap, one begun here and ended there, one left open; a flow."""
    load = shard.site("io", "load")
    begins = [(START + i * 3, load, 2**64 - 1 - i, 0) for i in range(20)]
    ends = [(START + 40 + i * 5, load, 2**64 - 1 - i, 1) for i in range(19)]
    shard.rows("async", track, begins)
    shard.rows("async", other, ends)
    for i in range(20):
        cells = {"category": "io", "name": "load", "id": 2**64 - 1 - i}
        cells["duration_ns"] = 40 + i * 5 - i * 3 if i < 19 else ""
        case.expected.append(row("async", shard, tids[0], START + i * 3, **cells))
    flow = shard.site("flow", "batch")
    points = [(track, tids[0], 50, 0), (other, tids[1], 60, 1), (other, tids[1], 70, 2)]
    for (where, tid, at, phase), word in zip(points, ["begin", "step", "end"], strict=True):
        shard.rows("flow", where, [(START + at, flow, 5, phase)])
        cells = {"category": "flow", "name": "batch", "id": 5, "args": f'{{"phase":"{word}"}}'}
        case.expected.append(row("flow", shard, tid, START + at, **cells))


def add_open(case, shard, track, tid):
    outer, inner = shard.site("open", "outer"), shard.site("open", "inner")
    late = START + 900_000_000
    rows = [(track, late, outer, 0), (track, late + 5, inner, 1, 0, 0, shard.args([("k", 1)]))]
    shard.rows("open", 0, rows)
    shard.rows("commit", 0, [(track,)])
    case.expected.append(row("span", shard, tid, late, category="open", name="outer"))
    cells = {"category": "open", "name": "inner", "args": '{"k":1}'}
    case.expected.append(row("span", shard, tid, late + 5, **cells))


def everything(directory):
    """Two ranks on two hosts that share a process number; streams; all kinds."""
    case, rng = Case(directory), random.Random(7)
    one = case.shard(host="node0", pid=4711, rank=0)
    two = case.shard(host="node1", pid=4711, rank=1)
    main = one.track(key="4711", name='main "thread"', os_id=4711)
    loader = one.track(key="4712", name="", os_id=4712)
    stream = one.track(kind=2, key="stream 7")
    other = two.track(key="4711", name=b"bad \xff name", os_id=4711)
    case.spans(one, main, 4711, nested_spans(START, 60, rng))
    case.spans(one, loader, 4712, nested_spans(START + 3, 30, rng))
    case.spans(two, other, 4711, nested_spans(START + 1, 40, rng))
    # on a stream, kernels run side by side
    overlapping = [(START + i * 10, rng.randrange(0, 80), "kernel", f"k{i % 3}") for i in range(99)]
    case.spans(one, stream, "stream 7", overlapping)
    add_instants(case, one, main, 4711)
    add_numbered(case, one, main, 4711)
    add_counters(case, one, main, 4711)
    add_counters(case, one, stream, "stream 7")
    add_joined(case, one, main, loader, (4711, 4712))
    add_open(case, two, other, 4711)
    case.write()
    return case


LABELS = {
    ("0", "4711"): 'main "thread"',
    ("0", "4712"): "thread 4712",
    ("0", "stream 7"): "stream stream 7",
    ("1", "4711"): "bad \ufffd name",
}


def spans_of(rows):
    """(rank, track's label, category, name, start, duration) of every span of a CSV export."""
    return sorted(
        (r["rank"], LABELS[r["rank"], r["tid"]], r["category"], r["name"], int(r["start_ns"]),
         int(r["duration_ns"] or -1))
        for r in rows
        if r["kind"] == "span"
    )  # fmt: skip


def assert_nothing_crosses(spans):
    """On one lane, of (start, end) each: apart, or one within the other."""
    around = []
    for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while around and around[-1] <= start:
            around.pop()
        assert not around or end <= around[-1], (start, end, around[-1])
        around.append(end)
