# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and logs of torch and the standard library."""

import logging

import torch

from .wrap import replace, replace_all, share


def install() -> None:
    replace_all(torch.serialization, "save load", "checkpoint")
    for name in ("save", "load"):
        share(torch.serialization, name, torch)
    replace(logging.Handler, "handle", "logging")
