#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of many ranks, made by copying the shard of one under other ranks.

usage: rank_runs.py spans|torch RANKS FOLDER    makes such a run: 100 steps and 100,000
                                                events a rank, or a training in PyTorch
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests/support"))

import gait_decoder  # noqa: E402
import stored_runs  # noqa: E402
from shard_maker import add_frame, trailer  # noqa: E402

STEPS, PHASES, CALLS = 100, 9, 110  # 100,000 events with the steps
META, INDEX = 1, 21
RECORDED = f"""
import gait
gait.start({{folder!r}})
for step in range({STEPS}):
    with gait.step(step):
        for phase in range({PHASES}):
            with gait.span(f"phase {{{{phase}}}}"):
                for call in range({CALLS}):
                    with gait.span("work"):
                        pass
gait.stop()
"""


def spans_shard(build):
    """What a program without torch recorded."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ, PYTHONPATH=str(build / "python"), GAIT_OVERFLOW="block", RANK="0"
        )
        program = RECORDED.format(folder=folder)
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        (path,) = pathlib.Path(folder).glob("*.gait")
        return path.read_bytes()


def torch_shard(_build):
    """Rank 0 of a stored training."""
    with tempfile.TemporaryDirectory() as folder:
        stored_runs.unpack(folder)
        return min((pathlib.Path(folder) / "ddp").glob("*.gait")).read_bytes()


SHARDS = {"spans": spans_shard, "torch": torch_shard}


class Original:
    """A shard, cut into its frames."""

    def __init__(self, data):
        shard = gait_decoder.Shard(data)
        assert shard.is_complete and not shard.damage
        self.start_ns = shard.meta_number("start_ns", 0)
        self.frames = [
            (frame, columns, data[frame.offset : frame.end])
            for frame, columns in shard.data
            if frame.table != INDEX
        ]

    def under(self, rank, ranks):
        """The same as another process would have written it."""
        changed = {
            b"rank": b"%d" % rank,
            b"world_size": b"%d" % ranks,
            b"pid": b"%d" % (10000 + rank),
            b"session": b'"%032x"' % (rank + 1),
            b"host": b'"node%d"' % (rank // 8),
        }
        out, index = bytearray(), []
        for frame, columns, stored in self.frames:
            if frame.table == META and changed.keys() & set(columns["key"]):
                rows = zip(columns["key"], columns["value"], strict=True)
                rows = [(key, changed.get(key, value)) for key, value in rows]
                add_frame(out, index, "meta", 0, rows)
                continue
            # written behind as many frames as before, or its number would be another
            assert frame.sequence == len(index)
            row = (frame.stored_bytes, frame.table, frame.track, frame.rows)
            index.append((len(out), *row, frame.events, frame.first, frame.last))
            out += stored
        offset = len(out)
        add_frame(out, index, "index", 0, list(index))
        return bytes(out) + trailer(offset, len(index))


def make(kind, ranks, folder, build):
    original = Original(SHARDS[kind](build))
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        name = f"node{rank // 8}.{10000 + rank}.{original.start_ns}.gait"
        (folder / name).write_bytes(original.under(rank, ranks))


def report(tool, run):
    """Seconds (CPU, wall) and peak memory in bytes of one `gait report --json`. Of memory the
    system tells no less than this Python itself has, some 30 MB."""
    begin = time.perf_counter()
    process = subprocess.Popen([tool, "report", "--json", run], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert not process.returncode, tool
    wall = time.perf_counter() - begin
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024


def best_report(tool, run, times):
    """The least of each figure of so many."""
    return tuple(map(min, zip(*(report(tool, run) for _ in range(times)), strict=True)))


def main(words):
    if len(words) != 3 or words[0] not in SHARDS or not words[1].isdigit():
        sys.exit(__doc__)
    build = pathlib.Path(os.environ.get("GAIT_BUILD", BENCH.parent / "build"))
    make(words[0], int(words[1]), pathlib.Path(words[2]), build)


if __name__ == "__main__":
    main(sys.argv[1:])
