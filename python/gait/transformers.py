# SPDX-License-Identifier: Apache-2.0
"""gait in a Trainer of Hugging Face's transformers.

    Trainer(model, args, train_dataset=data, callbacks=[GaitCallback("simple")])

Imports without transformers; using it then fails with one sentence.
"""

import os
import weakref

from ._core import step_begin, step_end
from .loops import epoch
from .profilers import by_name
from .profilers.reports import Reports

try:
    from transformers import TrainerCallback

    _missing = ""
except ImportError as error:
    _missing = str(error)

    class TrainerCallback:  # type: ignore[no-redef]
        pass


class GaitCallback(TrainerCallback):
    """Steps of the training on record, and its actions under a profiler if one is named.

    `profiler` is "simple", "advanced", "pytorch", or None; its options follow. The
    report goes to the Trainer's output_dir, or is printed without a filename; when
    the training ends by an exception, then when the trainer is gone, or at the end
    of the process.
    """

    def __init__(self, profiler=None, **options) -> None:
        if _missing:
            raise ImportError(
                f"gait.transformers needs transformers, which is not there ({_missing}): "
                "pip install transformers"
            )
        self.gait = by_name(profiler, **options) if profiler else None
        self._open = []
        # what PyTorch takes for a step
        self._step = "run_training_batch" if str(profiler).lower() == "pytorch" else "step"
        if self.gait is not None:
            self._reports = Reports(self.gait)
            weakref.finalize(self, self._reports.describe_unreported)

    def _begin(self, action) -> None:
        if self.gait is not None and action not in self._open:
            self._open.append(action)
            self.gait.start(action)

    def _end(self, action) -> None:
        if action in self._open:
            self._open.remove(action)
            self.gait.stop(action)

    def on_train_begin(self, args, state, control, **_) -> None:
        if self.gait is not None:
            self.gait.setup("train", log_dir=os.fspath(args.output_dir))
        self._begin("train")

    def on_epoch_begin(self, args, state, control, **_) -> None:
        epoch()
        self._begin("epoch")

    def on_step_begin(self, args, state, control, **_) -> None:
        step_begin(state.global_step)
        self._begin(self._step)

    def on_pre_optimizer_step(self, args, state, control, **_) -> None:
        self._begin("optimizer")

    def on_optimizer_step(self, args, state, control, **_) -> None:
        self._end("optimizer")

    def on_step_end(self, args, state, control, **_) -> None:
        self._end(self._step)
        step_end()

    def on_epoch_end(self, args, state, control, **_) -> None:
        self._end("epoch")

    def on_train_end(self, args, state, control, **_) -> None:
        for action in reversed(list(self._open)):
            self._end(action)
        step_end()
        if self.gait is not None:
            self._reports.describe()
