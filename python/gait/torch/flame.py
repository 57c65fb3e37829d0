# SPDX-License-Identifier: Apache-2.0
"""export_to_flame_graph: what ops took, folded by what called them, and drawn.

A line is a stack from its root, and microseconds: Python functions where with_stack
recorded them, else ops inside of ops.
"""

import os
import subprocess

from .._say import say
from .event_list import device_words
from .handlers import claim, make_folder

SUFFIX = ".stacks.txt"
_CLEAN = str.maketrans(" ;\t\n", "____")


def write_ops(events, path, metric) -> None:
    """Ops inside of ops, as `gait flame` and flamegraph.pl read them."""
    sums = {}
    for event in events:
        own = getattr(event, device_words(metric), 0)
        if own <= 0:
            continue
        names, at = [], event
        while at is not None:
            names.append(at.name.translate(_CLEAN))
            at = at.cpu_parent
        stack = ";".join(reversed(names))
        sums[stack] = sums.get(stack, 0) + own
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{stack} {round(own)}\n" for stack, own in sorted(sums.items()))


def write(events, has_functions, folder, worker, metric):
    """The path of {worker}.{ns}.stacks.txt; a drawing of it stands beside it."""
    if metric not in events.supported_export_stacks_metrics():
        events.export_stacks(os.devnull, metric)  # it says which there are
    make_folder(folder)
    path = claim(folder, worker, SUFFIX)
    try:
        if has_functions:
            events.export_stacks(path, metric)
        if not os.path.getsize(path):  # a run without steps has no functions on record
            write_ops(events, path, metric)
        if not os.path.getsize(path):
            raise ValueError(f"nothing on record has any {metric}")
    except BaseException:
        os.unlink(path)
        raise
    _draw(path, metric)
    return path


def _draw(path, metric) -> None:
    from ..__main__ import find_tool

    tool = find_tool()
    if tool is None:
        say(f"{path!r} is not drawn: the tool 'gait' is not here", once="draw")
        return
    title = f"Ops by {metric}, us"
    line = [tool, "flame", "--title", title, "-o", path[: -len(SUFFIX)] + ".flame.svg", path]
    done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        say(f"{path!r} is not drawn: {done.stderr.decode(errors='replace').strip()}")
