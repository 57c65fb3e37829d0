# SPDX-License-Identifier: Apache-2.0
"""Writes shards from docs/FORMAT.md alone, for tests that need odd input.

shard = ShardMaker(host="node0", pid=4711, rank=3)
thread = shard.track(key="4711", name="main", os_id=4711)
shard.spans(thread, [(start_ns, duration_ns, shard.site("cat", "name"))])
shard.write(run_directory)

Texts may be str or bytes that are no UTF-8. Times are ns since the epoch
(clock 0). Columns are stored plainly: this is no model of a good writer.
"""

import array
import json
import struct

import xxhash

MAGIC = b"\x89GAIT\r\n\x1a"
MASK = (1 << 64) - 1
MAX_ROWS = 1 << 20
MAX_PAYLOAD = 12 << 20  # below the format's limit, for directory and lengths
TABLES = {
    "schema": (0, "table uint, name bytes, index uint, column bytes, type bytes"),
    "meta": (1, "key bytes, value json"),
    "string": (2, "id uint, text bytes"),
    "site": (3, "id uint, category string, name string, file string, line uint"),
    "track": (
        4,
        "id uint, kind uint, key bytes, name bytes, clock uint, parent track, os_id int,"
        " internal uint",
    ),
    "clock": (5, "clock uint, tick time, raw_ns int, real_ns int, error_ns uint"),
    "span": (6, "start time, duration ticks, site site, depth uint, args args"),
    "mark": (7, "start time, site site, args args"),
    "counter": (8, "start time, site site, value int"),
    "counter_real": (9, "start time, site site, value real"),
    "async": (10, "start time, site site, id uint, phase uint, args args"),
    "flow": (11, "start time, site site, id uint, phase uint"),
    "step": (12, "start time, duration ticks, number uint"),
    "drop": (13, "start time, duration ticks, events uint, reason string"),
    "open": (
        14,
        "track track, start time, site site, depth uint, number uint, is_step uint, args args",
    ),
    "commit": (15, "track track, position uint, lost uint, begun uint"),
    "cost": (16, "start time, cpu_ns uint, bytes uint"),
    "stack": (17, "id uint, parent stack, site site, line uint"),
    "sample": (18, "start time, stack stack, weight int, state uint"),
    "memory": (19, "start time, kind uint, address uint, bytes int, total int, site site"),
    "log": (20, "start time, level uint, text bytes"),
    "index": (
        21,
        "offset uint, stored_bytes uint, table uint, track track, rows uint, events uint,"
        " first time, last time",
    ),
}
BYTES_TYPES = ("bytes", "json", "args")
ALL_EVENTS = ("span", "mark", "counter", "counter_real", "flow", "step", "sample", "memory", "log")


def columns_of(table):
    return [tuple(column.split()) for column in TABLES[table][1].split(", ")]


def as_bytes(text):
    return text.encode() if isinstance(text, str) else bytes(text)


