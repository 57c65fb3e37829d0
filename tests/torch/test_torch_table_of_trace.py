# SPDX-License-Identifier: Apache-2.0
"""`gait ops --torch` of a trace: the table that torch.profiler printed in that session."""

SESSION = """
import sys
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import profile, record_function

SORT = ["self_cpu_time_total", "cpu_time_total", "cpu_memory_usage", "count"]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.last = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        return self.last(torch.cat([self.conv(x), self.conv(x)])[:2].flatten(1))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step():
    optimizer.zero_grad()
    with record_function("a range whose name is longer than what torch's table has room for"):
        loss = net(torch.randn(2, 3, 8, 8)).sum()
    loss.backward()
    optimizer.step()


step()
verbose = _ExperimentalConfig(verbose=True)
sessions = {
    "plain": {},
    "all": dict(record_shapes=True, profile_memory=True, with_flops=True),
    "stack": dict(with_stack=True, experimental_config=verbose),
}
for name, options in sessions.items():
    with profile(activities=[torch.profiler.ProfilerActivity.CPU], **options) as running:
        for _ in range(2):
            step()
            running.step()
    running.export_chrome_trace(name + ".json")
    averages = running.key_averages()
    shapes = running.key_averages(group_by_input_shape=name == "all")
    for key in SORT:
        open(f"{name}.{key}", "w").write(averages.table(sort_by=key, row_limit=8))
        open(f"{name}.{key}.shapes", "w").write(shapes.table(sort_by=key, row_limit=-1))
    stacks = running.key_averages(group_by_stack_n=3)
    open(name + ".stacks", "w").write(stacks.table(sort_by="cpu_time_total", row_limit=-1))
    open(name + ".default", "w").write(averages.table())
"""
KEYS = ["self_cpu_time_total", "cpu_time_total", "cpu_memory_usage", "count"]


def test_the_table_of_a_trace_is_torchs_own(scripts, gait, tmp_path):
    scripts(SESSION)

    def same(name, trace, *options):
        done = gait("ops", "--torch", *options, trace)
        assert done.returncode == 0, done.stderr
        assert done.stdout == (tmp_path / name).read_text(), name

    for session in "plain", "all", "stack":
        trace = session + ".json"
        same(session + ".default", trace)
        for key in KEYS:
            shapes = ["--shapes"] if session == "all" else []
            same(f"{session}.{key}", trace, "--sort-by", key, "--row-limit", "8")
            same(f"{session}.{key}.shapes", trace, "--sort-by", key, "--row-limit", "-1", *shapes)
    options = ["--stack", "3", "--sort-by", "cpu_time_total", "--row-limit", "-1"]
    same("stack.stacks", "stack.json", *options)
