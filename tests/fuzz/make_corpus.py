# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_decode: single frames of the golden files.

One frame for each set of encodings and types that occurs; what exists already
is kept. Crashes that a fuzzer found stand in the same folder, under the names
the fuzzer gave them.

usage: make_corpus.py FOLDER
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

import gait_decoder  # noqa: E402

MOST_BYTES = 2000


def shape(frame):
    return frame.table, tuple(
        (column.index, column.transform, column.packing, column.compression)
        for column in frame.columns.values()
    )


def main(folder):
    seen = set()
    for path in sorted((ROOT / "tests/golden").glob("v*/*.gait")):
        data = path.read_bytes()
        for frame in gait_decoder.scan(data)[0]:
            key = shape(frame)
            if key in seen or frame.end - frame.offset > MOST_BYTES:
                continue
            seen.add(key)
            seed = folder / f"{path.stem}-{frame.sequence}"
            if not seed.exists():
                seed.write_bytes(data[frame.offset : frame.end])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
