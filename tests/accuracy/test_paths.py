# SPDX-License-Identifier: Apache-2.0
"""Critical paths and predictions of traces that can be worked out by hand, and of real ones."""

import json
import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
REAL = sorted([*SHARED.glob("traces/*/*.json.gz"), *SHARED.glob("oracles/verdict/traces/*.gz")])
FOLDERS = [SHARED / "traces" / name for name in ("dlrm-8rank", "two-of-128")]
FOLDERS = [folder for folder in FOLDERS if folder.is_dir()]
US = 1000


def span(cat, name, start, end, tid=1, **args):
    pid = 0 if cat in ("kernel", "gpu_memcpy") else 100
    return {
        **{"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid},
        **{"ts": 1_000_000 + start, "dur": end - start, "args": args},
    }


def launched(name, call, work, number, stream=7, cat="kernel"):
    """A launch and its work: (start, end) of each."""
    return [
        span("cuda_runtime", "cudaLaunchKernel", *call, correlation=number),
        span(cat, name, *work, tid=stream, device=0, stream=stream, correlation=number),
    ]


def step(end):
    return span("user_annotation", "ProfilerStep#1", 0, end)


@pytest.fixture
def ask(gait, tmp_path):
    """ask(events of rank 0, of rank 1, ...) gives what questions are asked with."""

    def write(*ranks):
        for number, events in enumerate(ranks):
            info = {"rank": number, "world_size": len(ranks)}
            whole = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": events}
            (tmp_path / f"rank{number}.json").write_text(json.dumps(whole))
        return lambda *words: json.loads(gait(*words, "--json", tmp_path).stdout)

    return write


def kinds(answer, step=0):
    sums = {}
    for piece in answer["steps"][step]["path"]:
        sums[piece["kind"]] = sums.get(piece["kind"], 0) + piece["ns"] / US
    return sums


def predicted(ask, *scales):
    answer = ask("what-if", *(word for scale in scales for word in ("--scale", scale)))
    assert answer["replay_ratio"] == 1
    return answer["predicted_ns"] / US


ONE_KERNEL = [
    step(1000),
    span("cpu_op", "aten::mm", 100, 200),
    *launched("gemm", (150, 160), (170, 800), 1),
    span("cuda_runtime", "cudaDeviceSynchronize", 300, 820, correlation=2),
]


def test_a_path_leads_through_the_launch_the_kernel_and_the_wait(ask):
    answer = ask(ONE_KERNEL)("critical-path")
    assert answer["steps"][0]["length_ns"] == 1000 * US
    assert kinds(answer) == {"host": 280, "op": 50, "launch": 20, "kernel": 630, "sync": 20}


@pytest.mark.parametrize(
    "scales, length",
    [
        (["gemm=0.5"], 685),
        (["kernel=0.5"], 685),
        (["aten::mm=0.5"], 660),  # its kernel and 25 us before the launch
        (["gemm=0"], 480),  # then the host is what the end waits for
        (["gemm=0", "aten::mm=0"], 380),  # and that comes to its wait 100 us earlier
        (["gemm=2"], 1630),
        (["gemm=0.5", "kernel=0.5"], 527.5),
    ],
)
def test_less_work_is_less_time_as_far_as_nothing_else_is_waited_for(ask, scales, length):
    assert predicted(ask(ONE_KERNEL), *scales) == length


def test_streams_wait_for_each_other(ask):
    # the second kernel, on another stream, begins 2 us behind the first
    events = [
        *launched("first", (10, 20), (30, 500), 1),
        *launched("second", (30, 40), (502, 600), 2, stream=8),
        span("cuda_runtime", "cudaStreamSynchronize", 50, 610, correlation=3),
        step(700),
    ]
    asked = ask(events)
    path = kinds(asked("critical-path"))
    assert path == {"host": 100, "launch": 20, "kernel": 568, "dependency": 2, "sync": 10}
    assert predicted(asked, "first=0.5") == 700 - 235
    assert predicted(asked, "second=0") == 700 - 98


def collective(launch, start):
    return [
        *launched("ncclDevKernel_AllReduce_Sum_f32", (launch, launch + 10), (start, 600), 1),
        span("cuda_runtime", "cudaDeviceSynchronize", launch + 15, 610, correlation=2),
        step(700),
    ]


def test_a_collective_begins_when_the_last_rank_has_come(ask):
    late = [span("cpu_op", "slow_op", 0, 470), *collective(480, 500)]
    asked = ask(collective(180, 200), late)
    for words in ([], ["--rank", "0"]):
        answer = asked("critical-path", *words)
        assert kinds(answer) == {
            **{"host": 100, "op": 470, "launch": 20, "collective": 100, "sync": 10},
        }
        assert answer["joined_collectives"] == 1
        slow = answer["steps"][0]["path"][0]
        assert (slow["name"], slow["rank"], slow["ns"]) == ("slow_op", 1, 470 * US)
    assert predicted(asked, "nccl*=0") == 600
    assert predicted(asked, "slow_op=0") == 400  # rank 0 comes at 200 us
    assert predicted(asked, "slow_op=0", "collective=0") == 300


def test_the_host_does_not_wait_where_a_kernel_does(ask):
    # the call of rank 1 begins when that of rank 0 is over: only the kernels meet
    calls = [span("user_annotation", "nccl:all_reduce", start, start + 20) for start in (175, 478)]
    late = [span("cpu_op", "slow_op", 0, 470), calls[1], *collective(480, 500)]
    asked = ask([calls[0], *collective(180, 200)], late)
    assert asked("critical-path")["joined_collectives"] == 1
    assert predicted(asked, "slow_op=0") == 400


def test_the_thread_waits_for_autograds(ask):
    engine = "autograd::engine::evaluate_function: AddmmBackward0"
    events = [
        step(600),
        span("cpu_op", "aten::linear", 10, 100),
        span("cpu_op", engine, 120, 400, tid=2),
        span("cpu_op", "aten::mm", 200, 300, tid=2),
        span("cpu_op", "aten::add_", 500, 600),
    ]
    asked = ask(events)
    assert kinds(asked("critical-path")) == {"host": 130, "op": 470}
    assert predicted(asked, "aten::mm=0") == 500
    assert predicted(asked, engine + "=0") == 320


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["what-if", "--scale", "gemm"], "--scale 'gemm' is not PATTERN=FACTOR"),
        (["what-if", "--scale", "gemm=-1"], "must be a number from 0 to 1000"),
        (["what-if", "--scale", "gemm=nan"], "must be a number from 0 to 1000"),
        (["what-if", "--scale", "gmem=0"], "of the run is called 'gmem'"),
        (["what-if", *["--scale", "gemm=1"] * 9], "'--scale' may be given 8 times at most"),
        (["what-if"], "give what shall take less time"),
        (["critical-path", "--step", "7"], "no such step is on record: 7"),
        (["critical-path", "--rank", "7"], "no such step of that rank is on record"),
    ],
)
def test_a_question_without_sense_is_refused_in_one_sentence(gait, tmp_path, words, sentence):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": ONE_KERNEL}))
    done = gait(*words, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_times_beyond_all_time_are_left_out(ask):
    far = [9_000_000_000_000_000, -9_000_000_000_000_000]
    strange = [{**span("cpu_op", "far", 0, 10), "ts": ts} for ts in far]
    strange += launched("gemm", (1, 1), (0, 0), 1) + launched("other", (900, 910), (50, 20), 1)
    asked = ask(ONE_KERNEL + strange)
    for one in asked("critical-path")["steps"]:
        assert sum(piece["ns"] for piece in one["path"]) == one["length_ns"]
    for scale in ("op=1000", "*=1000", "*=0"):
        answer = asked("what-if", *(["--scale", scale] * 8))
        assert answer["replayed_ns"] == answer["measured_ns"]


@pytest.mark.skipif(not REAL, reason="there is no ../shared with traces")
@pytest.mark.parametrize("path", REAL + FOLDERS, ids=lambda path: path.name)
def test_paths_of_real_traces_are_as_long_as_their_steps(gait, path):
    answer = json.loads(gait("critical-path", "--json", path).stdout)
    assert answer["steps"]
    for one in answer["steps"]:
        assert sum(piece["ns"] for piece in one["path"]) == one["length_ns"]
    said = json.loads(gait("what-if", "--scale", "*=1", "--json", path).stdout)
    assert said["measured_ns"] == said["replayed_ns"] == said["predicted_ns"]
