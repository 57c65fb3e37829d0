# SPDX-License-Identifier: Apache-2.0
import os
import typing

from . import profilers as profilers
from . import trace as trace
from ._gait import Span as Span
from ._gait import Step as Step
from ._gait import arg as arg
from ._gait import async_begin as async_begin
from ._gait import async_end as async_end
from ._gait import begin as begin
from ._gait import count as count
from ._gait import end as end
from ._gait import flow_begin as flow_begin
from ._gait import flow_end as flow_end
from ._gait import flow_step as flow_step
from ._gait import flush as flush
from ._gait import last_error as last_error
from ._gait import mark as mark
from ._gait import next as next
from ._gait import rank as rank
from ._gait import recording as recording
from ._gait import shard_path as shard_path
from ._gait import site as site
from ._gait import snapshot as snapshot
from ._gait import span as span
from ._gait import start as start
from ._gait import step as step
from ._gait import step_begin as step_begin
from ._gait import step_end as step_end
from ._gait import stop as stop
from ._gait import thread_name as thread_name
from .config import Config as Config
from .loops import async_span as async_span
from .loops import metadata as metadata
from .loops import steps as steps
from .trace import open as open

def init(
    directory: str | bytes | os.PathLike[str] | os.PathLike[bytes] | None = None,
    *,
    overflow: str | None = None,
    ring_bytes: int = 0,
    role: str | None = None,
    subject_pid: int = 0,
) -> bool: ...
def phase(name: str) -> Span: ...
def epoch() -> None: ...
def profile(kind: str = "advanced", name: str | None = None, **options: object) -> typing.Any: ...
