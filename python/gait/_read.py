# SPDX-License-Identifier: Apache-2.0
"""gait/trace.h through ctypes. Loaded with its library at the first question."""

from __future__ import annotations

import collections
import ctypes
import heapq
import json
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

KINDS = "span mark counter async flow step drop sample memory log".split()
TRACK_KINDS = {1: "thread", 2: "stream", 3: "counter", 4: "process"}
FLOW_PHASES = ["begin", "step", "end"]
LASTING = {"span", "async", "step", "drop"}  # kinds that have a duration
NUMBERED = {"async", "flow", "step", "drop", "memory"}  # kinds that have an id
VALUED = {"counter", "memory", "sample", "log"}
ARG_INT, ARG_REAL, ARG_TEXT, ARG_RAW, ARG_JSON = 1, 2, 3, 4, 5

Event = collections.namedtuple(
    "Event", "kind category name rank pid tid start_ns duration_ns id value args"
)
Event.__doc__ = """One event, with the columns of the CSV export; None where it has no such thing.

Times are in ns, start_ns since the epoch; an open span has no duration. args is
a dict; that of a flow has its phase. The id of a step is its number, of a drop
the events lost, of memory its address. The tid of a device stream is a text."""


class TraceError(Exception):
    """A trace could not be opened or read; the text says why."""


def _structure(name, *fields):
    """The mirror of a C struct of that name, fields given as "type name name …"."""
    types = {
        "text": c_char_p,
        "int": c_int,
        "int64": c_int64,
        "uint32": c_uint32,
        "uint64": c_uint64,
        "size": c_size_t,
        "real": c_double,
    }
    members = []
    for field in fields:
        kind, *names = field if isinstance(field, tuple) else field.split()
        members += [(member, types.get(kind, kind)) for member in names]
    return type(name, (ctypes.Structure,), {"_fields_": members})


ShardInfo = _structure(
    "gait_shard_info",
    "text path host role run_id",
    "int64 pid rank subject_pid start_ns end_ns",
    "uint64 events dropped bytes overhead_cpu_ns",
    "int format_version complete",
)
TrackInfo = _structure(
    "gait_track_info",
    "uint32 shard",
    "int kind",
    "text key name",
    "int64 tid",
    "uint64 events dropped",
    "int internal",
    "uint32 parent",
)
DamageInfo = _structure("gait_damage_info", "text path", "uint64 offset bytes", "text what")
Arg = _structure(
    "gait_arg",
    "text key",
    "int kind",
    "int64 integer",
    "real real",
    (POINTER(ctypes.c_char), "text"),
    "size text_bytes",
)
RawEvent = _structure(
    "gait_event",
    "int kind",
    "uint32 track site depth",
    "text category name",
    "int64 start_ns duration_ns",
    "uint64 id",
    "int64 value",
    "real real",
    "int is_real phase",
    (POINTER(Arg), "args", "fields"),
    "size arg_count field_count",
    "uint64 link op",
    "int64 bytes",
)
Query = _structure(
    "gait_query",
    "size size",
    "uint32 kinds",
    "int64 since_ns until_ns",
    (POINTER(c_uint32), "tracks"),
    "uint32 track_count",
    "int internal",
)

NEXT = ctypes.CFUNCTYPE(c_int, ctypes.c_void_p, POINTER(RawEvent), c_size_t)
ExportStep = _structure("gait_export_step", "uint64 number", "int64 begin_ns end_ns")
ExportOptions = _structure(
    "gait_export_options",
    "size size",
    "text format",
    "int gzip internal",
    "int64 since_ns until_ns",
    (NEXT, "more"),
    (ctypes.c_void_p, "more_context"),
    "uint32 process",
    (POINTER(ExportStep), "steps"),
    "size step_count",
    "uint32 step_track",
    "text metadata distributed",
    "int has_strides",
    "uint64 max_bytes",
    (ctypes.c_void_p, "ret_is_partial"),
)

_loaded = []


def _library():
    if not _loaded:
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libgait-read.so")
        path = beside if os.path.exists(beside) else "libgait-read.so"
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise TraceError(f"cannot load the library that reads traces: {error}") from None
        mirrors = ShardInfo, TrackInfo, DamageInfo, Arg, RawEvent, Query, ExportStep, ExportOptions
        check_layout(library, *mirrors)
        _declare(library)
        _loaded.append(library)
    return _loaded[0]


def layouts(library):
    """{struct: (bytes, {member: (offset, bytes)})} as the library was compiled."""
    try:
        library.gait_abi_layout.restype = c_char_p
        text = library.gait_abi_layout().decode()
    except AttributeError:  # older than this check
        return {}
    found = {}
    for line in text.splitlines():
        kind, *numbers = line.split(" ")
        if kind == "struct":
            members = {}
            found[numbers[0]] = int(numbers[1]), members
        else:
            members[kind] = int(numbers[0]), int(numbers[1])
    return found


