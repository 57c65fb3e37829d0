# SPDX-License-Identifier: Apache-2.0
"""gait's table of actions: own and total time, spread, and the tree they form."""

import math

WIDTH = 78
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def span_of(seconds):
    """A length in three digits: '1.23 ms'; of what no clock tells, what fits in seven
    characters: record() takes any number."""
    if not math.isfinite(seconds):
        return str(seconds)
    if abs(seconds) >= 9999.5:
        text = f"{seconds:.{1 if 0 < seconds < 9.5e9 else 0}e}".replace("e+0", "e").replace(
            "e+", "e"
        )
        return text + (" s" if len(text) < 6 else "s")
    if seconds < 0:
        text, unit = span_of(-seconds).split()
        return f"-{text[:3].rstrip('.')} {unit}"
    for scale, unit in UNITS:
        if seconds >= scale * 0.9995:
            value = seconds / scale
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{abs(seconds) * 1e9:.0f} ns"


def fit(text, room):
    """The end of a name says more than its beginning."""
    text = " ".join(text.split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def count_of(number):
    return str(number) if number < 10**7 else f"{number:.2e}"


def spread_lines(rows, wall):
    heads = ("calls", "total", "self", "p50", "p95", "p99", "max")
    yield f"{heads[0]:>7}" + "".join(f"{head:>8}" for head in heads[1:]) + "  action"
    for row in sorted(rows, key=lambda row: row[4], reverse=True):
        name, calls, _, own, outermost, _, most, _, *quantiles = row
        cells = "".join(f"{span_of(x):>8}" for x in (outermost, own, *quantiles, most))
        line = f"{count_of(calls):>7}{cells}  "
        yield line + fit(name, WIDTH - len(line))


def children_of(tree):
    """The rows of all threads as one tree: {path: [calls, total, own]}."""
    nodes, path = {}, []
    for depth, name, calls, total, own in tree:
        path = path[:depth] + [name]
        node = nodes.setdefault(tuple(path), [0, 0.0, 0.0])
        for at, value in enumerate((calls, total, own)):
            node[at] += value
    below = {}
    for place in nodes:
        below.setdefault(place[:-1], []).append(place)
    return nodes, below


def tree_lines(tree):
    nodes, below = children_of(tree)
    yield f"{'calls':>7}{'total':>8}{'self':>8}  tree"
    waiting = [()]
    while waiting:
        place = waiting.pop()
        if place:
            calls, total, own = nodes[place]
            line = f"{count_of(calls):>7}{span_of(total):>8}{span_of(own):>8}  "
            line += "  " * min(len(place) - 1, 12)
            yield line + fit(place[-1], max(WIDTH - len(line), 8))
        waiting += sorted(below.get(place, ()), key=lambda child: nodes[child][1])


def render(rows, tree, wall, refused):
    lines = [f"Actions of {span_of(wall)}"]
    if not rows:
        return lines[0] + "\nno actions\n"
    lines += spread_lines(rows, wall)
    if any(row[0] for row in tree):
        lines += ["", *tree_lines(tree)]
    if refused:
        lines += ["", f"{refused} calls had names beyond the first 65,536: they share one row"]
    return "\n".join(lines) + "\n"
