# SPDX-License-Identifier: Apache-2.0
"""Groups of processes: who we are in them, and waiting for the others."""

import json

import torch

from .. import _native, _ranks
from .._vocabulary import META_DISTRIBUTED
from .wrap import beside, put, replace, replace_all

COLLECTIVES = (
    "allreduce allreduce_coalesced allgather allgather_coalesced _allgather_base "
    "allgather_into_tensor_coalesced gather scatter reduce broadcast reduce_scatter "
    "_reduce_scatter_base reduce_scatter_tensor_coalesced alltoall alltoall_base "
    "send recv recv_anysource barrier"
)


def install() -> None:
    if not torch.distributed.is_available():
        return
    from torch._C import _distributed_c10d as native
    from torch.distributed import distributed_c10d as group

    replace_all(native.ProcessGroup, COLLECTIVES, "communication")
    replace(native.Work, "wait", "communication")
    replace(torch.distributed, "_broadcast_coalesced", "communication")
    follow(group, "init_process_group", tell_rank, "which rank this process is")
    follow(group, "destroy_process_group", forget_group, "when it is none any more")


def follow(module, name, then, why) -> None:
    """Has `then` called after the function, under both names it is known by."""
    function = getattr(module, name)
    made = beside("after", function, then)
    for place in (module, torch.distributed):
        if getattr(place, name, None) is function:
            put(place, name, made, why)


def tell_rank(*_) -> None:
    group = _ranks.group()
    if group is None:
        return
    _native.rank(group.get_rank())
    _native._metadata(META_DISTRIBUTED, json.dumps(_ranks.distributed_info(), default=str))
    engine = torch.autograd.Variable._execution_engine
    alone = group.get_world_size() < 2
    _native._backward_tail(None if alone else engine.queue_callback)


def forget_group(*_) -> None:
    _native._forget_groups()
    if not torch.distributed.is_initialized():
        _native._backward_tail(None)
