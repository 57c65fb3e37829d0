# SPDX-License-Identifier: Apache-2.0
"""Loading inside the workers of a loader: what is fetched, what is collated."""

import functools
import os

from torch.utils.data._utils import fetch, worker

from .. import _gait
from .wrap import hook, replace


def install():
    base = fetch._BaseDatasetFetcher
    replace(fetch._MapDatasetFetcher, "fetch", "fetch")
    replace(fetch._IterableDatasetFetcher, "fetch", "fetch")
    make = base.__init__

    @functools.wraps(make)
    def __init__(self, *args, **kwargs):
        make(self, *args, **kwargs)
        if callable(getattr(self, "collate_fn", None)):
            self.collate_fn = hook("collate", self.collate_fn)
        if worker._worker_info is not None:
            become_worker()

    base.__init__ = __init__


def become_worker():
    """A worker that was forked would go on in the name of its parent."""
    path = _gait.shard_path()
    directory = os.path.dirname(path) if path else None
    if not directory and not os.environ.get("GAIT_DIR"):
        return
    _gait._windows_spare(None)  # it is not the one whose steps count
    _gait.stop()
    _gait._phase_arm(None)
    _gait.start(directory, role="worker")
    _gait._phase_wake()
