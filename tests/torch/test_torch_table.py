# SPDX-License-Identifier: Apache-2.0
"""gait.torch.table(): torch's text, byte for byte, of any document of events.

The oracle is torch itself: random documents are put into its own classes, which
build the tree, the averages and the text. Documents are made to be awkward: few
names, times on a small grid, mixed nodes and devices, deep repeats.
"""

import functools
import itertools
import json
import operator
import random
import subprocess
import sys

import pytest

FIELDS = (
    "id name trace_name overload_name thread fwd_thread input_shapes stack scope use_device "
    "cpu_memory_usage device_memory_usage is_async is_remote sequence_nr node_id device_index "
    "is_legacy flops is_user_annotation"
).split()
NAMES = ["aten::add", "A", "ProfilerStep*", "訓練", "n" * 51, "n" * 52, "x" * 90, "café"]
SHAPES = [[], [[]], [[2, 3], []], [[1024, 1024], [1024]], [[64, 3, 7, 7]] * 6, [[[2], [3]]]]
STACKS = [
    [],
    ["train.py(3): step"],
    ["a/b.py(1): f", "train.py(3): step"],
    ["x" * 90 + "(9): g", "a/b.py(1): f", "train.py(3): step", "main.py(1): <module>"],
]


def event(number, name, start, end, **more):
    row = dict.fromkeys(FIELDS)
    row.update(
        id=number, name=name, trace_name=name, overload_name="", thread=1, fwd_thread=0,
        input_shapes=[], stack=[], scope=0, cpu_memory_usage=0, device_memory_usage=0,
        is_async=False, is_remote=False, sequence_nr=-1, node_id=-1, device_index=0,
        is_legacy=False, flops=0, is_user_annotation=False, start_us=start, end_us=end,
        device_type="CPU", kernels=[],
    )  # fmt: skip
    row.update(more)
    return row


def random_event(chance, number, style):
    """style: what this document has at all."""
    grid = style["grid"]
    start = round(chance.randrange(style["span"]) * grid, 3)
    end = round(start + chance.choice([0, 1, 2, 5, 20, 200]) * grid, 3)
    row = event(number, chance.choice(style["names"]), start, end)
    row["use_device"] = style["device"]
    row["thread"] = chance.choice(style["threads"])
    row["fwd_thread"] = chance.choice(style["threads"])
    row["sequence_nr"] = chance.randrange(-1, 6)
    if style["nodes"]:
        row["node_id"] = chance.choice([-1, 0, 1])
    if style["shapes"]:
        row["input_shapes"] = chance.choice(SHAPES)
    if style["stacks"]:
        row["stack"] = chance.choice(STACKS)
        row["scope"] = chance.choice([0, 0, 0, 1, 7])
    if style["overloads"]:
        row["overload_name"] = chance.choice(["", "Tensor", "out", "o" * 60])
    if style["memory"]:
        row["cpu_memory_usage"] = chance.choice([0, 1, -1500, 4096, 1 << 21, -(3 << 30), 1023])
        row["device_memory_usage"] = chance.choice([0, 512, -512, 1 << 20, 5 << 30])
    if style["flops"]:
        row["flops"] = chance.choice([0, 0, 7, 999, 65536, 10**9, 2147483648, 3 * 10**17])
    row["is_async"] = chance.random() < style["async"]
    row["is_legacy"] = chance.random() < style["legacy"]
    row["is_user_annotation"] = chance.random() < 0.1
    if style["device"]:
        if chance.random() < 0.3:
            row["device_type"] = {"cuda": "CUDA", "xpu": "XPU"}[style["device"]]
            row["thread"] = 7
        elif chance.random() < 0.5:
            row["kernels"] = [
                ["kernel", 0, round(chance.random() * 50 * grid, 3)]
                for _ in range(chance.randrange(3))
            ]
    return row


