# SPDX-License-Identifier: Apache-2.0
"""export_memory_timeline(): memory held over time, by what it was for, in the files
that torch.profiler writes: .html, .json and .json.gz ([times in us, bytes by category]),
.raw.json.gz ((ns, action, bytes, category) for each event).

What a block was for is told by where it was taken and given back: torch follows the
data through its ops, which needs all of them with stacks. A block taken in the
forward pass and given back in the backward is an activation, one that the backward
leaves behind a gradient, one that the optimizer leaves behind its state.
"""

import gzip
import json

CATEGORIES = (
    "Parameter, Optimizer state, Input, Temporary, Activation, Gradient, Autograd detail, Unknown"
).split(", ")
COLORS = "darkgreen goldenrod black mediumpurple red mediumblue royalblue grey".split()
STATE, TEMPORARY, ACTIVATION, GRADIENT, AUTOGRAD, UNKNOWN = 1, 3, 4, 5, 6, 7
CREATE, DESTROY = 2, 4
FORWARD, BACKWARD, OPTIMIZER = range(3)
MOST_POINTS = 2000  # of the picture


def export(capture, path, device=None):
    from .capture import CaptureError

    if not capture.options.get("profile_memory"):
        raise CaptureError("no memory was recorded: the timeline needs profile_memory=True")
    changes = timeline(capture, device)
    if path.endswith(".html"):
        write(path, picture(*by_category(changes)))
    elif path.endswith(".raw.json.gz"):
        write(path, json.dumps(changes))
    else:
        write(path, json.dumps(by_category(changes)))


def write(path, text) -> None:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(text)


# --- what happened ---


class Part:
    """Which part of a step a thread is in, by the spans that are open."""

    def __init__(self) -> None:
        self.open = []  # (end, part)

    def at(self, ns):
        while self.open and self.open[-1][0] <= ns:
            self.open.pop()
        return self.open[-1][1] if self.open else FORWARD

    def enter(self, event) -> None:
        part = self.at(event.start_ns)
        if event.args.get("scope") == 1 or event.name.startswith("autograd::engine"):
            part = BACKWARD
        elif event.name.startswith("Optimizer.step#"):
            part = OPTIMIZER
        length = event.duration_ns
        self.open.append((event.start_ns + length if length is not None else 1 << 62, part))


def blocks_of(capture, device):
    """[start, end or None, bytes, part in which it was taken, and given back]"""
    from .. import trace

    blocks, live, parts = [], {}, {}
    begin, end = capture.begin_ns, capture.end_ns
    (path,) = capture.paths
    with trace.open(path) as opened:
        for event in opened.events(kind=("span", "memory"), since_ns=begin, until_ns=end):
            if event.pid != capture.pid:
                continue
            part = parts.setdefault(event.tid, Part())
            if event.kind == "span":
                part.enter(event)
            elif begin <= event.start_ns < end and event.name == device:
                if event.value > 0:
                    block = [event.start_ns, None, event.value, part.at(event.start_ns), None]
                    live[event.id] = block
                    blocks.append(block)
                elif event.id in live:
                    live[event.id][1::3] = event.start_ns, part.at(event.start_ns)
                    del live[event.id]
    return blocks


def category_of(block):
    _, end, _, taken, given = block
    if taken == FORWARD:
        return UNKNOWN if end is None else ACTIVATION if given == BACKWARD else TEMPORARY
    if taken == BACKWARD:
        return GRADIENT if end is None or given != BACKWARD else AUTOGRAD
    return STATE if end is None else TEMPORARY


def devices_of(capture):
    from .. import trace

    (path,) = capture.paths
    with trace.open(path) as opened:
        events = opened.events(kind="memory", since_ns=capture.begin_ns, until_ns=capture.end_ns)
        return sorted({event.name for event in events})


def timeline(capture, device=None):
    """[[ns, action, bytes, category], …] in order of time."""
    if device is None:
        found = devices_of(capture)
        device = next((name for name in found if name != "cpu"), "cpu")
    changes = []
    for block in blocks_of(capture, str(device)):
        category = category_of(block)
        changes.append([block[0], CREATE, block[2], category])
        if block[1] is not None:
            changes.append([block[1], DESTROY, -block[2], category])
    changes.sort(key=lambda change: change[0])
    return changes


def by_category(changes):
    """[times in us], and for each the bytes of every category behind a 0."""
    times, sizes = [], []
    for ns, _, count, category in changes:
        us = ns // 1000
        if not times or us != times[-1]:
            times.append(us)
            sizes.append(list(sizes[-1]) if sizes else [0] * (len(CATEGORIES) + 1))
        sizes[-1][category + 1] += count
    return [times, sizes]


# --- the picture ---

PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Memory timeline</title></head>
<body style="font-family: sans-serif">
<h1 style="font-size: 16px">Memory held: at most {peak:.2f} MB</h1>
<svg viewBox="0 -20 1000 440" width="100%" preserveAspectRatio="none">
{areas}
</svg>
<p>from 0 to {length:.3f} ms</p>
<p>{legend}</p>
</body></html>
"""


def picture(times, sizes):
    """Areas on top of each other; of many points the highest of each stretch."""
    rows = list(zip(times, sizes))
    stretch = len(rows) // MOST_POINTS + 1
    rows = [
        max(rows[i : i + stretch], key=lambda row: sum(row[1]))
        for i in range(0, len(rows), stretch)
    ]
    first = rows[0][0] if rows else 0
    length = max(1, rows[-1][0] - first) if rows else 1
    peak = max((sum(row[1]) for row in rows), default=0)
    areas = []
    for index, (name, color) in enumerate(zip(CATEGORIES, COLORS)):
        lower, upper = [], []
        for us, row in rows:
            x = 1000 * (us - first) / length
            below = sum(row[: index + 1])
            lower.append(f"{x:.1f},{400 - 400 * below / (peak or 1):.1f}")
            upper.append(f"{x:.1f},{400 - 400 * (below + row[index + 1]) / (peak or 1):.1f}")
        points = " ".join(lower + upper[::-1])
        style = f'fill="{color}" opacity="0.7"'
        areas.append(f'<polygon {style} points="{points}"><title>{name}</title></polygon>')
    legend = " ".join(
        f'<span style="color: {color}">&#9632;</span> {name}'
        for name, color in zip(CATEGORIES, COLORS)
    )
    return PAGE.format(peak=peak / 1e6, areas="\n".join(areas), length=length / 1e3, legend=legend)
