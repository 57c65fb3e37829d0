# SPDX-License-Identifier: Apache-2.0
"""Rows of events as text, byte for byte as torch.profiler prints them.

Its oddities are kept where they can be seen: an asynchronous row has a bare 0
for its share; the unit of FLOPs comes from the smallest row; with FLOPs and
stacks the two columns' cells stand in each other's place; names and shapes are
padded by code points.
"""

import math

from .._say import wrap

WIDTH, GAP = 12, "  "
DEVICES = ("CUDA", "PrivateUse1", "MTIA", "XPU")  # whose time counts in the last line
FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
SORT_KEYS = (
    "cpu_time cuda_time xpu_time cpu_time_total cuda_time_total xpu_time_total "
    "self_cpu_time_total self_cuda_time_total self_xpu_time_total "
    "cpu_memory_usage cuda_memory_usage xpu_memory_usage "
    "self_cpu_memory_usage self_cuda_memory_usage self_xpu_memory_usage count flops"
).split()


class SortKeyError(AttributeError, ValueError):
    """torch raises the one; the other is what it is."""


def device_words(name):
    """The name of an attribute with whatever device it names told as `device`."""
    for device in ("cuda", "xpu", "privateuse1"):
        name = name.replace(device, "device")
    return name


def ordered(rows, sort_by):
    if sort_by is None:
        return list(rows)
    key = device_words(str(sort_by))
    try:
        if key.startswith("_"):
            raise AttributeError(key)
        values = [getattr(row, key) for row in rows]
        if not all(isinstance(value, (int, float, str)) for value in values):
            raise TypeError(key)
        places = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    except (AttributeError, TypeError):
        legal = wrap("legal keys: " + ", ".join(SORT_KEYS)).rstrip()
        raise SortKeyError(f"no table can be sorted by {sort_by!r}\n{legal}") from None
    return [rows[place] for place in places]


def total(numbers):
    """Added up one after the other: sum() rounds otherwise since Python 3.12."""
    result = 0
    for number in numbers:
        result += number
    return result


def time_text(us, unit=None) -> str:
    if unit == "s" or (unit not in ("us", "ms") and us >= 1e6):
        return f"{us / 1e6:.3f}s"
    if unit == "ms" or (unit != "us" and us >= 1e3):
        return f"{us / 1e3:.3f}ms"
    return f"{us:.3f}us"


def share_text(part, whole) -> str:
    if whole:
        return f"{part * 100.0 / whole:.2f}%"
    if part:
        raise AssertionError(f"{part} us are no share of nothing: the rows add up to 0")
    return "NaN"


def memory_text(count) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count * 1.0 / size:.2f} {unit}"
    return f"{count} B"


def shortened(name, width):
    if width is None or len(name) < width - 3:
        return name
    return name[: width - 3] + "..."


def end_of(path, width):
    """The end of a path, three dots where something is missing."""
    if len(path) <= width:
        return path
    path = path[len(path) - width :]
    return "..." + path[3:] if len(path) > 3 else path


def flop_scale(smallest):
    step = max(0, min(math.log10(smallest) / 3, float(len(FLOP_UNITS) - 1)))
    return pow(10, math.floor(step) * -3.0), "Total " + FLOP_UNITS[int(step)]


