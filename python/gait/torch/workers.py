# SPDX-License-Identifier: Apache-2.0
"""Loading inside the workers of a loader: what is fetched, what is collated."""

import os
import weakref

from torch.utils.data._utils import fetch, worker

from .. import _native, _patches
from .wrap import Hook, beside, hook, plain, put, replace


def install() -> None:
    base = fetch._BaseDatasetFetcher
    replace(fetch._MapDatasetFetcher, "fetch", "fetch")
    replace(fetch._IterableDatasetFetcher, "fetch", "fetch")
    put(
        base, "__init__", beside("after", base.__init__, begin_fetching), "collating, and who works"
    )
    _patches.also(_patches.Moving(hooked_collates, nothing, nothing))


_fetchers = weakref.WeakSet()


def hooked_collates():
    made = [(fetcher, fetcher.collate_fn) for fetcher in _fetchers]
    return [
        _patches.Patch(fetcher, "collate_fn", function, "collating", plain(function))
        for fetcher, function in made
        if isinstance(function, Hook)
    ]


def nothing() -> None:
    """torch.compile does not look at fetchers."""


def begin_fetching(fetcher) -> None:
    if callable(getattr(fetcher, "collate_fn", None)):
        fetcher.collate_fn = hook("collate", fetcher.collate_fn)
        _fetchers.add(fetcher)
    if worker._worker_info is not None:
        become_worker()


_worker_pid = 0  # of the process that is one already


def become_worker() -> None:
    """A worker that was forked would go on in the name of its parent. One that lives on, as
    persistent_workers=True has it, makes a fetcher for each epoch."""
    global _worker_pid
    if _worker_pid == os.getpid():
        return
    _worker_pid = os.getpid()
    path = _native.shard_path()
    directory = os.path.dirname(path) if path else None
    if not directory and not os.environ.get("GAIT_DIR"):
        return
    _native._windows_spare(None)  # it is not the one whose steps count
    _native.stop()
    _native._phase_arm(None)
    _native.start(directory, role="worker")
    _native._phase_wake()