def uleb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def quad(values):
    """The quad packing: how long the rests are, the low bytes, the rests."""
    control = bytearray((len(values) + 3) // 4)
    rests = bytearray()
    for i, value in enumerate(values):
        rest = value >> 8
        code = 0 if not rest else 1 if rest < 1 << 8 else 2 if rest < 1 << 16 else 3
        control[i // 4] |= code << (i % 4 * 2)
        rests += rest.to_bytes((0, 1, 2, 7)[code], "little")
    return bytes(control) + bytes(value & 0xFF for value in values) + bytes(rests)


class ShardMaker:
    def __init__(self, host="node0", pid=1000, start_ns=1_700_000_000_000_000_000, **meta):
        self.meta = {"format_version": 1, "host": host, "pid": pid, "start_ns": start_ns}
        self.meta.update({"role": "program", "run_id": "0" * 32, "program": "maker"})
        self.meta.update(meta)
        self.host, self.pid, self.start_ns = host, pid, start_ns
        self.strings, self.sites, self.tracks, self.frames = {}, {}, [], []

    def string(self, text):
        """The id of a text; the empty one is 0."""
        text = as_bytes(text)
        return self.strings.setdefault(text, len(self.strings) + 1) if text else 0

    def site(self, category, name, file="", line=0):
        key = (self.string(category), self.string(name), self.string(file), line)
        return self.sites.setdefault(key, len(self.sites) + 1)

    def track(self, kind=1, key="", name="", clock=0, parent=0, os_id=0, internal=0):
        self.tracks.append((kind, as_bytes(key), as_bytes(name), clock, parent, os_id, internal))
        return len(self.tracks)

    def args(self, items):
        """The args column of (key, value) pairs; a raw number comes as (key, "raw", text)."""
        out = bytearray()
        for key, *value in items:
            out += uleb(self.string(key))
            if value[0] == "raw" and len(value) == 2:
                text = as_bytes(value[1])
                out += b"\x04" + uleb(len(text)) + text
            elif isinstance(value[0], float):
                out += b"\x02" + struct.pack("<d", value[0])
            elif isinstance(value[0], int):
                out += b"\x01" + uleb(value[0] << 1 if value[0] >= 0 else ~(value[0] << 1))
            else:
                text = as_bytes(value[0])
                out += b"\x03" + uleb(len(text)) + text
        return bytes(out)

    def spans(self, track, rows):
        """Rows of (start, duration, site[, depth[, args]])."""
        self.rows("span", track, rows)

    def rows(self, table, track, rows):
        """Rows in column order; what is left out at their ends is 0 or empty."""
        width = len(columns_of(table))
        fillers = [b"" if kind in BYTES_TYPES else 0 for _, kind in columns_of(table)]
        full = [(*row, *fillers[len(row) : width]) for row in rows]
        for part in self.parts(table, full):
            self.frames.append((table, track, part))

    @staticmethod
    def parts(table, rows):
        """Cuts rows so that no frame outgrows its limits."""
        kinds = columns_of(table)
        part, size = [], 0
        for row in rows:
            row_size = sum(
                len(cell) + 9 if kind in BYTES_TYPES else 8
                for (_, kind), cell in zip(kinds, row, strict=True)
            )
            if part and (size + row_size > MAX_PAYLOAD or len(part) == MAX_ROWS):
                yield part
                part, size = [], 0
            part.append(row)
            size += row_size
        if part:
            yield part

    def bytes(self, complete=True):
        """The shard as it stands in its file."""
        out, index = bytearray(), []
        for table, track, rows in self.dictionaries() + self.frames:
            add_frame(out, index, table, track, rows)
        if complete:
            offset = len(out)
            add_frame(out, index, "index", 0, list(index))
            out += trailer(offset, len(index))
        return bytes(out)

    def dictionaries(self):
        schema = [
            (number, as_bytes(table), i, as_bytes(column), as_bytes(kind))
            for table, (number, _) in TABLES.items()
            for i, (column, kind) in enumerate(columns_of(table))
        ]
        meta = [(as_bytes(k), v if isinstance(v, bytes) else as_bytes(json.dumps(v)))
                for k, v in self.meta.items()]  # fmt: skip
        strings = [(number, text) for text, number in self.strings.items()]
        sites = [(number, *key) for key, number in self.sites.items()]
        tracks = [(i + 1, *track) for i, track in enumerate(self.tracks)]
        tables = [("schema", schema), ("meta", meta), ("string", strings), ("site", sites)]
        tables.append(("track", tracks))
        return [(t, 0, part) for t, rows in tables for part in self.parts(t, rows)]

    def write(self, directory, complete=True):
        """Writes the shard into a run directory, under the name it would have."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.host}-{self.pid}-{self.start_ns}.gait"
        path.write_bytes(self.bytes(complete))
        return path


def column_blob(kind, cells):
    if kind in BYTES_TYPES:
        lengths = quad([len(cell) for cell in cells])
        return 2, struct.pack("<I", len(lengths)) + lengths + b"".join(cells)
    if kind == "real":
        return 1, array.array("d", cells).tobytes()
    return 1, array.array("Q", [cell & MASK for cell in cells]).tobytes()


def count_events(table, rows):
    if table == "async":
        return sum(1 for row in rows if row[3] == 0)
    return len(rows) if table in ALL_EVENTS else 0


def time_range(table, rows):
    names = [name for name, _ in columns_of(table)]
    if "start" not in names:
        return 0, 0
    start = names.index("start")
    length = names.index("duration") if "duration" in names else None
    ends = [row[start] + (row[length] if length is not None else 0) for row in rows]
    return min(row[start] for row in rows) & MASK, min(max(ends), MASK) & MASK


def trailer(offset, frames):
    """The end of a file whose index frame stands at that offset, behind so many others."""
    told = b"GAITEND\n" + struct.pack("<QQI", offset, frames, 0)
    return told + struct.pack("<I", xxhash.xxh3_64_intdigest(told) & 0xFFFFFFFF)


def add_frame(out, index, table, track, rows):
    number, _ = TABLES[table]
    directory, blobs = bytearray(), bytearray()
    for i, (_, kind) in enumerate(columns_of(table)):
        packing, blob = column_blob(kind, [row[i] for row in rows])
        directory += struct.pack("<HBBB3xII", i, 0, packing, 0, len(blob), len(blob))
        blobs += blob
    payload = struct.pack("<II", len(directory) // 16, 0) + directory + blobs
    payload += bytes(-len(payload) % 8)
    first, last = time_range(table, rows)
    events = count_events(table, rows)
    header = MAGIC + struct.pack("<HHIIIQQQQI", 1, number, len(rows), len(payload), track,
        len(index), first, last, xxhash.xxh3_64_intdigest(payload), events)  # fmt: skip
    header += struct.pack("<I", xxhash.xxh3_64_intdigest(header) & 0xFFFFFFFF)
    index.append((len(out), len(payload), number, track, len(rows), events, first, last))
    out += header + payload
