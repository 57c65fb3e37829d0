# SPDX-License-Identifier: Apache-2.0
"""Lightning's own actions on record, in a script that chose no profiler."""

import json
import os
import sys

from .. import _native
from .._core import span
from .._vocabulary import META_LIGHTNING_MODULE
from ..torch.wrap import instead, put


class _Both:
    """A span, and an action of the profiler that `gait run --profiler` chose."""

    __slots__ = ("_span", "_action")

    def __init__(self, span, action) -> None:
        self._span = span
        self._action = action

    def __enter__(self):
        self._span.__enter__()
        return self._action.__enter__()

    def __exit__(self, *error) -> None:
        self._action.__exit__(*error)
        self._span.__exit__(*error)


OF_MODULE = "[LightningModule]"
told = []  # the class of the model, which names the folder of its traces


def tell_module(action_name) -> None:
    name = action_name[len(OF_MODULE) :].partition(".")[0]
    told.append(name)
    _native._metadata(META_LIGHTNING_MODULE, json.dumps(name))


def hear(passive) -> None:
    """Makes PassThroughProfiler tell of what Trainer does; it stays what it is for others."""

    def profile(self, action_name):
        found = span(action_name, "lightning")
        if not told and action_name.startswith(OF_MODULE):
            tell_module(action_name)
        if type(self) is not passive or chosen() is None:
            return found
        return _Both(found, chosen().profile(action_name))

    put(passive, "profile", instead(passive.profile, profile), "Lightning's actions")


def hear_fetches(passive) -> None:
    """The profiler of the run is also told of batches, which Trainer starts and stops."""

    def start(self, action_name) -> None:
        if type(self) is passive and chosen() is not None:
            chosen().start(action_name)

    def stop(self, action_name) -> None:
        if type(self) is passive and chosen() is not None:
            chosen().stop(action_name)

    put(passive, "start", instead(passive.start, start), "Lightning's batches")
    put(passive, "stop", instead(passive.stop, stop), "Lightning's batches")


def beside(passive, profile):
    """Actions of `profile` that stay on record as those of the passive profiler are."""

    def both(action_name):
        return _Both(passive.profile(action_name), profile(action_name))

    return both


def chosen():
    run = sys.modules.get("gait.profilers.whole_run")
    return run and run.profiler_of_run


def install(passive) -> None:
    """Lightning is there, and with it the class of a Trainer's profiler that does nothing."""
    hear(passive)
    if os.environ.get("GAIT_LIGHTNING_REPORT") and not chosen():
        from . import whole_run

        whole_run.begin_lightnings()
    if chosen():
        hear_fetches(passive)
