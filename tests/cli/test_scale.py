# SPDX-License-Identifier: Apache-2.0
"""`gait scale`: against itwinai 0.3.3's own figures, made-up trainings, and bad input.

tests/golden/itwinai.tar.xz holds tables that itwinai 0.3.3 wrote and what it said of them
(tests/support/make_itwinai_tables.py).
"""

import csv
import json
import math
import os
import re
import shutil
import stat
import statistics
import xml.etree.ElementTree as ET

import pytest
import stored_runs

from tests.support.made_training import WORK, Training
from tests.support.shard_maker import ShardMaker

SVG = "{http://www.w3.org/2000/svg}"
DEVICES = 2  # a node, in the stored tables
PLOTS = [
    "absolute_epoch_time", "relative_epoch_time_speedup", "gpu_energy_plot",
    "utilization_plot", "computation_vs_other_plot", "computation_vs_communication_plot",
]  # fmt: skip


@pytest.fixture
def stored(root, tmp_path):
    stored_runs.unpack(tmp_path, root / "tests/golden/itwinai.tar.xz")
    return tmp_path


def ask(gait, *words):
    done = gait("scale", "--json", *map(str, words))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_epochs(folder, run, sizes, name="ddp"):
    """itwinai's table of epochs: {nodes: [seconds, ...]}."""
    where = folder / run / "epoch-time"
    where.mkdir(parents=True, exist_ok=True)
    for nodes, times in sizes.items():
        rows = [f"{i + 1},{time},{name},{nodes}" for i, time in enumerate(times)]
        text = "\n".join(["epoch_id,time,name,nodes", *rows, ""])
        (where / f"epochtime_{name}_{nodes}N.csv").write_text(text)
    return folder / run


def write_devices(folder, run, rows, name="ddp_2.csv"):
    where = folder / run / "gpu-energy-data"
    where.mkdir(parents=True, exist_ok=True)
    head = "sample_idx,utilization,power,local_rank,node_idx,num_global_gpus,strategy"
    lines = [",".join(map(str, row)) for row in rows]
    (where / name).write_text("\n".join([head + ",probing_interval", *lines, ""]))
    return folder / run


# ---- itwinai's figures ----------------------------------------------------------------


def test_itwinais_own_figures_come_out_of_its_tables(gait, stored):
    expected = json.loads((stored / "expected.json").read_text())
    answer = ask(gait, stored / "scalability-metrics", "--include-communication")
    told = {(r["strategy"], r["workers"], r["figure"]): r["itwinai"] for r in answer["itwinai"]}

    def same(strategy, workers, figure, wanted):
        assert told.pop((strategy, workers, figure)) == pytest.approx(wanted, abs=1e-12, rel=1e-12)

    for row in expected["epochs"]:
        same(row["name"], row["nodes"] * DEVICES, "epoch, s", row["avg_epoch_time"])
    for row in expected["speedup"]:
        same(row["name"], row["nodes"] * DEVICES, "speedup", row["speedup"])
    for row in expected["devices"]:
        same(row["strategy"], row["num_global_gpus"], "energy, Wh", row["total_energy_wh"])
        same(row["strategy"], row["num_global_gpus"], "utilisation, %", row["utilization"])
    for key, figure in (("computation", "computation"), ("communication", "comp. of both")):
        for row in expected[key]:
            if row["computation_fraction"] is not None:  # nothing of that size
                same(row["strategy"], row["num_gpus"], figure, row["computation_fraction"])
    assert told == {}


def test_the_right_figures_stand_beside_them(gait, stored):
    answer = ask(gait, stored / "scalability-metrics")
    right = {(r["strategy"], r["workers"], r["figure"]): r["right"] for r in answer["itwinai"]}
    # by hand, from the same tables: a run is one value, its first epoch does not count
    epochs, energies = [], []
    for run in ("run0", "run1"):
        folder = stored / "scalability-metrics" / run
        with open(folder / "epoch-time/epochtime_ddp_2N.csv") as table:
            epochs.append(
                statistics.fmean(float(r["time"]) for r in list(csv.DictReader(table))[1:])
            )
        with open(folder / "gpu-energy-data/ddp_4.csv") as table:
            watts = [float(row["power"]) for row in csv.DictReader(table)]
            energies.append(sum(watts) / 3600)  # the interval is a second
    assert right["ddp", 4, "epoch, s"] == pytest.approx(statistics.fmean(epochs), rel=1e-12)
    assert right["ddp", 4, "energy, Wh"] == pytest.approx(statistics.fmean(energies), rel=1e-12)
    # each kernel once: 50,001 us compute, 8,000.75 are collectives, 2,500 are copies
    kernels, rest = 36000.125 + 5000.125 + 9000.5, 8000.75 + 2500
    share = kernels / (kernels + rest)
    assert right["ddp", 4, "computation"] == pytest.approx(share, rel=1e-12)
    (row,) = [r for r in answer["times"] if (r["strategy"], r["workers"]) == ("ddp", 4)]
    t = 12.706204736  # Student's, one degree of freedom
    half = t * statistics.stdev(epochs) / math.sqrt(2)
    assert row["high_ns"] - row["time_ns"] == pytest.approx(half * 1e9, rel=1e-8)
    assert row["runs"] == 2