def random_document(seed):
    chance = random.Random(seed)
    style = {
        "grid": chance.choice([0.001, 0.5, 1.0, 333.333, 25000.0]),
        "span": chance.choice([5, 40, 400]),
        "names": chance.sample(NAMES, chance.randrange(1, len(NAMES))),
        "threads": chance.choice([[1], [1, 2], [3, 1, 12345678901]]),
        "device": chance.choice([None, None, "cuda", "cuda", "xpu"]),
        "async": chance.choice([0, 0, 0.1]),
        "legacy": chance.choice([0, 0, 0.3]),
    }
    for key in ("nodes", "shapes", "stacks", "overloads", "memory", "flops"):
        style[key] = chance.random() < 0.4
    rows = [random_event(chance, i, style) for i in range(chance.choice([0, 1, 3, 20, 60, 150]))]
    if chance.random() < 0.5:
        rows.sort(key=lambda row: row["start_us"])
    return {
        "use_device": style["device"],
        "profile_memory": style["memory"],
        "with_flops": style["flops"],
        "events": rows,
    }


def random_arguments(chance):
    averages = None
    if chance.random() < 0.85:
        averages = {
            key: value
            for key, value in (
                ("group_by_input_shapes", chance.random() < 0.5),
                ("group_by_stack_n", chance.choice([0, 0, 1, 3])),
                ("group_by_overload_name", chance.random() < 0.3),
            )
            if chance.random() < 0.6
        }
    keys = (
        "cpu_time_total self_cpu_time_total cuda_time_total self_cuda_time_total "
        "self_cpu_memory_usage xpu_memory_usage count flops cpu_time device_time"
    ).split()
    table = {
        "sort_by": chance.choice([None, *keys]),
        "row_limit": chance.choice([-1, 0, 3, 100]),
        "max_src_column_width": chance.choice([75, 30, None]),
        "max_name_column_width": chance.choice([55, 20, 8, None]),
        "max_shapes_column_width": chance.choice([80, 24, None]),
        "header": chance.choice([None, "my header", ""]),
        "top_level_events_only": chance.random() < 0.3,
        "time_unit": chance.choice([None, "s", "ms", "us"]),
    }
    return averages, {key: value for key, value in table.items() if chance.random() < 0.5}


def torch_list(document):
    from torch.autograd import DeviceType
    from torch.autograd.profiler_util import EventList, FunctionEvent, Kernel

    options = {key: document[key] for key in ("use_device", "profile_memory", "with_flops")}
    events = EventList([], **options)
    for row in document["events"]:
        made = FunctionEvent(
            start_us=row["start_us"],
            end_us=row["end_us"],
            device_type=getattr(DeviceType, row["device_type"]),
            **{key: row[key] for key in FIELDS},
        )
        made.kernels.extend(Kernel(*kernel) for kernel in row["kernels"])
        events.append(made)
    events._build_tree()
    return events


def torch_text(events, averages, table):
    """torch's text, or the failure that it ends with."""
    try:
        rows = events if averages is None else events.key_averages(**averages)
        return rows.table(**table)
    except (AssertionError, RuntimeError) as error:
        return type(error)


