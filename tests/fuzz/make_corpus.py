# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of the fuzz targets: frames of the golden files.

fuzz_decode gets single frames, one for each set of encodings and types that
occurs. fuzz_open gets small shards: such a frame behind the dictionaries it
needs, numbered anew; it makes the hashes good itself. What exists already is
kept. What a fuzzer found stands in the same folders, named after the fault.

usage: make_corpus.py FOLDER   (of the corpus)
"""

import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

import gait_decoder  # noqa: E402
import shard_maker  # noqa: E402

MOST_BYTES = 2000
MOST_SHARD_BYTES = 1800
DICTIONARIES = (1, 2, 3, 4, 5, 17)  # tables: meta, string, site, track, clock, stack
INDEX = 21


def shape(frame):
    return frame.table, tuple(
        (column.index, column.transform, column.packing, column.compression)
        for column in frame.columns.values()
    )


def keep(path, content):
    if not path.exists():
        path.write_bytes(content)


def shard_of(frames):
    """The frames, numbered from 0."""
    return b"".join(
        frame[:24] + struct.pack("<Q", number) + frame[32:] for number, frame in enumerate(frames)
    )


def small_shard(dictionaries, frame):
    """As many of the dictionaries as fit in front of the frame."""
    chosen = []
    room = MOST_SHARD_BYTES - len(frame)
    for dictionary in sorted(dictionaries, key=len):
        if len(dictionary) <= room:
            chosen.append(dictionary)
            room -= len(dictionary)
    return shard_of([d for d in dictionaries if d in chosen] + [frame])


def chained_shard():
    """Closed, with two links of index: the second one begins with the first."""
    out, index = bytearray(), []
    shard_maker.add_frame(out, index, "meta", 0, [(b"pid", b"1"), (b"tick_hz", b"1000")])
    shard_maker.add_frame(out, index, "index", 0, list(index))
    shard_maker.add_frame(out, index, "mark", 1, [(5, 1, b""), (7, 1, b"")])
    offset = len(out)
    shard_maker.add_frame(out, index, "index", 0, index[1:])
    return bytes(out) + b"GAITEND\n" + struct.pack("<QQII", offset, len(index), 0, 1)


def ring(policy, slots, commit=4, tail=4, depth=1, cut=0, patches=b""):
    """See fuzz_ring.c. Slots: (kind, slots and phase, site, tick since the last)."""
    packed = b"".join(bytes(slot) for slot in slots)
    return bytes([policy, len(slots), commit, tail, depth, cut]) + packed + patches


BEGIN, END, NEXT, MARK, STEP, STEP_END, COUNT, ASYNC, FLOW = 0, 1, 2, 4, 5, 6, 7, 9, 10
ARG, TEXT, OP, MEMORY, PAYLOAD = 11, 13, 14, 15, 128


def rings():
    """name: bytes"""
    crime = [(BEGIN, 0, 1, 0), (MARK, 1, 1, 1), (BEGIN, 0, 1, 1), (END, 0, 0, 1)]
    crime += [(MARK, 1, 1, 1), (END, 0, 0, 1), (BEGIN, 0, 2, 1), (MARK, 1, 1, 1)]
    ops = [(BEGIN, 0, 1, 1), (OP, 1, 1, 3), (MEMORY, 0x13, 1, 1), (PAYLOAD, 64, 0, 8)]
    ops += [(PAYLOAD, 8, 0, 0), (END, 0, 0, 9)]
    steps = [(STEP, 2, 0, 1), (PAYLOAD, 7, 0, 0), (NEXT, 0, 1, 1), (COUNT, 2, 1, 1)]
    steps += [(PAYLOAD, 9, 0, 0), (ASYNC, 2, 1, 1), (PAYLOAD, 5, 0, 0), (ASYNC, 0x12, 1, 4)]
    steps += [(PAYLOAD, 5, 0, 0), (FLOW, 2, 1, 1), (PAYLOAD, 5, 0, 0), (STEP_END, 1, 0, 1)]
    args = [(BEGIN, 0, 1, 1), (ARG, 2, 1, 0), (PAYLOAD, 1, 0, 0), (TEXT, 2, 1, 5)]
    args += [(PAYLOAD, 65, 66, 67), (END, 0, 0, 2)]
    lap = [(BEGIN, 0, 1, 1), (END, 0, 0, 1)] * 40
    used = struct.pack(">HB", 36, 3) + struct.pack("<I", 12000)
    yield "crime", ring(1, crime)
    yield "overwritten", ring(2, crime, commit=0, tail=2, depth=0)
    yield "ops", ring(0, ops, commit=0, tail=0, depth=0)
    yield "steps", ring(1, steps * 3, commit=0, tail=0, depth=0)
    yield "args", ring(1, args * 4, commit=0, tail=0, depth=0)
    yield "lap", ring(2, lap, commit=0, tail=20, depth=0)
    yield "cut", ring(1, crime, cut=60)
    yield "patched", ring(1, crime, patches=used)


def main(folder):
    for name, content in rings():
        keep(folder / "fuzz_ring" / name, content)
    keep(folder / "fuzz_open" / "chained", chained_shard())
    seen = set()
    for path in sorted((ROOT / "tests/golden").glob("v*/*.gait")):
        data = path.read_bytes()
        dictionaries = []
        for frame in gait_decoder.scan(data)[0]:
            content = data[frame.offset : frame.end]
            key = shape(frame)
            if key not in seen and len(content) <= MOST_BYTES:
                seen.add(key)
                name = f"{path.stem}-{frame.sequence}"
                keep(folder / "fuzz_decode" / name, content)
                if frame.table != INDEX and len(content) <= MOST_SHARD_BYTES:
                    keep(folder / "fuzz_open" / name, small_shard(dictionaries, content))
            if frame.table in DICTIONARIES:
                dictionaries.append(content)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
