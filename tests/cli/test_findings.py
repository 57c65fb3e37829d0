# SPDX-License-Identifier: Apache-2.0
"""`gait findings`: each rule finds what was planted, is clear of less, and abstains."""

import json
import pathlib

import pytest

from tests.support.shard_maker import ShardMaker

TRACES = pathlib.Path(__file__).resolve().parents[3] / "shared/traces"
STEPS, STEP_NS = 8, 1_000_000


def rules_of(gait, tmp_path, path):
    answer = gait("findings", "--json", path, env={"GAIT_CACHE_DIR": str(tmp_path / "cache")})
    assert answer.returncode == 0
    return {rule["rule"]: rule for rule in json.loads(answer.stdout)["rules"]}


def make_run(folder, phase, percent, steps=STEPS):
    """A PyTorch run whose steps spend that much in one phase, the rest going forward."""
    shard = ShardMaker(pid=100, rank=0, torch={"version": "2.13.0"})
    track = shard.track(key="100", os_id=100)
    spans, marks = [], []
    for number in range(steps):
        at = shard.start_ns + number * STEP_NS
        own = STEP_NS * percent // 100
        marks.append((at, STEP_NS, number))
        if phase != "other":
            spans.append((at, own, shard.site(b"phase", phase.encode())))
        spans.append((at + own, STEP_NS - own, shard.site(b"phase", b"forward")))
    shard.spans(track, spans)
    shard.rows("step", track, marks)
    shard.write(folder / "run")
    return folder / "run"


LIMIT = 10  # percent of what is judged


@pytest.mark.parametrize(
    ("rule", "phase"),
    [("input", "input"), ("copies", "copy"), ("comm", "communication"), ("garbage", "gc"),
     ("checkpoint", "checkpoint"), ("evaluation", "evaluation"), ("logging", "logging"),
     ("unknown", "other")],
)  # fmt: skip
def test_a_rule_about_a_phase(gait, tmp_path, rule, phase):
    above = rules_of(gait, tmp_path, make_run(tmp_path / "above", phase, LIMIT + 1))
    below = rules_of(gait, tmp_path, make_run(tmp_path / "below", phase, LIMIT - 1))
    assert above[rule]["state"] == "found" and above[rule]["of"] == "loop"
    assert "try: " in above[rule]["text"] and "11 % of the loop" in above[rule]["text"]
    assert above[rule]["share"] == pytest.approx((LIMIT + 1) / 100)
    assert above[rule]["limit"] == pytest.approx(LIMIT / 100)
    assert below[rule]["state"] == "clear" and "try: " not in below[rule]["text"]
    assert below[rule]["share"] == pytest.approx((LIMIT - 1) / 100)
    assert [name for name, one in below.items() if one["state"] == "found"] == []


def test_where_the_verdict_judges_nothing_there_is_no_evidence(gait, tmp_path):
    rules = rules_of(gait, tmp_path, make_run(tmp_path, "input", 50, steps=0))
    assert {rule["state"] for rule in rules.values()} == {"no evidence"}


def event(name, start_us, length_us, cat, tid, pid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
            "ts": 1_000_000 + start_us, "dur": length_us, "args": args}  # fmt: skip


def make_trace(folder, kernel_us, comm_us=0, copy_us=0):
    """Steps of 1,000 us on one stream: a kernel, then a collective, then a copy."""
    rows = []
    for number in range(STEPS):
        at = number * 1000
        rows.append(event(f"ProfilerStep#{number}", at, 1000, "user_annotation", 1))
        for place, (name, cat, us) in enumerate(
            (("gemm", "kernel", kernel_us), ("ncclDevKernel_AllReduce", "kernel", comm_us),
             ("Memcpy HtoD", "gpu_memcpy", copy_us))
        ):  # fmt: skip
            if us:
                link = 3 * number + place + 1
                rows.append(event("cudaLaunchKernel", at + place, 1, "cuda_runtime", 1,
                                  correlation=link))  # fmt: skip
                rows.append(event(name, at, us, cat, 7, pid=0, stream=7, device=0,
                                  correlation=link))  # fmt: skip
                at += us
    path = folder / "trace.json"
    path.write_text(json.dumps({"traceEvents": rows, "distributedInfo": {"rank": 0}}))
    return path


@pytest.mark.parametrize(
    ("work", "states"),
    [
        ((950, 0, 0), ("clear", "clear", "clear")),
        ((500, 0, 0), ("found", "clear", "clear")),
        ((650, 300, 0), ("clear", "found", "clear")),
        ((750, 50, 150), ("clear", "clear", "found")),
    ],
)
def test_a_rule_about_devices(gait, tmp_path, work, states):
    rules = rules_of(gait, tmp_path, make_trace(tmp_path, *work))
    assert tuple(rules[name]["state"] for name in ("host", "comm", "copies")) == states
    assert {rules[name]["of"] for name in ("host", "comm", "copies", "input")} == {"step"}
    assert rules["checkpoint"]["state"] == "no evidence"  # devices have no such part