def check_layout(library, *mirrors):
    """A library of another version than this package would write elsewhere than we read."""
    told = layouts(library)
    for mirror in mirrors:
        members = {}
        for name, _kind in mirror._fields_:
            field = getattr(mirror, name)
            members[name] = field.offset, field.size
        own = ctypes.sizeof(mirror), members
        if told.get(mirror.__name__) != own:
            raise TraceError(
                f"'{library._name}' is of another version than this package: struct "
                f"{mirror.__name__} is laid out differently; install both from one build"
            )


def _declare(library) -> None:
    pointer = ctypes.c_void_p

    def declare(name, result, *arguments) -> None:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments

    declare("gait_trace_open", c_int, c_char_p, POINTER(pointer))
    declare("gait_trace_close", None, pointer)
    declare("gait_trace_error", c_char_p)
    for what, info in ("shard", ShardInfo), ("track", TrackInfo), ("damage", DamageInfo):
        declare(f"gait_trace_{what}_count", c_uint32, pointer)
        declare(f"gait_trace_{what}_sized", c_int, pointer, c_uint32, POINTER(info), c_size_t)
    declare("gait_trace_metadata", c_char_p, pointer, c_uint32, c_char_p)
    declare("gait_trace_metadata_key", c_char_p, pointer, c_uint32, c_uint32)
    declare("gait_export", c_int, pointer, POINTER(ExportOptions), c_char_p)
    for what in "cursor", "derived":
        declare(f"gait_{what}_open", c_int, pointer, POINTER(Query), POINTER(pointer))
        declare(f"gait_{what}_next_sized", c_int, pointer, POINTER(RawEvent), c_size_t)
        declare(f"gait_{what}_close", None, pointer)


def _text(chars):
    return (chars or b"").decode("utf-8", "replace")


def _check(result):
    if result < 0:
        raise TraceError(_text(_library().gait_trace_error()) or f"error {result}")
    return result


def _args(event):
    values = {}
    for index in range(event.arg_count):
        arg = event.args[index]
        if arg.kind == ARG_INT:
            value = arg.integer
        elif arg.kind == ARG_REAL:
            value = arg.real
        else:
            value = ctypes.string_at(arg.text, arg.text_bytes).decode("utf-8", "replace")
            value = json.loads(value) if arg.kind == ARG_JSON else value
        values[_text(arg.key)] = value
    return values


def _fields(info):
    """A structure as a dict, texts decoded."""
    values = {}
    for name, kind in info._fields_:
        value = getattr(info, name)
        values[name] = _text(value) if kind is c_char_p else value
    return values