class Table:
    """Columns: (title, width, alignment, what a row has in it)."""

    def __init__(self, rows, options) -> None:
        self.device = rows[0].use_device
        self.rows = rows = ordered(rows, options["sort_by"])
        self.options, self.columns = options, []
        self.has_device_time = any(row.self_device_time_total > 0 for row in rows)
        if not self.device and self.has_device_time:
            raise RuntimeError("use_device is None, but there is device performance data.")
        self.device_name = "None" if self.device is None else self.device.upper()
        self.cpu_us = total(row.self_cpu_time_total for row in rows)
        self.device_us = total(row.self_device_time_total for row in rows if _counts(row))
        self.has_stacks = any(row.stack for row in rows)
        self._add_names()
        self._add_times()
        self._add_memory()
        self._add("# of Calls", WIDTH, lambda row: row.count)
        if any(row.node_id != -1 for row in rows):
            self._add("Node ID", WIDTH, lambda row: row.node_id)
        self._add_shapes()
        self._add_sources_and_flops()

    def _add(self, title, width, cell, align: str = ">") -> None:
        self.columns.append((title, width, align, cell))

    def _time(self, us):
        return time_text(us, self.options["time_unit"])

    def _add_names(self) -> None:
        limit = self.options["max_name_column_width"]
        width = max(len(row.key) for row in self.rows) + 4
        width = width if limit is None else min(width, limit)
        self._add("Name", width, lambda row: shortened(row.key, limit))
        if any(row.overload_name for row in self.rows):
            self._add("Overload Name", width, lambda row: shortened(row.overload_name or "", limit))

    def _add_times(self) -> None:
        def self_share(row):
            row.self_cpu_percent = share_text(row.self_cpu_time_total, self.cpu_us)
            return row.self_cpu_percent

        def total_share(row):
            share = 0 if row.is_async else share_text(row.cpu_time_total, self.cpu_us)
            row.total_cpu_percent = share
            return share

        def device_share(row):
            row.total_device_percent = share_text(row.self_device_time_total, self.device_us)
            return row.total_device_percent

        self._add("Self CPU %", WIDTH, self_share)
        self._add("Self CPU", WIDTH, lambda row: self._time(row.self_cpu_time_total))
        self._add("CPU total %", WIDTH, total_share)
        self._add("CPU total", WIDTH, lambda row: self._time(row.cpu_time_total))
        self._add("CPU time avg", WIDTH, lambda row: self._time(row.cpu_time))
        if self.has_device_time:
            name = self.device_name
            self._add(f"Self {name}", WIDTH, lambda row: self._time(row.self_device_time_total))
            self._add(f"Self {name} %", WIDTH, device_share)
            self._add(f"{name} total", WIDTH, lambda row: self._time(row.device_time_total))
            self._add(f"{name} time avg", WIDTH, lambda row: self._time(row.device_time))

    def _add_memory(self) -> None:
        if not self.options["profile_memory"]:
            return
        self._add("CPU Mem", WIDTH, lambda row: memory_text(row.cpu_memory_usage))
        self._add("Self CPU Mem", WIDTH, lambda row: memory_text(row.self_cpu_memory_usage))
        if self.device and any(row.self_device_memory_usage > 0 for row in self.rows):
            name = self.device_name
            self._add(f"{name} Mem", WIDTH, lambda row: memory_text(row.device_memory_usage))
            self._add(
                f"Self {name} Mem", WIDTH, lambda row: memory_text(row.self_device_memory_usage)
            )

    def _add_shapes(self) -> None:
        if not any(row.input_shapes for row in self.rows):
            return
        limit = self.options["max_shapes_column_width"]
        width = max(len(str(row.input_shapes)) for row in self.rows) + 4
        width = width if limit is None else min(width, limit)
        self._add("Input Shapes", width, lambda row: str(row.input_shapes)[:width])

    def _add_sources_and_flops(self) -> None:
        columns, cells = [], []
        if self.has_stacks:
            limit = self.options["max_src_column_width"]
            width = max(len(entry) for row in self.rows for entry in row.stack or ()) + 4
            self.source_width = width if limit is None else min(width, limit)
            columns.append(("Source Location", self.source_width, "<"))
            cells.append(lambda row: end_of(row.stack[0], self.source_width) if row.stack else "")
        flops = [row.flops for row in self.rows if (row.flops or 0) > 0]
        if self.options["with_flops"] and flops:
            scale, title = flop_scale(min(flops))
            columns.append((title, WIDTH, ">"))
            cells.insert(
                0, lambda row: f"{row.flops * scale:8.3f}" if (row.flops or 0) > 0 else "--"
            )
        for (title, width, align), cell in zip(columns, cells):
            self._add(title, width, cell, align)

    # --- lines ---

    def _line(self, values):
        return "".join(
            format(value, f" {align}{width}") + GAP
            for value, (_, width, align, _) in zip(values, self.columns)
        )

    def _wanted(self):
        only_top, left = self.options["top_level_events_only"], self.options["row_limit"]
        left = -1 if left is None else left
        for row in self.rows:
            if left == 0:
                return
            if only_top and row._has_parent:
                continue
            left -= 1
            yield row

    def lines(self):
        length = sum(width + len(GAP) for _, width, _, _ in self.columns) - len(GAP)
        rule = "".join("-" * width + GAP for _, width, _, _ in self.columns)
        empty = [""] * (len(self.columns) - 1)
        if self.options["header"] is not None:
            yield "=" * length
            yield self.options["header"]
        if self.options["top_level_events_only"]:
            yield "=" * length
            yield "This report only display top-level ops statistics"
        yield rule
        yield self._line([column[0] for column in self.columns])
        yield rule
        for row in self._wanted():
            yield self._line([column[3](row) for column in self.columns])
            if self.has_stacks:
                for entry in (row.stack or [])[1:]:
                    yield self._line([*empty, end_of(entry, self.source_width)])
                yield self._line([*empty, ""])
        yield rule
        yield f"Self CPU time total: {self._time(self.cpu_us)}"
        if self.has_device_time:
            yield f"Self {self.device_name} time total: {self._time(self.device_us)}"


def _counts(row):
    """Does the row's device time belong in the last line? Kernels' does, and
    where there are none, that of the ops that launched them."""
    device = getattr(row.device_type, "name", row.device_type)
    if device == "CPU":
        return row.is_legacy
    return device in DEVICES and not row.is_user_annotation


def table_text(rows, **options):
    """The options are those of EventList.table(), and profile_memory, with_flops."""
    if not rows:
        return ""
    return "".join(line + "\n" for line in Table(rows, options).lines())
