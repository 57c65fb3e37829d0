# SPDX-License-Identifier: Apache-2.0
"""fastai's Learner with its own Adam; gradients of `argv[1]` batches of 8 make a step."""

import sys

import torch
from fastai.callback.core import Callback
from fastai.callback.training import GradientAccumulation
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from fastai.optimizer import Adam
from plants import tell
from torch.utils.data import TensorDataset

epochs = []


class Counts(Callback):
    def before_train(self):
        epochs.append(0)

    def after_step(self):
        epochs[-1] += 1


torch.manual_seed(14)
x = torch.randn(48, 4)
y = x.sum(1, keepdim=True)
train = DataLoader(TensorDataset(x, y), bs=8, shuffle=True, num_workers=0)
valid = DataLoader(TensorDataset(x[:24], y[:24]), bs=8, num_workers=0)
body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
model = torch.nn.Sequential(body, torch.nn.Linear(8, 1))
body.eval()
assert body(x[:2]).shape[1] == 8  # how many features it has, as cut models are asked
learner = Learner(
    DataLoaders(train, valid),
    model,
    loss_func=torch.nn.MSELoss(),
    opt_func=Adam,
    cbs=[GradientAccumulation(8 * int(sys.argv[1])), Counts()],
)
with learner.no_bar(), learner.no_logging():
    learner.fit(2)
tell(sum(epochs), [], epochs=epochs)
