# SPDX-License-Identifier: Apache-2.0
"""`gait index` and the files of facts: answers are the same with them, without them, and with
any that is wrong."""

import json
import os
import random
import shutil
import struct
import subprocess

import pytest
import xxhash

from tests.support import gait_decoder
from tests.support.shard_maker import ShardMaker

ANSWERS = ["steps", "breakdown", "kernels", "comms", "ops", "findings", "report"]
HEADER = 64  # of a frame; hashes of the payload and of the header stand at its end


def trace_of(rank, steps=4):
    """Steps of a rank with input, nested ops, kernels, copies and an all-reduce."""
    host, stream = {"ph": "X", "pid": 7, "tid": 9}, {"ph": "X", "pid": 0, "tid": 7}
    events = []
    for step in range(steps):
        at, link = 1000 * step, {"device": 0, "stream": 7}
        told = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                "Out msg nelems": 1000, "Group size": 2, "Process Group Name": "0"}  # fmt: skip
        spans = [
            (host, "user_annotation", f"ProfilerStep#{step}", 0, 990, {}),
            (host, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
             5, 80, {}),
            (host, "cpu_op", "aten::linear", 100, 300, {"Input Dims": [[2, 3], [3, 4]]}),
            (host, "cpu_op", "aten::mm", 120, 100 + rank, {"Input Dims": [[2, 3], [3, 4]]}),
            (host, "cuda_runtime", "cudaLaunchKernel", 130, 5, {"correlation": 3 * step + 1}),
            (host, "cuda_runtime", "cudaMemcpyAsync", 300, 5, {"correlation": 3 * step + 2}),
            (host, "cuda_runtime", "cudaLaunchKernel", 500, 5, {"correlation": 3 * step + 3}),
            (stream, "kernel", "gemm", 200, 150 + step, {
                **link, "correlation": 3 * step + 1, "est. achieved occupancy %": 31.25,
                "blocks per SM": 0.75, "registers per thread": 64}),
            (stream, "gpu_memcpy", "Memcpy HtoD", 400, 30, {
                **link, "correlation": 3 * step + 2, "bytes": 4096}),
            (stream, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 600 + 10 * rank,
             200 - 10 * rank, {**link, "correlation": 3 * step + 3, **told}),
        ]  # fmt: skip
        events += [
            {**of, "cat": cat, "name": name, "ts": at + begin, "dur": length, "args": args}
            for of, cat, name, begin, length, args in spans
        ]
    return {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


@pytest.fixture
def run(gait, tmp_path):
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_text(json.dumps(trace_of(rank)))
    done = gait("import", "0.json", "1.json", "-o", "run")
    assert done.returncode == 0, done.stderr
    return tmp_path / "run"


def answers(gait, run):
    found = {}
    for name in ANSWERS:
        for more in [[], ["--steps"], ["--activity"]] if name == "breakdown" else [[]]:
            done = gait(name, run.name, *more, "--json")
            assert (done.returncode, done.stderr) == (0, ""), (name, done.stderr)
            found[(name, *more)] = done.stdout
    return found


def facts_of(run):
    return sorted(run.glob("*.gait-facts"))


def test_answers_are_the_same_with_the_files(gait, run):
    without = answers(gait, run)
    assert not facts_of(run)  # so few events are read as fast
    done = gait("index", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 written, 0 up to date; ")
    assert len(facts_of(run)) == 2
    assert answers(gait, run) == without
    assert "2 shards" in gait("info", "run").stdout  # they are none


def test_answers_come_from_the_files(gait, run):
    """Else the tests of wrong ones would show nothing: with other numbers in them, others are
    told."""
    gait("index", "run")
    path, without = facts_of(run)[0], gait("kernels", "run", "--json").stdout
    data = path.read_bytes()
    (frame,) = [one for one in frames_of(data) if one.table == 24 and one.track == 1]
    told = set()
    for at in range(frame.offset + HEADER, frame.end):
        path.write_bytes(with_hashes(data[:at] + bytes([data[at] ^ 2]) + data[at + 1 :]))
        told.add(gait("kernels", "run", "--json").stdout)
    assert len(told - {without}) > 10


def test_each_rank_keeps_its_ops_and_levels_of_detail(gait, run):
    asked = [["ops", "run", "--ranks", str(rank), "--json"] for rank in range(2)]
    without = [gait(*words).stdout for words in asked]
    gait("index", "run")
    for path in facts_of(run):
        frames = frames_of(path.read_bytes())
        rows = {one.track: one.rows for one in frames if one.table == 24}
        assert set(rows) == {*range(1, 16)}
        assert rows[11] >= 4 and rows[12] == 5  # four depths of the thread, the stream
        levels = [at for at, one in enumerate(frames) if one.table == 24 and one.track in (13, 14)]
        assert levels[-1] == max(at for at, one in enumerate(frames) if one.table == 24)
    assert [gait(*words).stdout for words in asked] == without
    assert without[0] != without[1]


def test_a_file_that_fits_is_left_alone(gait, run):
    assert gait("index", "run").stdout.startswith("2 written, 0 up to date; ")
    assert gait("index", "run").stdout.startswith("0 written, 2 up to date; ")
    assert gait("index", "--force", "run").stdout.startswith("2 written, 0 up to date; ")
    facts_of(run)[0].unlink()
    assert gait("index", "run").stdout.startswith("1 written, 1 up to date; ")


def frames_of(data):
    frames, at = [], 0
    while at + HEADER < len(data):
        frame = gait_decoder.frame_at(data, at, -1)
        if not frame:
            break
        frames.append(frame)
        at = frame.end
    return frames


def with_hashes(data):
    """Each frame with hashes that agree with what is in it."""
    out, at = bytearray(data), 0
    while data[at : at + 8] == b"\x89GAIT\r\n\x1a":
        stored = struct.unpack_from("<I", data, at + 16)[0]
        payload = bytes(out[at + HEADER : at + HEADER + stored])
        struct.pack_into("<Q", out, at + 48, xxhash.xxh3_64_intdigest(payload))
        struct.pack_into(
            "<I", out, at + 60, xxhash.xxh3_64_intdigest(bytes(out[at : at + 60])) & 0xFFFFFFFF
        )
        at += HEADER + stored
    return bytes(out)


def damaged(data, chance):
    """The file cut, with other bytes, or with other bytes and hashes that agree."""
    kind = chance.randrange(3)
    if kind == 0:
        return data[: chance.randrange(len(data))]
    at = chance.randrange(len(data))
    other = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return other if kind == 1 else with_hashes(other)


def test_a_wrong_file_is_as_good_as_none_or_tells_other_numbers(gait, run):
    """With hashes that agree a number may be another one: but nothing crashes or says more."""
    without = answers(gait, run)
    gait("index", "run")
    good = {path: path.read_bytes() for path in facts_of(run)}
    chance = random.Random(7)
    for number in range(120):
        for path, data in good.items():
            path.write_bytes(damaged(data, chance))
        name = ANSWERS[number % 5]
        done = gait(name, "run", "--json")
        assert (done.returncode, done.stderr) == (0, ""), (number, name)
        assert json.loads(done.stdout).keys() == json.loads(without[(name,)]).keys()
    for path, data in good.items():  # cut, or of another byte, without new hashes
        for _ in range(20):
            at = chance.randrange(len(data))
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            assert gait("kernels", "run", "--json").stdout == without[("kernels",)]


def test_a_file_of_another_shard_or_version_is_none(gait, run):
    without = answers(gait, run)
    gait("index", "run")
    first, second = facts_of(run)
    shutil.copy(first, second)
    assert answers(gait, run) == without
    data = first.read_bytes()
    key = data.index(b'"', data.index(b"facts_of")) + 1
    first.write_bytes(with_hashes(data[:key] + b"0" * 16 + data[key + 16 :]))
    assert answers(gait, run) == without
    assert gait("index", "run").stdout.startswith("2 written, 0 up to date; ")


def test_links_and_folders_in_its_place_are_none(gait, run, tmp_path):
    without = answers(gait, run)
    gait("index", "run")
    first, second = facts_of(run)
    first.rename(tmp_path / "elsewhere")
    first.symlink_to(tmp_path / "elsewhere")
    second.unlink()
    second.mkdir()
    assert answers(gait, run) == without
    done = gait("index", "run")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert not first.is_symlink() and (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_has_none(gait, run):
    without = answers(gait, run)
    run.chmod(0o555)
    try:
        done = gait("index", "run")
        assert done.returncode == 2 and done.stderr.count("\n") == 2
        assert answers(gait, run) == without
    finally:
        run.chmod(0o755)


def test_two_processes_make_it_at_once(gait, run, build):
    without = answers(gait, run)
    command = [str(build / "gait"), "index", str(run)]
    many = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(8)]
    assert [one.wait() for one in many] == [0] * 8
    assert answers(gait, run) == without
    assert sorted(path.suffix for path in run.iterdir()) == [".gait"] * 2 + [".gait-facts"] * 2


def test_a_shard_that_was_not_closed_gets_none(gait, run):
    shard = sorted(run.glob("*.gait"))[0]
    shard.write_bytes(shard.read_bytes()[:-64])
    done = gait("index", "run")
    assert done.returncode == 2 and len(facts_of(run)) == 0


def test_a_recorded_run_keeps_what_does_not_depend_on_its_other_ranks(gait, tmp_path):
    """Its steps are of the whole run, so they are not kept; kernels are."""
    shard = ShardMaker(pid=7, rank=0)
    track = shard.track(key="7", name=b"main", os_id=7)
    kernel = shard.site(b"kernel", b"k")
    shard.spans(track, [(shard.start_ns + 10 * number, 5, kernel) for number in range(20)])
    shard.rows("step", track, [(shard.start_ns, 100, 0), (shard.start_ns + 100, 100, 1)])
    shard.write(tmp_path / "run")
    without = [gait(name, "run", "--json").stdout for name in ANSWERS]
    done = gait("index", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 written, 0 up to date; ")
    assert [gait(name, "run", "--json").stdout for name in ANSWERS] == without
    lists = {one.track for one in frames_of(facts_of(tmp_path / "run")[0].read_bytes())}
    assert {1, 2, 3} <= lists and not {4, 5, 7} & lists


@pytest.fixture
def long_shard(tmp_path):
    """1.2 million spans, which a file of facts is worth."""
    (tmp_path / "run").mkdir()
    shard = ShardMaker(pid=7, rank=0)
    track = shard.track(key="7", name=b"main", os_id=7)
    kernel = shard.site(b"kernel", b"k")
    chance = random.Random(1)
    for part in range(24):
        start = shard.start_ns + 10**9 * part
        shard.spans(
            track,
            [(start + 1000 * at + chance.randrange(500), chance.randrange(500), kernel)
             for at in range(50_000)],
        )  # fmt: skip
    return shard.write(tmp_path / "run")


def test_what_was_read_of_a_damaged_shard_is_not_kept(gait, tmp_path, long_shard):
    """Of a shard so long that its hashes are not looked at before."""
    path = long_shard
    good = path.read_bytes()
    assert len(good) > 16 << 20
    whole = gait("kernels", "run", "--json").stdout
    assert len(facts_of(tmp_path / "run")) == 1  # 1.2 million events are worth it
    facts_of(tmp_path / "run")[0].unlink()
    middle = len(good) // 2
    path.write_bytes(good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1 :])
    assert gait("kernels", "run", "--json").stdout != whole
    assert not facts_of(tmp_path / "run")
    path.write_bytes(good)
    assert gait("kernels", "run", "--json").stdout == whole


def test_levels_of_detail_are_small_and_opened_by_less_than_a_tenth(gait, long_shard):
    gait("index", "run")
    data = facts_of(long_shard.parent)[0].read_bytes()
    rows = [one for one in frames_of(data) if one.table == 24 and one.track == 13]
    size = sum(one.end - one.offset for one in rows)
    assert sum(one.rows for one in rows) > 10_000
    assert size < 0.3 * 1_200_000
    assert len(data) - size < min(100_000, size / 10)


def test_who_may_not_read_the_shard_reads_no_names(gait, run):
    for path in run.glob("*.gait"):
        path.chmod(0o600)
    gait("index", "run")
    assert [path.stat().st_mode & 0o777 for path in facts_of(run)] == [0o600] * 2


def test_what_is_no_trace_is_refused(gait, tmp_path):
    (tmp_path / "x.gait").write_text("no trace")
    done = gait("index", "x.gait")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gait index: 'x.gait' is not a gait file")
    assert [path.name for path in tmp_path.iterdir()] == ["x.gait"]
