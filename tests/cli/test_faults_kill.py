# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments: what was published before it is read back.

GAIT_TEST_FULL=1 makes it 200 kills under block and 50 under each other policy.
"""

import json
import mmap
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import time

import pytest
from ring_files import rings_of

FULL = os.environ.get("GAIT_TEST_FULL") == "1"
KILLS = {"block": 200, "drop": 50, "overwrite": 50}
KILLS = KILLS if FULL else {"block": 24, "drop": 8, "overwrite": 8}
PROGRAM = pathlib.Path(__file__).with_name("programs") / "kill_pair.c"
EACH = 3  # events a number: outer, counter, inner


@pytest.fixture
def victim(compile_c):
    return compile_c(PROGRAM.read_text(), name="kill_pair")


class Page:
    def __init__(self, path):
        path.write_bytes(bytes(4096))
        self.path = path
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 4096)

    def word(self, at):
        return struct.unpack_from("<Q", self.memory, at)[0]

    def wait_for_pid(self, process):
        deadline = time.monotonic() + 30
        while not self.word(0) and time.monotonic() < deadline:
            assert process.poll() is None
        return self.word(0)

    def published(self):
        return [self.word(64), self.word(128)]

    def wait_for_one(self, process):
        deadline = time.monotonic() + 30
        while not any(self.published()) and time.monotonic() < deadline:
            assert process.poll() is None


def kill_one(victim, build, folder, policy, with_run, early):
    """Run the victim, kill it soon after its start, or after its first words
    where it is not `early`: what it had published."""
    page = Page(folder / "page")
    line = [str(victim), str(page.path)]
    if with_run:
        line = [str(build / "gait"), "run", "-q", "-o", str(folder / "run"), "--", *line]
    environment = {
        **os.environ,
        "GAIT_DIR": str(folder / "run"),
        "GAIT_OVERFLOW": policy,
        "GAIT_RING": random.choice(["4K", "64K", "256K"]),
    }
    if with_run:
        del environment["GAIT_DIR"]
    process = subprocess.Popen(line, env=environment)
    pid = page.wait_for_pid(process)
    if not early:
        page.wait_for_one(process)
    time.sleep(random.uniform(0, 0.004 if early else 0.04))
    os.kill(pid, signal.SIGKILL)
    code = process.wait(60)
    assert code == (128 + signal.SIGKILL if with_run else -signal.SIGKILL)
    return page.published(), pid


def remove_rings(pid):
    """Those of a victim that died before its shard could name one."""
    for ring in rings_of([pid]):
        ring.unlink(missing_ok=True)


ROW = re.compile(
    r"^(span|counter),kill,(outer|inner|counter)([01]),,\d+,\d+,(\d+),(\d*),,(\d*),?(.*)$"
)
OUTER_ARGS = re.compile(r'"\{""n"":(\d+)\}"')
INNER_ARGS = re.compile(r'"\{""text"":""this is number (\d+)""\}"')


class Thread:
    """One thread's rows by name: numbers in order of appearance, and their times."""

    def __init__(self):
        self.rows = {"outer": [], "inner": [], "counter": []}

    def add(self, name, start, duration, value, args):
        number = value
        if name != "counter":
            found = (OUTER_ARGS if name == "outer" else INNER_ARGS).fullmatch(args)
            number = found.group(1) if found else None
        end = int(start) + int(duration) if duration else None
        self.rows[name].append((int(number) if number else None, int(start), end))


def read_back(gait, run):
    done = gait("export", run, "--format", "csv")
    assert done.returncode == 0, done.stderr
    threads = [Thread(), Thread()]
    for line in done.stdout.splitlines()[1:]:
        if line.startswith("drop,"):
            continue
        found = ROW.match(line)
        assert found, line
        kind, name, thread, start, duration, value, args = found.groups()
        threads[int(thread)].add(name, start, duration, value, args)
    return threads


def numbers(rows):
    return [number for number, _, _ in rows]


def check_unbroken(rows, first, published):
    """Numbers first, first + 1, … up to what was published or one more; a
    span's argument may be missing in the last row only, killed before it."""
    got = numbers(rows)
    if got and got[-1] is None:
        got[-1] = got[-2] + 1 if len(got) > 1 else first
    assert got == list(range(first, first + len(got)))
    assert first + len(got) - 1 in (published, published + 1), (first, len(got), published)
    assert all(end is not None for _, _, end in rows[:-1]) or rows[0][2] is None


def check_nesting(thread):
    by_number = {number: (start, end) for number, start, end in thread.rows["outer"]}
    for name in ("inner", "counter"):
        for number, start, end in thread.rows[name]:
            if number is None or number not in by_number:
                continue
            outer_start, outer_end = by_number[number]
            assert outer_start <= start
            assert outer_end is None or (end or start) <= outer_end


def check_block(thread, published):
    for rows in thread.rows.values():
        if rows or published:
            check_unbroken(rows, 1, published)
    check_nesting(thread)


def check_losing(thread, published):
    for rows in thread.rows.values():
        got = [number for number in numbers(rows) if number is not None]
        assert got == sorted(set(got))
        assert not got or got[-1] <= published + 1
    check_nesting(thread)


def check_newest(thread, published):
    """Overwrite: an unbroken row up to the end, for each kind."""
    for rows in thread.rows.values():
        if published:
            got = [number for number in numbers(rows) if number is not None]
            assert got == list(range(got[0], got[-1] + 1))
            assert got[-1] in (published, published + 1)
    check_nesting(thread)


def check_counts(info, threads, published):
    assert info["damage"] == []
    assert info["events"] == sum(len(rows) for t in threads for rows in t.rows.values())
    begun = info["events"] + info["dropped"]
    least = EACH * sum(published)
    assert least <= begun <= least + EACH * len(published)


CHECKS = {"block": check_block, "drop": check_losing, "overwrite": check_newest}


@pytest.mark.parametrize("policy", CHECKS)
def test_what_was_published_before_a_kill_is_read_back(gait, build, victim, tmp_path, policy):
    reached = 0
    for i in range(KILLS[policy]):
        folder = tmp_path / str(i)
        folder.mkdir()
        early = i % 4 == 0
        published, pid = kill_one(victim, build, folder, policy, i % 2 == 1, early)
        reached += sum(published) > 0
        if not any(published) and gait("info", folder / "run").returncode == 2:
            remove_rings(pid)
            continue  # before the first word of the shard
        threads = read_back(gait, folder / "run")
        for thread, last in zip(threads, published):
            CHECKS[policy](thread, last)
        info = json.loads(gait("info", folder / "run", "--json").stdout)
        (shard,) = info["shards"]
        check_counts(info, threads, published)
        assert shard["complete"]
        ring = pathlib.Path(shard["metadata"]["ring"])
        assert not ring.exists()  # gait run, or else the first question, emptied it
    assert reached >= KILLS[policy] * 3 // 4
