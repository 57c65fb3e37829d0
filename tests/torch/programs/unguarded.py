# SPDX-License-Identifier: Apache-2.0
"""Misuse and missing parts: each line printed is one answer of the collector."""

import ctypes

import collector
import torch

library = collector.library
print("not attached:", library.gait_torch_window_open(0), library.gait_torch_ranges(1))
collector.start()
print("not held:", library.gait_window_hold(0))
collector.attach(with_guard=False)
print("lacks:", collector.lacks())
print("wrong keys:", library.gait_torch_guard(torch.ones(2)._cdata, 0x123456789, 0))
print("no tensor:", library.gait_torch_guard(ctypes.c_void_p(0), 1, 0))
print("close unopened:", library.gait_torch_window_close())
collector.open_window(collector.SHAPES)
print("twice:", library.gait_torch_window_open(0), library.gait_torch_ranges(1))
torch.ones(3).add_(1)
collector.close_window()
collector.guard()
print("then:", repr(collector.lacks()))
first, second = (library.gait_window_hold(level) for level in (0, 2))
for number in first, second:
    torch.ones(3).sub_(1)
    library.gait_window_leave(number)
torch.ones(3).div_(1)
print("held:", first > 0, second > 0, library.gait_window_leave(first))
collector.stop()
collector.open_window(collector.SHAPES)
torch.ones(3).mul_(1)
collector.close_window()
