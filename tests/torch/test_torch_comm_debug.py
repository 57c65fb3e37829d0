# SPDX-License-Identifier: Apache-2.0
"""`gait comms --debug` of a trace against torch's CommDebugMode of the same step."""

import json

PROGRAM = """
import json
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.tensor.debug import CommDebugMode
from torch.profiler import profile

dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())


class Reduced(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return functional.wait_tensor(functional.all_reduce(x, "sum", dist.group.WORLD))

    @staticmethod
    def backward(ctx, grad):
        return functional.wait_tensor(functional.all_reduce(grad, "sum", dist.group.WORLD))


class Inner(torch.nn.Linear):
    def forward(self, x):
        return Reduced.apply(super().forward(x))


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Inner(4, 4), torch.nn.Linear(4, 2)

    def forward(self, x):
        x = functional.all_reduce(self.first(x), "sum", dist.group.WORLD)
        return self.second(functional.wait_tensor(x))


net = Outer()


def step():
    net(torch.ones(3, 4)).sum().backward()


step()
with CommDebugMode() as mode:
    step()
counts = {
    fqn.rsplit(".", 1)[-1]: {
        way: {str(op).rsplit(".", 1)[-1]: count for op, count in told[way].items()}
        for way in ("forward", "backward")
    }
    for fqn, told in mode.comm_module_counts.items()
}
with profile(with_stack=True, activities=[torch.profiler.ProfilerActivity.CPU]) as running:
    step()
running.export_chrome_trace("trace.json")
print("TOLD " + json.dumps(counts))
dist.destroy_process_group()
"""


def test_collectives_of_modules_are_those_that_torch_counts(scripts, gait):
    theirs = scripts(PROGRAM).told[0]
    done = gait("comms", "--json", "--debug", "0", "trace.json")
    assert done.returncode == 0, done.stderr
    ours = {row["fqn"].rsplit(".", 1)[-1]: row for row in json.loads(done.stdout)["modules"]}
    names = {"Global": "Global", "Outer_0": "Outer", "Inner_0": "first", "Linear_0": "second"}
    compared = 0
    for ours_name, name in names.items():
        for way in "forward", "backward":
            found = {}
            for entry in ours[ours_name]["collectives_" + way]:
                op = entry["name"].rsplit(":", 1)[-1]
                found[op] = found.get(op, 0) + entry["count"]
            wanted = theirs.get(name, {}).get(way, {})
            if (name, way) == ("second", "backward"):
                # torch takes the module whose backward began last; its all-reduce is the outer's
                assert (found, wanted) == ({}, {"all_reduce": 1})
                continue
            compared += len(wanted)
            assert found == wanted, (name, way)
    assert compared >= 6
