# SPDX-License-Identifier: Apache-2.0
"""`gait info` and `gait report`: their keys, their screen, hostile names."""

import csv
import fcntl
import json
import os
import re
import struct
import subprocess
import termios

import pytest
import stored_runs
from terminals import open_terminal

from tests.support.shard_maker import ShardMaker

HOSTILE = [
    b'quote " and \\ backslash',
    b"new\nline\ttab\x00nul\x1b[31mred\x7f",
    b"\xff\xfe broken \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98",
    "caf\u00e9 \u4e2d\u6587 \U0001f600 \u202e turned".encode(),
    b"x" * 100_000,
    b"",
]


def make_run(tmp_path, names=(b"forward", b"backward"), ranks=(0, 1), steps=20):
    for rank in ranks:
        shard = ShardMaker(pid=100 + rank, rank=rank, host=f"node{rank}")
        track = shard.track(key=str(shard.pid), name=b"main", os_id=shard.pid)
        for i in range(steps):
            at = shard.start_ns + i * 1_000_000
            rows = [
                (at + 10 + 1000 * k, 900, shard.site(b"cat", name)) for k, name in enumerate(names)
            ]
            shard.spans(track, rows)
            shard.rows("step", track, [(at, 900_000 + rank, i)])
        shard.write(tmp_path / "run")
    return tmp_path / "run"


def test_info_has_the_promised_keys(gait, tmp_path):
    info = json.loads(gait("info", make_run(tmp_path), "--json").stdout)
    assert info["format_version"] == 1
    assert (info["events"], info["dropped"], info["damage"]) == (2 * 20 * 3, 0, [])
    first, second = info["shards"]
    assert (first["host"], first["pid"], first["rank"]) == ("node0", 100, 0)
    assert (second["host"], second["pid"], second["rank"]) == ("node1", 101, 1)
    assert first["role"] == "program" and first["complete"] is True
    assert isinstance(first["start_ns"], int) and "subject_pid" in first
    assert first["metadata"]["program"] == "maker"


PSTATS = "tests/golden/lightning/pstats/01_two_functions.prof"


@pytest.mark.parametrize(
    "words", ["info run", "report run", "leaf stacks.txt", "leaf --functions stacks.txt",
              "leaf --source a.py stacks.txt", "diff-stacks stacks.txt stacks.txt",
              "pstats profile", "config list", "config explain", "config check gait.yaml",
              "plan 1/2/3", "doctor"]
)  # fmt: skip
def test_an_answer_in_json_ends_with_one_newline(gait, root, tmp_path, words):
    make_run(tmp_path)
    (tmp_path / "stacks.txt").write_text("a (a.py:1);b 3\n")
    (tmp_path / "gait.yaml").write_text("profiling: {wait: 2}\n")
    (tmp_path / "profile").write_bytes((root / PSTATS).read_bytes())
    answer = gait(*words.split(), "--json").stdout
    assert json.loads(answer) and answer.endswith("}\n")
    assert "\n\n" not in answer


ALL_FORMATS = ["info run", "report run", "gaps run", "breakdown run", "pstats profile"]
ALL_FORMATS += ["config list", "config explain", "config check gait.yaml", "doctor"]
ALL_FORMATS += ["leaf s.txt", "leaf --lines s.txt", "leaf --source a.py s.txt"]
ALL_FORMATS += ["diff-stacks s.txt s.txt", "plan 1/2/3"]