def test_rules_and_findings_have_the_figures_of_the_verdict(gait, tmp_path):
    """A trace whose thread waits half of each step for input, and the device a third of it."""
    rows = json.loads(make_trace(tmp_path, 400, comm_us=200).read_text())["traceEvents"]
    for number in range(STEPS):
        at = number * 1000
        rows.append(event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 300,
                          600, "user_annotation", 1))  # fmt: skip
    path = tmp_path / "loaded.json"
    path.write_text(json.dumps({"traceEvents": rows, "distributedInfo": {"rank": 0}}))
    report = json.loads(gait("report", "--json", "--no-cache", path).stdout)
    answer = json.loads(gait("findings", "--json", "--no-cache", path).stdout)
    rules = {rule["rule"]: rule for rule in answer["rules"]}
    parts = {part["id"]: part["share"] for part in report["verdict_parts"]}
    assert parts["input"] == pytest.approx(0.3, abs=0.001) and len(parts) > 2
    assert report["verdict_id"] == "input-bound"
    for work, share in parts.items():
        assert work == "compute" or rules[work]["share"] == share
    beside = {one["evidence"]["work"]: one["evidence"] for one in report["findings"]
              if "work" in one["evidence"]}  # fmt: skip
    assert set(beside) == {work for work, share in parts.items()
                           if share >= 0.1 and work not in ("input", "compute")}  # fmt: skip
    for work, evidence in beside.items():
        assert (evidence["share"], evidence["of"]) == (parts[work], report["verdict_base"])
    assert answer["findings"] == [{"id": one["id"], "text": one["text"]}
                                  for one in report["findings"]]  # fmt: skip


@pytest.mark.parametrize(("name", "state"), [("workers0", "found"), ("workers4", "clear")])
def test_a_real_training_waits_for_its_loader_or_not(gait, tmp_path, name, state):
    trace = TRACES / f"dataloader-resnet50/{name}.pt.trace.json.gz"
    if not trace.exists():
        pytest.skip(f"{trace.name} is not there")
    assert rules_of(gait, tmp_path, trace)["input"]["state"] == state


def make_halves(folder):
    """A run of two ranks: 6 steps that wait for input, then 6 that collect garbage. The second
    one is slower, and does so for longer."""
    for rank, (percents, length) in enumerate(((40, STEP_NS * 9 // 10), (60, STEP_NS))):
        shard = ShardMaker(pid=100 + rank, rank=rank, torch={"version": "2.13.0"})
        track = shard.track(key=str(100 + rank), os_id=100 + rank)
        own, spans, marks = STEP_NS * percents // 100, [], []
        for number in range(12):
            at, phase = shard.start_ns + number * STEP_NS, b"input" if number < 6 else b"gc"
            marks.append((at, length, number))
            spans.append((at, own, shard.site(b"phase", phase)))
            spans.append((at + own, length - own, shard.site(b"phase", b"forward")))
        shard.spans(track, spans)
        shard.rows("step", track, marks)
        shard.write(folder / "run")
    return folder / "run"


def test_rules_are_about_the_steps_that_are_chosen(gait, tmp_path):
    run = make_halves(tmp_path)

    def ask(*options):
        answer = json.loads(gait("findings", "--json", run, *options).stdout)
        return answer, {rule["rule"]: (rule["state"], rule["share"]) for rule in answer["rules"]}

    found, clear = ("found", pytest.approx(0.6)), ("clear", 0)  # of the slowest rank
    for options, wanted in (
        (["--steps=..5"], (found, clear)),
        (["--from=6ms"], (clear, found)),
        (["--to=6ms", "--ranks=0"], (("found", pytest.approx(4 / 9)), clear)),
        (["--steps=1..4"], (found, clear)),
    ):
        answer, rules = ask(*options)
        assert (rules["input"], rules["garbage"]) == wanted
        assert "findings" not in answer  # they are of the whole run
    assert "findings" in ask()[0]


def test_rules_about_devices_are_about_the_times_that_are_chosen(gait, tmp_path):
    path = make_trace(tmp_path, 400, comm_us=300)
    rows = json.loads(path.read_text())["traceEvents"]
    for row in rows:  # behind the fourth step nothing is communicated
        if row["name"] == "ncclDevKernel_AllReduce" and row["ts"] >= 1_004_000:
            row["name"] = "gemm"
    path.write_text(json.dumps({"traceEvents": rows, "distributedInfo": {"rank": 0}}))
    for options, share in ([], 0.15), (["--steps=..3"], 0.3), (["--from=4ms"], 0):
        answer = gait("findings", "--json", path, "--no-cache", *options)
        (rule,) = [rule for rule in json.loads(answer.stdout)["rules"]
                   if rule["rule"] == "comm"]  # fmt: skip
        assert rule["share"] == pytest.approx(share, abs=0.001)
