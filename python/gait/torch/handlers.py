# SPDX-License-Identifier: Apache-2.0
"""What is done with a trace when it is ready."""

from __future__ import annotations

import os
import socket
import time

from .. import _ranks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .profiler import profile


def make_folder(path):
    """Makes a folder for what a profile writes; says what is in its way."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        if os.path.exists(path) and not os.path.isdir(path):
            raise NotADirectoryError(
                f"traces cannot be written to {path!r}: it is a file; name a folder"
            ) from None
        raise RuntimeError(f"Can't create directory: {path} ({error.strerror})") from None


def default_worker(rank=None, pid=None) -> str:
    """Of one process alone, of this by default: {host}_{pid}, of a job {host}_rank{rank}_{pid}."""
    if pid is None:
        rank, pid = _ranks.global_rank(), os.getpid()
    place = "" if rank is None else f"rank{rank}_"
    return f"{socket.gethostname()}_{place}{pid}"


def claim(folder, worker, suffix):
    """A path {worker}.{ns}{suffix} that nobody else has; it is there, and empty."""
    ns = time.time_ns()
    while True:
        path = os.path.join(folder, f"{worker}.{ns}{suffix}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return path
        except FileExistsError:
            ns += 1


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], str]:
    """Writes each trace to `dir_name` as TensorBoard names them.

    `worker_name` should be unique for each process; by default it is {host}_{pid}, of a
    job {host}_rank{rank}_{pid}.
    """

    def handler_fn(prof):
        make_folder(dir_name)
        worker = worker_name or default_worker()
        path = claim(dir_name, worker, ".pt.trace.json" + (".gz" if use_gzip else ""))
        try:
            prof.export_chrome_trace(path)
        except BaseException:
            if os.path.getsize(path) == 0:
                os.unlink(path)
            raise
        return path

    return handler_fn