@pytest.mark.parametrize("words", ALL_FORMATS)
def test_a_command_with_an_answer_prints_it_in_every_format(gait, root, tmp_path, words):
    make_run(tmp_path)
    (tmp_path / "gait.yaml").write_text("profiling: {wait: 2}\n")
    (tmp_path / "s.txt").write_text("a (a.py:1);b 3\na (a.py:2) 20\n")
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "profile").write_bytes((root / PSTATS).read_bytes())
    data = json.loads(gait(*words.split(), "--format", "json").stdout)
    rows = list(csv.reader(gait(*words.split(), "--format", "csv").stdout.splitlines()))
    told = {row[1]: row[2] for row in rows if row[0] == "values"}
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            assert sum(row[0] == key for row in rows) == len(value)
        elif isinstance(value, (str, int)) and not isinstance(value, bool):
            assert told[key] == str(value)
    text = gait(*words.split()).stdout
    for form, start in (("html", "<!doctype html>"), ("md", "\n")):
        page = gait(*words.split(), "-o", f"answer.{form}", "--format", form)
        assert (page.returncode, page.stdout) == (0, "")
        assert (tmp_path / f"answer.{form}").read_text().startswith(start)
    assert gait(*words.split(), "-o", "answer.txt").stdout == ""
    if words != "doctor":  # whose clock is measured anew
        assert (tmp_path / "answer.txt").read_text() == text


def test_a_rank_that_nobody_knows_is_null(gait, tmp_path):
    ShardMaker().write(tmp_path / "run")
    shard = json.loads(gait("info", tmp_path / "run", "--json").stdout)["shards"][0]
    assert shard["rank"] is None


def test_report_has_the_promised_keys(gait, tmp_path):
    report = json.loads(gait("report", make_run(tmp_path), "--json").stdout)
    assert report["steps"] == 20
    assert report["step"] == {
        "p50_ns": 900_001,
        "p95_ns": 900_001,
        "p99_ns": 900_001,
        "max_ns": 900_001,
        "slowest": 0,
    }
    assert report["step_total_ns"] == 20 * 900_001
    assert [phase["name"] for phase in report["phases"]] == ["backward", "forward", "other"]
    assert sum(phase["total_ns"] for phase in report["phases"]) == report["step_total_ns"]
    assert abs(sum(phase["share"] for phase in report["phases"]) - 1) < 1e-9
    assert isinstance(report["wall_ns"], int)
    assert set(report["overhead"]) == {"cpu_ns", "bytes", "share"}
    assert isinstance(report["verdict"], str)
    assert report["drops"] == [] and report["damage"] == []
    assert {thread["tid"] for thread in report["threads"]} == {100, 101}


def test_drops_are_told_by_thread_and_reason(gait, tmp_path):
    shard = ShardMaker(pid=100)
    track = shard.track(key="100", name=b"main", os_id=100)
    full, start = shard.string("buffer full"), shard.start_ns
    shard.spans(track, [(start, 10, shard.site("", "x"))])
    shard.rows("drop", track, [(start + 100, 50, 7, full), (start + 500, 20, 5, full)])
    shard.rows("drop", track, [(start + 900, 0, 1, shard.string("bad luck"))])
    shard.write(tmp_path / "run")
    drops = json.loads(gait("report", tmp_path / "run", "--json").stdout)["drops"]
    for drop in drops:
        drop["from"], drop["to"] = drop["start_ns"] - start, drop["end_ns"] - start
    keys = ("tid", "reason", "events", "gaps", "from", "to")
    told = [tuple(drop[key] for key in keys) for drop in drops]
    assert told == [(100, "buffer full", 12, 2, 100, 520), (100, "bad luck", 1, 1, 900, 900)]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name[:8]))
def test_hostile_names_give_valid_json(gait, tmp_path, name):
    path = make_run(tmp_path, names=(name, b"plain"))
    wanted = name.decode("utf-8", "replace")
    # a C text ends at its first zero byte
    wanted = wanted.split("\0")[0]
    phases = json.loads(gait("report", "--json", path).stdout)["phases"]
    assert {phase["name"] for phase in phases} == {wanted, "plain", "other"}