def test_three_identical_runs_spend_what_one_does(gait, stored):
    root = stored / "scalability-metrics"
    shutil.rmtree(root / "run1")
    one = ask(gait, root)
    for copy in ("copy1", "copy2"):
        shutil.copytree(root / "run0", root / copy)
    three = ask(gait, root)
    assert [r["energy_wh"] for r in three["energy"]] == pytest.approx(
        [r["energy_wh"] for r in one["energy"]], rel=1e-12
    )
    assert {row["runs"] for row in three["energy"]} == {3}
    assert all(row["deviation_wh"] == pytest.approx(0, abs=1e-12) for row in three["energy"])


# ---- laws and bases -------------------------------------------------------------------


def test_laws_come_back_and_speedups_have_their_base(gait, tmp_path):
    serial, sizes = 0.07, [1, 2, 4, 8, 16]
    write_epochs(tmp_path, "r", {n: [100 * (serial + (1 - serial) / n)] * 2 for n in sizes})
    slow = {n: [200 * (serial + (1 - serial) / n)] * 2 for n in sizes[2:]}
    write_epochs(tmp_path, "r", slow, name="horovod")
    answer = ask(gait, tmp_path, "--gpus-per-node", 1)
    laws = {(row["strategy"], row["law"]): row for row in answer["laws"]}
    assert laws["ddp", "Amdahl"]["serial"] == pytest.approx(serial, abs=1e-9)
    assert laws["horovod", "Amdahl"]["serial"] == pytest.approx(serial, abs=1e-9)
    assert laws["ddp", "USL"]["coherency"] == pytest.approx(0, abs=1e-9)
    own = {(r["strategy"], r["workers"]): r for r in answer["times"]}
    assert own["ddp", 16]["speedup"] == pytest.approx(1 / (serial + (1 - serial) / 16))
    assert own["horovod", 4]["speedup"] == 1
    common = ask(gait, tmp_path, "--gpus-per-node", 1, "--baseline", "common")
    rows = {(r["strategy"], r["workers"]): r for r in common["times"]}
    assert rows["horovod", 4]["base_workers"] == 1
    assert rows["horovod", 4]["speedup"] == pytest.approx(own["ddp", 4]["speedup"] / 2)


def test_the_work_may_grow_with_the_workers(gait, tmp_path):
    write_epochs(tmp_path, "r", {1: [10, 10], 4: [12.5, 12.5]})
    rows = ask(gait, tmp_path, "--gpus-per-node", 1, "--scaling", "weak")["times"]
    assert [row["efficiency"] for row in rows] == pytest.approx([1, 0.8])
    assert rows[1]["speedup"] == pytest.approx(3.2)
    assert {row["scaling"] for row in rows} == {"weak"}


# ---- runs of gait, traces, mixtures ---------------------------------------------------


def make_run(folder, name, ranks, step_us, wait_us, **meta):
    """20 steps on each rank: spans `compute` and `wait`."""
    for rank in range(ranks):
        shard = ShardMaker(pid=100 + rank, rank=rank, **meta)
        track = shard.track(key=str(shard.pid), os_id=shard.pid)
        spans, steps = [], []
        for number in range(20):
            at = shard.start_ns + number * 10_000_000
            steps.append((at, step_us * 1000, number))
            spans.append((at, wait_us * 1000, shard.site(b"app", b"wait")))
            spans.append(
                (at + wait_us * 1000, (step_us - wait_us) * 1000, shard.site(b"app", b"compute"))
            )
        shard.spans(track, spans)
        shard.rows("step", track, steps)
        shard.write(folder / name)


