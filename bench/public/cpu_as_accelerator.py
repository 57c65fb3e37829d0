#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program for GPUs on the CPU: torch.accelerator says that there are two, of type cpu.

usage: cpu_as_accelerator.py PROGRAM [ARGUMENT ...]
"""

import os
import runpy
import sys

import torch


def pretend():
    accelerator, begin = torch.accelerator, torch.distributed.init_process_group
    accelerator.is_available = lambda: True
    accelerator.device_count = lambda: 2
    accelerator.current_accelerator = lambda *_, **__: torch.device("cpu")
    accelerator.device_index = accelerator.set_device_index = lambda *_, **__: None
    torch.distributed.init_process_group = lambda *a, device_id=None, **k: begin(*a, **k)


if __name__ == "__main__":
    pretend()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