def gait_text(document, averages, table):
    from gait.torch import table as table_of

    try:
        return table_of(document, key_averages=averages, table=table)
    except (AssertionError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_any_document_gives_torchs_text(first):
    texts = 0
    for seed in range(first, first + 40):
        document, chance = random_document(seed), random.Random(-seed)
        document = json.loads(json.dumps(document))
        events = torch_list(document)
        for _ in range(6):
            averages, table = random_arguments(chance)
            want = torch_text(events, averages, table)
            assert gait_text(document, averages, table) == want, (seed, averages, table)
            texts += isinstance(want, str)
    assert texts > 150  # most of them are no failures


@pytest.mark.parametrize("depth", [2, 5, 40])
def test_the_same_op_in_itself_is_one_op_in_whatever_order_it_was_listed(depth):
    for order in itertools.islice(itertools.permutations(range(depth)), 30):
        rows = [event(i, "A", float(i), 200.0 - i, cpu_memory_usage=1 << i % 8) for i in order]
        rows += [event(99, "B", 60.0, 61.0)]
        document = {
            "use_device": None, "profile_memory": True, "with_flops": False, "events": rows,
        }  # fmt: skip
        want = torch_list(document).key_averages().table()
        assert gait_text(document, {}, {}) == want


def left_to_right(numbers):
    return functools.reduce(operator.add, numbers, 0)


def kept(events):
    return [
        (
            event.id,
            event.cpu_parent and event.cpu_parent.id,
            [child.id for child in event.cpu_children],
            *(event.cpu_time_total, event.self_cpu_time_total, event.self_cpu_memory_usage),
            *(event.device_time_total, event.self_device_time_total),
            event.stack,
        )
        for event in events
    ]


@pytest.mark.parametrize("seed", range(300, 330))
def test_the_tree_is_torchs(seed, monkeypatch):
    from gait.torch.document import Document
    from torch.autograd import profiler_util

    # from CPython 3.12 on sum() makes up for what it rounds, in the last bit
    monkeypatch.setattr(profiler_util, "sum", left_to_right, raising=False)
    document = random_document(seed)
    assert kept(Document(document).events()) == kept(torch_list(document))


@pytest.mark.parametrize("seed", range(400, 410))
def test_averages_are_torchs_to_the_last_bit(seed):
    from gait.torch.document import Document

    document = random_document(seed)
    names = (
        "key count node_id cpu_time_total self_cpu_time_total device_time_total flops "
        "cpu_memory_usage self_cpu_memory_usage self_device_memory_usage input_shapes cpu_time "
        "is_async is_legacy is_user_annotation use_device stack overload_name scope"
    ).split()

    def values(rows):
        return [[getattr(row, name) for name in names] for row in rows]

    ours, theirs = Document(document).events(), torch_list(document)
    for by_shapes in False, True:
        assert values(ours.key_averages(by_shapes)) == values(theirs.key_averages(by_shapes))
    if theirs:
        assert ours.self_cpu_time_total == pytest.approx(theirs.self_cpu_time_total, abs=1e-9)
        whole, want = ours.total_average(), theirs.total_average()
        assert (whole.key, whole.count) == (want.key, want.count)
        assert whole.cpu_memory_usage == want.cpu_memory_usage


def test_a_key_that_does_not_exist_is_answered_with_those_that_do():
    document = random_document(2)
    assert document["events"]
    for key in "cpu_tme", "_has_parent", "cpu_children", "stack_of":
        with pytest.raises(
            ValueError, match="(?s)legal keys: cpu_time, .*self_cuda_time_total"
        ) as told:
            from gait.torch import table

            table(document, {}, {"sort_by": key})
        assert isinstance(told.value, AttributeError)  # as torch has it
        assert key in str(told.value)
        assert max(map(len, str(told.value).splitlines())) <= 78


def test_a_number_that_is_none_is_named():
    from gait.torch import table

    for value in 1.5, 1 << 70:
        document = {"events": [event(1, "A", 0, 1, cpu_memory_usage=value)]}
        with pytest.raises(ValueError, match="cpu_memory_usage of event 'A'"):
            table(document, {})


SMALL = """\
---------  ------------  ------------  ------------  ------------  ------------  ------------  
     Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  
---------  ------------  ------------  ------------  ------------  ------------  ------------  
    outer        55.56%     150.000us       100.00%     270.000us     270.000us             1  
    inner        44.44%     120.000us        44.44%     120.000us      60.000us             2  
---------  ------------  ------------  ------------  ------------  ------------  ------------  
Self CPU time total: 270.000us
"""  # noqa: W291
SCRIPT = """
import json, sys
sys.modules["torch"] = None  # importing it fails
from gait.torch import table
print(table(json.load(sys.stdin), {}, {"sort_by": "cpu_time_total"}), end="")
"""


@pytest.mark.needs_no_torch
def test_no_torch_is_needed():
    rows = [event(1, "outer", 0, 270), event(2, "inner", 10, 60), event(3, "inner", 100, 170)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps({"events": rows}),
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == SMALL
