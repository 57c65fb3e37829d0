# SPDX-License-Identifier: Apache-2.0
"""One step of each model under torch.profiler, and under gait.torch.

usage: compare_averages.py FOLDER

FOLDER/KIND.json has what both say: the events, the averages in four groupings,
and the sums; FOLDER/KIND.txt the table of gait. Why each has its process: forked.py.
"""

import json
import pathlib
import sys

import forked
import gait.torch
import models
import torch
from torch.nn import functional

OPTIONS = {"record_shapes": True, "profile_memory": True, "with_flops": True}
GROUPINGS = [{}, {"group_by_input_shape": True}, {"group_by_stack_n": 2}]
EVENT = (
    "name trace_name input_shapes flops cpu_memory_usage self_cpu_memory_usage "
    "device_memory_usage scope sequence_nr is_async is_user_annotation is_legacy node_id count key"
).split()
AVERAGE = (
    "key count input_shapes flops cpu_memory_usage self_cpu_memory_usage "
    "self_device_memory_usage is_user_annotation node_id stack overload_name use_device"
).split()


def values_of(row, names):
    return {name: getattr(row, name) for name in names}


def event_of(event):
    values = values_of(event, EVENT)
    values["parent"] = event.cpu_parent and event.cpu_parent.name
    values["children"] = [child.name for child in event.cpu_children]
    return values


def from_first(events):
    """Sequence numbers count on from step to step."""
    first = min([e["sequence_nr"] for e in events if e["sequence_nr"] >= 0], default=0)
    for event in events:
        event["sequence_nr"] -= first if event["sequence_nr"] >= 0 else 0
    return events


def said_by(profiler):
    averages = [profiler.key_averages(**grouping) for grouping in GROUPINGS]
    whole = profiler.key_averages().total_average()
    return {
        "events": from_first([event_of(event) for event in profiler.events()]),
        "averages": [[values_of(row, AVERAGE) for row in rows] for rows in averages],
        "whole": values_of(whole, ["key", "count", "flops", "cpu_memory_usage"]),
        "head": averages[1].table(sort_by="count", row_limit=5).splitlines()[1],
    }


def schedule(number):
    actions = torch.profiler.ProfilerAction
    return [actions.WARMUP, actions.RECORD, actions.RECORD_AND_SAVE, actions.NONE][number]


def make_odd_step():
    """Ops with odd arguments, and ops that have no formula."""
    picture, deep = torch.randn(2, 4, 9, 11), torch.randn(1, 2, 5, 6, 7)
    weight = torch.randn(6, 2, 3, 5, requires_grad=True)
    left, right = torch.randn(3, 4, 5), torch.randn(3, 5, 2)
    empty = torch.zeros(0, 5)

    def convolve():
        settings = {"stride": (2, 1), "padding": (1, 3), "dilation": (1, 2), "groups": 2}
        functional.conv2d(picture, weight, None, **settings).sum().backward()
        functional.conv2d(picture, weight, padding="same", groups=2)
        functional.conv2d(picture[0], weight, groups=2)
        functional.conv_transpose2d(torch.randn(2, 6, 5, 5), weight, groups=2, output_padding=0)
        functional.conv3d(deep, torch.randn(3, 2, 2, 2, 2), padding=1)
        functional.conv1d(torch.randn(2, 3, 8), torch.randn(4, 3, 3))

    def multiply():
        torch.baddbmm(torch.zeros(1, 1, 2), left, right)
        torch.bmm(left, right)
        torch.mm(empty, torch.randn(5, 3))
        torch.addmm(torch.zeros(3), torch.randn(2, 5), torch.randn(5, 3), beta=0.5)
        torch.mul(torch.tensor(2.0), 3).add(1)
        torch.einsum("bij,bjk->bik", left, right)
        functional.scaled_dot_product_attention(*[torch.randn(1, 2, 8, 4) for _ in range(3)])

    def rest():
        torch.cat([left, left], dim=1).split([3, 5], dim=1)
        torch._foreach_add_([left, right], 1.0)
        left.permute(2, 0, 1).contiguous().view(-1)[::2].to(torch.int32)
        functional.embedding(torch.tensor([1, 2]), torch.randn(4, 3))
        with torch.profiler.record_function("user's: range", "an argument"):
            torch.complex(left, left).abs().sum().item()

    def step():
        for work in convolve, multiply, rest:
            work()

    return step


def profiled(package, kind):
    """What a profiler says of the third and fourth step of a model."""
    step = make_odd_step() if kind == "odd" else models.make_step(kind)
    step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with package.profile(activities=activities, schedule=schedule, **OPTIONS) as profiler:
        for _ in range(3):
            step()
            profiler.step()
    return profiler


def compare(kind, folder):
    theirs, ours = profiled(torch.profiler, kind), profiled(gait.torch, kind)
    said = {"torch": said_by(theirs), "gait": said_by(ours)}
    (folder / f"{kind}.json").write_text(json.dumps(said), encoding="utf-8")
    (folder / f"{kind}.txt").write_text(ours.key_averages().table(), encoding="utf-8")


def main(folder):
    torch.set_num_threads(1)
    kinds = sys.argv[2:] or [*models.KINDS, "odd"]
    return forked.run_each(lambda kind: compare(kind, pathlib.Path(folder)), kinds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