def test_runs_are_compared_by_steps_and_losses_by_part(gait, tmp_path):
    make_run(tmp_path, "one", 1, 1000, 100)
    make_run(tmp_path, "four", 4, 1600, 500)
    answer = ask(gait, tmp_path, "--scaling", "weak")
    rows = {row["workers"]: row for row in answer["times"]}
    assert (rows[1]["time_ns"], rows[4]["time_ns"]) == (1_000_000, 1_600_000)
    assert rows[4]["efficiency"] == pytest.approx(1000 / 1600)
    lost = {row["part"]: row["lost"] for row in answer["losses"]}
    assert lost["wait"] == pytest.approx(400 / 1600)
    assert lost["compute"] == pytest.approx(200 / 1600)
    assert sum(lost.values()) == pytest.approx(1 - rows[4]["efficiency"])
    text = gait("scale", "--scaling", "weak", str(tmp_path)).stdout
    assert "62 % EFFICIENT AT 4" in text and "'wait' costs most: 25.0 %" in text.replace("\n ", "")


def test_runs_of_other_models_are_told_and_kept_apart(gait, tmp_path):
    make_run(tmp_path, "small", 1, 1000, 100, lightning_module="Net")
    make_run(tmp_path, "large", 2, 4000, 100, lightning_module="Vast")
    answer = ask(gait, tmp_path)
    assert [(row["model"], row["speedup"]) for row in answer["times"]] == [("Net", 1), ("Vast", 1)]
    text = gait("scale", str(tmp_path)).stdout
    assert "the runs train different models" in text and "ONE SIZE" in text


@pytest.mark.parametrize(
    "one, two, unlike",
    [
        ((1, 32), (2, 32), None),  # weak scaling
        ((1, 32), (2, 16), None),  # strong
        ((1, 32), (2, 256), "takes 32 samples a step"),
        ((1, 32, "H100"), (2, 32, "A100"), "ran on H100"),
    ],
)
def test_what_is_no_size_of_one_training_is_refused(gait, tmp_path, one, two, unlike):
    """As gait compare does: it was "1151 % EFFICIENT"."""
    paths = []
    for ranks, batch, *device in one, two:
        for rank in range(ranks):
            named = {"device_name": device[0]} if device else {}
            training = Training(2000 + rank, rank=rank, **named)
            for _ in range(20):
                training.step(WORK, samples=batch)
            training.report(gait, tmp_path / f"of{ranks}")
        paths.append(str(tmp_path / f"of{ranks}"))
    done = gait("scale", *paths)
    assert done.returncode == (2 if unlike else 0), done.stderr
    if unlike:
        assert "no sizes of one training" in done.stderr and unlike in done.stderr
        assert gait("scale", "--allow-mismatch", *paths).returncode == 0


def test_plots_are_written_where_they_are_asked_for(gait, tmp_path, stored):
    done = gait("scale", "--log-dir", str(stored / "scalability-metrics"))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "plots").exists() and "plots" not in done.stderr
    done = gait("scale", "--log-dir", str(stored / "scalability-metrics"), "--plot-suffix", ".svg")
    assert (tmp_path / "plots" / "absolute_epoch_time.svg").exists(), done.stderr


def test_a_trace_stands_among_runs(gait, tmp_path):
    """Two steps of torch.profiler, 3 ms each, of one rank of four."""
    steps = [
        {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
         "ts": i * 3000, "dur": 3000}
        for i in (1, 2)
    ]  # fmt: skip
    ops = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1,
            "ts": i * 3000 + 10, "dur": 100} for i in (1, 2)]  # fmt: skip
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 4},
             "traceEvents": steps + ops}  # fmt: skip
    (tmp_path / "four.json").write_text(json.dumps(trace))
    make_run(tmp_path, "one", 1, 1500, 100)
    answer = ask(gait, tmp_path, "--scaling", "strong", "--no-cache")
    rows = {row["workers"]: row for row in answer["times"]}
    assert (rows[1]["time_ns"], rows[4]["time_ns"]) == (1_500_000, 3_000_000)
    assert rows[4]["efficiency"] == pytest.approx(1500 / 3000 / 4)
    assert {row["source"] for row in answer["inputs"]} == {"gait", "trace"}


