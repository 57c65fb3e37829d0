# SPDX-License-Identifier: Apache-2.0
"""Keras on torch: fit() with validation, each batch a step."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
from plants import tell

epochs = []


class Counts(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        epochs.append(0)

    def on_train_batch_end(self, batch, logs=None):
        epochs[-1] += 1


keras.utils.set_random_seed(15)
x = keras.random.normal((48, 4)).cpu().numpy()
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(), loss="mse")
model.fit(
    x, y, batch_size=8, epochs=2, validation_data=(x[:24], y[:24]), verbose=0, callbacks=[Counts()]
)
tell(sum(epochs), [], epochs=epochs)
