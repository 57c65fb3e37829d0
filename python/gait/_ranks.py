# SPDX-License-Identifier: Apache-2.0
"""Who this process is among others: its global rank, whoever started it.

It needs no torch, and asks the one that is loaded.
"""

import contextlib
import os
import sys

# (rank, number of ranks) as launchers tell them; src/vocabulary/rank_place.c has the same
PAIRS = (
    ("GAIT_RANK", "GAIT_WORLD_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("HOROVOD_RANK", "HOROVOD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", ""),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMI_ID", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE"),
    ("PALS_RANKID", "PALS_SIZE"),
    ("ALPS_APP_PE", ""),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
)


def _number(name):
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def group():
    """torch.distributed, if this process has joined a group."""
    torch = sys.modules.get("torch")
    found = getattr(torch, "distributed", None)
    if found is not None and found.is_available() and found.is_initialized():
        return found
    return None


def global_rank():
    """The rank among all processes of the job, None where it is the only one."""
    joined = group()
    if joined is not None:
        return joined.get_rank() if joined.get_world_size() > 1 else None
    for name, size in PAIRS:
        rank, count = _number(name), _number(size)
        if rank is not None and count != 1:
            return rank
    # SLURM sets this for a plain batch script too, with a task count of one
    if (_number("SLURM_STEP_NUM_TASKS") or 1) > 1 and _number("SLURM_PROCID") is not None:
        return _number("SLURM_PROCID")
    return _number("JOB_COMPLETION_INDEX")  # an indexed job of Kubernetes


def is_first() -> bool:
    return not global_rank()


def distributed_info():
    """What torch.profiler's traces tell of the group, in its words; None without one."""
    joined = group()
    if joined is None:
        return None
    about = {
        "backend": joined.get_backend(),
        "rank": joined.get_rank(),
        "world_size": joined.get_world_size(),
    }
    with contextlib.suppress(Exception):  # what this torch does not tell
        about["pg_count"] = joined.get_pg_count()
        about["pg_config"] = joined.distributed_c10d._get_all_pg_configs()
        if about["backend"] == "nccl":
            nccl = sys.modules["torch"].cuda.nccl.version()
            about["nccl_version"] = ".".join(str(part) for part in nccl)
    return about