def add_meter(folder, name, watts, busy):
    """Two GPUs that gait run read for 20 s: the counter, and how busy they were."""
    shard = ShardMaker(pid=99)
    shard.meta["role"] = "meter"
    for gpu in range(2):
        track = shard.track(kind=3, key=f"gpu{gpu}", name="made up")
        rows = [(shard.start_ns, shard.site("meter", "kind"), 0)]
        for tenth in range(201):
            at = shard.start_ns + tenth * 100_000_000
            rows.append((at, shard.site("meter", "energy"), tenth * watts * 100_000))
            rows.append((at, shard.site("meter", "busy"), busy + gpu * 20))
        shard.rows("counter", track, rows)
    shard.write(folder / name)


def test_the_energy_that_gait_measured_is_there(gait, tmp_path):
    make_run(tmp_path, "one", 1, 1000, 100)
    add_meter(tmp_path, "one", 150, 60)
    (row,) = ask(gait, tmp_path / "one")["energy"]
    assert row["energy_wh"] == pytest.approx(2 * 150 * 20 / 3600, rel=0.01)
    assert row["utilization"] == pytest.approx(70)


def test_itwinais_tables_are_written_and_hold_the_same(gait, tmp_path):
    """The columns are those of the tables that itwinai 0.3.3 wrote."""
    make_run(tmp_path, "one", 1, 1000, 100)
    add_meter(tmp_path, "one", 150, 60)
    done = gait("export", "--format", "itwinai", "-o", "sm/run0", str(tmp_path / "one"))
    assert done.stdout == "sm/run0/gpu-energy-data/non-distributed_1.csv\n"
    assert [path.name for path in (tmp_path / "sm/run0").iterdir()] == ["gpu-energy-data"]
    with open(tmp_path / done.stdout.strip()) as table:
        rows = list(csv.DictReader(table))
    assert list(rows[0]) == [
        "sample_idx", "utilization", "power", "local_rank", "node_idx", "num_global_gpus",
        "strategy", "probing_interval",
    ]  # fmt: skip
    assert {(row["local_rank"], row["utilization"]) for row in rows} == {("0", "60"), ("1", "80")}
    watt_hours = sum(float(r["power"]) * float(r["probing_interval"]) for r in rows) / 3600
    (energy,) = ask(gait, tmp_path / "one")["energy"]
    assert watt_hours == pytest.approx(energy["energy_wh"], rel=1e-9)
    (again,) = ask(gait, tmp_path / "sm")["energy"]
    assert again["energy_wh"] == pytest.approx(energy["energy_wh"], rel=1e-9)
    refused = gait("export", "--format", "itwinai", str(tmp_path / "one"))
    assert refused.returncode == 2 and "name a folder with -o" in refused.stderr


def test_junk_among_runs_is_listed_with_the_reason(gait, stored):
    root = stored / "scalability-metrics"
    (root / "notes.txt").write_text("buy milk")
    (root / "empty").mkdir()
    (root / "run0/epoch-time/readme.md").write_text("x")
    (root / "run0/epoch-time/half.csv").write_text("epoch_id,time,name\n1,3,ddp\n")
    (root / "run0/epoch-time/none.csv").write_text("a,b\n1,2\n")
    (root / "run0/epoch-time/nothing.csv").write_text("")
    (root / "run0/epoch-time/words.csv").write_text("epoch_id,time,name,nodes\n1,fast,ddp,1\n")
    make_run(root, "of-gait", 1, 1000, 10)
    torn = root / "torn"
    torn.mkdir()
    (torn / "1.gait").write_bytes(b"\x89GAIT\r\n nothing more")
    answer = ask(gait, root)
    why = {os.path.relpath(row["path"], root): row["why"] for row in answer["skipped"]}
    assert why.pop("torn")
    assert why == {
        "notes.txt": "it is no run, no trace, and no table of itwinai's",
        "empty": "it is empty",
        "run0/epoch-time/readme.md": "it is no table: its name has no .csv",
        "run0/epoch-time/half.csv": "as itwinai's times of epochs it lacks the column 'nodes'",
        "run0/epoch-time/none.csv": "its columns are none of itwinai's tables",
        "run0/epoch-time/nothing.csv": "it is empty",
        "run0/epoch-time/words.csv": "none of its rows holds figures that can be meant",
    }
    assert {row["source"] for row in answer["inputs"]} == {"gait", "itwinai"}


