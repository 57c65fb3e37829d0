# SPDX-License-Identifier: Apache-2.0
"""The table that @gait.profiler() prints: top operations, with their FLOPs."""

WIDTH = 55  # of a name, at most
UNITS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))


def count_text(value):
    """1.074G: each cell by itself."""
    for size, letter in UNITS:
        if value >= size:
            return f"{value / size:.3f}{letter}"
    return f"{value:.0f}" if value else "--"


def time_text(us) -> str:
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


def totals_by_name(events):
    """FLOPs of each name with all that was called inside, no event counted twice."""
    inside, found = {}, {}
    order = []
    stack = [event for event in events if event.cpu_parent is None]
    while stack:
        event = stack.pop()
        order.append(event)
        stack.extend(event.cpu_children)
    for event in reversed(order):  # children before their parents
        children = sum(inside[id(child)] for child in event.cpu_children)
        inside[id(event)] = (event.flops or 0) + children
    for event in order:
        above = event.cpu_parent
        while above is not None and above.name != event.name:
            above = above.cpu_parent
        if above is None:
            found[event.name] = found.get(event.name, 0) + inside[id(event)]
    return found


def table(prof, with_flops, row_limit):
    """Text, without a line end behind it."""
    rows = list(prof.key_averages())
    has_device = any(row.device_time_total for row in rows)
    key = "device_time_total" if has_device else "cpu_time_total"
    rows.sort(key=lambda row: getattr(row, key), reverse=True)
    totals = totals_by_name(prof.events()) if with_flops else {}
    header = ["Name"] + (["Self FLOPS", "Total FLOPS"] if with_flops else [])
    header += ["CPU total"] + (["CUDA total"] if has_device else []) + ["# of Calls"]
    lines = []
    for row in rows[:row_limit]:
        name = row.key if len(row.key) <= WIDTH else row.key[: WIDTH - 3] + "..."
        cells = [name]
        if with_flops:
            cells += [count_text(row.flops or 0), count_text(totals.get(row.key, 0))]
        cells.append(time_text(row.cpu_time_total))
        if has_device:
            cells.append(time_text(row.device_time_total))
        lines.append([*cells, str(row.count)])
    return _put(header, lines, _footer(prof, rows, with_flops))


def _put(header, lines, footer):
    columns = list(zip(header, *lines))
    widths = [max(12, *(len(cell) for cell in column)) for column in columns]
    rule = "  ".join("-" * width for width in widths)

    def put(cells):
        return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths))

    return "\n".join([rule, put(header), rule, *map(put, lines), rule, *footer])


def _footer(prof, rows, with_flops):
    capture = prof.capture
    seconds = (capture.end_ns - capture.begin_ns) / 1e9
    steps = len(capture.steps)
    what = f"{steps} step{'s' if steps != 1 else ''} in {time_text(seconds * 1e6)}"
    footer = [f"recorded: {what}" + (" (partial)" if capture.partial else "")]
    flops = sum(row.flops or 0 for row in rows)
    if with_flops and flops and seconds > 0:
        rate = f"{count_text(flops)}, {count_text(flops / seconds)} FLOP/s"
        footer.append(f"FLOPs: {rate}, as torch.profiler counts")
        footer.append("  (gait report counts those of backward too)")
    return footer
