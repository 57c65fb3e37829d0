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


def main(folder):
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