def test_intervals_may_differ_and_bad_rows_do_not_count(gait, tmp_path):
    rows = [(0, 50, 100, 0, 0, 2, "ddp", 1), (1, 70, 100, 0, 0, 2, "ddp", 5),
            (2, 50, -3, 0, 0, 2, "ddp", 1), (3, 50, "nan", 0, 0, 2, "ddp", 1)]  # fmt: skip
    answer = ask(gait, write_devices(tmp_path, "r", rows))
    (row,) = answer["energy"]
    assert row["energy_wh"] == pytest.approx((100 * 1 + 100 * 5) / 3600)
    assert row["utilization"] == pytest.approx(60)
    (skip,) = answer["skipped"]
    assert skip["why"].startswith("2 of its rows, the first in line 4, hold what cannot be meant")


def test_runs_are_chosen_by_name(gait, stored):
    root = stored / "scalability-metrics"
    answer = ask(gait, "--log-dir", root, "--run-ids", "run1", "--plot-dir", stored / "p")
    assert {row["id"] for row in answer["inputs"]} == {str(root / "run1")}
    refused = gait("scale", str(root), "--run-ids", "run1,run7")
    assert refused.returncode == 2
    assert refused.stderr == "gait scale: there is no run of the name 'run7' (--run-ids)\n"


def test_one_size_is_said_to_be_one(gait, tmp_path):
    text = gait("scale", str(write_epochs(tmp_path, "r", {2: [3.0, 3.0]}))).stdout
    assert "ONE SIZE" in text and max(map(len, text.splitlines())) <= 78
    nothing = gait("scale", str(tmp_path / "missing"))
    assert (nothing.returncode, nothing.stdout) == (2, "")


def test_a_backup_is_read_as_the_runs_were(gait, stored):
    root = stored / "scalability-metrics"
    done = gait("scale", "--json", str(root), "--backup", str(stored / "kept"))
    (kept,) = (stored / "kept").iterdir()
    again = ask(gait, kept)
    before = json.loads(done.stdout)
    assert again["times"] == before["times"] and again["energy"] == before["energy"]


# ---- plots ----------------------------------------------------------------------------


def parse(path):
    tree = ET.parse(path)

    def texts(word):
        return ["".join(n.itertext()) for n in tree.iter(SVG + "text")
                if word in n.get("class", "").split()]  # fmt: skip

    def count(word):
        return sum(word in node.get("class", "").split() for node in tree.iter())

    return texts, count


@pytest.fixture
def plots(gait, tmp_path):
    def draw(*words):
        done = gait("scale", *map(str, words), "--plot-dir", str(tmp_path / "plots"))
        assert done.returncode == 0, done.stderr
        return tmp_path / "plots"

    return draw


def test_all_six_plots_have_their_axes_marks_and_names(plots, stored):
    folder = plots(stored / "scalability-metrics", "--include-communication")
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{n}.svg" for n in PLOTS)
    texts, count = parse(folder / "absolute_epoch_time.svg")
    assert texts("xtick") == ["2", "4", "8"]
    assert texts("ytick") == ["10", "20", "50", "100"]  # whole decades
    assert texts("legend") == ["ddp", "horovod"]
    assert (count("mark"), count("line"), count("whisker")) == (5 + 2, 2, 5)
    texts, count = parse(folder / "relative_epoch_time_speedup.svg")
    assert texts("ytick") == ["1", "2", "4"] and texts("legend")[-1] == "ideal"
    for name in ("gpu_energy_plot", "utilization_plot"):
        texts, count = parse(folder / f"{name}.svg")
        assert texts("xtick") == ["2", "4", "8"] and texts("ytick")[0] == "0"
        assert len(texts("figure")) == 5 and count("ink") == 5 + 2  # and the legend's
    for name, rest, share in (
        ("computation_vs_other_plot", "other", "82.6 %"),
        ("computation_vs_communication_plot", "communication", "86.2 %"),
    ):
        texts, count = parse(folder / f"{name}.svg")
        assert texts("legend") == ["ddp", "horovod", rest]
        assert texts("figure") == [share] * 5
        assert count("rest") == 5 + 1 and texts("ytick")[-1] == "100 %"


