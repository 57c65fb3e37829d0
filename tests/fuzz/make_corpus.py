# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of the fuzz targets.

fuzz_decode gets single frames of the golden files, one for each set of encodings and types that
occurs. fuzz_open gets small shards: such a frame behind the dictionaries it needs, numbered
anew; it makes the hashes good itself. fuzz_trace gets a small file of each foreign format,
fuzz_prof tables and stacks, fuzz_answers trainings. What exists already is kept. What a fuzzer
found stands in the same folders, named after the fault.

usage: make_corpus.py FOLDER   (of the corpus)
"""

import pathlib
import re
import sqlite3
import struct
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/cli")]

import gait_decoder  # noqa: E402
import shard_maker  # noqa: E402
import test_import_mllog  # noqa: E402
import test_import_nsys  # noqa: E402

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


ASKED = b"\xff"  # see fuzz_trace.c: long stretches, and the shard is asked


def sqlite(page_bytes=512):
    """What nsys exports, in pages so small that it is a seed."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.sqlite"
        made = sqlite3.connect(test_import_nsys.write(path))
        made.execute(f"PRAGMA page_size = {page_bytes}")
        made.execute("VACUUM")
        made.close()
        return path.read_bytes()


def field(number, content):
    """Of protobuf: bytes, or a number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def perfetto():
    """A thread with a slice, an argument in it, names that are interned, two clocks."""
    clocks = [field(1, field(1, id_) + field(2, time)) for id_, time in ((6, 5000), (1, 10**18))]
    about = field(1, 70) + field(2, 71) + field(5, b"main")
    thread = field(1, 9) + field(2, b"t") + field(4, about)
    names = field(1, field(1, 1) + field(2, b"c")) + field(2, field(1, 1) + field(2, b"outer"))
    argument = field(4, field(10, b"n") + field(4, 3))
    begin = field(9, 1) + field(11, 9) + field(3, 1) + field(10, 1) + argument
    packets = [
        field(6, b"".join(clocks)) + field(13, 1),
        field(60, thread),
        field(8, 6000) + field(12, names) + field(11, begin),
        field(8, 6500) + field(11, field(9, 3) + field(11, 9) + field(23, b"here")),
        field(8, 7000) + field(11, field(9, 2) + field(11, 9)),
        field(8, 7000) + field(11, field(9, 4) + field(11, 8) + field(30, 12)),
    ]
    return b"".join(field(1, packet + field(10, 1)) for packet in packets)


def foreign():
    """name: bytes"""
    yield "perfetto", perfetto()
    yield "mllog", "".join(test_import_mllog.LOG).encode()
    yield "nsys", sqlite()


TABLES = {"epoch-time": "epochtime_ddp_2N", "gpu-energy-data": "ddp_4"}
TABLES |= {"computation-data": "ddp_4_0"}
STACKS = b"""\
process 12:"python train.py";thread (13): main;main (train.py:7);step (train.py:9) 30
process 12:"python train.py";thread (14): pin;<module> (/x/torch/nn/a.py);forward (b.py:1) 4
main;step;read 17
main;step
"""


def texts():
    """Tables of itwinai and stacks; the last byte is fuzz_prof's choice."""
    yield "stacks", STACKS + b"\x4b"
    with tarfile.open(ROOT / "tests/golden/itwinai.tar.xz") as tar:
        for kind, name in TABLES.items():
            content = tar.extractfile(f"scalability-metrics/run0/{kind}/{name}.csv").read()
            yield kind, b"".join(content.splitlines(keepends=True)[:20]) + b"\x0f"


def words(pattern, name):
    return re.findall(pattern, (ROOT / "src/vocabulary" / name).read_text(), re.MULTILINE)


CATEGORIES = words(r"^(?:ROLE|ALIAS)\(\w+, (?:NULL|\"([^\"]*)\")", "roles.def")
NAMES = words(r"^ROLE\(\w+, (?:NULL|\"[^\"]*\"), (?:NULL|\"([^\"]*)\")", "roles.def")
NAMES += words(r"^PHASE\(\w+, \"(\w+)\"", "phases.def")
NAMES += re.findall(
    r'^    "(.*)",$', (ROOT / "tests/fuzz/fuzz_answers.c").read_text().split("phases.def")[1], re.M
)
SPAN_KIND, STEP_KIND, FLOW_KIND, MEMORY_KIND = 0, 4, 6, 13


def number(value):
    return bytes([value]) if value < 192 else b"\xc1" + struct.pack("<H", value)


def event(kind, track, category, name, start, duration=0, more=None):
    """See take_event() of fuzz_answers.c. More: depth, id, value, phase, link, op, bytes."""
    head = bytes([kind | (32 if more else 0), track])
    head += bytes([CATEGORIES.index(category), NAMES.index(name)])
    head += number(start) + number(duration)
    return head + (b"".join(number(n) for n in more) + b"\0" if more else b"")


def training(which, rank):
    """Three steps of a rank: phases, an op, its launch, its kernel, a collective."""
    out = bytes([0x0F]) + number(190) + number(100)
    for step in range(3):
        at = 1000 * step
        out += event(STEP_KIND, 0, "", "", at, 900, (0, step, 0, 0, 0, 0, 0))
        out += event(SPAN_KIND, 0, "user_annotation", "ProfilerStep#3", at, 900)
        for place, phase in enumerate(("input", "forward", "backward", "optimizer")):
            out += event(SPAN_KIND, 0, "phase", phase, at + 200 * place, 190)
        out += event(SPAN_KIND, 0, "cpu_op", "aten::mm", at + 210, 100, (1, 0, 0, 0, 0, 5, 0))
        link = step + 1
        launch = (2, 0, 0, 0, link, 5, 0)
        out += event(SPAN_KIND, 0, "cuda_runtime", "cudaLaunchKernel", at + 220, 20, launch)
        out += event(SPAN_KIND, 3, "kernel", "aten::mm", at + 260, 150, (0, 0, 0, 0, link, 5, 0))
        nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
        late = at + 500 + 50 * rank
        out += event(SPAN_KIND, 4, "kernel", nccl, late, 150, (0, 0, 0, 0, 9, 0, 64))
        out += event(MEMORY_KIND, 0, "memory", "", at + 300, 0, (0, 64, 512 * step, 1, 0, 0, 99))
        out += event(FLOW_KIND, 0, "ac2g", "", at + 220, 0, (0, link, 0, 0, 0, 0, 0))
    return out


def answers():
    yield "one_rank", bytes(2) + training(0, 0)
    yield "two_ranks", bytes([0, 1]) + training(0, 0) + b"\xc0" + training(0, 1)


def main(folder):
    kinds = {"fuzz_ring": rings(), "fuzz_prof": texts(), "fuzz_answers": answers()}
    kinds["fuzz_trace"] = ((name, ASKED + content) for name, content in foreign())
    for target, contents in kinds.items():
        for name, content in contents:
            keep(folder / target / name, content)
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
