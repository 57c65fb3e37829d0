# SPDX-License-Identifier: Apache-2.0
"""Answers about devices, beside what brute force and other tools say of the same traces.

A small trace and the answers about it lie in tests/golden (make_device_oracles.py there). Real
ones lie outside of the project, in ../shared; see oracles/README.md there.
"""

import json
import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
OWN = ("own", "own-2021")
SETS = [*OWN, *sorted(path.stem for path in (SHARED / "oracles/exact").glob("*.json"))]
STATES = ("idle", "compute", "comm", "mem", "compute+comm", "compute+mem", "comm+mem")
NINE = ("span", *STATES, "compute+comm+mem")


def oracle(tool, name):
    if name in OWN:
        return json.loads((GOLDEN / "device_oracles.json").read_text())[name][tool]
    return json.loads((SHARED / "oracles" / tool / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def runs(build, tmp_path_factory):
    """The run that a set was imported into, made when it is first asked for."""
    import subprocess

    folder, made = tmp_path_factory.mktemp("imported"), {}

    def run(name):
        if name not in made:
            files = [rank["file"] for rank in oracle("exact", name)["ranks"].values()]
            made[name] = folder / name
            command = [str(build / "gait"), "import", "-o", str(made[name])]
            command += [str((GOLDEN if name in OWN else SHARED / "traces") / one) for one in files]
            subprocess.run(command, check=True, capture_output=True)
        return made[name]

    return run


def nine(window):
    return window and {key: window[key] for key in NINE}


@pytest.mark.parametrize("name", SETS)
def test_the_states_are_exact_to_the_nanosecond(gait, runs, name):
    ranks = json.loads(gait("breakdown", "--steps", "--json", runs(name)).stdout)["ranks"]
    wanted = oracle("exact", name)["ranks"]
    assert len(ranks) == len(wanted)
    for rank in ranks:
        want = wanted[str(rank["rank"])] if str(rank["rank"]) in wanted else wanted["0"]
        assert nine(rank["whole"]) == nine(want["whole"])
        # brute force knows numbered steps alone; one trace has those that its loader tells
        numbered = [step for step in rank["steps"] if step["name"].startswith("ProfilerStep#")]
        steps = [(step["name"], nine(step)) for step in numbered]
        assert steps == [(step["name"], nine(step)) for step in want["steps"]]
        for window in filter(None, [rank["whole"], *rank["steps"]]):
            assert sum(window["idle_causes"].values()) == window["idle"]
            assert sum(window[state] for state in STATES) + window[NINE[-1]] == window["span"]


# --- other tools, where they mean the same (docs/howto/from-other-tools.md) ------------------


def by_name(gait, run):
    """(calls, sum, least, most, weighted blocks and occupancy) of each kernel, in ns."""
    found = {}
    for row in json.loads(gait("kernels", "--json", run).stdout)["kernels"]:
        one = found.setdefault(row["name"], [0, 0, row["min_ns"], 0, 0, 0])
        one[0] += row["calls"]
        one[1] += row["total_ns"]
        one[2:4] = min(one[2], row["min_ns"]), max(one[3], row["max_ns"])
        one[4] += row["total_ns"] * (row["blocks_per_sm"] or 0)
        one[5] += row["total_ns"] * (row["occupancy_pctg"] or 0)
    return found


@pytest.mark.parametrize("name", SETS)
def test_kernels_by_name_are_those_of_tensorboards_plugin(gait, runs, name):
    ours, theirs = by_name(gait, runs(name)), {}
    for rank in oracle("tb", name)["ranks"].values():
        for row in rank.get("kernels", []):
            one = theirs.setdefault(row["name"], [0, 0, row["min"] * 1000, 0, 0, 0])
            one[0] += row["count"]
            one[1] += row["sum"] * 1000
            one[2:4] = min(one[2], row["min"] * 1000), max(one[3], row["max"] * 1000)
            one[4] += row["sum"] * 1000 * row["blocks_per_sm"]
            one[5] += row["sum"] * 1000 * row["occupancy"]
    assert ours.keys() == theirs.keys()
    for kernel, figures in theirs.items():
        assert ours[kernel] == pytest.approx(figures, rel=1e-6), kernel


# A step is in it twice, with two lengths, and the plugin's window ends with the shorter one.
TB_MEANS_OTHERS = {"misc.h100-bert-small"}


@pytest.mark.parametrize("name", [name for name in SETS if name not in TB_MEANS_OTHERS])
def test_what_kernels_fill_of_the_steps_is_tensorboards(gait, runs, name):
    """Its window is from the first step's begin to the last one's end, as turns are; where it
    knows no calls of the runtime, it leaves out what the last step gave the device."""
    done = json.loads(gait("steps", "--json", runs(name)).stdout)
    last = {step["rank"]: step for step in done["steps"]}
    for row in done["devices"]:
        rank, step = oracle("tb", name)["ranks"][str(row["rank"])], last[row["rank"]]
        if step["turn_ns"] > step["host_ns"] and not rank["flags"]["has_runtime"]:
            continue
        theirs = rank["gpus"][str(row["device"])]
        keys = ("gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy_pctg")
        ours = (row["utilisation"], row["sm_efficiency"], (row["occupancy"] or 0) * 100)
        for key, figure in zip(keys, ours, strict=True):
            if theirs[key] and figure:
                assert figure == pytest.approx(theirs[key], rel=1e-4, abs=1e-8), key


@pytest.mark.parametrize("name", SETS)
def test_the_first_of_tensorboards_eight_shares_are_sums_of_states(gait, runs, name):
    """Where it knows no calls of the runtime its steps are spans of the host, too. It also lists
    what profilers draw of a step on a stream, by the same number. Its doubles are off by ns."""
    for rank in json.loads(gait("breakdown", "--steps", "--json", runs(name)).stdout)["ranks"]:
        theirs = oracle("tb", name)["ranks"][str(rank["rank"])]
        numbered = [step for step in rank["steps"] if step["name"].startswith("ProfilerStep#")]
        for step in numbered if not theirs["flags"]["has_runtime"] else []:
            (share,) = (
                share
                for share in theirs["steps"]
                if step["name"] == f"ProfilerStep#{share['name']}"
                and abs(share["Total"] * 1000 - step["span"]) < 100
            )
            copies, total = share["Memcpy"] + share["Memset"], step["total"]
            assert share["Kernel"] * 1000 == pytest.approx(
                total["busy"] - total["exposed_copy"], rel=1e-5, abs=100
            )
            assert copies * 1000 == pytest.approx(total["exposed_copy"], abs=100)


def whole_ranks(gait, run):
    ranks = json.loads(gait("breakdown", "--json", run).stdout)["ranks"]
    return [rank for rank in ranks if rank["whole"]]


def htas(name):
    """What it says, and how many ns of each row it loses: it has whole us, and of a span those
    that the span covers."""
    ranks = oracle("exact", name)["ranks"].values()
    figures = [value for rank in ranks for value in (nine(rank["whole"]) or {}).values()]
    is_whole = figures and all(value % 1000 == 0 for value in figures)
    return oracle("hta", name)["include_last_profiler_step"], 0 if is_whole else 2000


# It drops what has no launch on record, and takes all rows that name a stream for a device's.
HTA_MEANS_OTHER_KERNELS = {"misc.mi300x-resnet", "misc.triton"}
HTA_MEANS_OTHER_TIMES = HTA_MEANS_OTHER_KERNELS | {  # waits for a stream
    "critical-path.alexnet",
    "critical-path.event-sync",
}


@pytest.mark.parametrize("name", [name for name in SETS if name not in HTA_MEANS_OTHER_KERNELS])
def test_kernels_by_name_are_htas_but_for_its_rounding(gait, runs, name):
    told, lost_ns = htas(name)
    ours, theirs = by_name(gait, runs(name)), {}
    (kernels,) = (
        made["kernels"]
        for what, made in told["gpu_kernel_breakdown"].items()
        if what.startswith("all")
    )
    for row in kernels:
        if row["kernel_type"] != "MEMORY":
            theirs[row["name"]] = theirs.get(row["name"], 0) + row["sum (us)"] * 1000
    assert theirs.keys() == ours.keys()
    for kernel, ns in theirs.items():
        assert 0 <= ours[kernel][1] - ns <= lost_ns * ours[kernel][0], kernel


@pytest.mark.parametrize("name", [name for name in SETS if name not in HTA_MEANS_OTHER_TIMES])
def test_times_and_overlap_are_htas_but_for_its_rounding(gait, runs, name):
    told, lost_ns = htas(name)
    ranks = {rank["rank"]: rank["whole"] for rank in whole_ranks(gait, runs(name))}
    times = told["temporal_breakdown"] if ranks else []
    assert [row["rank"] for row in times] == list(ranks)
    for row in times:
        whole, busy = ranks[row["rank"]], ranks[row["rank"]]["total"]
        events = oracle("exact", name)["ranks"][str(row["rank"])]["device_events"]
        for key, ns in (
            ("kernel_time(us)", whole["span"]),
            ("idle_time(us)", whole["idle"]),
            ("compute_time(us)", busy["compute_busy"]),
            ("non_compute_time(us)", busy["busy"] - busy["compute_busy"]),
        ):
            assert abs(row[key] * 1000 - ns) <= lost_ns * sum(events.values()), key
    for row in told["comm_comp_overlap"] if ranks and not lost_ns else []:
        share, ratio = row["comp_comm_overlap_pctg"], ranks[row["rank"]]["total"]["overlap_ratio"]
        assert (ratio is None) == (share is None)
        assert ratio is None or ratio * 100 == pytest.approx(share, abs=0.00501)


def ops_of(gait, run, rank):
    """{(name, kind): row} of that rank."""
    done = gait("ops", "--json", "--rank", rank, run)
    rows = json.loads(done.stdout)["ops"] if not done.returncode else []
    return {(row["name"], row["kind"]): row for row in rows}


@pytest.mark.parametrize("name", SETS)
def test_ops_and_peaks_are_those_of_tensorboards_plugin(gait, runs, name):
    for rank, theirs in oracle("tb", name)["ranks"].items():
        ours = ops_of(gait, runs(name), rank)
        for op in theirs["operators"]:
            row = ours[op["name"], "op"]
            assert row["calls"] == op["calls"], op["name"]
            noise = 2 * op["calls"] + 10  # ns of times since 1970 do not fit its doubles
            assert row["cpu_ns"] == pytest.approx(op["host_total"] * 1000, rel=1e-6, abs=noise)
            if theirs["flags"]["has_runtime"] and row["device_ns"]:
                assert row["device_ns"] == op["device_total"] * 1000, op["name"]
                assert row["device_self_ns"] == op["device_self"] * 1000, op["name"]
        if not theirs.get("peak_memory_bytes"):
            continue
        devices = json.loads(gait("memory", "--json", runs(name)).stdout)["devices"]
        ours = {row["device"].rpartition(":")[0] or "cpu": row["peak_bytes"] for row in devices}
        kinds = {"0": "cpu", "1": "cuda"}
        for key, peak in theirs["peak_memory_bytes"].items():
            assert ours[kinds[key.split(":")[0]]] == peak


@pytest.mark.parametrize("name", [name for name in SETS if name not in HTA_MEANS_OTHER_KERNELS])
def test_copies_and_annotations_are_htas_but_for_its_rounding(gait, runs, name):
    told, lost_ns = htas(name)
    rows = told.get("gpu_user_annotation_breakdown", {}).get("cpu") or []
    theirs = [(row, "range") for row in rows if not row["name"].startswith("ProfilerStep")]
    for what, made in told["gpu_kernel_breakdown"].items():
        if what.startswith("all"):
            theirs += [(row, "device") for row in made["kernels"]]
    ranks = {row["rank"] for row, _ in theirs}
    ours = {rank: ops_of(gait, runs(name), str(rank)) for rank in ranks}
    for row, kind in theirs:
        our = ours[row["rank"]][row["name"], kind]
        lost = our["cpu_ns" if kind == "range" else "device_ns"] - row["sum (us)"] * 1000
        assert 0 <= lost <= lost_ns * our["calls"], row["name"]


# It drops work of a device that no arrow of its launch leads to.
TRACELENS_DROPS = {("dlrm-8rank", 1), ("dlrm-8rank", 3), ("misc.mi300x-resnet", 0)}


@pytest.mark.parametrize("name", SETS)
def test_the_timeline_is_tracelenss_where_it_drops_nothing(gait, runs, name):
    theirs = oracle("tracelens", name)["ranks"]
    for rank in whole_ranks(gait, runs(name)):
        if "error" in theirs[str(rank["rank"])] or (name, rank["rank"]) in TRACELENS_DROPS:
            continue
        timeline, whole = theirs[str(rank["rank"])]["gpu_timeline"], rank["whole"]
        for key, ns in (
            ("total_time", whole["span"]),
            ("idle_time", whole["idle"]),
            ("busy_time", whole["total"]["busy"]),
            ("total_comm_time", whole["total"]["comm_busy"]),
        ):
            assert timeline[key] * 1e6 == pytest.approx(ns, abs=100), key
        # memsets are computation to it
        copies = timeline["total_memcpy_time"] * 1e6
        assert copies <= whole["total"]["copy_busy"] + 100
        assert timeline["computation_time"] * 1e6 >= whole["total"]["compute_busy"] - 100
