# SPDX-License-Identifier: Apache-2.0
"""Events of a shard, after docs/FORMAT.md sections 4 to 6, and as text.

`EventShard(bytes).events()` gives events with resolved names and times;
`csv_rows()` the rows that `gait export --format csv` must print, in order of
time; `describe()` everything a file holds, a line of JSON a frame.

usage: gait_events.py [--csv] FILE...
"""

import csv
import io
import json
import struct
import sys

from gait_decoder import KNOWN, Shard, c_text


class EventShard(Shard):
    """A shard that makes events of its rows."""

    def event(self, kind, track, tick, **more):
        start_ns = self.ns(track, tick)
        event = {
            "kind": kind,
            "track": track,
            "tick": tick,
            "start_ns": start_ns,
            "category": b"",
            "name": b"",
            "duration_ns": None,
            "id": None,
            "value": None,
            "args": [],
            "depth": 0,
            "is_open": False,
        }
        if "site" in more:
            event["category"], event["name"] = self.site(more.pop("site"))
        if "duration" in more:
            event["duration_ns"] = self.ns(track, tick + more.pop("duration")) - start_ns
        event.update(more)
        return event

    def events(self, internal=False):
        """All events in order of time; within a track parents first."""
        found = []
        for frame, columns in self.data:
            maker = getattr(self, "make_" + self.table_name(frame), None)
            if maker and frame.table in KNOWN:
                rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
                found += [event for row in rows for event in maker(frame.track, row)]
        found += self.open_events()
        found = self.pair_async(found)
        if not internal:
            found = [event for event in found if not self.track(event["track"])["internal"]]
        order = [
            "step",
            "span",
            "async",
            "flow",
            "mark",
            "counter",
            "drop",
            "sample",
            "memory",
            "log",
        ]
        found.sort(
            key=lambda event: (
                event["start_ns"],
                event["track"],
                event["tick"],
                order.index(event["kind"]),
                event["depth"],
                not event["is_open"],  # then as they stand in the file: the sort is stable
            )
        )
        return found

    def make_span(self, track, row):
        yield self.event(
            "span",
            track,
            row["start"],
            duration=row["duration"],
            site=row["site"],
            depth=row["depth"],
            args=self.args(row["args"], row),
        )

    def make_mark(self, track, row):
        yield self.event(
            "mark", track, row["start"], site=row["site"], args=self.args(row["args"], row)
        )

    def make_counter(self, track, row):
        yield self.event("counter", track, row["start"], site=row["site"], value=row["value"])

    make_counter_real = make_counter

    def make_async(self, track, row):
        yield self.event(
            "async",
            track,
            row["start"],
            site=row["site"],
            id=row["id"],
            args=self.args(row["args"]),
            phase=row["phase"],
            site_number=row["site"],
        )

    def make_flow(self, track, row):
        phases = {0: b"begin", 1: b"step", 2: b"end"}
        args = [(b"phase", 3, phases[row["phase"]])] if row["phase"] in phases else []
        yield self.event("flow", track, row["start"], site=row["site"], id=row["id"], args=args)

    def make_step(self, track, row):
        yield self.event("step", track, row["start"], duration=row["duration"], id=row["number"])

    def make_drop(self, track, row):
        yield self.event(
            "drop",
            track,
            row["start"],
            duration=row["duration"],
            id=row["events"],
            name=self.text(row["reason"]),
        )

    def make_sample(self, track, row):
        site = self.stacks.get(row["stack"], (0, 0, 0))[1]
        yield self.event("sample", track, row["start"], site=site, value=row["weight"])

    def make_memory(self, track, row):
        yield self.event(
            "memory",
            track,
            row["start"],
            site=row["site"],
            id=row["address"],
            value=row["bytes"],
            args=[(b"total", 1, row["total"])],
        )

    def make_log(self, track, row):
        yield self.event("log", track, row["start"], value=row["level"], name=c_text(row["text"]))

    def open_events(self):
        """Spans and steps in force at the end: section 4, open."""
        in_force, pending = {}, {}
        for frame, columns in self.data:
            rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
            for row in rows:
                if frame.table == 14:
                    pending.setdefault(row["track"], []).append(row)
                elif frame.table == 15:
                    in_force[row["track"]] = pending.pop(row["track"], [])
                elif frame.table == 6:
                    close_open(in_force, frame.track, 0, row["start"], ("depth", row["depth"]))
                elif frame.table == 12:
                    close_open(in_force, frame.track, 1, row["start"], ("number", row["number"]))
        in_force.update(pending)
        for track, rows in in_force.items():
            for row in rows:
                if row["is_step"]:
                    yield self.event("step", track, row["start"], id=row["number"], is_open=True)
                else:
                    yield self.event(
                        "span",
                        track,
                        row["start"],
                        site=row["site"],
                        depth=row["depth"],
                        args=self.args(row["args"]),
                        is_open=True,
                    )

    def pair_async(self, events):
        begun = {}
        for event in sorted(
            (e for e in events if e["kind"] == "async"), key=lambda event: event["start_ns"]
        ):
            begins = begun.setdefault((event["site_number"], event["id"]), [])
            if event["phase"] == 0:
                begins.append(event)
            elif begins:
                begin = begins.pop()
                begin["duration_ns"] = event["start_ns"] - begin["start_ns"]
        return [event for event in events if event["kind"] != "async" or event["phase"] == 0]

    def event_count(self):
        """Section 6: internal tracks, drops and ends do not count."""
        return sum(event["kind"] != "drop" for event in self.events())

    def dropped_count(self):
        return sum(event["id"] for event in self.events() if event["kind"] == "drop")


