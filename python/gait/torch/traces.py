# SPDX-License-Identifier: Apache-2.0
"""A capture as torch.profiler's trace file. What is in the file is src/export's."""

import json
import os

# what the head of the file says itself
OWN = frozenset(
    "schemaVersion deviceProperties trace_id host_name displayTimeUnit baseTimeNanoseconds "
    "traceEvents traceName".split()
)


def _members(metadata):
    """A JSON object of what was added to a profile, in the order of adding."""
    own = sorted(OWN.intersection(metadata))
    if own:
        raise ValueError(f"metadata cannot be called {own[0]!r}: the trace says that itself")
    return "{" + ", ".join(f"{json.dumps(key)}: {text}" for key, text in metadata.items()) + "}"


def export_chrome(capture, path):
    """Writes a finished capture, packed if the name ends in ".gz".

    The same bytes each time. A failure is an OSError of one sentence, and leaves
    what was there before.
    """
    from .. import trace

    metadata = dict(capture.metadata)
    if capture.partial:
        metadata.setdefault("partial", "true")
    options = {
        "since_ns": capture.begin_ns,
        "until_ns": capture.end_ns,
        "distributed": metadata.pop("distributedInfo", None),
        "metadata": _members(metadata),
        "has_strides": bool(capture.options.get("strides")),
        "max_bytes": capture.options.get("max_bytes", 0),
    }
    (shard,) = capture.paths
    with trace.open(shard) as opened:
        try:
            opened.export(os.fspath(path), "pt-trace", **options)
        except trace.TraceError as error:
            raise OSError(str(error)) from None
