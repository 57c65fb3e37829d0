# SPDX-License-Identifier: Apache-2.0
"""What goes to other viewers: pprof's profile.proto, and slices over time for
Perfetto and chrome://tracing. Both are read by readers that are not ours."""

import collections
import gzip
import json
import os
import subprocess
import sys

import pytest

from tests.sample.test_flame import HOSTILE
from tests.support.sampled_programs import PROGRAMS
from tests.support.shard_maker import ShardMaker

PROGRAM = PROGRAMS / "programs" / "alternating.py"
MS = 1_000_000

# profile.proto as its page has it: message, then number, name, type; * repeats.
PROFILE = {
    "ValueType": "1 type int64,2 unit int64",
    "Label": "1 key int64,2 str int64,3 num int64,4 num_unit int64",
    "Sample": "1 location_id *uint64,2 value *int64,3 label *Label",
    "Mapping": "1 id uint64",
    "Line": "1 function_id uint64,2 line int64,3 column int64",
    "Location": "1 id uint64,2 mapping_id uint64,3 address uint64,4 line *Line,5 is_folded bool",
    "Function": "1 id uint64,2 name int64,3 system_name int64,4 filename int64,5 start_line int64",
    "Profile": "1 sample_type *ValueType,2 sample *Sample,3 mapping *Mapping,4 location *Location,"
    "5 function *Function,6 string_table *string,7 drop_frames int64,8 keep_frames int64,"
    "9 time_nanos int64,10 duration_nanos int64,11 period_type ValueType,12 period int64",
}


@pytest.fixture(scope="module")
def profile_class():
    pb = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = pb.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in PROFILE.items():
        message = file.message_type.add(name=name)
        for number, field, kind in (entry.split() for entry in fields.split(",")):
            added = message.field.add(name=field, number=int(number))
            added.label = added.LABEL_REPEATED if kind[0] == "*" else added.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            added.type = getattr(added, "TYPE_" + kind.upper(), added.TYPE_MESSAGE)
            if kind in PROFILE:
                added.type_name = ".p." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


def read_profile(profile_class, path):
    """(profile, {(frames, labels): values}); frames are (name, file, line), outermost first."""
    profile = profile_class.FromString(gzip.decompress(path.read_bytes()))
    text = profile.string_table
    assert text[0] == ""
    functions = {f.id: (text[f.name], text[f.filename]) for f in profile.function}
    assert len(functions) == len(profile.function) and 0 not in functions
    places = {}
    for location in profile.location:
        (line,) = location.line
        places[location.id] = (*functions[line.function_id], line.line)
    assert len(places) == len(profile.location) and 0 not in places
    stacks = collections.Counter()
    for sample in profile.sample:
        assert len(sample.value) == len(profile.sample_type)
        frames = tuple(places[i] for i in reversed(sample.location_id))
        labels = tuple((text[label.key], text[label.str]) for label in sample.label)
        stacks[frames, labels] += sample.value[0]
    return profile, stacks


def test_pprof_holds_every_stack_with_its_count(gait, tmp_path, profile_class):
    lines = [
        "main (train.py:3);step (train.py:9) 17",
        "main (train.py:3);step (train.py:10) 4",
        "main (train.py:3);step (train.py:9);step (other.py:9) 2",
        'process 12:"python a.py";thread (13): loader;load (d.py:1) 5',
        "native_without_place 1",
    ]
    (tmp_path / "stacks.txt").write_text("\n".join(lines) + "\n")
    done = gait("flame", "-f", "pprof", "-o", "stacks.pb.gz", "stacks.txt")
    assert done.returncode == 0, done.stderr
    profile, stacks = read_profile(profile_class, tmp_path / "stacks.pb.gz")
    main, step = ("main", "train.py", 3), ("step", "train.py", 9)
    assert stacks == {
        ((main, step), ()): 17,
        ((main, ("step", "train.py", 10)), ()): 4,
        ((main, step, ("step", "other.py", 9)), ()): 2,
        ((("load", "d.py", 1),), (("process", 'process 12:"python a.py"'),
                                  ("thread", "thread (13): loader"))): 5,
        ((("native_without_place", "", 0),), ()): 1,
    }  # fmt: skip
    assert len(profile.function) == 5
    (kind,) = profile.sample_type
    assert (profile.string_table[kind.type], profile.string_table[kind.unit]) == (
        "samples",
        "count",
    )


def test_pprof_reads_whatever_the_names_are(gait, tmp_path, profile_class):
    text = "".join(f"root;{name} {10 + i}\n" for i, name in enumerate(HOSTILE))
    (tmp_path / "s.txt").write_text(text, encoding="utf-8", errors="surrogateescape")
    assert gait("flame", "-f", "pprof", "-o", "s.pb.gz", "s.txt").returncode == 0
    _, stacks = read_profile(profile_class, tmp_path / "s.pb.gz")
    assert sum(stacks.values()) == sum(10 + i for i in range(len(HOSTILE)))


@pytest.fixture
def right():
    from tests.support.sampled_programs import RIGHT

    if not RIGHT:
        pytest.skip("processes may not be read here")