def close_open(in_force, track, is_step, start, same):
    key, value = same
    in_force[track] = [
        row
        for row in in_force.get(track, [])
        if (bool(row["is_step"]), row["start"], row[key]) != (bool(is_step), start, value)
    ]


# --- text ------------------------------------------------------------------


def utf8(value):
    return value.decode("utf-8", "replace")


def real_text(value):
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    text = f"{value:.17g}"
    return text if any(mark in text for mark in ".e") else text + ".0"


def argument_json(kind, value):
    if kind == 1:
        return str(value)
    if kind == 2:
        text = real_text(value)
        return text if value - value == 0 else f'"{text}"'
    return value.decode() if kind in (4, 6) else json.dumps(utf8(value), ensure_ascii=False)


def args_json(args):
    items = [
        json.dumps(utf8(key), ensure_ascii=False) + ":" + argument_json(kind, value)
        for key, kind, value in args
    ]
    return "{" + ",".join(items) + "}" if items else ""


CSV_HEADER = "kind,category,name,rank,pid,tid,start_ns,duration_ns,id,value,args"


def csv_row(shard, event):
    track = shard.track(event["track"])
    is_thread = track["kind"] == 1 and track["os_id"] != 0
    rank = shard.meta_number("rank", -1)
    value = event["value"]
    return [
        event["kind"],
        utf8(event["category"]),
        utf8(event["name"]),
        str(rank) if rank >= 0 else "",
        str(shard.meta_number("pid", 0)),
        str(track["os_id"]) if is_thread else utf8(track["key"]),
        str(event["start_ns"]),
        "" if event["duration_ns"] is None else str(event["duration_ns"]),
        "" if event["id"] is None else str(event["id"]),
        "" if value is None else real_text(value) if isinstance(value, float) else str(value),
        args_json(event["args"]),
    ]


def csv_rows(shard, internal=False):
    return [csv_row(shard, event) for event in shard.events(internal)]


def csv_text(shard, internal=False):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(CSV_HEADER.split(","))
    writer.writerows(csv_rows(shard, internal))
    return out.getvalue()


def plain(value):
    """A value as JSON holds it: bytes as text, or in hex where they are none."""
    if isinstance(value, float):
        return value if value - value == 0 else {"bits": struct.pack(">d", value).hex()}
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": value.hex()}


def describe(shard):
    """The whole shard as lines of JSON: a line a frame, then what is missing."""
    for frame, columns in shard.data:
        yield {
            "offset": frame.offset,
            "sequence": frame.sequence,
            "table": shard.table_name(frame),
            "track": frame.track,
            "rows": frame.rows,
            "events": frame.events,
            "first": frame.first,
            "last": frame.last,
            "columns": {
                name: [plain(value) for value in values] for name, values in columns.items()
            },
        }
    yield {
        "damage": shard.damage,
        "complete": shard.is_complete,
        "events": shard.event_count(),
        "dropped": shard.dropped_count(),
    }


def main(arguments):
    as_csv = arguments[:1] == ["--csv"]
    for path in arguments[as_csv:]:
        with open(path, "rb") as file:
            shard = EventShard(file.read())
        if as_csv:
            sys.stdout.write(csv_text(shard))
            continue
        for line in describe(shard):
            print(json.dumps(line))


if __name__ == "__main__":
    main(sys.argv[1:])