@pytest.mark.parametrize("command", [["info"], ["report"]], ids=" ".join)
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name[:8]))
def test_hostile_names_cannot_touch_the_terminal(gait, tmp_path, command, name):
    path = make_run(tmp_path, names=(name, b"plain"))
    done = gait(*command, path.name, cwd=path.parent)
    assert done.returncode == 0
    assert all(char == "\n" or (char.isprintable() and char != "\x1b") for char in done.stdout)
    assert max(map(len, done.stdout.split("\n"))) <= 78


@pytest.mark.parametrize(
    "run",
    [
        {"ranks": (0,)},
        {"ranks": range(12)},
        {"names": [b"phase %d" % i for i in range(40)], "ranks": (0,)},
        {"steps": 3},
        {"steps": 0},
        {"names": ()},
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["info", "report"])
def test_the_screen_is_78_columns_wide(gait, tmp_path, run, command):
    make_run(tmp_path, **run)
    done = gait(command, "run")
    assert done.returncode == 0
    assert max(map(len, done.stdout.split("\n"))) <= 78


def on_terminal(build, path, columns=80, **environment):
    end, terminal = open_terminal()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run(
        [build / "gait", "report", "--all", path],
        stdout=terminal,
        env={**os.environ, "TERM": "xterm", **environment},
        check=True,
    )
    os.close(terminal)
    text = b""
    try:
        while got := os.read(end, 4096):
            text += got
    except OSError:  # the other end is closed: that was all
        pass
    os.close(end)
    return text


def test_lines_are_as_wide_as_the_terminal(gait, build, tmp_path):
    stored_runs.unpack(tmp_path)
    path = tmp_path / "ddp"
    texts = {}
    for columns in (0, 20, 60, 100, 120, 500):
        text = on_terminal(build, path, columns, TERM="dumb").decode().replace("\r\n", "\n")
        texts[columns] = text
        reach = max(map(len, text.split("\n")[4:]))  # what is above is in lines of its own
        assert not columns or min(columns, 108) - 12 < reach <= max(60, columns)
    assert texts[0] == gait("report", "--all", path).stdout
    assert texts[20] == texts[60] and texts[120] == texts[500]


def test_bold_is_for_terminals_that_want_it(gait, build, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    path = make_run(tmp_path)
    assert "\x1b" not in gait("report", path).stdout
    assert b"\x1b[1m" in on_terminal(build, path)
    assert b"\x1b" not in on_terminal(build, path, NO_COLOR="1")
    assert b"\x1b" not in on_terminal(build, path, TERM="dumb")


def test_the_verdict_comes_before_the_figures(gait, tmp_path):
    text = gait("report", make_run(tmp_path)).stdout
    verdict = json.loads(gait("report", tmp_path / "run", "--json").stdout)["verdict"]
    label = verdict.split(":")[0]
    assert text.index(label) < text.index("Steps") < text.index("Time per step")


def make_job(directory):
    """Four ranks on two machines: one slow now and then, one killed, one with losses."""
    for rank in range(4):
        exit = {"signal": 9} if rank == 3 else {"code": 0}
        shard = ShardMaker(pid=4000 + rank, rank=rank, host=f"node{rank // 2}", exit=exit)
        train = shard.track(key=str(shard.pid), name="train", os_id=shard.pid)
        loader = shard.track(key=str(shard.pid + 10), name="loader", os_id=shard.pid + 10)
        at = shard.start_ns
        for i in range(120):
            late = 3_000_000 if rank == 2 and i % 10 == 0 else 0
            parts = {"load_batch": 2_100_000, "forward": 7_900_000, "backward": 14_200_000}
            parts |= {"all_reduce": 3_000_000 + late, "update": 1_700_000}
            end, rows = at, []
            for name, length in parts.items():
                rows.append((end, length, shard.site("nn", name)))
                end += length
            shard.spans(train, rows)
            shard.spans(loader, [(at, 5_000_000, shard.site("data", "read"))])
            shard.rows("step", train, [(at, end - at + 300_000, i)])
            at = end + 450_000
        if rank == 1:
            full = shard.string("buffer full")
            shard.rows("drop", loader, [(shard.start_ns + 5000, 100, 1200, full)])
        shard.write(directory)


@pytest.mark.parametrize("command", ["info", "report", "info --json", "report --json"])
def test_the_whole_answer_is_the_one_reviewed(gait, golden, tmp_path, command):
    make_job(tmp_path / "job")
    done = gait(*command.split(), "job")
    assert (done.returncode, done.stderr) == (0, "")
    golden(f"job-{command.replace(' --', '-')}.txt", done.stdout)


def test_the_bar_of_the_smaller_phases_stays_in_its_column(gait, tmp_path):
    # forty equal phases: together, those without a line outweigh the largest
    shard = ShardMaker(pid=100)
    track = shard.track(key="100", os_id=100)
    names = [f"phase{i:02}".encode() for i in range(40)]
    at = shard.start_ns
    rows = [(at + 100 * i, 100, shard.site(b"c", name)) for i, name in enumerate(names)]
    shard.spans(track, rows)
    shard.rows("step", track, [(at, 4000, 1)])
    shard.write(tmp_path / "run")
    lines = gait("report", tmp_path / "run").stdout.splitlines()
    assert any(line.lstrip().startswith("(28 smaller)") for line in lines)
    assert max(map(len, lines)) <= 78


def test_columns_of_info_stay_apart_when_numbers_are_large(gait, tmp_path):
    shard = ShardMaker(pid=100, host="h" * 40)
    track = shard.track(key="100", os_id=100)
    lost = 38_412_500_000
    reason = shard.string("ring full")
    shard.rows("drop", track, [(shard.start_ns, 1000, lost, reason)])
    shard.write(tmp_path / "run")
    lines = gait("info", tmp_path / "run").stdout.splitlines()
    row = next(line for line in lines if "hhh" in line)
    assert row.split()[-5:-2] == ["0", "38,413", "M"] and max(map(len, lines)) <= 78
    report = gait("report", tmp_path / "run").stdout.splitlines()
    assert max(map(len, report)) <= 78


def test_a_run_of_one_unreadable_file_names_that_file(gait, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.gait").write_bytes(b"")
    done = gait("info", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.endswith("a.gait' is empty\n") and "none of" not in done.stderr


def table(gait, *words):
    """The rows of one table of an answer, as Python's csv reads them."""
    return list(csv.DictReader(gait(*words).stdout.splitlines()))


def test_the_curve_of_steps_is_in_order_of_time_where_numbers_begin_anew(gait, tmp_path):
    shard = ShardMaker(pid=100, rank=0)
    track = shard.track(key="100", os_id=100)
    at, took = shard.start_ns, []
    for epoch in range(3):
        for step in range(4):
            took.append(1_000_000 * (1 + 10 * epoch + step))
            shard.rows("step", track, [(at, took[-1], step)])
            at += took[-1] + 1000
    shard.write(tmp_path / "run")
    rows = table(gait, "report", "--table", "step_curve", "run")
    assert [(int(row["x"]), int(row["y"])) for row in rows] == list(enumerate(took))


@pytest.mark.parametrize("command", ["report", "info"])
def test_every_format_has_the_ranks_of_the_run(gait, tmp_path, command):
    make_run(tmp_path, ranks=(0, 1234))
    data = json.loads(gait(command, "--format", "json", "run").stdout)
    key = {"report": "threads", "info": "shards"}[command]
    assert [row["rank"] for row in data[key]] == [0, 1234]
    rows = table(gait, command, "--table", key, "run")
    assert [row["rank"] for row in rows] == ["0", "1234"]
    for form in ("text", "md", "html"):
        assert gait(command, "run", "-o", f"answer.{form}", "--format", form).stdout == ""
        assert "rank 1234" in (tmp_path / f"answer.{form}").read_text()


def test_a_wish_that_cannot_be_met_leaves_the_file_as_it_was(gait, tmp_path):
    make_run(tmp_path)
    (tmp_path / "a.csv").write_text("mine")
    done = gait("report", "run", "-o", "a.csv", "--table", "nix")
    assert done.returncode == 2 and "no table 'nix'; the tables are values, " in done.stderr
    assert (tmp_path / "a.csv").read_text() == "mine"
    done = gait("report", "run", "--epochs-csv", "-", "-o", "a.csv")
    assert done.returncode == 2 and "--epochs-csv excludes" in done.stderr


def test_a_page_asks_nobody_for_anything(gait, tmp_path):
    make_run(tmp_path, names=(b'<img src="http://a/b.png">', b"forward"))
    page = gait("report", "--format", "html", "run").stdout
    assert page.count("<html") == page.count("</html>") == 1
    assert "<script" not in page and "<img" not in page and "<link" not in page
    assert len(page) < 300_000


def test_the_smaller_phases_of_a_run_without_steps_have_one_mean(gait, tmp_path):
    shard = ShardMaker(pid=100)
    track = shard.track(key="100", os_id=100)
    at, smaller = shard.start_ns, []
    for phase in range(14):  # twelve have a line; of the last two one has 4 spans, one has 1
        spans, took = (
            (4, 1_000_000) if phase == 12 else (1, 6_000_000 if phase == 13 else 50_000_000)
        )
        rows = [
            (at + i * 60_000_000, took, shard.site(b"c", b"phase%d" % phase)) for i in range(spans)
        ]
        smaller += [took] * spans if phase > 11 else []
        shard.spans(track, rows)
        at += spans * 60_000_000
    shard.write(tmp_path / "run")
    (line,) = [one for one in gait("report", "run").stdout.splitlines() if "(2 smaller)" in one]
    assert line.split()[2:6] == ["10.0", "ms", "2.00", "ms"]
    assert (sum(smaller), sum(smaller) // len(smaller)) == (10_000_000, 2_000_000)


def test_gaps_are_what_lies_between_the_steps_of_a_process(gait, tmp_path):
    for rank, pauses_ms in enumerate(([200, 0, 500, 50], [0, 150, 0, 0])):
        shard = ShardMaker(pid=100 + rank, rank=rank)
        track = shard.track(key=str(shard.pid), os_id=shard.pid)
        at, steps = shard.start_ns, []
        for number, pause_ms in enumerate(pauses_ms):
            at += pause_ms * 1_000_000
            steps.append((at, 1_000_000, number))
            at += 1_000_000
        shard.rows("step", track, steps)
        shard.write(tmp_path / "run")
    gaps = json.loads(gait("gaps", "run", "--json").stdout)["gaps"]
    found = sorted((gap["rank"], gap["length_ns"] // 1_000_000, gap["after_step"]) for gap in gaps)
    assert found == [(0, 200, None), (0, 500, 1), (1, 150, 0)]
    assert all(0 < gap["share"] < 1 for gap in gaps)
    rows = table(gait, "gaps", "run", "--table", "gaps", "--least", "0.04")
    assert sorted(int(row["length_ns"]) // 1_000_000 for row in rows) == [50, 150, 200, 500]
    lines = gait("gaps", "run").stdout.splitlines()
    starts = [line.split()[:2] for line in lines[4:]]
    assert starts == [["after", "1"], ["before", "the"], ["after", "0"]]
    page = gait("gaps", "run", "--format", "html").stdout
    assert "500 ms" in page and "501" not in page


def device_run(folder):
    """Rank 3, in us: computes 0 to 40, communicates 30 to 60, copies 80 to 90; steps of 50."""
    shard = ShardMaker(pid=100, rank=3)
    host = shard.track(key="100", name=b"main", os_id=100)
    stream = shard.track(kind=2, key="7", name=b"stream 7")
    other = shard.track(kind=2, key="20", name=b"stream 20")

    def span(start_us, end_us, category, name, **numbers):
        length = (end_us - start_us) * 1000
        args = shard.args(numbers.items())
        return (shard.start_ns + start_us * 1000, length, shard.site(category, name), 0, args)

    steps = [(0, 50), (50, 100)]
    rows = [span(*step, "user_annotation", f"ProfilerStep#{i}") for i, step in enumerate(steps, 5)]
    rows += [span(1, 2, "cuda_runtime", "cudaLaunchKernel", correlation=i) for i in (1, 2)]
    rows += [span(1, 3, "cpu_op", "aten::mm", **{"External id": 9})]
    rows += [span(70, 75, "cuda_runtime", "cudaMemcpyAsync", correlation=3)]
    shard.spans(host, sorted(rows))
    shard.spans(
        stream,
        [
            span(0, 40, "kernel", "gemm", stream=7, correlation=1, **{"External id": 9}),
            span(80, 90, "gpu_memcpy", "Memcpy HtoD", stream=7, correlation=3),
        ],
    )
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    shard.spans(other, [span(30, 60, "kernel", name, stream=20, correlation=2)])
    shard.write(folder / "run")


def test_a_breakdown_cuts_devices_into_states_that_sum_to_the_window(gait, tmp_path):
    device_run(tmp_path)
    done = gait("breakdown", "run", "--steps", "--json")
    (rank,) = json.loads(done.stdout)["ranks"]
    assert (rank["rank"], [step["name"] for step in rank["steps"]]) == (
        3,
        ["ProfilerStep#5", "ProfilerStep#6"],
    )
    states = ("span", "idle", "compute", "comm", "compute+comm", "mem")
    figures = [
        [window[state] // 1000 for state in states] for window in [rank["whole"], *rank["steps"]]
    ]
    assert figures == [[90, 20, 30, 20, 10, 10], [50, 0, 30, 10, 10, 0], [50, 30, 0, 10, 0, 10]]
    total = rank["whole"]["total"]
    assert (total["exposed_comm"], total["busy"]) == (20_000, 70_000)
    assert total["overlap_ratio"] == pytest.approx(1 / 3)
    assert rank["whole"]["idle_causes"]["unknown"] == 20_000
    screen = gait("breakdown", "run", "--steps").stdout
    assert "1 rank with devices, 2 steps" in screen and max(map(len, screen.splitlines())) <= 80


def test_a_report_has_the_ledger_of_devices_below_the_hosts(gait, tmp_path):
    device_run(tmp_path)
    (row,) = json.loads(gait("report", "run", "--json").stdout)["devices"]
    parts = ("compute_ns", "overlap_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
    assert [row[part] for part in parts] == [30_000, 10_000, 20_000, 10_000, 20_000]
    assert sum(row[part] for part in parts) == row["span_ns"] == 90_000
    causes = ("host_late_ns", "launch_latency_ns", "dependency_ns", "gap_ns", "unknown_ns")
    assert sum(row[cause] for cause in causes) == row["idle_ns"]
    screen = gait("report", "--all", "run").stdout
    assert "Devices, rank" in screen and "Device-bound" not in screen


def test_a_breakdown_of_a_run_without_devices_says_so(gait, tmp_path):
    make_run(tmp_path)
    done = gait("breakdown", "run")
    assert "The recording contains no device work" in done.stdout
    assert json.loads(gait("breakdown", "run", "--json").stdout)["ranks"] == []


def test_a_breakdown_says_what_itwinai_would_beside_what_is_true(gait, tmp_path):
    device_run(tmp_path)
    done = json.loads(gait("breakdown", "run", "--compat", "itwinai", "--json").stdout)
    sums = done["compat"]["itwinai"]
    # aten::mm and its kernel have a row each; the other kernels have one
    assert (sums["computation_us"], sums["total_us"]) == (40, 120)
    assert sums["computation_fraction"] == pytest.approx(1 / 3, abs=1e-12)
    assert sums["computation_of_both_fraction"] == 1 and sums["communication_us"] == 0
    assert sums["ranks"] == {"3": {key: sums[key] for key in sums if key != "ranks"}}
    beside = {row["figure"]: (row["said_ns"], row["true_ns"]) for row in done["compat_beside"]}
    assert beside == {"computation": (40_000, 40_000), "device time": (120_000, 70_000)}
    screen = gait("breakdown", "run", "--compat", "itwinai").stdout
    assert "As itwinai" in screen and "op and kernel count both" in screen


def test_itwinais_device_time_of_an_id_is_the_outermost_ops(gait, tmp_path):
    """Of two ops with one id the first is around the other; an id may be a text."""
    shard = ShardMaker(pid=100)
    host = shard.track(key="100", name=b"main", os_id=100)
    stream = shard.track(kind=2, key="7", name=b"stream 7")

    def span(start_us, end_us, category, name, key, number):
        length, args = (end_us - start_us) * 1000, shard.args([(key, number)])
        return (shard.start_ns + start_us * 1000, length, shard.site(category, name), 0, args)

    outer = span(0, 9, "cpu_op", "aten::linear", "external id", 9)
    shard.spans(host, [outer, span(1, 8, "cpu_op", "my::mm", "External id", 9)])
    kernels = [span(10, 40, "kernel", "gemm", "External id", "9")]
    kernels += [span(40, 45, "kernel", "gemm", "External id", 8)]
    shard.spans(stream, kernels)
    shard.write(tmp_path / "run")
    done = json.loads(gait("breakdown", "run", "--compat", "itwinai", "--json").stdout)
    sums = done["compat"]["itwinai"]
    assert (sums["computation_us"], sums["total_us"]) == (30, 65)


@pytest.mark.parametrize("tool", ["hta", "tensorboard", "tracelens", "nsight"])
def test_other_tools_figures_are_refused_with_the_page_that_tells_where_ours_are(
    gait, tmp_path, tool
):
    device_run(tmp_path)
    done = gait("breakdown", "run", "--compat", tool)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"'{tool}'; docs/howto/from-other-tools.md tells" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("run", stored_runs.OPS_TABLES)
def test_ops_have_the_figures_of_torchs_own_table(gait, tmp_path, run):
    stored_runs.unpack(tmp_path)
    _, _, rule, _, _, *lines = stored_runs.ops_table(tmp_path / run).splitlines()
    ends = [match.end() for match in re.finditer("-+", rule)]
    units = {"us": 1e3, "ms": 1e6, "s": 1e9}
    told = {}
    for line in lines[: lines.index(rule)]:
        cells = [line[start:end].strip() for start, end in zip([0, *ends], ends)]
        number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", cells[2]).groups()
        told[cells[0].rstrip(".")] = (cells[1].rstrip("%"), float(number) * units[unit])
    data = json.loads(gait("ops", run, "--json").stdout)
    rows = sorted(data["ops"], key=lambda op: -op["self_cpu_ns"])[: len(told)]
    assert len(told) == 10
    for (name, (share, self_ns)), row in zip(told.items(), rows):
        assert row["name"].startswith(name)
        assert row["self_cpu_ns"] == pytest.approx(self_ns, rel=1e-3)
        assert 100 * row["self_share"] == pytest.approx(float(share), abs=0.006)


@pytest.mark.parametrize("version", ["2.11", "2.14"])
def test_torchs_table_lists_pythons_functions_where_that_torch_did(gait, root, version):
    """Tables of 2.12 and 2.13 alone do: tests/torch has the one that is installed."""
    trace = root / "tests" / "golden" / "torch_tables" / f"{version}.json.gz"
    table = trace.with_name(f"{version}.txt").read_text()
    assert ".py(" not in table
    assert gait("ops", "--torch", trace).stdout == table
