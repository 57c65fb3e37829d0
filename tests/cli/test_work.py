# SPDX-License-Identifier: Apache-2.0
"""Twice the input costs about twice the work, whatever it looks like (docs/LIMITS.md)."""

import gzip
import json

import few_bytes
import memory_snapshots
import pytest
import test_import_mllog
from work import MOST, peak_bytes, work


def import_work(build, tmp_path, source):
    shard = tmp_path / "x.gait"
    shard.unlink(missing_ok=True)
    command = [build / "gait", "import", source, "-o", shard]
    spent, done = work(*command)
    assert (done.returncode, done.stderr) == (0, "")
    return spent


def threads(count, tmp_path):
    source = tmp_path / f"{count}.json"
    source.write_text(
        json.dumps(
            [{"ph": "X", "pid": 1, "tid": i, "name": "a", "ts": i, "dur": 1} for i in range(count)]
        )
    )
    return source


def log_lines(count, tmp_path):
    source = tmp_path / f"{count}.log"
    source.write_text(
        "".join(
            test_import_mllog.line("epoch", kind, at, epoch_num=at)
            for at in range(count)
            for kind in ("INTERVAL_START", "INTERVAL_END")
        )
    )
    return source


def snapshot(count, tmp_path):
    return memory_snapshots.write(tmp_path / f"{count}.pickle", memory_snapshots.train(3, count))


def snapshot_in_lines(count, tmp_path):
    allocator = memory_snapshots.train(3, count)
    return memory_snapshots.write(tmp_path / f"{count}.pickle", allocator, protocol=0)


@pytest.mark.parametrize(
    ("make", "count"),
    [(threads, 8000), (log_lines, 8000), (snapshot, 1500), (snapshot_in_lines, 1500)],
)
def test_twice_the_input_takes_twice_the_work(build, tmp_path, make, count):
    once = import_work(build, tmp_path, make(count, tmp_path))
    twice = import_work(build, tmp_path, make(2 * count, tmp_path))
    assert twice < MOST * once


def test_each_process_has_the_names_that_it_uses(build, tmp_path):
    """A shard a process had all names of all of them."""
    least = []
    for count in (1000, 2000):
        source, folder = tmp_path / f"{count}.json", tmp_path / str(count)
        rows = [
            {
                "ph": "X",
                "pid": i,
                "tid": 1,
                "name": f"n{i}",
                "ts": i,
                "dur": 1,
                "args": {f"k{i}": i},
            }
            for i in range(count)
        ]
        source.write_text(json.dumps(rows))
        command = [build / "gait", "import", source, "-o", folder]
        spent, done = work(*command)
        assert (done.returncode, done.stderr) == (0, "")
        least.append(spent)
    assert least[1] < MOST * least[0]


@pytest.mark.parametrize("table", few_bytes.COLUMNS)
@pytest.mark.parametrize("rows", [1 << 20, 20_000], ids=["refused", "taken"])
def test_a_shard_of_12_kb_takes_little_memory(gait, build, tmp_path, table, rows):
    """Some 60 frames of a million rows took 955 MB (step)."""
    shard = few_bytes.shard(tmp_path, table, 60, rows)
    peak, code = peak_bytes(build / "gait", "report", shard)
    assert code == 0
    assert peak < 200 << 20
    assert "Damage" in gait("report", shard).stdout


@pytest.mark.parametrize("table", few_bytes.COLUMNS)
def test_twice_the_frames_take_twice_the_work(build, tmp_path, table):
    once = few_bytes.shard(tmp_path / "1", table, 60, 20_000)
    twice = few_bytes.shard(tmp_path / "2", table, 120, 20_000)
    least = [work(build / "gait", "report", shard)[0] for shard in (once, twice)]
    assert least[1] < MOST * least[0]


def modules(i):
    return [{"ph": "X", "cat": "python_function", "name": f"nn.Module: M{i}_0", "pid": 1, "tid": 1,
             "ts": 10 * i, "dur": 9}]  # fmt: skip


def takings(i):
    where = {"Device Type": 0, "Device Id": -1, "Addr": 64 * i, "Bytes": 64}
    return [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": i, "tid": 1, "ts": i, "dur": 5},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": i,
             "tid": 1, "ts": i + 1, "args": where}]  # fmt: skip


