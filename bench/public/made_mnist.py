#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of Keras with made digits: Keras takes no file but MNIST's own, by its digest.

usage: made_mnist.py PROGRAM [ARGUMENT ...]     ($KERAS_HOME/datasets/mnist.npz has the digits)
"""

import os
import runpy
import sys

import keras
import numpy


def load_data(path="mnist.npz"):
    with numpy.load(os.path.join(os.environ["KERAS_HOME"], "datasets", path)) as file:
        return tuple((file[f"x_{name}"], file[f"y_{name}"]) for name in ("train", "test"))


if __name__ == "__main__":
    keras.datasets.mnist.load_data = load_data
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