def test_a_recording_in_pprof_tells_its_period(gait, tmp_path, profile_class, right):
    done = gait("record", "-f", "pprof", "-r", 500, "-o", "p", "--",
                sys.executable, PROGRAM, 1, 0, 3, 1)  # fmt: skip
    assert done.returncode == 0, done.stderr
    profile, stacks = read_profile(profile_class, tmp_path / "p")
    assert str(PROGRAM) in {file for frames, _ in stacks for _, file, _ in frames}
    assert f"gait: {sum(stacks.values())} samples" in done.stderr
    text = profile.string_table
    assert [text[kind.type] for kind in profile.sample_type] == ["samples", "time"]
    assert text[profile.period_type.unit] == "nanoseconds"
    assert profile.period >= 2 * MS and profile.duration_nanos > 0
    for sample in profile.sample:
        assert sample.value[1] == sample.value[0] * profile.period


def slices(document):
    """[(pid, tid, name, start us, length us)]; fails where a thread's are not nested."""
    open_, out = collections.defaultdict(list), []
    last = {}
    for event in document["traceEvents"]:
        place = event["pid"], event["tid"]
        if event["ph"] == "M":
            continue
        assert event["ts"] >= last.get(place, 0)
        last[place] = event["ts"]
        if event["ph"] == "B":
            open_[place].append(event)
        else:
            assert event["ph"] == "E"
            begun = open_[place].pop()
            length = event["ts"] - begun["ts"]
            out.append((*place, begun["name"], begun["ts"], round(length, 3)))
    assert not any(open_.values())
    return out


def test_calls_that_samples_share_are_one_slice(gait, tmp_path):
    sampler = {"rate_asked_hz": 1000, "seconds": 0.1, "rounds": 100}
    shard = ShardMaker(role="sampler", subject_pid=77, sampler=sampler)
    thread = shard.track(key="78", name="main <&>", os_id=78)
    sites = [0] + [shard.site("python", name, "x.py", 1) for name in ("m", "a", "b", "c")]
    shard.rows("stack", 0, [(1, 0, sites[1], 5), (2, 1, sites[2], 6), (3, 2, sites[3], 7),
                            (4, 1, sites[4], 8), (5, 2, sites[3], 9)])  # fmt: skip
    begin = 1_700_000_000_000_000_000
    rows = [(0, 2, 10), (10, 3, 5), (15, 5, 5), (20, 4, 5), (100, 4, 3)]
    shard.rows("sample", thread, [(begin + at * MS, stack, n, 1) for at, stack, n in rows])
    shard.write(tmp_path / "run")
    done = gait("export", "-f", "stacks", "run")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    first = begin - document["baseTimeNanoseconds"]
    got = [(name, round(ts - first / 1000), length) for _, _, name, ts, length in slices(document)]
    assert sorted(got) == sorted([
        ("m", 0, 25000), ("a", 0, 20000), ("b", 10000, 10000), ("c", 20000, 5000),
        ("m", 100000, 3000), ("c", 100000, 3000),
    ])  # fmt: skip
    begins = [event for event in document["traceEvents"] if event["ph"] == "B"]
    assert {(event["pid"], event["tid"]) for event in begins} == {(77, 78)}
    assert begins[0]["args"] == {"file": "x.py", "line": 5}
    names = {e["name"]: e["args"]["name"] for e in document["traceEvents"] if e["ph"] == "M"}
    assert names["thread_name"] == "main <&>"


@pytest.mark.parametrize("how", ["file", "pipe"])
def test_a_recording_becomes_a_chart(gait, tmp_path, how, right):
    words = ["record", "-s", "-r", 500, "-f", "chrome", "-o", "c.json" if how == "file" else "-"]
    done = gait(*words, "--", sys.executable, PROGRAM, 2, 0, 3, 1,
                env={**os.environ, "TMPDIR": str(tmp_path)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "c.json").read_text() if how == "file" else done.stdout
    if how == "pipe":
        text = text[text.index("{") :]  # behind what the program printed
        text = text[: text.rindex("}") + 1]
    document = json.loads(text)
    got = slices(document)
    assert {"by_slow", "slow"} <= {name for _, _, name, _, _ in got}
    assert len({place[:2] for place in got}) >= 2 and len({place[0] for place in got}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json"] * (how == "file")


def test_a_file_behind_standard_output_gets_what_the_program_said_first(build, tmp_path, right):
    link = os.readlink("/dev/stdout")
    command = [build / "gait", "record", "-r", "500", "-f", "raw", "-o", "-", "--"]
    program = "print('said', flush=True); sum(i for i in range(3_000_000))"
    with open(tmp_path / "all.txt", "w") as out:
        done = subprocess.run([*command, sys.executable, "-c", program], stdout=out)
    assert done.returncode == 0
    said, *stacks = (tmp_path / "all.txt").read_text().splitlines()
    assert said == "said" and stacks and stacks[-1].rpartition(" ")[2].isdigit()
    assert os.readlink("/dev/stdout") == link
    assert [path.name for path in tmp_path.iterdir()] == ["all.txt"]


def test_a_link_stays_one(gait, tmp_path, right):
    (tmp_path / "kept").mkdir()
    (tmp_path / "latest.txt").symlink_to("kept/run.txt")
    gait(
        "record",
        "-o",
        tmp_path / "latest.txt",
        "--",
        sys.executable,
        "-c",
        "sum(range(30_000_000))",
    )
    assert (tmp_path / "latest.txt").is_symlink()
    assert "<module>" in (tmp_path / "kept/run.txt").read_text()
