# SPDX-License-Identifier: Apache-2.0
"""Samples of threads that were collecting garbage bear a flag."""

import collections
import json

import pytest

from tests.support.gait_decoder import Shard
from tests.support.sampled_programs import until

PROGRAM = """
import gc, time
gc.disable()
heap = [[i] for i in range(200000)]
def collect():
    gc.collect()
def spin(end):
    while time.process_time() < end: pass
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        begun = time.process_time()
        collect()
        now = time.process_time()
        spin(now + now - begun)
work(.4)
"""
HANGING = """
import gc, time
class Slow:
    def __del__(self):
        print("ready", flush=True)
        end = time.time() + 60
        while time.time() < end: pass
slow = Slow()
slow.me = slow
del slow
gc.collect()
"""


@pytest.fixture(autouse=True)
def _right():
    from tests.support.sampled_programs import RIGHT

    if not RIGHT:
        pytest.skip("processes may not be read here")


def samples_of(path):
    """{(innermost function, whether the flag is set): samples}, read by the decoder of the tests"""
    shard = Shard(path.read_bytes())
    out = collections.Counter()
    for frame, columns in shard.data:
        if shard.table_name(frame) != "sample":
            continue
        for stack, weight, state in zip(*(columns[c] for c in ("stack", "weight", "state"))):
            name = shard.strings[shard.sites[shard.stacks[stack][1]][1]].decode()
            out[name, bool(state & 128)] += weight
    return out


def test_collections_are_flagged_and_nothing_else(python, gait, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = gait("record", "-r", 2000, "-o", "run.gait", "--", python, "program.py")
    assert done.returncode == 0, done.stderr
    got = samples_of(tmp_path / "run.gait")
    inside, outside = got["collect", True], got["spin", False]
    assert inside > 20 and outside > 20
    # a look at its very begin or end may find the other
    assert got["collect", False] <= 0.1 * inside + 5 and got["spin", True] <= 0.1 * outside + 5
    info = json.loads(gait("info", "--json", "run.gait").stdout)["sampler"]
    assert info["collecting"] == sum(n for (_, flag), n in got.items() if flag)


def test_a_dump_says_who_collects(gait, start):
    import sys

    process = start([sys.executable, "-c", HANGING])
    assert process.first_line == "ready\n"

    def answer():
        got = json.loads(gait("dump", "--json", process.pid).stdout)["threads"][0]
        return got["is_collecting"] and got

    assert until(answer)["frames"][0]["name"].endswith("__del__")
    assert ", collecting garbage" in gait("dump", process.pid).stdout
