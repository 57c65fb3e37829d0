# SPDX-License-Identifier: Apache-2.0
"""gait in a Lightning training.

    Trainer(profiler=GaitProfiler("simple"))            # or "advanced"
    Trainer(callbacks=[ProfilerCallback(enabled=True)])

Imports without Lightning; using it then fails with one sentence.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
import weakref

from ._files import draft
from ._say import say
from .profilers import by_name
from .profilers.files import file_name
from .profilers.reports import Reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _bases():
    """Lightning's Callback and Profiler, and why there are none: of the package that the
    script has imported, else of the one that is installed."""
    names = sorted(("lightning", "pytorch_lightning"), key=lambda name: name not in sys.modules)
    why = ""
    for name in names:
        module = "lightning.pytorch" if name == "lightning" else name
        try:
            profilers = importlib.import_module(module + ".profilers")
            return sys.modules[module].Callback, profilers.Profiler, ""
        except ImportError as error:
            why = why or str(error)
    return type("Callback", (), {}), type("Profiler", (), {}), why


Callback, Profiler, _missing = _bases()


def _need_lightning():
    if _missing:
        raise ImportError(
            f"gait.lightning needs Lightning, which is not there ({_missing}): "
            "pip install lightning"
        )


class GaitProfiler(Profiler):
    """A profiler for Trainer(profiler=…): "simple", "advanced" or "pytorch", with their
    options (gait.profilers).

    What was measured is reported also when the training ends by an exception or
    Ctrl-C: then when the trainer is gone, or at the end of the process.
    """

    _stage = None  # Lightning's __del__ asks, also where __init__ refused

    def __init__(self, kind: str = "simple", **options) -> None:
        _need_lightning()
        self.gait = by_name(kind, **options)
        super().__init__(self.gait.dirpath, self.gait.filename)
        self.start = self.gait.start
        self.stop = self.gait.stop
        self.profile = self.gait.profile
        self._kind, self._wishes = kind, options
        self._reports = Reports(self.gait)
        weakref.finalize(self, self._reports.describe_unreported)

    def start(self, action_name) -> None:  # for Lightning's check that there is one
        self.gait.start(action_name)

    def stop(self, action_name) -> None:
        self.gait.stop(action_name)

    def setup(self, stage, local_rank=None, log_dir=None) -> None:
        super().setup(stage, local_rank, log_dir)
        if hasattr(self.gait, "root"):
            self.gait.root = getattr(self, "_lightning_module", None)
        self.gait.setup(stage, local_rank, log_dir)

    def summary(self):
        return self.gait.summary()

    def describe(self) -> None:
        self._reports.describe()

    def teardown(self, stage) -> None:
        if not _missing and hasattr(self, "gait"):
            self.gait.teardown(stage)

    def __reduce__(self):
        return _rebuild, (self._kind, self._wishes)


def _rebuild(kind, options):
    return GaitProfiler(kind, **options)


class ProfilerCallback(Callback):
    """Ops of some training steps, by a schedule; three outputs every time, and Lightning's
    report of its actions where the trainer has no profiler.

    <output_dir>/<model>/*.pt.trace.json, one a cycle, chrome_trace.json (the last
    cycle) and profiler_summary.txt. A cycle begins each `schedule_every_n_steps`
    steps: wait, warm up, record. Steps are training steps, validation is not in.
    """

    def __init__(
        self,
        enabled: bool = False,
        output_dir: str = "outputs/profiler_logs",
        schedule_every_n_steps: int = 50,
        wait_steps: int = 1,
        warmup_steps: int = 1,
        active_steps: int = 3,
        repeat_cycles: int = 2,
        model_name=None,
        **options,
    ) -> None:
        _need_lightning()
        super().__init__()
        self.enabled = enabled
        self.output_dir = output_dir
        self.model_name = model_name  # the folder's; else the module's class
        self.every = schedule_every_n_steps
        self.numbers: dict[str, Any] = {
            "wait": wait_steps,
            "warmup": warmup_steps,
            "active": active_steps,
            "repeat": repeat_cycles,
        }
        self.options: dict[str, Any] = {
            "record_shapes": True,
            "profile_memory": True,
            "with_flops": True,
        }
        self.options.update(options)
        self.profile: Any = None
        self.traces = []
        if enabled:
            self._schedule()  # a wrong number is told now

    def _schedule(self):
        import gait.torch

        return gait.torch.schedule(every_n_steps=self.every, **self.numbers)

    def setup(self, trainer, pl_module, stage) -> None:
        is_free = type(trainer.profiler).__name__ == "PassThroughProfiler"
        if not self.enabled or stage != "fit" or not is_free:
            return
        from .profilers import lightning_actions

        if lightning_actions.chosen():  # by `gait run --profiler`, which reports by itself
            return
        profiler = GaitProfiler("simple")
        profiler.profile = lightning_actions.beside(trainer.profiler, profiler.profile)
        profiler.setup(stage, getattr(trainer, "local_rank", None), trainer.log_dir)
        trainer.profiler = profiler

    def on_train_start(self, trainer, pl_module) -> None:
        if not self.enabled or self.profile is not None:
            return
        import gait.torch

        model = file_name((self.model_name or type(pl_module).__name__,), "")
        self.folder = os.path.abspath(os.path.join(self.output_dir, model))
        many = getattr(trainer, "world_size", 1) > 1
        self.rank = trainer.global_rank if many else None
        worker = f"rank{self.rank}" if many else None
        handler = gait.torch.tensorboard_trace_handler(self.folder, worker)
        plan = self._schedule()
        self.traces, self._end = [], plan.end
        self.profile = gait.torch.profile(
            schedule=plan,
            on_trace_ready=functools.partial(self._keep, handler),
            **self.options,
        )
        self.profile.start()
        atexit.register(self._finish)

    def _keep(self, handler, profile) -> None:
        try:
            self.traces.append(handler(profile))
        except (OSError, RuntimeError, ValueError) as error:  # the training goes on
            say(f"cannot write a trace: {error}")

    def on_train_batch_end(self, *_, **__) -> None:
        if self.profile is None:
            return
        self.profile.step()
        if self.profile.step_num == self._end:  # nothing stays behind the last cycle
            self._finish()

    def on_train_end(self, trainer, pl_module) -> None:
        self._finish()

    def on_exception(self, trainer, pl_module, exception) -> None:
        self._finish()

    def teardown(self, trainer, pl_module, stage) -> None:
        self._finish()

    def _finish(self) -> None:
        profile, self.profile = self.profile, None
        if profile is None:
            return
        atexit.unregister(self._finish)
        profile.stop()
        if not self.traces:
            what = "no trace could be written" if profile.captures else "no step was recorded"
            say(f"{what}: there is none in '{self.folder}'")
            return
        other = f"_rank{self.rank}" if self.rank else ""  # the first one's are without
        self._write(f"chrome_trace{other}.json", profile.export_chrome_trace)
        summary = f"profiler_summary{other}.txt"
        self._write(summary, lambda path: self._write_summary(profile, path))
        if not self.rank:
            written = "1 trace" if len(self.traces) == 1 else f"{len(self.traces)} traces"
            say(f"{written}, chrome_trace.json and a summary are in '{self.folder}'")

    def _write(self, name, write) -> None:
        path = os.path.join(self.folder, name)
        try:
            write(path)
        except OSError as error:
            say(f"cannot write '{path}': {error.strerror}")

    @staticmethod
    def _write_summary(profile, path) -> None:
        averages = profile.key_averages()
        with draft(path) as part, open(part, "w", encoding="utf-8") as file:
            # of a run without a GPU the times of devices are all 0: an order by chance
            has_device = any(row.device_time_total for row in averages)
            for device in ("cpu", "cuda") if has_device else ("cpu",):
                file.write(f"Top 10 by {device.upper()} time\n")
                file.write(averages.table(sort_by=f"{device}_time_total", row_limit=10) + "\n")
