# SPDX-License-Identifier: Apache-2.0
"""torch.compile: its time, and our hooks out of its sight meanwhile."""

import torch

from .. import _native
from .._patches import put_back, take_away
from . import watching
from .wrap import plain, put

_module_call = None


def install() -> None:
    global _module_call
    _module_call = plain(torch.nn.Module.__call__)
    watch = watching.watch()
    # both keep Module.__call__ to see later whether somebody has replaced it
    watch.add("torch._dynamo.utils", restore)
    watch.add("torch._dynamo.variables.nn_module", restore)
    watch.add("torch._dynamo.trace_rules", show_methods)
    watch.add("torch._dynamo.callback", listen)
    watch.add("torch._dynamo.eval_frame", learn_wrapper)


def restore(module) -> None:
    if _module_call is not None and hasattr(module, "unpatched_nn_module_call"):
        module.unpatched_nn_module_call = _module_call


def show_methods(module) -> None:
    """dynamo makes its list of tensor methods once, from what it sees then; and it
    is told that what is Python here is none of its business."""
    skip(module)
    take_away()
    try:
        module.get_tensor_method()
    finally:
        put_back()


def skip(rules) -> None:
    add = getattr(rules, "add", None)
    if add is not None:
        add(__package__.partition(".")[0])


def learn_wrapper(module) -> None:
    _native._wrapper_module(module.OptimizedModule, "_orig_mod")


def listen(module) -> None:
    """Around the callbacks rather than among them: torch.compiler.reset() would
    throw ours out with the user's."""
    handler = module.CompilationCallbackHandler
    set_eval_frame = torch._C._dynamo.eval_frame.set_eval_frame

    # A backward of compiled code is compiled where frames are looked at, and the
    # caller holds a lock: to compile one of ours would wait for it for ever.
    def begin(*_) -> None:
        looking = set_eval_frame(None)
        try:
            _native._compile_begin()
            take_away()
        finally:
            set_eval_frame(looking)

    def end(*_) -> None:
        looking = set_eval_frame(None)
        put_back()
        _native._compile_end()
        set_eval_frame(looking)

    for name, when, then in (
        ("run_start_callbacks", "before", begin),
        ("run_end_callbacks", "finally", end),
    ):
        made = _native._hook(when, getattr(handler, name), then)
        put(handler, name, made, "the phase compile", is_fixed=True)
