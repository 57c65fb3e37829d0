# SPDX-License-Identifier: Apache-2.0
"""What a profile that was made from a gait.Config does when a trace is ready."""

import sys


def finish(config, folder):
    """A handler: writes the trace, prints the table once a job."""
    from gait.torch import tensorboard_trace_handler

    store = None
    if config.store_traces:
        store = tensorboard_trace_handler(
            folder, worker_name=config.worker_name or None, use_gzip=config.use_gzip
        )

    def ready(prof):
        if store is not None:
            store(prof)
        if config.table:
            _print_table(config, prof)

    return ready


def _print_table(config, prof):
    from .torch import ranks

    if not ranks.is_first():
        return
    averages = prof.key_averages(
        group_by_input_shape=config.group_by_input_shape,
        group_by_stack_n=config.group_by_stack_n,
    )
    sys.stdout.write(averages.table(sort_by=config.sort_by, row_limit=config.row_limit) + "\n")
    sys.stdout.flush()
