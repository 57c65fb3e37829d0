# SPDX-License-Identifier: Apache-2.0
"""A second, plain decoder of gait shards, written from docs/FORMAT.md alone.

It shares nothing with the C reader, is slow, keeps everything in memory and
prefers to be read: each part names the section it follows. Tests compare the
two. `Shard(bytes)` holds frames, damage, tables and dictionaries; what events
they make is gait_events.py's.
"""

import json
import struct

import xxhash
import zstandard

MAGIC = b"\x89GAIT\r\n\x1a"
TRAILER_MAGIC = b"GAITEND\n"
HEADER = struct.Struct("<8sHHIIIQQQQII")
TRAILER = struct.Struct("<8sQQII")
ENTRY = struct.Struct("<HBBB3sII")
MAX_ROWS = 1 << 20
MAX_PAYLOAD = 16 << 20
MAX_RAW = 64 << 20
MAX_COLUMNS = 32
MASK = (1 << 64) - 1

# Columns that a shard made from a foreign trace has at the end of some tables.
FOREIGN = (
    ", link uint, op uint, bytes int, v1 int, v2 int, v3 int, v4 int, v5 int, v6 int, form uint"
)
BLANKS = "link op bytes v1 v2 v3 v4 v5 v6".split()

# Section 4: what every version knows without being told.
TABLES = {
    0: "schema: table uint, name bytes, index uint, column bytes, type bytes",
    1: "meta: key bytes, value json",
    2: "string: id uint, text bytes",
    3: "site: id uint, category string, name string, file string, line uint",
    4: "track: id uint, kind uint, key bytes, name bytes, clock uint, parent track,"
    " os_id int, internal uint",
    5: "clock: clock uint, tick time, raw_ns int, real_ns int, error_ns uint",
    6: "span: start time, duration ticks, site site, depth uint, args args" + FOREIGN,
    7: "mark: start time, site site, args args" + FOREIGN,
    8: "counter: start time, site site, value int" + FOREIGN,
    9: "counter_real: start time, site site, value real" + FOREIGN,
    10: "async: start time, site site, id uint, phase uint, args args" + FOREIGN,
    11: "flow: start time, site site, id uint, phase uint" + FOREIGN,
    12: "step: start time, duration ticks, number uint",
    13: "drop: start time, duration ticks, events uint, reason string",
    14: "open: track track, start time, site site, depth uint, number uint, is_step uint,"
    " args args",
    15: "commit: track track, position uint, lost uint, begun uint",
    16: "cost: start time, cpu_ns uint, bytes uint",
    17: "stack: id uint, parent stack, site site, line uint",
    18: "sample: start time, stack stack, weight int, state uint",
    19: "memory: start time, kind uint, address uint, bytes int, total int, site site",
    20: "log: start time, level uint, text bytes",
    21: "index: offset uint, stored_bytes uint, table uint, track track, rows uint,"
    " events uint, first time, last time",
    22: "lod: level uint, start time, duration ticks, count uint, busy ticks,"
    " longest ticks, site site, depth uint",
    23: "form: id uint, args args, fields args",
    24: "fact: " + ", ".join(f"n{i} uint" for i in range(28)) + ", t0 bytes, t1 bytes, t2 bytes",
}
NESTED_TABLES = {6: True, 12: False}  # span and step: have they depths?
NUMBER_TYPES = {"uint", "int", "real", "time", "ticks", "string", "site", "track", "stack"}
BYTES_TYPES = {"bytes", "json", "args"}


def parse_schema(line):
    name, columns = line.split(": ")
    return name, [tuple(column.split(" ")) for column in columns.split(", ")]


def own_columns(number):
    """Those that a shard has without being told."""
    columns = KNOWN[number][1]
    return columns[: -len(BLANKS) - 1] if TABLES[number].endswith(FOREIGN) else columns


KNOWN = {number: parse_schema(line) for number, line in TABLES.items()}


class BadBytes(Exception):
    """The bytes are not what FORMAT.md promises."""


def require(condition, what):
    if not condition:
        raise BadBytes(what)


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


