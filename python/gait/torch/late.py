# SPDX-License-Identifier: Apache-2.0
"""Modules that may be imported later, or never: hooked once they are there."""

import functools

from .. import _native
from .._vocabulary import EPOCH
from . import training, watching
from .wrap import Hook, beside, hook, instead, put, replace

# module, kind, attributes (dots lead into classes)
LATE = (
    ("safetensors.torch", "checkpoint", "save_file load_file save_model load_model"),
    ("torch.distributed.checkpoint", "checkpoint", "save load async_save"),
    ("lightning.pytorch.trainer.trainer", "checkpoint", "Trainer.save_checkpoint"),
    ("pytorch_lightning.trainer.trainer", "checkpoint", "Trainer.save_checkpoint"),
    ("transformers.trainer", "checkpoint", "Trainer._save_checkpoint Trainer.save_model"),
    (
        "accelerate.accelerator",
        "checkpoint",
        "Accelerator.save_state Accelerator.load_state Accelerator.save_model",
    ),
    (
        "torch.utils.tensorboard.writer",
        "logging",
        "SummaryWriter.add_scalar SummaryWriter.add_scalars SummaryWriter.add_histogram "
        "SummaryWriter.add_image SummaryWriter.add_text SummaryWriter.add_figure "
        "SummaryWriter.add_graph SummaryWriter.flush SummaryWriter.close",
    ),
    ("tqdm.std", "logging", "tqdm.display"),
    ("wandb.sdk.wandb_run", "logging", "Run.log"),
    ("mlflow", "logging", "log_metric log_metrics log_param log_params log_artifact"),
    (
        "mlflow.tracking.client",
        "logging",
        "MlflowClient.log_batch MlflowClient.log_metric MlflowClient.log_param "
        "MlflowClient.log_artifact",
    ),
    (
        "tensorboardX.writer",
        "logging",
        "SummaryWriter.add_scalar SummaryWriter.add_scalars SummaryWriter.flush "
        "SummaryWriter.close",
    ),
    (
        "lightning.fabric.loggers.csv_logs",
        "logging",
        "_ExperimentWriter.log_metrics _ExperimentWriter.save",
    ),
    (
        "lightning_fabric.loggers.csv_logs",
        "logging",
        "_ExperimentWriter.log_metrics _ExperimentWriter.save",
    ),
)

# module, attributes: optimizers that are none of torch's. The first one steps, others zero.
# A TorchOptimizer is what Keras's are where it runs on torch.
OPTIMIZERS = (
    ("fastai.optimizer", "Optimizer.step Optimizer.zero_grad"),
    ("keras.src.backend.torch.optimizers.torch_optimizer", "TorchOptimizer.apply"),
)

# module, class: loaders that go on working on a batch behind torch's; their __iter__ makes
# a generator, so what is asked for batches has no class that could be hooked
LOADERS = (("fastai.data.load", "DataLoader"),)

# module, attribute: called when an epoch begins
EPOCHS = (
    ("lightning.pytorch.loops.fit_loop", "_FitLoop.on_advance_start"),
    ("pytorch_lightning.loops.fit_loop", "_FitLoop.on_advance_start"),
    ("transformers.trainer_callback", "CallbackHandler.on_epoch_begin"),
)


def install() -> None:
    for name, kind, attributes in LATE:
        watching.watch().add(name, functools.partial(hook_module, kind, attributes))
    for name, attributes in OPTIMIZERS:
        watching.watch().add(name, functools.partial(hook_optimizer, attributes))
    for name, attribute in LOADERS:
        watching.watch().add(name, functools.partial(hook_loader, attribute))
    for name, attribute in EPOCHS:
        watching.watch().add(name, functools.partial(hook_epoch, attribute))


def owner_of(module, path):
    *classes, name = path.split(".")
    for part in classes:
        module = getattr(module, part, None)
    return module, name


def hook_module(kind, attributes, module) -> None:
    for path in attributes.split():
        owner, name = owner_of(module, path)
        if owner is not None:
            replace(owner, name, kind)


def hook_optimizer(attributes, module) -> None:
    step, *others = attributes.split()
    hook_module("step", step, module)
    hook_module("zero_grad", " ".join(others), module)
    cls, _ = owner_of(module, step)
    if cls is not None:
        training.remember_made(cls)


class Asked:
    """A loader's generator, each batch of which is asked for in sight."""

    def __init__(self, made) -> None:
        self._made = made

    def __iter__(self):
        return self

    __next__ = hook("ask", lambda self: next(self._made))

    def __getattr__(self, name):  # close() and what else a generator has
        return getattr(self._made, name)


def hook_loader(name, module) -> None:
    cls = getattr(module, name, None)
    make = vars(cls).get("__iter__") if cls is not None else None
    if make is None or isinstance(make, Hook):
        return

    def asked(*arguments):
        return Asked(make(*arguments))

    put(cls, "__iter__", hook("iterator", instead(make, asked)), "where a loop over it begins")


def hook_epoch(path, module) -> None:
    owner, name = owner_of(module, path)
    function = getattr(owner, name, None)
    if function is None or isinstance(function, Hook):
        return
    put(owner, name, beside("before", function, begin_epoch), "where an epoch begins")


def begin_epoch(*_) -> None:
    _native.mark(_native.site(*EPOCH))
    _native._epoch()