def overheads(i):
    """A call and what the profiler took, longer and of no call, all at one moment; first an op
    and a kernel."""
    once = [("cpu_op", "a", i, 1), ("kernel", "k", i, 1)] if i == 1 else []
    both = [("cuda_runtime", "launch", i, 1), ("overhead", "flush", 10**6 + i, 2)]
    return [{"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": us,
             "args": {"correlation": link}}
            for category, name, link, us in once + both]  # fmt: skip


def nested_takings(i):
    """An op within all those before, and what it takes."""
    op, taking = takings(i)
    return [{**op, "pid": 1, "ts": 2 * i, "dur": 1e6 - 4 * i},
            {**taking, "pid": 1, "ts": 2 * i + 1}]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "rows", "count"),
    [
        ("modules", modules, 4000),
        ("memory", takings, 500),
        ("memory", nested_takings, 4000),
        ("ops", overheads, 4000),
    ],
    ids=["modules", "processes", "nest", "overhead"],
)
def test_an_answer_takes_twice_the_work(build, tmp_path, command, rows, count):
    """A module went past all that were beside it, the cursor of a process past all frames, an
    allocation through all ops around it, and a row of overhead past all calls of its moment."""
    least = []
    for many in (count, 2 * count):
        source, folder = tmp_path / f"{many}.json", tmp_path / str(many)
        source.write_text(json.dumps([row for i in range(1, many + 1) for row in rows(i)]))
        work(build / "gait", "import", source, "-o", folder)
        spent, done = work(build / "gait", command, "--json", folder)
        assert (done.returncode, done.stderr) == (0, "")
        least.append(spent)
    assert least[1] < MOST * least[0]


@pytest.mark.parametrize(
    ("rows", "count"), [(modules, 4000), (takings, 500), (nested_takings, 4000), (overheads, 4000)]
)
def test_rows_of_parquet_take_twice_the_work(build, tmp_path, rows, count):
    least = []
    for many in (count, 2 * count):
        source, folder = tmp_path / f"{many}.json", tmp_path / str(many)
        source.write_text(json.dumps([row for i in range(1, many + 1) for row in rows(i)]))
        work(build / "gait", "import", source, "-o", folder)
        line = [folder, "--format", "parquet", "-o", tmp_path / f"lake{many}"]
        spent, done = work(build / "gait", "export", *line)
        assert (done.returncode, done.stderr) == (0, "")
        least.append(spent)
    assert least[1] < MOST * least[0]


@pytest.mark.parametrize("where", ["event", "fact", "broken"])
def test_a_long_packed_string_is_not_read_again_and_again(build, tmp_path, where):
    """It was tried again from its begin with each half MiB that was unpacked."""
    heads = {
        "event": '[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"',
        "fact": '{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1}],"about":"',
        "broken": '[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1},{"ph":5 6 "',
    }
    least = []
    for count in (24 << 20, 48 << 20):
        source = tmp_path / f"{count}.json.gz"
        source.write_bytes(gzip.compress((heads[where] + "x" * count + '"}').encode(), 1))
        command = [build / "gait", "info", "--no-cache", source]
        least.append(work(*command)[0])
    assert least[1] < MOST * least[0]


def test_a_packed_value_takes_no_more_than_its_file_is_worth(build, tmp_path):
    source = tmp_path / "x.json.gz"
    with gzip.open(source, "wb", 9) as file:
        file.write(b'[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"')
        for _ in range(512):
            file.write(b"x" * (1 << 20))
    peak, code = peak_bytes(build / "gait", "info", "--no-cache", source)
    assert code == 2
    assert peak < 400 << 20


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def test_each_packet_of_perfetto_may_have_a_clock_of_its_own(build, tmp_path):
    """Each packet looked through all clocks."""
    least = []
    for count in (30_000, 60_000):
        source = tmp_path / f"{count}.pftrace"
        with source.open("wb") as file:
            for i in range(count):
                event = b"\x48\x03\x58\x07\xba\x01\x01s"  # an instant, track 7, "s"
                body = b"\x40\x05\x50\x01" + b"\xd0\x03" + varint(1000 + i)  # its clock
                body += b"\x5a" + varint(len(event)) + event
                file.write(b"\x0a" + varint(len(body)) + body)
        least.append(import_work(build, tmp_path, source))
    assert least[1] < MOST * least[0]
