# SPDX-License-Identifier: Apache-2.0
"""Ops of a few steps of each stage: Lightning's PyTorchProfiler over gait's windows."""

from __future__ import annotations

import contextlib
import os

import gait

from .._core import span, why_off
from .._files import draft
from .._say import say, say_off
from .._vocabulary import ANNOTATION
from .files import Report
from .nvtx import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, Union

    _Path = Union[str, os.PathLike[str]]

SORT_KEYS = (
    "cpu_time",
    "cuda_time",
    "cpu_time_total",
    "cuda_time_total",
    "cpu_memory_usage",
    "cuda_memory_usage",
    "self_cpu_memory_usage",
    "self_cuda_memory_usage",
    "count",
)
# what tells of a step of each kind, and which action's end is the step's end
STEPS = {
    "training_step": "training",
    "validation_step": "validation",
    "test_step": "test",
    "predict_step": "predict",
}
WHOLE_BATCH = "run_training_batch"  # forward, backward and optimizer
MOST_IDLE = 4096  # names that are kept
METRICS = ("self_cpu_time_total", "self_cuda_time_total")
DEFAULT: dict[str, Any] = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1}


class Idle:
    """An action that is no step's: there are twenty of them in each step of Lightning's."""

    __slots__ = ("action",)

    def __init__(self, action) -> None:
        self.action = action

    def __enter__(self):
        return self.action

    def __exit__(self, *_) -> None:
        pass


def is_idle(action) -> bool:
    last = action.rpartition(".")[2]
    return not (action == WHOLE_BATCH or last in STEPS or "on_sanity_check_" in action)


class Steps:
    """The schedule of one kind of step: it goes on where it was when its turn comes again."""

    def __init__(self, schedule, end) -> None:
        self.schedule = schedule
        self.end = end  # None: more may come at any step
        self.first = 0  # number of the step that the running profile calls 0
        self.count = 0
        self.tables = []

    def __call__(self, step):
        return self.schedule(self.first + step)

    @property
    def is_over(self):
        return self.end is not None and self.count >= self.end

    def _name(self, number):
        return self.schedule(number).name if number >= self.first else "NONE"

    def ends_cycle_early(self) -> bool:
        """Is at least one whole step of an open cycle recorded? Then the cycle is over."""
        if self._name(self.count - 1) != "RECORD":
            return False
        while self._name(self.count) == "RECORD":
            self.count += 1
        self.count += self._name(self.count) == "RECORD_AND_SAVE"
        return True