class Trace:
    """An open trace, for one thread at a time; close it, or use it in `with`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._handle = ctypes.c_void_p()
        self._cursors = []
        self._library = _library()
        _check(self._library.gait_trace_open(os.fsencode(path), byref(self._handle)))
        self.path = os.fspath(path)
        self.shards = self._all("shard", ShardInfo)
        self.tracks = self._all("track", TrackInfo)
        for shard in self.shards:
            shard["complete"] = bool(shard["complete"])
        for track in self.tracks:
            track["kind"] = TRACK_KINDS.get(track["kind"], track["kind"])
            track["internal"] = bool(track["internal"])

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the files; iterators over its events end."""
        for cursor in list(getattr(self, "_cursors", ())):
            cursor.close()
        handle, self._handle = self._handle, None
        if handle:
            self._library.gait_trace_close(handle)

    def _open_handle(self):
        if not self._handle:
            raise TraceError("this trace is closed")
        return self._handle

    def _all(self, what, structure):
        handle = self._open_handle()
        get = getattr(self._library, f"gait_trace_{what}_sized")
        found = []
        for index in range(getattr(self._library, f"gait_trace_{what}_count")(handle)):
            info = structure()
            _check(get(handle, index, byref(info), ctypes.sizeof(info)))
            found.append(_fields(info))
        return found

    @property
    def damage(self) -> list[dict[str, Any]]:
        """What could not be read: dicts with path, offset, bytes and what."""
        return self._all("damage", DamageInfo)

    def metadata(self, shard: int = 0) -> dict[str, Any]:
        """What the process said about itself, decoded from JSON."""
        import json

        handle, values = self._open_handle(), {}
        for index in range(1 << 20):
            key = self._library.gait_trace_metadata_key(handle, shard, index)
            if key is None:
                break
            text = _text(self._library.gait_trace_metadata(handle, shard, key))
            try:
                values[_text(key)] = json.loads(text)
            except ValueError:
                values[_text(key)] = text
        return values

    def info(self) -> dict[str, Any]:
        """The answer of `gait info --json`, as far as the library gives it."""
        return {
            "format_version": max((s["format_version"] for s in self.shards), default=0),
            "events": sum(s["events"] for s in self.shards),
            "dropped": sum(s["dropped"] for s in self.shards),
            "damage": self.damage,
            "shards": self.shards,
        }

    def events(
        self,
        kind: str | Iterable[str] | None = None,
        since_ns: int = 0,
        until_ns: int = 0,
        tracks: Iterable[int] | None = None,
        internal: bool = False,
        *,
        steps: bool = False,
    ) -> Iterator[Event]:
        """Events of all tracks in order of start time, in bounded memory.

        kind: one of KINDS or several; tracks: indexes into .tracks; steps: with the steps
        and phases of a PyTorch training too, as `gait report` counts them, which are on no
        record: events "step" and "span" of category "derived" (these take memory).
        """
        query = Query(size=ctypes.sizeof(Query), since_ns=since_ns, until_ns=until_ns)
        query.internal = bool(internal)
        for name in [kind] if isinstance(kind, str) else kind or ():
            if name not in KINDS:
                raise ValueError(f"no kind of event is called {name!r}: {', '.join(KINDS)}")
            query.kinds |= 1 << KINDS.index(name)
        if tracks is not None:
            wanted = list(tracks)
            if not wanted:
                return iter(())
            query.tracks = (c_uint32 * len(wanted))(*wanted)
            query.track_count = len(wanted)
        recorded = Events(self, query)
        if not steps:
            return recorded
        return iter(heapq.merge(Events(self, query, "derived"), recorded, key=_start_of))

    def export(self, path: str | os.PathLike[str], format: str, **options) -> None:
        """Writes a file for other tools, as `gait export` does; TraceError says why not.

        options: gzip, internal (bool), since_ns, until_ns; steps (bool): with those of
        events(steps=True). For "pt-trace" also process (one of its shards + 1), metadata and
        distributed (JSON text), has_strides, max_bytes, and steps are [(number, begin_ns, end_ns)],
        with step_track (+ 1). Other threads run on.
        """
        given = ExportOptions(size=ctypes.sizeof(ExportOptions), format=format.encode())
        steps = options.pop("steps", None)
        derived = Events(self, None, "derived") if steps is True else None
        if derived:
            given.more = ctypes.cast(self._library.gait_derived_next_sized, NEXT)
            given.more_context = derived._cursor
        elif steps is not None and steps is not False:
            given.steps = (ExportStep * (len(steps) + 1))(*steps)
            given.step_count = len(steps)
        for name, value in options.items():
            if name not in dict(ExportOptions._fields_):
                raise TypeError(f"export() has no option {name!r}")
            setattr(given, name, value.encode() if isinstance(value, str) else value)
        try:
            _check(self._library.gait_export(self._open_handle(), byref(given), os.fsencode(path)))
        finally:
            if derived:
                derived.close()

    def _event(self, raw):
        track = self.tracks[raw.track]
        shard = self.shards[track["shard"]]
        kind = KINDS[raw.kind]
        value = raw.real if raw.is_real else raw.value
        args = _args(raw)
        if kind == "flow" and 0 <= raw.phase < len(FLOW_PHASES):
            args["phase"] = FLOW_PHASES[raw.phase]
        return Event(
            kind,
            _text(raw.category),
            _text(raw.name),
            shard["rank"] if shard["rank"] >= 0 else None,
            shard["pid"],
            track["tid"] or track["key"],
            raw.start_ns,
            raw.duration_ns if kind in LASTING and raw.duration_ns >= 0 else None,
            raw.id if kind in NUMBERED else None,
            value if kind in VALUED else None,
            args,
        )


def _start_of(event):
    return event.start_ns


class Events:
    """Iterator over events; ends when its trace is closed.

    of: "cursor" are those on record, "derived" the steps and phases worked out of them.
    """

    def __init__(self, trace, query, of: str = "cursor") -> None:
        self._trace = trace
        self._cursor = ctypes.c_void_p()
        library, handle = trace._library, trace._open_handle()
        self._next = getattr(library, f"gait_{of}_next_sized")
        self._close = getattr(library, f"gait_{of}_close")
        _check(getattr(library, f"gait_{of}_open")(handle, query, byref(self._cursor)))
        trace._cursors.append(self)

    def __iter__(self):
        return self

    def __next__(self):
        raw = RawEvent()
        if not self._cursor:
            raise StopIteration
        if not _check(self._next(self._cursor, byref(raw), ctypes.sizeof(raw))):
            self.close()
            raise StopIteration
        return self._trace._event(raw)

    def close(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor:
            self._close(cursor)
            self._trace._cursors.remove(self)
