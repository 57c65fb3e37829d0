# SPDX-License-Identifier: Apache-2.0
"""Lightning: a bar, TensorBoard, validation, checkpoints; gradients of `argv[1]` batches."""

import sys

import lightning
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from plants import SlowGradient, SlowToSave, delay, tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate

lightning.seed_everything(11, verbose=False)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
        self.losses = []

    def forward(self, x):
        delay("forward" if self.training else "evaluation")
        return SlowGradient.apply(self.net(x))

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, _):
        self.log("valid", nn.functional.mse_loss(self(batch[0]), batch[1]))

    def on_save_checkpoint(self, checkpoint):
        checkpoint["more"] = SlowToSave()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def collate(samples):
    delay("collate")
    return default_collate(samples)


data = TensorDataset(torch.randn(88, 8), torch.randn(88, 1))
module = Module()
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    devices=1,
    accumulate_grad_batches=int(sys.argv[1]),
    log_every_n_steps=2,
    logger=TensorBoardLogger("."),
    enable_model_summary=False,
)
trainer.fit(
    module,
    DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate),
    DataLoader(data, batch_size=22),
)
tell(trainer.global_step, module.losses, epochs=[trainer.global_step // 3] * 3)
