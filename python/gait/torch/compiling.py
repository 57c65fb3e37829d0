# SPDX-License-Identifier: Apache-2.0
"""torch.compile: its time, and our hooks out of its sight meanwhile."""

import torch

from .. import _gait
from . import watching
from .wrap import put_back, take_away

_module_call = None


def install():
    global _module_call
    _module_call = getattr(torch.nn.Module.__call__, "__wrapped__", None)
    watch = watching.watch()
    # both keep Module.__call__ to see later whether somebody has replaced it
    watch.add("torch._dynamo.utils", restore)
    watch.add("torch._dynamo.variables.nn_module", restore)
    watch.add("torch._dynamo.callback", listen)
    watch.add("torch._dynamo.eval_frame", learn_wrapper)


def restore(module):
    if _module_call is not None and hasattr(module, "unpatched_nn_module_call"):
        module.unpatched_nn_module_call = _module_call


def learn_wrapper(module):
    _gait._wrapper_module(module.OptimizedModule, "_orig_mod")


def listen(module):
    handler = module.callback_handler
    handler.register_start_callback(compile_begins)
    handler.register_end_callback(compile_ends)


def compile_begins(*_):
    _gait._compile_begin()
    take_away()


def compile_ends(*_):
    put_back()
    _gait._compile_end()
