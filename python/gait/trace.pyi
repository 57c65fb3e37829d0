# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

class TraceError(Exception): ...

class Event(NamedTuple):
    kind: str
    category: str
    name: str
    rank: int | None
    pid: int
    tid: int | str
    start_ns: int
    duration_ns: int | None
    id: int | None
    value: int | float | None
    args: dict[str, int | float | str]

class Trace:
    path: str
    shards: list[dict[str, Any]]
    tracks: list[dict[str, Any]]
    def __init__(self, path: str | os.PathLike[str]) -> None: ...
    def __enter__(self) -> Trace: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None: ...
    @property
    def damage(self) -> list[dict[str, Any]]: ...
    def metadata(self, shard: int = 0) -> dict[str, Any]: ...
    def info(self) -> dict[str, Any]: ...
    def events(
        self,
        kind: str | Iterable[str] | None = None,
        since_ns: int = 0,
        until_ns: int = 0,
        tracks: Iterable[int] | None = None,
        internal: bool = False,
        *,
        steps: bool = False,
    ) -> Iterator[Event]: ...
    def export(
        self,
        path: str | os.PathLike[str],
        format: str,
        *,
        gzip: bool = False,
        internal: bool = False,
        since_ns: int = 0,
        until_ns: int = 0,
        process: int = 0,
        steps: bool | list[tuple[int, int, int]] | None = None,
        step_track: int = 0,
        metadata: str | None = None,
        distributed: str | None = None,
        has_strides: bool = False,
    ) -> None: ...

def open(path: str | os.PathLike[str]) -> Trace: ...
