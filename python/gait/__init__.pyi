# SPDX-License-Identifier: Apache-2.0
import argparse
import os
from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import profilers as profilers
from . import trace as trace
from ._native import Span as Span
from ._native import Step as Step
from ._native import arg as arg
from ._native import async_begin as async_begin
from ._native import async_end as async_end
from ._native import begin as begin
from ._native import count as count
from ._native import end as end
from ._native import flow_begin as flow_begin
from ._native import flow_end as flow_end
from ._native import flow_step as flow_step
from ._native import flush as flush
from ._native import last_error as last_error
from ._native import mark as mark
from ._native import next as next
from ._native import rank as rank
from ._native import recording as recording
from ._native import shard_path as shard_path
from ._native import site as site
from ._native import snapshot as snapshot
from ._native import span as span
from ._native import start as start
from ._native import step as step
from ._native import step_begin as step_begin
from ._native import step_end as step_end
from ._native import stop as stop
from ._native import thread_name as thread_name
from .config import Config as Config
from .loops import async_span as async_span
from .loops import metadata as metadata
from .loops import steps as steps
from .trace import open as open

_F = TypeVar("_F", bound=Callable[..., Any])

def init(
    directory: str | bytes | os.PathLike[str] | os.PathLike[bytes] | None = None,
    *,
    overflow: str | None = None,
    ring_bytes: int = 0,
    role: str | None = None,
    subject_pid: int = 0,
) -> bool: ...
@overload
def profiler(function: _F, /) -> _F: ...
@overload
def profiler(
    function: None = None,
    *,
    enabled: bool = True,
    output_dir: str | os.PathLike[str] = "./profiler_logs",
    skip_first: int = 1,
    wait: int = 1,
    warmup: int = 1,
    active: int = 3,
    repeat: int = 1,
    with_stack: bool = False,
    with_flops: bool = True,
    with_modules: bool = False,
    nsight_enabled: bool = False,
    nsight_output: str = "nsight_profile",
) -> Callable[[_F], _F]: ...
def step_profiler() -> None: ...
def uninstall() -> list[str]: ...
def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser: ...
def trigger(step_count: int | None = None) -> None: ...
def phase(name: str) -> Span: ...
def epoch() -> None: ...
def profile(kind: str = "advanced", name: str | None = None, **options: object) -> Any: ...