# --- section 2: payload ----------------------------------------------------


LONGEST = {0: 7, 5: 4, 6: 3}  # by packing


def decode_quad(blob, rows, longest=7):
    """The values, and how many bytes they took."""
    groups = (rows + 3) // 4
    at = groups + rows
    require(at <= len(blob), "quad: too short")
    values = []
    for row in range(groups * 4):
        code = blob[row // 4] >> 2 * (row % 4) & 3
        if row >= rows:
            require(code == 0, "quad: control bits behind the last value")
            continue
        rest = (0, 1, 2, longest)[code]
        require(at + rest <= len(blob), "quad: too short")
        values.append(blob[groups + row] + 256 * int.from_bytes(blob[at : at + rest], "little"))
        at += rest
    return values, at


def decode_nibbles(blob, rows):
    require(len(blob) == (rows + 1) // 2, "nibble: wrong length")
    values = []
    for byte in blob:
        values += [byte & 15, byte >> 4]
    require(len(values) == rows or values.pop() == 0, "nibble: bits behind the last value")
    return values


def unpack_numbers(packing, blob, rows):
    if packing in LONGEST:
        values, used = decode_quad(blob, rows, LONGEST[packing])
        require(used == len(blob), "quad: bytes behind the last value")
        return values
    if packing == 1:
        require(len(blob) == 8 * rows, "fixed64: wrong length")
        return list(struct.unpack(f"<{rows}Q", blob))
    if packing == 3:
        require(len(blob) == 8, "constant: wrong length")
        return list(struct.unpack("<Q", blob)) * rows
    require(packing == 4, "unknown packing")
    return decode_nibbles(blob, rows)


def unzigzag(value):
    return (value >> 1) ^ (-(value & 1) & MASK)


def undo_transform(transform, values, first):
    """All but the walk of nested columns: of those the gaps or tails."""
    require(transform <= 6, "unknown transform")
    if transform in (1, 2, 5):
        values = [unzigzag(value) for value in values]
    if transform in (2, 3, 4):
        total = first if transform == 4 else 0
        for row, value in enumerate(values):
            total = values[row] = total + value & MASK
    return values


def walk_nest(gaps, tails, depths, first):
    """Starts and durations from gaps and tails."""
    starts, durations = [0] * len(gaps), list(tails)
    inside, now = {}, {}
    for row in reversed(range(len(gaps))):
        depth = depths[row] % 1024
        durations[row] = tails[row] + inside.pop(depth + 1, 0) & MASK
        inside[depth] = inside.get(depth, 0) + gaps[row] + durations[row] & MASK
    for row, gap in enumerate(gaps):
        depth = depths[row] % 1024
        starts[row] = now.get(depth, first) + gap & MASK
        now[depth], now[depth + 1] = starts[row] + durations[row] & MASK, starts[row]
    return starts, durations


def unpack_bytes(blob, rows):
    require(len(blob) >= 4, "bytes: too short")
    quad = u32(blob, 0)
    require(4 + quad <= len(blob), "bytes: too short")
    lengths, used = decode_quad(blob[4 : 4 + quad], rows)
    require(used == quad, "bytes: lengths do not end where they should")
    at = 4 + quad
    values = []
    for length in lengths:
        require(at + length <= len(blob), "bytes: a row ends past the blob")
        values.append(blob[at : at + length])
        at += length
    require(at == len(blob), "bytes: more than the rows")
    return values


def inflate(stored, raw_bytes):
    """One or more zstd frames that state their content size."""
    parts = []
    left = stored
    while left:
        require(left[:4] == b"\x28\xb5\x2f\xfd", "zstd: no frame")
        try:
            size = zstandard.frame_content_size(left)
            require(0 <= size <= raw_bytes, "zstd: content size")
            stream = zstandard.ZstdDecompressor().decompressobj()
            part = stream.decompress(left)
        except zstandard.ZstdError as error:
            raise BadBytes(f"zstd: {error}") from None
        require(stream.eof and len(part) == size, "zstd: content is not what it states")
        parts.append(part)
        left = stream.unused_data
    blob = b"".join(parts)
    require(len(blob) == raw_bytes, "zstd: not raw_bytes in all")
    return blob


class Column:
    """A directory entry and its blob, not decoded yet."""

    def __init__(self, index, transform, packing, compression, raw_bytes, stored):
        self.index, self.transform, self.packing = index, transform, packing
        self.compression, self.raw_bytes, self.stored = compression, raw_bytes, stored

    def check(self, kind, rows):
        """What the directory alone tells about a column of a known type."""
        holds_bytes = kind in BYTES_TYPES
        require(self.transform <= 6 and self.packing <= 6, "unknown encoding")
        require(self.compression <= 1, "unknown encoding")
        require((self.packing == 2) == holds_bytes, "wrong kind of packing")
        require(not holds_bytes or self.transform == 0, "transformed bytes")
        if self.compression == 0:
            require(len(self.stored) == self.raw_bytes, "lengths differ")
        groups = (rows + 3) // 4
        bounds = {
            0: (groups + rows, groups + 8 * rows),
            1: (8 * rows, 8 * rows),
            2: (4 + groups + rows, MAX_RAW),
            3: (8, 8),
            4: ((rows + 1) // 2, (rows + 1) // 2),
            5: (groups + rows, groups + 5 * rows),
            6: (groups + rows, groups + 4 * rows),
        }
        low, high = bounds[self.packing]
        require(low <= self.raw_bytes <= high, "length does not fit the rows")

    @property
    def is_nested(self):
        return self.transform in (5, 6)

    def values(self, kind, rows, first):
        """Of nested columns the gaps or tails."""
        require(kind in NUMBER_TYPES or kind in BYTES_TYPES, "unknown type")
        self.check(kind, rows)
        blob = inflate(self.stored, self.raw_bytes) if self.compression else self.stored
        if self.packing == 2:
            return unpack_bytes(blob, rows)
        numbers = undo_transform(self.transform, unpack_numbers(self.packing, blob, rows), first)
        if kind == "int":
            return [signed(number) for number in numbers]
        if kind == "real":
            return list(struct.unpack(f"<{rows}d", struct.pack(f"<{rows}Q", *numbers)))
        return numbers


def check_nesting(columns, table):
    known = len(own_columns(table)) if table in KNOWN else 0
    nested = {index for index, column in columns.items() if column.is_nested and index < known}
    require(not nested or (table in NESTED_TABLES and nested == {0, 1}), "nested alone")


def read_directory(payload, table, rows):
    count = u32(payload, 0)
    require(count <= MAX_COLUMNS and u32(payload, 4) == 0, "directory: impossible")
    at = 8 + 16 * count
    require(at <= len(payload), "directory: too long")
    columns = {}
    for entry in range(count):
        index, transform, packing, compression, zeros, raw, stored = ENTRY.unpack_from(
            payload, 8 + 16 * entry
        )
        require(index < MAX_COLUMNS and index not in columns, "directory: column twice")
        require(zeros == b"\0\0\0" and raw <= MAX_RAW, "directory: bad entry")
        require(at + stored <= len(payload), "directory: blob past the payload")
        column = Column(index, transform, packing, compression, raw, payload[at : at + stored])
        if table in KNOWN and index < len(own_columns(table)):
            column.check(KNOWN[table][1][index][1], rows)
        columns[index] = column
        at += stored
    raw = sum(column.raw_bytes for column in columns.values())
    require(raw <= (4 << 20) + 1024 * len(payload), "directory: stands for too much")
    check_nesting(columns, table)
    require(len(payload) - at < 8 and not any(payload[at:]), "directory: bytes behind the blobs")
    return columns


# --- section 1: frames -----------------------------------------------------


class Frame:
    """One intact frame."""

    def __init__(self, data, offset):
        require(offset + HEADER.size <= len(data), "header: cut")
        head = data[offset : offset + HEADER.size]
        magic, version, self.table, self.rows, self.stored_bytes, self.track = HEADER.unpack(head)[
            :6
        ]
        self.sequence, self.first, self.last, payload_hash = HEADER.unpack(head)[6:10]
        self.events, header_hash = HEADER.unpack(head)[10:]
        require(magic == MAGIC, "header: magic")
        require(xxhash.xxh3_64_intdigest(head[:60]) & 0xFFFFFFFF == header_hash, "header: hash")
        require(version == 1 and self.rows <= MAX_ROWS, "header: limits")
        require(self.stored_bytes % 8 == 0, "header: limits")
        require(8 <= self.stored_bytes <= MAX_PAYLOAD, "header: limits")
        require(self.rows <= 16384 + 256 * self.stored_bytes, "header: limits")
        require(self.events <= self.rows and self.first <= self.last, "header: limits")
        self.offset, self.end = offset, offset + HEADER.size + self.stored_bytes
        require(self.end <= len(data), "payload: cut")
        payload = data[offset + HEADER.size : self.end]
        require(xxhash.xxh3_64_intdigest(payload) == payload_hash, "payload: hash")
        self.columns = read_directory(payload, self.table, self.rows)


def read_trailer(data, offset):
    """(offset of the last index frame, frames), or None."""
    if len(data) - offset != TRAILER.size:
        return None
    magic, index_offset, frames, zero, short_hash = TRAILER.unpack_from(data, offset)
    expected = xxhash.xxh3_64_intdigest(data[offset : offset + 28]) & 0xFFFFFFFF
    if magic != TRAILER_MAGIC or zero != 0 or short_hash != expected:
        return None
    return index_offset, frames


def frame_at(data, offset, above):
    try:
        frame = Frame(data, offset)
    except BadBytes:
        return None
    return frame if frame.sequence > above else None


def scan(data):
    """(frames, damage, trailer): damage is [(offset, bytes)]."""
    frames, damage, trailer = [], [], None
    at = bad_from = 0
    last = -1
    while at < len(data):
        frame = frame_at(data, at, last)
        if frame is None:
            at = min(at + 8 - at % 8, len(data))
            continue
        if bad_from < frame.offset or frame.sequence != last + 1:
            damage.append((bad_from, frame.offset - bad_from))
        frames.append(frame)
        last = frame.sequence
        at = bad_from = frame.end
    tail = max(bad_from, len(data) - TRAILER.size)
    trailer = read_trailer(data, tail)
    end = tail if trailer else len(data)
    if bad_from < end or not trailer or trailer[1] > last + 1:
        damage.append((bad_from, end - bad_from))
    return frames, damage, trailer


# --- section 3: arguments --------------------------------------------------


def take_uleb(data, at):
    value = 0
    for shift in range(0, 70, 7):
        require(at < len(data), "uleb128: cut")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            require(value <= MASK, "uleb128: more than 64 bits")
            return value, at
    raise BadBytes("uleb128: does not end")


def is_json_number(text):
    try:
        json.loads(text.decode("ascii"), parse_constant=lambda word: require(False, word))
    except (ValueError, BadBytes):
        return False
    return text[:1] in b"-0123456789" and text[-1:] in b"0123456789"


def take_argument(data, at):
    key, at = take_uleb(data, at)
    require(key < 1 << 32 and at < len(data), "argument: key")
    kind, at = data[at], at + 1
    require(1 <= kind <= 11, "argument: unknown kind")
    if kind == 2:
        require(at + 8 <= len(data), "argument: cut")
        return (key, kind, struct.unpack_from("<d", data, at)[0]), at + 8
    number, at = take_uleb(data, at)
    if kind == 1:
        return (key, kind, signed(unzigzag(number))), at
    if kind in (5, 6):
        require(number < 1 << 32, "argument: string id")
        return (key, kind, number), at
    if kind >= 7:
        require(number % 256 < len(BLANKS) and number >> 8 <= 15, "argument: blank")
        return (key, kind, number), at
    require(at + number <= len(data), "argument: cut")
    text = data[at : at + number]
    require(kind == 3 or is_json_number(text), "argument: raw is no number")
    return (key, kind, text), at + number


def decode_args(data):
    """[(key id, kind, value)] up to the first that breaks the rules."""
    items, at = [], 0
    try:
        while at < len(data):
            item, at = take_argument(data, at)
            items.append(item)
    except BadBytes:
        pass
    return items


# --- section 5: clocks -----------------------------------------------------


def usable_anchors(anchors):
    usable = anchors[:1]
    for anchor in anchors[1:]:
        if anchor[0] > usable[-1][0] and anchor[1] > usable[-1][1]:
            usable.append(anchor)
    return usable


class Clock:
    """Anchors are (tick, raw_ns, real_ns) in file order."""

    def __init__(self, anchors, tick_hz):
        usable = usable_anchors(anchors)
        self.kept = usable[:1]
        for anchor in usable[1:]:
            if anchor[1] - self.kept[-1][1] >= 50_000_000 or anchor is usable[-1]:
                self.kept.append(anchor)
        self.shift = anchors[0][2] - anchors[0][1] if anchors else 0
        self.tick_hz = tick_hz if tick_hz > 0 else 1_000_000_000

    def slope(self, first):
        if len(self.kept) == 1:
            return 1_000_000_000, self.tick_hz
        before, after = self.kept[first], self.kept[first + 1]
        return after[1] - before[1], after[0] - before[0]

    def ns(self, tick):
        tick = min(tick, MASK)
        if not self.kept:
            return min(tick, (1 << 63) - 1)
        at = 0
        while at + 1 < len(self.kept) and self.kept[at + 1][0] <= tick:
            at += 1
        rise, run = self.slope(max(0, min(at, len(self.kept) - 2)))
        tick_at, raw_at, _ = self.kept[at]
        result = raw_at + self.shift + (tick - tick_at) * rise // run
        return max(-1 << 63, min(result, (1 << 63) - 1))


# --- sections 4 to 6: a whole shard ----------------------------------------


def c_text(value):
    return value.split(b"\0")[0]


class Shard:
    """What one file says."""

    def __init__(self, data):
        self.frames, self.damage, self.trailer = scan(data)
        # the columns of foreign traces are there only where the schema names them
        self.schemas = {
            number: (name, dict(enumerate(own_columns(number))))
            for number, (name, columns) in KNOWN.items()
        }
        self.meta, self.strings, self.sites = {}, {0: b""}, {}
        self.tracks, self.anchors, self.stacks = {}, {}, {}
        self.forms = {}
        self.data = []  # (frame, {column: values})
        for frame in self.frames:
            columns = self.decode(frame)
            self.data.append((frame, columns))
            self.learn(frame, columns)
        hz = self.meta_number("tick_hz", 0)
        self.clocks = {number: Clock(anchors, hz) for number, anchors in self.anchors.items()}

    @property
    def is_complete(self):
        return self.trailer is not None

    def table_name(self, frame):
        return self.schemas.get(frame.table, (f"table_{frame.table}", {}))[0]

    def column_values(self, frame, index, kind):
        """Raises BadBytes; an absent column is zero or empty."""
        column = frame.columns.get(index)
        if column is None:
            empty = b"" if kind in BYTES_TYPES else 0.0 if kind == "real" else 0
            return [empty] * frame.rows
        require(not column.is_nested or (frame.table in NESTED_TABLES and index < 2), "nested")
        if not column.is_nested or not frame.rows:
            return column.values(kind, frame.rows, frame.first)
        gaps, tails = (frame.columns[i].values("time", frame.rows, frame.first) for i in (0, 1))
        depths = [0] * frame.rows
        if NESTED_TABLES[frame.table]:
            depths = self.column_values(frame, 3, "uint")
        return walk_nest(gaps, tails, depths, frame.first)[index]

    def decode(self, frame):
        """Columns by name; one that cannot be read is left out."""
        described = self.schemas.get(frame.table, ("", {}))[1]
        columns = {}
        for index, (name, kind) in sorted(described.items()):
            try:
                columns[name] = self.column_values(frame, index, kind)
            except BadBytes:
                if frame.table in KNOWN and index < len(own_columns(frame.table)):
                    self.damage.append((frame.offset, frame.end - frame.offset))
        return columns

    def rows(self, columns, *names):
        return zip(*(columns[name] for name in names))

    def learn(self, frame, columns):
        learners = {
            0: self.learn_schema,
            1: self.learn_meta,
            2: self.learn_strings,
            3: self.learn_sites,
            4: self.learn_tracks,
            5: self.learn_anchors,
            17: self.learn_stacks,
            23: self.learn_forms,
        }
        if frame.table in learners:
            try:
                learners[frame.table](columns)
            except KeyError:
                pass  # a column is missing: damage, noted already

    def learn_schema(self, columns):
        for table, name, index, column, kind in self.rows(
            columns, "table", "name", "index", "column", "type"
        ):
            if index < MAX_COLUMNS:
                _, described = self.schemas.setdefault(table, (name.decode(), {}))
                described[index] = (column.decode(), kind.decode())

    def learn_meta(self, columns):
        self.meta.update(self.rows(columns, "key", "value"))

    def learn_strings(self, columns):
        self.strings.update(
            (number, c_text(text)) for number, text in self.rows(columns, "id", "text")
        )

    def learn_sites(self, columns):
        for row in self.rows(columns, "id", "category", "name", "file", "line"):
            self.sites[row[0]] = row[1:]

    def learn_tracks(self, columns):
        for number, kind, key, name, clock, parent, os_id, internal in self.rows(
            columns, "id", "kind", "key", "name", "clock", "parent", "os_id", "internal"
        ):
            self.tracks[number] = {
                "kind": kind,
                "key": c_text(key),
                "name": c_text(name),
                "clock": clock,
                "parent": parent,
                "os_id": os_id,
                "internal": internal,
            }

    def learn_anchors(self, columns):
        for number, *anchor in self.rows(columns, "clock", "tick", "raw_ns", "real_ns"):
            self.anchors.setdefault(number, []).append(tuple(anchor))

    def learn_stacks(self, columns):
        for row in self.rows(columns, "id", "parent", "site", "line"):
            self.stacks[row[0]] = row[1:]

    def learn_forms(self, columns):
        for row in self.rows(columns, "id", "args", "fields"):
            self.forms[row[0]] = row[1:]

    def meta_value(self, key):
        value = self.meta.get(key.encode())
        try:
            return None if value is None else json.loads(value.decode())
        except ValueError:
            return None

    def meta_number(self, key, otherwise):
        value = self.meta_value(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else otherwise

    def text(self, number):
        return self.strings.get(number, b"(lost)")

    def site(self, number):
        """(category, name) of a site."""
        if number == 0:
            return b"", b""
        if number not in self.sites:
            return b"", b"(lost)"
        return self.text(self.sites[number][0]), self.text(self.sites[number][1])

    def ns(self, track, tick):
        return self.clocks.get(self.track(track)["clock"], Clock([], 0)).ns(tick)

    def track(self, number):
        """A track's row, or what stands for one that was lost."""
        lost = {"kind": 1 if number else 4, "key": b"", "name": b"", "clock": 1, "parent": 0}
        track = self.tracks.get(number, {**lost, "os_id": 0, "internal": 0})
        return {**track, "key": track["key"] or str(number).encode()}

    def args(self, packed, row=None):
        """Kinds 5 and 6 as the text they name; before them the arguments of the row's form."""
        form = self.forms.get((row or {}).get("form", 0), (b"", b""))[0]
        items = [self.filled(row, *item) for item in decode_args(form)]
        return items + [self.filled(row, *item) for item in decode_args(packed)]

    def filled(self, row, key, kind, value):
        """What a blank of a form is in this row, and the texts of ids."""
        if kind >= 7:
            blank, digits = row[BLANKS[value % 256]], value >> 8
            if kind == 8:
                return self.text(key), 2, blank / 10**digits
            if kind == 9:
                return self.text(key), 2, struct.unpack("<d", struct.pack("<q", blank))[0]
            kind, value = {7: 1, 10: 5, 11: 6}[kind], blank
        if kind in (5, 6):
            return self.text(key), 3 if kind == 5 else 6, self.text(value)
        return self.text(key), kind, value