def test_marks_lie_where_the_axes_say(plots, tmp_path):
    """Of times 10, 20 and 40 at 4, 2 and 1 workers: a line of slope -1 on logarithms."""
    write_epochs(tmp_path, "r", {1: [40] * 2, 2: [20] * 2, 4: [10] * 2})
    folder = plots(tmp_path / "r", "--gpus-per-node", 1)
    text = (folder / "absolute_epoch_time.svg").read_text()
    marks = re.findall(r'class="ink mark"[^>]*translate\(([\d.]+) ([\d.]+)\)', text)
    xs, ys = zip(*[(float(x), float(y)) for x, y in marks[:3]], strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.2)
    tick = {
        t: float(y) for y, t in re.findall(r'y="([\d.]+)" class="soft ytick"[^>]*>(\d+)<', text)
    }
    assert ys[1] + 5 == pytest.approx(tick["20"], abs=0.2)
    assert tick["10"] - tick["100"] == pytest.approx(
        (tick["10"] - tick["20"]) / math.log10(2), abs=0.5
    )


@pytest.mark.parametrize("seconds", [10, 1000, 0.001, 1, 3.7, 1e-9, 1e17])
def test_one_point_is_drawn_also_on_an_exact_power_of_ten(plots, tmp_path, seconds):
    folder = plots(write_epochs(tmp_path, "r", {2: [seconds]}))
    for name in ("absolute_epoch_time", "relative_epoch_time_speedup"):
        texts, count = parse(folder / f"{name}.svg")
        assert count("mark") >= 1 and texts("xtick") == ["8"]
        assert len(texts("ytick")) >= 2
        assert not re.search(r"\b(nan|inf)\b", (folder / f"{name}.svg").read_text())


def test_values_without_a_place_are_left_out_and_counted(plots, tmp_path):
    rows = [(0, 0, 0, 0, 0, 2, "ddp", 1)]
    folder = plots(write_devices(tmp_path, "r", rows))
    texts, count = parse(folder / "gpu_energy_plot.svg")  # of 0 Wh: a bar of no height
    assert texts("figure") == ["0"]
    bad = tmp_path / "s/epoch-time"
    bad.mkdir(parents=True)
    (bad / "e.csv").write_text("epoch_id,time,name,nodes\n1,0,ddp,1\n2,-3,ddp,1\n3,5,ddp,1\n")
    texts, count = parse(plots(tmp_path / "s") / "absolute_epoch_time.svg")
    assert count("mark") == 1 + 1


def test_hostile_names_stay_text(plots, gait, tmp_path):
    name = '"</style><script>alert(1)</script>&'
    where = tmp_path / "r/epoch-time"
    where.mkdir(parents=True)
    quoted = '"' + name.replace('"', '""') + '"'
    (where / "e.csv").write_text(f"epoch_id,time,name,nodes\n1,3,{quoted},1\n2,3,{quoted},2\n")
    texts, _ = parse(plots(tmp_path / "r") / "absolute_epoch_time.svg")
    assert texts("legend") == [name]
    page = tmp_path / "page.html"
    gait("scale", str(tmp_path / "r"), "-o", str(page))
    assert "<script" not in page.read_text()


def test_a_page_holds_the_plots_and_asks_nobody(gait, stored):
    page = stored / "scale.html"
    gait("scale", str(stored / "scalability-metrics"), "--include-communication", "-o", str(page))
    text = page.read_text()
    assert text.count("<svg") == 6
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", text)


def test_png_needs_a_program_and_says_so(gait, build, stored, monkeypatch):
    root = str(stored / "scalability-metrics")
    bare = stored / "bare"
    bare.mkdir()
    words = ["scale", root, "--plot-dir", str(stored / "p"), "--plot-suffix", ".png"]
    monkeypatch.setenv("PATH", str(bare))
    refused = gait(*words)
    assert refused.returncode == 2
    assert refused.stderr.startswith("gait scale: PNG needs rsvg-convert") and (
        refused.stderr.count("\n") <= 2
    )
    # a stand-in that is given an SVG and writes what it is told to
    program = bare / "rsvg-convert"
    program.write_text(
        "#!/bin/sh\nfor word; do last=$word\n"
        "case $word in --output=*) out=${word#*=};; esac; done\n"
        'read -r first < "$last"; case $first in "<svg "*) echo PNG > "$out";; esac\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = gait(*words)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (stored / "p").iterdir()} == {f"{n}.png" for n in PLOTS[:5]}
    program.write_text("#!/bin/sh\nexit 3\n")
    failed = gait(*words)
    assert failed.returncode == 2 and "rsvg-convert failed with exit code 3" in failed.stderr
    wrong = gait(*words[:-1], ".jpeg")
    assert "plots are written as .svg or .png, not as '.jpeg'" in wrong.stderr
