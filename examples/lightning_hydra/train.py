# SPDX-License-Identifier: Apache-2.0
"""Teach a small network on which side of an image the light is.

usage: train.py [profiling.enabled=true] [model=resnet] [profiler=simple] [KEY=VALUE]...

Settings are Hydra's (configs/config.yaml); two lines are gait's.
"""

import logging
import warnings

import hydra
import lightning
import torch
from gait.lightning import GaitProfiler, ProfilerCallback
from hydra.core.hydra_config import HydraConfig
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
        )

    def forward(self, x):
        return torch.relu(x + self.inner(x))


class Classifier(lightning.LightningModule):
    def __init__(self, width, blocks, learning_rate):
        super().__init__()
        self.learning_rate = learning_rate
        self.network = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1),
            nn.ReLU(),
            *(Block(width) for _ in range(blocks)),
            nn.Flatten(),
            nn.LazyLinear(4),
        )

    def loss(self, batch):
        images, sides = batch
        return nn.functional.cross_entropy(self.network(images), sides)

    def training_step(self, batch, number):
        return self.loss(batch)

    def validation_step(self, batch, number):
        self.log("validation_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.learning_rate)


def make_images(count):
    """Images of noise with one bright edge, and which of the four it is."""
    images = torch.rand(count, 1, 16, 16)
    sides = torch.randint(0, 4, (count,))
    near, far = slice(0, 4), slice(12, 16)
    for image, side in zip(images, sides):
        edge = near if side < 2 else far
        if side % 2:
            image[0, edge] += 1
        else:
            image[0, :, edge] += 1
    return TensorDataset(images, sides)


def load(config, share=1.0):
    count = int(config.images * config.subsample_percentage * share)
    return DataLoader(make_images(max(count, config.batch_size)), config.batch_size)


@hydra.main(version_base=None, config_path="configs", config_name="config")
def main(config):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    folder = HydraConfig.get().runtime.output_dir
    profiler = None
    if config.profiler:
        profiler = GaitProfiler(config.profiler, dirpath=folder, filename="profile")
    trainer = lightning.Trainer(
        max_epochs=config.training.max_epochs,
        profiler=profiler,
        callbacks=[ProfilerCallback(model_name=config.model.name, **config.profiling)],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Classifier(config.model.width, config.model.blocks, config.training.learning_rate)
    trainer.fit(model, load(config.data), load(config.data, 0.25))
    print(f"validation loss {float(trainer.callback_metrics['validation_loss']):.3f}")


if __name__ == "__main__":
    main()
