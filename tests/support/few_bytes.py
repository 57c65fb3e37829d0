# SPDX-License-Identifier: Apache-2.0
"""Shards of few bytes that stand for very many rows: each column is a constant, or a step."""

import struct

import xxhash
from shard_maker import MAGIC, TABLES, ShardMaker

DELTA, PLAIN, CONSTANT = 2, 0, 3


def frame(sequence, table, rows, columns, track=0):
    """Of {column: (transform, stored value)}, with hashes that agree."""
    payload = struct.pack("<II", len(columns), 0)
    for column, (transform, _) in columns.items():
        payload += struct.pack("<HBBB3xII", column, transform, CONSTANT, 0, 8, 8)
    payload += b"".join(struct.pack("<Q", value) for _, value in columns.values())
    head = MAGIC + struct.pack(
        "<HHIIIQQQQI",
        1,
        TABLES[table][0],
        rows,
        len(payload),
        track,
        sequence,
        0,
        0,
        xxhash.xxh3_64_intdigest(payload),
        0,
    )
    return head + struct.pack("<I", xxhash.xxh3_64_intdigest(head) & 0xFFFFFFFF) + payload


def step(value):
    return (DELTA, 2 * value)


# Each makes a reader keep something of every row.
COLUMNS = {
    "string": {0: step(512)},
    "site": {0: step(512), 4: step(1)},
    "track": {0: step(512)},
    "clock": {0: step(1), 1: step(1), 2: step(1)},
    "stack": {0: step(512)},
    "span": {0: step(10), 1: (PLAIN, 5)},
    "step": {0: step(10), 1: (PLAIN, 5), 2: step(1)},
    "counter": {0: step(10), 2: step(3)},
    "sample": {0: step(10), 1: (PLAIN, 1)},
    "drop": {0: step(10), 2: step(1)},
}
DICTIONARY = ("string", "site", "track", "clock", "stack")


def shard(folder, table, frames, rows):
    """One that says so much in `frames` frames of `rows` rows; its path."""
    maker = ShardMaker(rank=0)
    track = maker.track(key="1000", name="main", os_id=1000)
    maker.spans(track, [(maker.start_ns, 1000, maker.site("cat", "name"))])
    path = maker.write(folder, complete=False)
    of = 0 if table in DICTIONARY else track
    with path.open("ab") as file:
        for i in range(frames):
            file.write(frame(100 + i, table, rows, COLUMNS[table], of))
    return path