class PyTorch(Report):
    """torch.profiler as an action profiler, with Lightning's options.

    A step ends with the action that ends it; a schedule counts the training,
    validation, test and prediction steps each by themselves, and each may have
    as many cycles as it says. By default each has one, of three steps.
    """

    def __init__(
        self,
        dirpath: _Path | None = None,
        filename: str | None = None,
        group_by_input_shapes: bool = False,
        emit_nvtx: bool = False,
        export_to_chrome: bool = True,
        row_limit: int = 20,
        sort_by_key: str | None = None,
        record_module_names: bool = True,
        table_kwargs: dict[str, Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        export_to_flame_graph: bool = False,
        metric: str = "self_cpu_time_total",
        on_trace_ready: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        Report.__init__(self, dirpath, filename)
        if sort_by_key is not None and sort_by_key not in SORT_KEYS:
            legal = ", ".join(SORT_KEYS)
            raise ValueError(f"sort_by_key {sort_by_key!r} is none of: {legal}")
        wrong = {"sort_by", "row_limit"} & set(table_kwargs or ())
        if wrong:
            raise KeyError(f"table_kwargs: {', '.join(sorted(wrong))} is an option of its own")
        if schedule is not None and not callable(schedule):
            raise TypeError(f"schedule is a function of the step's number, not {schedule!r}")
        if group_by_input_shapes and not options.get("record_shapes"):
            options["record_shapes"] = True  # what else could be meant
        self._nvtx = Ranges(record_module_names, group_by_input_shapes) if emit_nvtx else None
        self._group = group_by_input_shapes
        self._export = export_to_chrome
        self._flame, self._metric = export_to_flame_graph, metric
        self._row_limit, self._sort_by = row_limit, sort_by_key
        self._table = dict(table_kwargs or {})
        self._handler = on_trace_ready
        self._given = schedule
        self._profile_options = {"with_modules": record_module_names, **options}
        if metric not in METRICS:
            raise ValueError(f"metric {metric!r} is none of: {', '.join(METRICS)}")
        self._kinds, self._kind = {}, None
        self._profile: Any = None
        self._idle = {}
        self._over = {}  # those of them that begin steps of which no more are recorded
        self._boundary = None  # the action whose end is the step's
        self._is_inside = False  # of such an action, and ops are on record
        self.root = None  # the module that names of others begin at
        self._is_sanity_check = self._has_whole_batches = self._is_empty = False
        self.paths = []

    # --- actions ----------------------------------------------------------------------

    def start(self, action: str) -> None:
        if self._nvtx is not None:
            self._nvtx.start(action, self.root)
            return
        if action in self._idle:
            return
        if action == WHOLE_BATCH:
            self._has_whole_batches = True
            self._begin("training", action)
        elif "on_sanity_check_start" in action:
            self._is_sanity_check = True
        elif not self._is_sanity_check:
            kind = STEPS.get(action.rpartition(".")[2])
            if kind and not self._is_uncounted(kind):
                self._begin(kind, action)

    def _is_uncounted(self, kind):
        """Part of a whole batch, or of the check before a fit, which is told to callbacks only."""
        if kind == "training":
            return self._has_whole_batches
        return kind == "validation" and self._stage == "fit" and "training" not in self._kinds

    def stop(self, action: str) -> None:
        if self._nvtx is not None:
            self._nvtx.stop(action)
            return
        if action in self._idle:
            return
        if "on_sanity_check_end" in action:
            self._is_sanity_check = False
        if self._profile is not None and action == self._boundary:
            self._is_inside = False
            steps = self._kinds[self._kind]
            steps.count += 1
            self._profile.step()
            if steps.is_over:  # nothing stays behind its last window
                self._end()

    def profile(self, action: str) -> AbstractContextManager[Any]:
        if not self._is_inside and self._nvtx is None:
            known = self._idle.get(action)
            if known is not None:
                return known
            if is_idle(action):
                return self._idle_of(action)
        return self._run(action)

    def _idle_of(self, action):
        made = Idle(action)
        if len(self._idle) < MOST_IDLE:
            self._idle[action] = made
        return made

    @contextlib.contextmanager
    def _run(self, action):
        self.start(action)
        label: Any = contextlib.nullcontext()
        if self._is_inside:
            label = span("[pl][profile]" + action, ANNOTATION)
        try:
            with label:
                yield action
        finally:
            self.stop(action)

    def _begin(self, kind, action) -> None:
        if why_off:
            say_off(why_off)
            return
        if kind == self._kind and self._profile is not None:
            self._boundary = action
            self._is_inside = self._profile.has_window
            return
        self._end()
        steps = self._kinds.get(kind)
        if steps is not None and steps.is_over:
            if len(self._over) < MOST_IDLE:
                self._idle[action] = self._over[action] = Idle(action)
            return
        self._wake()
        self._boundary = action
        if steps is None:
            steps = self._kinds[kind] = self._make_steps()
        steps.first = steps.count
        self._kind = kind
        self._profile = gait.torch.profile(
            schedule=steps, on_trace_ready=self._trace_is_ready, **self._profile_options
        )
        self._profile.add_metadata("Framework", "gait")
        self._profile._make_labels = self._make_labels  # type: ignore[method-assign]
        self._profile.number_from = steps.first
        self._profile.start()
        self._is_inside = self._profile.has_window

    def _make_labels(self):
        from gait.torch import modules

        return modules.ListedLabels(self.root)

    def _wake(self) -> None:
        """Also steps of which no more are recorded are heard again: they end others."""
        for action in self._over:
            self._idle.pop(action, None)
        self._over.clear()

    def _make_steps(self):
        from gait.torch import plans, schedule

        wanted = self._given or schedule(**DEFAULT)
        plan = plans.recognise(wanted)
        return Steps(wanted, plan.end if plan is not None else None)

    def _end(self) -> None:
        """Steps of another kind are next. What a cycle has so far is its trace then."""
        profile, self._profile, self._is_inside = self._profile, None, False
        if profile is None:
            return
        steps = self._kinds[self._kind]
        self._is_empty = not steps.ends_cycle_early()
        profile.stop()
        self._is_empty = False

    # --- what is recorded --------------------------------------------------------------

    def _folder(self):
        if self.dirpath:
            return os.fspath(self.dirpath)
        try:  # Hydra's run directory
            from hydra.core.hydra_config import HydraConfig

            return HydraConfig.get().runtime.output_dir
        except Exception:  # no Hydra, or not under it
            return os.getcwd()

    def _trace_is_ready(self, profile) -> None:
        if self._is_empty:
            return
        averages = profile.key_averages(group_by_input_shape=self._group)
        sort_by = self._sort_by or "cpu_time_total"
        table = averages.table(sort_by=sort_by, row_limit=self._row_limit, **self._table)
        tables = self._kinds[self._kind].tables
        tables.append(table)
        if self._handler is not None:
            self._handler(profile)
        elif self._export:
            self._attempt(self._write_trace, profile)
        if self._flame:
            cycle = f".cycle-{len(tables)}" if len(tables) > 1 else ""
            self._attempt(self._write_flame_graph, profile, cycle + ".stack")

    @staticmethod
    def _attempt(write, *arguments) -> None:
        """A training does not fail for want of a file."""
        try:
            write(*arguments)
        except (OSError, RuntimeError, ValueError) as error:
            say(f"cannot write a trace: {error}")

    def _write_trace(self, profile) -> None:
        import gait.torch

        name = os.path.basename(self.path(self._boundary, ""))
        handler = gait.torch.tensorboard_trace_handler(self._folder(), name)
        self._note(handler(profile))

    def _write_flame_graph(self, profile, extension) -> None:
        from ..torch.flame import write_ops

        os.makedirs(self._folder(), exist_ok=True)
        name = os.path.basename(self.path(self._boundary, extension))
        path = os.path.join(self._folder(), name)
        with draft(path) as part:
            write_ops(profile.events(), part, self._metric)
        self._note(path)

    def _note(self, path) -> None:
        path = os.path.abspath(path)
        self.paths.append(path)
        if not self.rank:
            say(f"trace in '{path}'")

    def summary(self) -> str:
        if self._nvtx is not None:
            return ""
        self._end()
        lines = [("" if self._stage is None else f"{self._stage.upper()} ") + "Profiler Report"]
        rank = "" if self.rank is None else f" rank: {self.rank}"
        for kind, steps in self._kinds.items():
            for number, table in enumerate(steps.tables, 1):
                cycle = f", cycle {number}" if len(steps.tables) > 1 else ""
                lines += [f"Profile stats for: {kind} steps{cycle}{rank}", table]
            if not steps.tables:
                lines.append(f"No {kind} step was recorded: {steps.count} are too few")
        return os.linesep.join(lines)

    def describe(self) -> None:
        if self._nvtx is None:
            Report.describe(self)
        else:  # the ranges are another tool's to show
            self.teardown(self._stage)

    def teardown(self, stage=None) -> None:
        if self._nvtx is not None:
            self._nvtx.end()
        self._end()
        self._wake()
        self._kinds, self._kind = {}, None
