# SPDX-License-Identifier: Apache-2.0
"""gait pstats: the text of Python's pstats byte for byte, from any file."""

import io
import json
import marshal
import pathlib
import pstats
import random

import pytest

CASES = pathlib.Path(__file__).parent.parent / "golden/lightning/pstats"
SORTS = "cumulative time calls pcalls filename line name nfl tottime ncalls module".split()
NAMES = ["f", "<lambda>", "<module>", "été", "訓練", "<built-in method x>", "a" * 90, "<", "<>"]
FILES = ["~", "/a/b.py", "/c/b.py", "b.py", "<string>", "/p/", "", "/x/é.py", "a/b/c.py"]
TIMES = [0.0, 0.5, 1.0, 1e-9, 0.0005, 0.0015, 1e12, 1e22, 1, 0, -0.0, 2.5e-5, float("inf")]
COUNTS = [0, 1, 1, 2, 10, 1000, 123456789, 10**10, 2**31, 2**63, 10**25]
LIMITS = [None, 0, 1, 3, 20, -1, 10**20, 0.5, 1.0, 0.0, 0.25, 0.333, 1.5, 1e-05, 0.123456789]


class Stats:
    def __init__(self, stats):
        self.stats = stats

    def create_stats(self):
        pass


def text_of(stats, sort, limit):
    stream = io.StringIO()
    shown = pstats.Stats(Stats(dict(stats)), stream=stream).strip_dirs().sort_stats(sort)
    shown.print_stats(*([] if limit is None else [limit]))
    return stream.getvalue()


@pytest.mark.parametrize("limit", ["20", "0.5", "1.0"])
@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.prof")))
def test_the_text_is_that_of_lightning(name, limit, gait):
    done = gait("pstats", CASES / (name + ".prof"), "--limit", limit)
    wanted = (CASES / f"{name}.r{limit}.txt").read_bytes().decode()
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")


def random_stats(chance):
    stats = {}
    for _ in range(chance.choice([1, 2, 3, 5, 20, 60])):
        file = chance.choice(FILES)
        line = 0 if file == "~" and chance.random() < 0.8 else chance.choice([0, 1, 7, 2**33])
        calls = chance.choice(COUNTS)
        primitive = calls if chance.random() < 0.7 else chance.choice(COUNTS)
        times = [chance.choice([*TIMES, chance.random(), 1e6 * chance.random()]) for _ in range(2)]
        callers = dict.fromkeys(list(stats)[: chance.choice([0, 0, 3])], (1, 1, 0.1, 0.2))
        stats[(file, line, chance.choice(NAMES))] = (primitive, calls, *times, callers)
    if chance.random() < 0.1:
        value = stats[next(iter(stats))]
        value[4][("jprofile", 0, "profiler")] = (1, 1, 0.0, 0.0)
    return stats


@pytest.mark.parametrize("seed", range(60))
def test_the_text_is_that_of_pstats_for_any_file(seed, gait, tmp_path):
    chance = random.Random(seed)
    stats = random_stats(chance)
    (tmp_path / "x.prof").write_bytes(marshal.dumps(stats, chance.randrange(5)))
    sort, limit = chance.choice(SORTS), chance.choice(LIMITS)
    option = [] if limit is None else [f"--limit={limit!r}"]
    done = gait("pstats", tmp_path / "x.prof", "--sort", sort, *option)
    assert done.stdout == text_of(stats, sort, limit), done.stderr


def test_json_has_the_same_numbers(gait, tmp_path):
    done = gait("pstats", CASES / "02_recursive.prof", "--json", "--limit", "2")
    answer = json.loads(done.stdout)
    assert answer["function_count"] == 3 and answer["calls"] == 1234567890 + 21891 + 1
    first = answer["functions"][0]
    assert (first["file"], first["line"], first["name"]) == ("fib.py", 9, "ack")
    assert (first["primitive_calls"], first["calls"]) == (7, 1234567890)
    assert (first["own_seconds"], first["seconds"]) == (12345.6789, 99999.9995)


KEY = ("f.py", 1, "f")
GOOD = (1, 1, 0.1, 0.1, {})


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (b"", "ends in the middle"),
        (b"not marshal at all", "not the start of a plain value"),
        (marshal.dumps({}), "no function calls"),
        (marshal.dumps([1]), "holds no dict"),
        (marshal.dumps({1: GOOD}), "not (file, line, name)"),
        (marshal.dumps({KEY: 3}), "is not (calls"),
        (marshal.dumps({KEY: (1, 1, "x", 0.1, {})}), "is not (calls"),
        (marshal.dumps({KEY: (10**40, 1, 0.1, 0.1, {})}), "more than 120 bits"),
        (marshal.dumps({KEY: GOOD})[:-1], "ends in the middle"),
        (b"r\x00\x00\x00\x00", "does not exist"),
        (b"(\xff\xff\xff\x7f" * 9, "more items"),
        (b"[\x01\x00\x00\x00" * 100, "deep"),
        (b"0", "holds no value"),
        (b"{N0", "has no value"),
    ],
    ids=range(14),
)
def test_what_is_no_profile_is_refused_in_a_sentence(what, words, gait, tmp_path):
    (tmp_path / "x.prof").write_bytes(what)
    done = gait("pstats", tmp_path / "x.prof")
    assert done.returncode == 2 and not done.stdout
    assert words in done.stderr and "x.prof" in done.stderr and done.stderr.count("\n") == 1


def test_every_shortened_file_is_refused(gait, tmp_path, build):
    good = marshal.dumps({KEY: GOOD, ("g.py", 2, "g"): (1, 2, 0.5, 0.5, {KEY: (1, 1, 0.1, 0.1)})})
    for length in range(0, len(good), 3):
        (tmp_path / "x.prof").write_bytes(good[:length])
        assert gait("pstats", tmp_path / "x.prof").returncode == 2


@pytest.mark.parametrize("limit", ["", "x", "1.2.3", "1e", "--", "0x10", "1 2", "nan"])
def test_a_limit_is_a_number(limit, gait):
    done = gait("pstats", CASES / "01_two_functions.prof", f"--limit={limit}")
    assert done.returncode == 2 and "--limit" in done.stderr


def test_no_file_and_no_such_file(gait, tmp_path):
    assert gait("pstats").returncode == 2
    assert "no such file" in gait("pstats", tmp_path / "none").stderr.lower()
    assert gait("pstats", tmp_path).returncode == 2
