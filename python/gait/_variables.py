# SPDX-License-Identifier: Apache-2.0
"""GAIT_PROFILING_… variables in Python alone: a training under `gait run` reads them, and
loads neither ctypes nor the library of settings for that.

The names of other tools are those of src/config/setting_alias.c, and what they bring along
is decided as in src/config/config_custom.c; tests/python/test_py_settings.py compares both.
"""

PREFIX = "GAIT_PROFILING_"

# name: (what it means, whether it is another trainer's argument, the unit that it tells)
ALIASES = {
    "enable_torch_profiling": ("enabled", True, ""),
    "torch_profiling": ("enabled", True, ""),
    "store_torch_profiling_traces": ("store_traces", True, ""),
    "store_torch_traces": ("store_traces", True, ""),
    "profiling_wait_epochs": ("wait", True, "epoch"),
    "profiling_warmup_epochs": ("warmup", True, "epoch"),
    "profiling_active_epochs": ("active", True, "epoch"),
    "measure_gpu_data": ("measure_gpu_data", True, ""),
    "measure_epoch_time": ("measure_epoch_time", True, ""),
    "py_spy": ("py_spy", True, ""),
    "profiler": ("profiler", True, ""),
    "profile": ("enabled", True, ""),
    "wait_steps": ("wait", False, "step"),
    "warmup_steps": ("warmup", False, "step"),
    "active_steps": ("active", False, "step"),
    "repeat_cycles": ("repeat", False, "step"),
    "schedule_every_n_steps": ("every_n_steps", False, "step"),
    "wait_epochs": ("wait", False, "epoch"),
    "warmup_epochs": ("warmup", False, "epoch"),
    "active_epochs": ("active", False, "epoch"),
    "dirpath": ("output_dir", False, ""),
    "filename": ("worker_name", False, ""),
    "export_to_chrome": ("store_traces", False, ""),
    "emit_nvtx": ("nsight_enabled", False, ""),
    "record_module_names": ("with_modules", False, ""),
    "sort_by_key": ("sort_by", False, ""),
    "group_by_input_shapes": ("group_by_input_shape", False, ""),
    "nsight": ("nsight_enabled", False, ""),
    "stack": ("with_stack", False, ""),
    "memory": ("profile_memory", False, ""),
    "shapes": ("record_shapes", False, ""),
}

SCHEDULE = {"skip_first", "wait", "warmup", "active", "repeat", "every_n_steps", "epochs"}
# what asks for no recording of ops by itself
OF_OTHERS = {
    "enabled",
    "profiler",
    "measure_epoch_time",
    "measure_gpu_data",
    "py_spy",
    "py_spy_rate",
    "line_count_restriction",
    "dump_stats",
    "extended",
}


class Said:
    """One variable: by which name it says something, and what."""

    def __init__(self, variable, text, keys) -> None:
        name = variable[len(PREFIX) :].lower()
        if variable == "GAIT_PROFILER":
            name = "profiler"
        self.is_own_name = name in keys
        own = (name, False, "")
        self.key, self.is_trainers, self.unit = own if self.is_own_name else ALIASES.get(name, own)
        if self.key not in keys:
            raise ValueError(f"no setting '{variable}' in the environment")
        self.variable, self.name, self.text = variable, name, text


def read(config, environment):
    """Sets what the variables say, and what follows from it."""
    keys = vars(type(config))["__dataclass_fields__"]
    said = [
        Said(variable, environment[variable], keys)
        for variable in environment
        if (variable.startswith(PREFIX) or variable == "GAIT_PROFILER") and environment[variable]
    ]
    said.sort(key=lambda one: one.is_own_name)  # own names count over others
    for one in said:
        value = value_of(one.variable, one.text, type(keys[one.key].default))
        setattr(config, one.key, value)
    counts = {one.key: one for one in said}
    if "enabled" not in counts:
        config.enabled = config.profiler == "pytorch" and any(map(asks, said))
    settle_unit(config, said, counts)
    is_trainers = "enabled" in counts and counts["enabled"].name.endswith("torch_profiling")
    if is_trainers and config.enabled and "store_traces" not in counts:
        config.store_traces = False
    return config


def asks(one):
    """Does it ask for ops by itself?"""
    if one.key == "profiler":
        return one.text == "pytorch"
    return one.key not in OF_OTHERS and not one.is_trainers


def settle_unit(config, said, counts) -> None:
    is_guides = any(
        one.key in SCHEDULE or one.name in ("torch_profiling", "enable_torch_profiling")
        for one in said
    )
    is_guides = is_guides and not any(one.name == "profile" for one in said)
    if "unit" not in counts:
        told = [one.unit for one in said if one.unit]
        usual = "step" if "every_n_steps" in counts else "epoch"
        config.unit = told[-1] if told else usual if is_guides else "step"
    if is_guides and "skip_first" not in counts:
        config.skip_first = 0


def value_of(name, text, kind):
    """In the form that the tool gives it or as people write it."""
    word = text.strip().lower()
    if kind is bool:
        if word in ("1", "true", "yes", "on", "y"):
            return True
        if word in ("0", "false", "no", "off", "n"):
            return False
        raise ValueError(f"{name} takes true or false, not '{text}'")
    if kind is int:
        try:
            return int(word)
        except ValueError:
            raise ValueError(f"{name} takes a number, not '{text}'") from None
    return text
