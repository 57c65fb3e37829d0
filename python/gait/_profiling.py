# SPDX-License-Identifier: Apache-2.0
"""What a profile that was made from a gait.Config does when a trace is ready."""

import re
import sys

from . import _ranks
from ._say import attempt, say


def tell(config) -> None:
    """What is asked for and not done by config.profile(), once a job. The table behind
    the settings says what is done by nobody; `gait run` says that itself."""
    if not _ranks.is_first():
        return
    for sentence in (*getattr(config, "notices", ()), *_only_of_runs(config)):
        if not any(known in sentence for known in _TOLD_ELSEWHERE):
            say(sentence, once=sentence)


# by profile() and schedule(); and a file without a section is what most files are
_TOLD_ELSEWHERE = ("activities ", "warmup is 0", ": no section '")


def _only_of_runs(config):
    if config.py_spy:
        yield (
            "py_spy: Config.profile() takes no samples: start the script by 'gait run --sample "
            f"{config.py_spy_rate} -- python ...'"
        )
    if config.profiler in ("simple", "advanced"):
        yield (
            f"profiler {config.profiler!r}: Config.profile() is that of ops: use "
            f"gait.profilers.{config.profiler.capitalize()}, or 'gait run --profiler "
            f"{config.profiler} -- python ...'"
        )


def size_of(text):
    """Bytes of "500M", as src/base/size_text.c has them."""
    found = re.fullmatch(r"([0-9]+)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise ValueError(f"max_trace_size takes a size such as 500M, or 0, not {text!r}")
    return int(found[1]) << 10 * (" KMGT".index(found[2].upper()) if found[2] else 0)


def finish(config, folder):
    """A handler: writes the trace, and prints the table once a job. A failure of ours
    is a sentence then, not the end of a training; what can be known is refused now."""
    from gait.torch import tensorboard_trace_handler

    from .torch.handlers import make_folder

    store = None
    if config.store_traces:
        make_folder(folder)
        store = tensorboard_trace_handler(
            folder, worker_name=config.worker_name or None, use_gzip=config.use_gzip
        )

    most = size_of(config.max_trace_size)

    def ready(prof) -> None:
        if store is not None:
            prof.capture.options["max_bytes"] = most
            attempt("no trace", store, prof)
        if config.table:
            attempt("no table", _print_table, config, prof)
        if config.export_to_flame_graph:
            attempt("no stacks of ops", _write_stacks, config, folder, prof)

    return ready


def _write_stacks(config, folder, prof) -> None:
    from .torch import flame
    from .torch.handlers import default_worker

    worker = config.worker_name or default_worker()
    flame.write(prof.events(), prof.with_stack, folder, worker, config.metric)


def _print_table(config, prof) -> None:
    if not _ranks.is_first():
        return
    averages = prof.key_averages(
        group_by_input_shape=config.group_by_input_shape,
        group_by_stack_n=config.group_by_stack_n,
    )
    sys.stdout.write(averages.table(sort_by=config.sort_by, row_limit=config.row_limit) + "\n")
    sys.stdout.flush()
