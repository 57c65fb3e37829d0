# SPDX-License-Identifier: Apache-2.0
"""The lead of `gait report` beside what an expert would say first: traces and trainings of
../shared/oracles/verdict, where README.md says what its classes are.

The trainings run one after the other, with GAIT_TEST_FULL=1.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
ORACLE = SHARED / "oracles/verdict"
IS_HERE = (ORACLE / "cases.json").exists()
CASES = json.loads((ORACLE / "cases.json").read_text()) if IS_HERE else []
RIGHT = 0.95  # of the cases, at least
SHARES = {"trace": 0.95, "run": 0.90}  # of 32 traces all, of 24 trainings 22: 96 % together
BURNERS = 6  # programs that spin, where a case says so

# What is no class by its name without "-bound".
CLASSES = {
    "slow-rank": "peers", "warm-up": "startup", "start-up": "startup", "irregular": "outlier",
    "machine-busy": "noise", "communication": "comm", "copy": "copies", "compiling": "compile",
}  # fmt: skip
NAMES = {
    "input", "comm", "copies", "sync", "host", "python", "compute", "garbage", "compile",
    "checkpoint", "evaluation", "logging", "peers", "blocked", "several", "failed", "startup",
    "outlier", "noise",
}  # fmt: skip

pytestmark = pytest.mark.skipif(not CASES, reason="there is no ../shared with cases of verdicts")


def class_of(name):
    """Of what is no class, an abstention."""
    name = name.removesuffix("-bound")
    name = CLASSES.get(name, name)
    return name if name in NAMES else "unknown"


def script_of(case):
    return str(ORACLE / case["get"]["script"])


def train(tool, case, run):
    """As the case says how."""
    how = case["get"]["how"]
    command = [tool, "run", "-q", "-o", str(run), "--", sys.executable]
    if "-s 200" in how:
        command[3:3] = ["-s", "200"]
    if "distributed.run" in how:
        command += ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    spin = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(spin) for _ in range(BURNERS if "while True" in how else 0)]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT")}
    try:
        subprocess.run([*command, script_of(case)], capture_output=True, env=env, cwd=run.parent)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    return run


def trace_of(case, folder):
    get = case["get"]
    if isinstance(get, str):
        return SHARED / get.removeprefix("shared/")
    made = folder / case["id"]
    made.mkdir()
    arguments = [str(one) for one in get["args"]]
    subprocess.run([sys.executable, script_of(case), *arguments, str(made)], check=True,
                   capture_output=True)  # fmt: skip
    return made


def lead(report, expected):
    name = class_of(report["verdict_id"])
    is_aside = report["verdict_id"] == "machine-busy" and "noise" not in expected
    return report["verdict_parts"][0]["id"] if is_aside and report["verdict_parts"] else name


def is_right(case, report):
    front = report["verdict_front"]
    return lead(report, case["expected"]) in case["expected"] or (
        bool(front) and class_of(front) in case["expected"]
    )


def said_of(report):
    """All that a reader may take for what holds the training up or for advice."""
    return " ".join([report["verdict"], *(one["text"] for one in report["verdict_try"])])


def is_share_right(case, report):
    """None where no share is known of the case, or the program's own clock was not kept."""
    share, parts = case["share"], report["verdict_parts"]
    if not share or not parts or report["verdict_id"] == "failed":
        return None
    told, tolerance = parts[0]["share"], share["tolerance"]
    if case["kind"] == "trace":
        return share["low"] - tolerance <= told <= share["high"] + tolerance
    return any(abs(told - seen.get(share["truth"], 9)) <= tolerance for seen in share["seen"])


def judge(cases, report_of):
    """What is wrong, what must not have been said, and shares that are off."""
    wrong, unclean, shares = [], [], []
    for case in cases:
        report = report_of(case)
        if not is_right(case, report):
            wrong.append(f"{case['id']}: {report['verdict_id']}, not {case['expected']}")
        said = [words for words in case["forbidden"] if re.search(words, said_of(report))]
        if said:
            unclean.append(f"{case['id']}: {said} in {said_of(report)}")
        shares.append((is_share_right(case, report), case["id"]))
    assert len(wrong) <= (1 - RIGHT) * len(cases), wrong
    assert not unclean
    known = [one for one in shares if one[0] is not None]
    least = SHARES[cases[0]["kind"]]
    off = [name for is_right_share, name in known if not is_right_share]
    assert known and len(off) <= (1 - least) * len(known), off


def of_kind(kind):
    return [case for case in CASES if case["kind"] == kind]


def test_traces_have_the_verdict_of_an_expert(gait, tmp_path):
    cache = {"GAIT_CACHE_DIR": str(tmp_path / "cache")}

    def report_of(case):
        return json.loads(gait("report", "--json", trace_of(case, tmp_path), env=cache).stdout)

    assert len(of_kind("trace")) == 40
    judge(of_kind("trace"), report_of)


@pytest.mark.skipif(
    os.environ.get("GAIT_TEST_FULL") != "1", reason="31 trainings: GAIT_TEST_FULL=1 runs them"
)
def test_trainings_have_the_verdict_of_an_expert(gait, build, tmp_path):
    pytest.importorskip("torch")

    def report_of(case):
        run = train(str(build / "gait"), case, tmp_path / case["id"])
        return json.loads(gait("report", "--json", run).stdout)

    assert len(of_kind("run")) == 31
    judge(of_kind("run"), report_of)
