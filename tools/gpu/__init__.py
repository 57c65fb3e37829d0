# SPDX-License-Identifier: Apache-2.0
"""The parts of `tools/check-gpu`: a name, what it holds against what, and the function."""

from . import machine, recordings, tables

PARTS = {
    "windows": ("kernels of windows, beside torch.profiler", recordings.windows),
    "ops": ("`gait ops --torch`, beside torch's tables", tables.ops),
    "breakdown": ("`gait breakdown` of torch's trace, beside brute force", recordings.breakdown),
    "profile": ("`gait.torch.profile` with CUDA, beside torch.profiler", tables.profile),
    "energy": ("energy and utilisation, beside NVML and nvidia-smi", machine.energy),
    "memory": ("`gait memory` of a snapshot, beside the allocator", machine.memory),
    "graphs": ("steps of a loop that replays a CUDA graph", recordings.of("graphs")),
    "streams": ("windows of several streams", recordings.of("streams")),
    "amp": ("windows under autocast", recordings.of("amp")),
    "compile": ("windows of torch.compile", recordings.of("compiled")),
    "ranks": ("two processes", recordings.ranks),
    "held": ("a profiler of the program's own beside", recordings.held),
    "hidden": ("no device is visible", machine.hidden),
    "nsight": ("ranges of Nsight Systems", machine.nsight),
    "mig": ("MIG", machine.mig),
    "mps": ("MPS", machine.mps),
    "permission": ("a user who may not use the devices", machine.permission),
    "cost": ("cost of a step, in pairs", machine.cost),
}
