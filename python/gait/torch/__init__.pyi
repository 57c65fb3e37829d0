# SPDX-License-Identifier: Apache-2.0
# What gait.torch offers to scripts. Its lists of events are torch's by their attributes.
import enum
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

_Path = str | os.PathLike[str]

class ProfilerAction(enum.Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

class ProfilerActivity(enum.Enum):
    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5

class CaptureError(RuntimeError): ...

class Capture:
    number: int
    pid: int
    rank: int | None
    partial: bool
    trigger: bool
    options: dict[str, Any]
    metadata: dict[str, str]
    @property
    def paths(self) -> list[str]: ...
    @property
    def begin_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def steps(self) -> list[tuple[int, int, int]]: ...

class Schedule:
    unit: str
    def __call__(self, step: int) -> Any: ...
    def at(self, position: int) -> tuple[int, int]: ...
    @property
    def active(self) -> int: ...
    def needs(self, cycles: int = 0) -> int: ...
    def plan(self, length: int = 0) -> str: ...
    def for_epochs(self, epochs: int) -> Schedule: ...

def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
    every_n_steps: int = 0,
    unit: str = "step",
) -> Schedule: ...
def at_steps(steps: Iterable[int], warmup: int = 0) -> Schedule: ...
def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], str]: ...

# torch's own
supported_activities: Callable[[], set[ProfilerActivity]]
kineto_available: Callable[[], bool]
DeviceType: Any
ExecutionTraceObserver: Any
ProfilerActivityConfig: Any  # this and the next two since torch 2.15
CuspyConfig: Any
PerformanceMetricsConfig: Any

def record_function(name: str, args: str | None = None) -> AbstractContextManager[Any]: ...
def table(
    document: Any,
    key_averages: dict[str, Any] | None = None,
    table: dict[str, Any] | None = None,
) -> str: ...

class profile:
    activities: set[Any]
    captures: list[Capture]
    step_num: int
    traces: int
    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None: ...
    def __enter__(self) -> profile: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def step(self) -> None: ...
    def trigger(self, steps: int | None = None) -> None: ...
    def add_metadata(self, key: str, value: object) -> None: ...
    def add_metadata_json(self, key: str, value: str) -> None: ...
    def preset_metadata_json(self, key: str, value: str) -> None: ...
    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None: ...
    def get_trace_id(self) -> str | None: ...
    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None: ...
    @property
    def capture(self) -> Capture: ...
    def events(self) -> Any: ...
    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> Any: ...
    def export_chrome_trace(self, path: _Path, use_python_export: bool = False) -> None: ...
    def export_stacks(self, path: _Path, metric: str = "self_cpu_time_total") -> None: ...
    def export_memory_timeline(self, path: _Path, device: str | None = None) -> None: ...
