# SPDX-License-Identifier: Apache-2.0
"""What a program's own configuration holds, as the words of a command line."""

import dataclasses
import enum
import os


def words_of(given, fields):
    """Its settings: of a dict, an OmegaConf section, a pydantic model, a dataclass as tyro
    fills it, an argparse.Namespace. What is None was not said.

    A structured config holds each of our `fields`: what is as ever was not said then, but
    whether it is on, and what it counts.
    """
    words = []
    for key, value in pairs_of(given):
        known = fields.get(key)
        is_usual = known is not None and value == known.default
        if value is None or (is_usual and key not in ("enabled", "unit", "skip_first")):
            continue
        words.append(f"profiling.{key}={text_of(value)}")
    return words


def pairs_of(given):
    if isinstance(given, bool):  # `profiling: true`
        return [("enabled", given)]
    if hasattr(given, "keys"):
        return [(key, given[key]) for key in given.keys()]  # noqa: SIM118, OmegaConf's has no items
    if dataclasses.is_dataclass(given):
        return [(field.name, getattr(given, field.name)) for field in dataclasses.fields(given)]
    if hasattr(type(given), "model_fields") or hasattr(type(given), "__fields__"):  # pydantic
        return list(given)
    if hasattr(given, "__dict__"):
        return list(vars(given).items())
    raise TypeError(f"a section has keys and values: a {type(given).__name__} has none")


def text_of(value):
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ListConfig":
        return ",".join(map(text_of, value))
    return str(value)
