# SPDX-License-Identifier: Apache-2.0
"""`gait report` of other tools' traces: steps and phases from the names in them."""

import json
import pathlib

import pytest

TRACES = pathlib.Path(__file__).resolve().parents[3] / "shared/traces"
STEPS, STEP_US = 8, 1000


def event(name, start_us, length_us, tid=1, cat="user_annotation"):
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid,
            "ts": 1_000_000 + start_us, "dur": length_us, "args": {}}  # fmt: skip


def steps(input_us=100):
    """Of 1,000 us: input, an op of 200, the engine for 300 on its own thread, SGD for 100."""
    rows = []
    for number in range(STEPS):
        at = number * STEP_US
        rows += [
            event(f"ProfilerStep#{number + 3}", at, STEP_US),
            event("enumerate(DataLoader)#_Single.__next__", at, input_us),
            event("aten::stack", at + 10, 20, cat="cpu_op"),  # of the loader: no forward
            event("aten::mm", at + 300, 200, cat="cpu_op"),
            event("autograd::engine::evaluate_function: MmBackward0", at + 500, 100, 2, "cpu_op"),
            event("autograd::engine::evaluate_function: Acc", at + 700, 100, 2, "cpu_op"),
            event("Optimizer.step#SGD.step", at + 850, 100),
        ]
    return rows


def report(gait, tmp_path, rows):
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": rows, "distributedInfo": {"rank": 0}}))
    answer = gait("report", "--json", trace.name, env={"GAIT_CACHE_DIR": str(tmp_path / "cache")})
    assert answer.returncode == 0
    return json.loads(answer.stdout)


def phases_of(answer):
    return {row["name"]: row["total_ns"] for row in answer["phases"]}


def test_steps_and_phases_of_a_trace_of_torchs_profiler(gait, tmp_path):
    answer = report(gait, tmp_path, steps())
    assert answer["steps"] == STEPS
    assert answer["step_total_ns"] == STEPS * STEP_US * 1000
    phases = phases_of(answer)
    us = STEPS * 1000
    assert phases["input"] == 100 * us
    assert phases["forward"] == 200 * us  # from the first op behind the input
    assert phases["backward"] == 300 * us  # first to last op of the engine
    assert phases["optimizer"] == 100 * us
    assert sum(phases.values()) == STEPS * STEP_US * 1000


def test_the_ledgers_host_list_of_a_trace_has_its_phases(gait, tmp_path):
    rows = steps()
    for row in rows[-len(rows) // 2 :]:
        row["ts"] += 250  # between the fourth step and the fifth
    whole = report(gait, tmp_path, rows)["ledgers"]
    cache = {"GAIT_CACHE_DIR": str(tmp_path / "cache")}
    some = gait("steps", "--json", "--steps=5..6", "trace.json", env=cache)
    for (ledger,), count, between in (
        (whole, STEPS, 250_000),
        (json.loads(some.stdout)["ledgers"], 2, 250_000),  # 6 is the fourth
    ):
        us = count * 1000
        assert {part["id"]: part["ns"] for part in ledger["host"]} == {
            "backward": 300 * us, "other": 300 * us, "forward": 200 * us,
            "input": 100 * us, "optimizer": 100 * us, "between": between,
        }  # fmt: skip
        assert ledger["total_ns"] == STEP_US * us + between


def test_a_report_of_a_trace_does_not_speak_of_gait(gait, tmp_path):
    rows = [row for row in steps() if not row["name"].startswith("Optimizer")]
    finding = next(x for x in report(gait, tmp_path, rows)["findings"] if x["id"] == "no_optimizer")
    assert "ProfilerStep#N" in finding["text"] and "gait.step()" not in finding["text"]
    cache = {"GAIT_CACHE_DIR": str(tmp_path / "cache")}
    assert "Cost of gait" not in gait("report", "trace.json", env=cache).stdout


def test_a_slow_loader_is_found_in_a_trace(gait, tmp_path):
    answer = report(gait, tmp_path, steps(input_us=290))
    phases = phases_of(answer)
    assert phases["input"] == 290 * STEPS * 1000
    assert answer["verdict_id"] == "input-bound" and "waiting for input" in answer["verdict"]


def test_without_the_profilers_steps_the_optimizers_tell(gait, tmp_path):
    rows = [row for row in steps() if not row["name"].startswith("ProfilerStep")]
    answer = report(gait, tmp_path, rows)
    assert answer["steps"] == STEPS
    phases = phases_of(answer)
    assert phases["optimizer"] == 100 * STEPS * 1000
    assert phases["forward"] == 200 * STEPS * 1000
    assert phases["backward"] == 300 * STEPS * 1000


def test_gaps_of_a_trace_lie_between_the_steps_of_its_profiler(gait, tmp_path):
    rows = [event("ProfilerStep#3", 0, 10), event("ProfilerStep#4", 500_010, 10)]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": rows}))
    cache = {"GAIT_CACHE_DIR": str(tmp_path / "cache")}
    gaps = json.loads(gait("gaps", "trace.json", "--json", env=cache).stdout)["gaps"]
    gap = gaps[0]
    assert (gap["after_step"], gap["length_ns"]) == (3, 500_000_000)


@pytest.mark.parametrize("command", ["leaf", "flame"])
@pytest.mark.parametrize("text", ['{"traceEvents": []}', '{\n "a": 1}', '[{"ph": "X"} 1', "[\n 1"])
def test_json_is_no_list_of_stacks(gait, tmp_path, command, text):
    (tmp_path / "trace.json").write_text(text)
    answer = gait(command, "trace.json")
    assert answer.returncode == 2 and answer.stderr.count("\n") == 1
    assert "'trace.json' is JSON" in answer.stderr
    (tmp_path / "stacks.txt").write_text("[main];{run} 3\n")
    assert gait("leaf", "stacks.txt").returncode == 0


@pytest.mark.parametrize(("name", "low", "high"), [("workers0", 0.3, 0.5), ("workers4", 0.0, 0.03)])
def test_the_loader_of_a_real_training(gait, tmp_path, name, low, high):
    trace = TRACES / f"dataloader-resnet50/{name}.pt.trace.json.gz"
    if not trace.exists():
        pytest.skip(f"{trace.name} is not there")
    answer = gait("report", "--json", trace, env={"GAIT_CACHE_DIR": str(tmp_path / "cache")})
    phases = phases_of(json.loads(answer.stdout))
    assert low <= phases["input"] / sum(phases.values()) <= high
    assert phases["backward"] > 0 and phases["forward"] > 0
