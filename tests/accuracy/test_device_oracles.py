# SPDX-License-Identifier: Apache-2.0
"""`gait breakdown` of real traces, beside what brute force and other tools say of them.

The traces and the answers lie outside of the project, in ../shared; see oracles/README.md
there. Without them there is nothing to compare with.
"""

import json
import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
SETS = sorted(path.stem for path in (SHARED / "oracles/exact").glob("*.json"))
STATES = ("idle", "compute", "comm", "mem", "compute+comm", "compute+mem", "comm+mem")
NINE = ("span", *STATES, "compute+comm+mem")

pytestmark = pytest.mark.skipif(not SETS, reason="there is no ../shared with traces and answers")


def oracle(tool, name):
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
            command += [str(SHARED / "traces" / file) for file in files]
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


# What is not there, or hangs on the order in which a sort leaves equal times.
LEFT_OUT = {
    "hta": ("files", "queue_length_mean", "queue_length_std", "memory_bw_gbps_"),
    "tb": ("file", "overview_display", "recommendations", "gpu_summary_display", "used_devices",
           "tc_eligible_ops_kernel_ratio", "tc_used_ratio", "peak_memory_bytes", "comm_ops",
           "ReluBackward0"),
    "tracelens": ("file",),
}  # fmt: skip
ABOUT = ("set", "tool", "unit", "numpy", "pandas", "networkx")


def by_key(rows):
    """Rows in any order, where something tells them apart."""
    keys = ("kernel_type", "name", "rank", "stream", "idle_category")
    named = {json.dumps([row.get(key) for key in keys]): row for row in rows}
    return named if len(named) == len(rows) else dict(enumerate(rows))


def differences(got, want, path, tool):
    if path and any(word in path[-1] for word in LEFT_OUT[tool]):
        return []
    if isinstance(want, list) and isinstance(got, list):
        if want and isinstance(want[0], dict):
            return differences(by_key(got), by_key(want), path, tool)
        got, want = dict(enumerate(got)), dict(enumerate(want))
    if isinstance(want, dict) and isinstance(got, dict):
        found = []
        for key in got.keys() | want.keys():
            if key in got and key in want:
                found += differences(got[key], want[key], [*path, str(key)], tool)
            elif not any(word in str(key) for word in LEFT_OUT[tool]):
                found.append(([*path, str(key)], key in got, key in want))
        return found
    if isinstance(want, float | int) and isinstance(got, float | int):
        # the plugin's own doubles are off by some ns, more of them in sums
        noise = 0.03 + 2e-4 * abs(want) if tool == "tb" else 1e-6 * max(1, abs(want))
        return [] if abs(got - want) <= noise else [(path, got, want)]
    return [] if got == want else [(path, got, want)]


@pytest.mark.parametrize("tool", ["hta", "tb", "tracelens"])
@pytest.mark.parametrize("name", SETS)
def test_other_tools_are_imitated_with_their_quirks(gait, runs, name, tool):
    own = {"tb": "tensorboard"}.get(tool, tool)
    done = json.loads(gait("breakdown", "--compat", own, "--json", runs(name)).stdout)
    want = {key: value for key, value in oracle(tool, name).items() if key not in ABOUT}
    assert differences(done["compat"][own], want, [], tool)[:5] == []
    assert done["compat_beside"] or done["ranks"][0]["whole"] is None
