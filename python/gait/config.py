# SPDX-License-Identifier: Apache-2.0
"""gait.Config: the settings of the section `profiling`, as docs/CONFIG.md lists them.

The table behind it is C (src/config): files, variables and arguments are read there.
Neither dataclasses nor ctypes are imported before somebody asks for a Config.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class _Late(type):
    """Makes a dataclass of its class at the first use: `import gait` costs 2 ms, and
    importing dataclasses with what it needs would cost 10 more."""

    def __getattr__(cls, name):
        if name == "__dataclass_fields__" or name == "__dataclass_params__":
            return getattr(_complete(cls), name)
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")

    def __call__(cls, *args, **kwargs):
        return type.__call__(_complete(cls), *args, **kwargs)


def _complete(cls):
    if "__dataclass_fields__" not in vars(cls):
        import dataclasses

        for base in cls.__mro__[1:-1]:
            if isinstance(base, _Late):
                _complete(base)
        dataclasses.dataclass(cls)
    return cls


class Config(metaclass=_Late):
    """What to record, when, and what to make of it.

    config = gait.Config.from_yaml("config.yaml")   # its section `profiling`
    with config.profile() as prof:                  # does nothing where it is absent
        for epoch in range(epochs):
            train(...)
            prof.step()
    """

    enabled: bool = False
    unit: str = "step"
    skip_first: int = 1
    skip_first_wait: int = 0
    wait: int = 1
    warmup: int = 1
    active: int = 3
    repeat: int = 1
    every_n_steps: int = 0
    epochs: int = 0
    activities: str = "cpu"
    record_shapes: bool = True
    profile_memory: bool = True
    with_stack: bool = False
    with_flops: bool = True
    with_modules: bool = False
    store_traces: bool = True
    output_dir: str = "profiler_traces"
    worker_name: str = ""
    use_gzip: bool = False
    max_trace_size: str = "0"
    table: bool = True
    sort_by: str = "self_cpu_time_total"
    row_limit: int = 10
    group_by_input_shape: bool = False
    group_by_stack_n: int = 0
    nsight_enabled: bool = False
    nsight_output: str = "nsight_profile"
    profiler: str = "pytorch"
    measure_epoch_time: bool = True
    measure_gpu_data: bool = True
    py_spy: bool = False
    py_spy_rate: int = 100
    line_count_restriction: str = "20"
    dump_stats: bool = False
    extended: bool = True
    export_to_flame_graph: bool = False
    metric: str = "self_cpu_time_total"

    # --- where settings come from ---

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        arguments: Iterable[str] = (),
        environment: bool = True,
    ) -> Config:
        """What counts: arguments > GAIT_* variables > the file > defaults.

        `path` is a YAML file or FILE#SECTION; None is GAIT_CONFIG or gait.yaml. The
        arguments are settings: "profiling.wait=1", or "--profiling.wait", "1".
        """
        return _load(cls, path, arguments, environment=environment)[0]

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str], arguments: Iterable[str] = ()) -> Config:
        """The `profiling` section of a file, other sections being somebody else's."""
        return _load(cls, path, arguments)[0]

    @classmethod
    def from_args(
        cls, arguments: Iterable[str] | None = None, path: str | os.PathLike[str] | None = None
    ) -> tuple[Config, list[str]]:
        """(config, what is left of the arguments): takes `--profile`, `--profiling.wait 1`,
        `profiling.wait=1` and their like out of a program's own line."""
        import sys

        given = list(sys.argv[1:] if arguments is None else arguments)
        return _load(cls, path, given, strict=False)

    @classmethod
    def from_mapping(cls, mapping: Any) -> Config:
        """The section of a configuration that is read already, with any of the names that
        docs/CONFIG.md has: a dict, a section of OmegaConf's, a pydantic model, a dataclass as
        tyro fills it. As in a file, a section that is there is on, unless it says that
        it is not, and counts epochs, unless it says what. None is no section.
        """
        from ._section import words_of

        if mapping is None:
            return cls()
        words = words_of(mapping, cls.__dataclass_fields__)
        source = {"environment": False, "usual": False, "called": "mapping", "is_section": True}
        return _load(cls, None, words, **source)[0]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Config:
        """What `gait run` passes on, in Python alone: GAIT_PROFILING_WAIT and so on."""
        from ._variables import read

        return read(cls(), os.environ if environment is None else environment)

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        """A field of a pydantic model: takes what from_mapping() takes."""
        from pydantic_core import core_schema

        def validate(given):
            return given if isinstance(given, cls) else cls.from_mapping(given)

        return core_schema.no_info_plain_validator_function(validate)

    # --- what to do with them ---

    def schedule(self) -> Any:
        """The schedule as gait.torch.schedule() makes it."""
        import gait.torch

        made = gait.torch.schedule(
            wait=self.wait,
            warmup=self.warmup,
            active=self.active,
            repeat=self.repeat,
            skip_first=self.skip_first,
            skip_first_wait=self.skip_first_wait,
            every_n_steps=self.every_n_steps,
            unit=self.unit,
        )
        return made.for_epochs(self.epochs) if self._is_clamped() else made

    def _is_clamped(self):
        return self.epochs > 0 and self.unit == "epoch" and not hasattr(self, "origins")

    def profile(self, directory: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """gait.torch.profile() with these settings; one that does nothing where `enabled`
        is false. Call step() on it after each unit of the schedule.

        Traces go to `output_dir` below `directory`, the run directory (default: that of
        `gait run`, else the one one stands in). `options` are profile()'s own.
        """
        is_said = self.enabled or self.py_spy or self.profiler != "pytorch"
        if is_said or vars(self).get("notices"):
            from ._profiling import tell

            tell(self)
        if not self.enabled:
            from ._nothing import Nothing

            return Nothing()
        import gait.torch
        from gait.torch import profile

        from ._profiling import finish

        chosen = {
            "activities": [
                getattr(gait.torch.ProfilerActivity, _ACTIVITIES[name])
                for name in self.activities.split(",")
            ],
            "schedule": self.schedule(),
            "on_trace_ready": finish(self, self.folder(directory)),
            "record_shapes": self.record_shapes,
            "profile_memory": self.profile_memory,
            "with_stack": self.with_stack,
            "with_flops": self.with_flops and self.record_shapes,
            "with_modules": self.with_modules,
        }
        chosen.update(options)
        if self.nsight_enabled:
            from . import _ranks, nsight

            output, cycles = self.nsight_output, self.repeat
            made = nsight.following(profile, output, cycles, _ranks.is_first())
            return made(**chosen)
        return profile(**chosen)

    def folder(self, directory: str | os.PathLike[str] | None = None) -> str:
        """Where the traces go."""
        base = directory or os.environ.get("GAIT_DIR") or os.curdir
        return os.path.join(os.fspath(base), self.output_dir)


_ACTIVITIES = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "xpu": "XPU",
    "mtia": "MTIA",
    "hpu": "HPU",
    "privateuse1": "PrivateUse1",
}


def _load(cls, path, arguments, **source):
    """(config, the arguments that are none of ours)."""
    from ._settings import resolve

    given = list(arguments)
    answer = resolve(path, given, **source)
    entries = {
        name.split(".")[1]: entry
        for name, entry in answer["settings"].items()
        if name.startswith("profiling.")
    }
    values = {}
    for key, entry in entries.items():
        value = entry["value"]
        values[key] = ",".join(value) if isinstance(value, list) else "" if value is None else value
    config = cls(**values)
    config.origins = {key: entry["from"] for key, entry in entries.items()}
    config.notices = answer["notices"]
    return config, [given[index] for index in answer["rest"]]
