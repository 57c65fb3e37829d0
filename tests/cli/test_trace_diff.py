# SPDX-License-Identifier: Apache-2.0
"""`gait trace-diff`: planted changes of ops and kernels, against sums by hand."""

import json


def write(folder, name, rows, steps=2):
    """`rows`: (name, category, length in us, calls a step)."""
    events = []
    for number in range(steps):
        at = 1_000_000 + 10_000 * number
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}",
                       "pid": 7, "tid": 1, "ts": at, "dur": 9_000})  # fmt: skip
        for what, category, length, calls in rows:
            for _ in range(calls):
                device = category == "kernel"
                events.append({"ph": "X", "cat": category, "name": what, "pid": 0 if device else 7,
                               "tid": 7 if device else 1, "ts": at, "dur": length,
                               "args": {"stream": 7, "device": 0} if device else {}})  # fmt: skip
                at += length + 1
    (folder / name).write_text(json.dumps({"traceEvents": events}))
    return name


def test_what_came_went_and_changed(gait, tmp_path):
    before = [("aten::mm", "cpu_op", 100, 3), ("aten::add", "cpu_op", 10, 2)]
    before += [("aten::old", "cpu_op", 50, 1), ("gemm", "kernel", 80, 3)]
    after = [("aten::mm", "cpu_op", 200, 3), ("aten::add", "cpu_op", 10, 2)]
    after += [("aten::new", "cpu_op", 30, 2), ("gemm", "kernel", 60, 3)]
    a, b = write(tmp_path, "a.json", before), write(tmp_path, "b.json", after, steps=4)
    answer = gait("trace-diff", "--json", a, b, env={"GAIT_CACHE_DIR": str(tmp_path / "cache")})
    assert answer.returncode == 0
    said = json.loads(answer.stdout)
    assert said["by_step"] is True
    rows = {row["name"]: row for row in said["names"]}
    assert {name: row["change"] for name, row in rows.items()} == {
        "aten::mm": "slower", "aten::add": "same", "aten::old": "gone", "aten::new": "added",
        "gemm": "faster"}  # fmt: skip
    assert (rows["aten::mm"]["a_ns"], rows["aten::mm"]["b_ns"]) == (300_000, 600_000)
    assert (rows["gemm"]["kind"], rows["gemm"]["difference_ns"]) == ("kernel", -60_000)
    assert (rows["aten::new"]["a_calls"], rows["aten::new"]["b_calls"]) == (0, 2)
    assert [row["name"] for row in said["names"]][0] == "aten::mm"  # the largest change


def test_a_trace_without_ops_is_refused(gait, tmp_path):
    a = write(tmp_path, "a.json", [])
    answer = gait("trace-diff", a, a, env={"GAIT_CACHE_DIR": str(tmp_path / "cache")})
    assert answer.returncode == 2
    assert "has neither ops nor kernels" in answer.stderr
