# SPDX-License-Identifier: Apache-2.0
"""Words that stand in recordings, for C and Python alike.

Made by tools/make-vocabulary from src/vocabulary: run `make docs`, do not edit.
"""

# Keys of metadata.
META_FORMAT_VERSION = "format_version"
META_HOST = "host"
META_PID = "pid"
META_START_NS = "start_ns"
META_PROCESS_START_NS = "process_start_ns"
META_PROCESS_START_ERROR_NS = "process_start_error_ns"
META_ROLE = "role"
META_RUN_ID = "run_id"
META_INVOCATION = "invocation"
META_SUBJECT_PID = "subject_pid"
META_RANK = "rank"
META_PROGRAM = "program"
META_COMMAND = "command"
META_TAGS = "tags"
META_COMMIT = "commit"
META_MACHINE = "machine"
META_PYTHON = "python"
META_PACKAGES = "packages"
META_TICK_HZ = "tick_hz"
META_OVERFLOW = "overflow"
META_RING_BYTES = "ring_bytes"
META_SESSION = "session"
META_RING = "ring"
META_EXIT = "exit"
META_FAILURE = "failure"
META_NAMES_LOST = "names_lost"
META_SETTINGS_IGNORED = "settings_ignored"
META_LOST_ON_KILL = "lost_on_kill"
META_COLLECTORS = "collectors"
META_FACTS_OF = "facts_of"
META_SOURCE = "source"
META_IMPORT = "import"
META_DEVICES_OF = "devices_of"
META_DEVICES_UNTIL_NS = "devices_until_ns"
META_IMPORT_BASE_NS = "import_base_ns"
META_TRACE_NAMES = "trace_names"
META_TRACE_NAME_COUNTS = "trace_name_counts"
META_SAMPLER = "sampler"
META_METER = "meter"
META_TORCH = "torch"
META_DISTRIBUTED = "distributed"
META_LIGHTNING_MODULE = "lightning_module"
META_DEVICE_NAME = "device_name"
META_COST_NS = "cost_ns"
META_COST_NS_HOOKS = "cost_ns.hooks"
META_OPS_LOST = "ops_lost"
META_DEVICES = "devices"
META_MEMORY_PEAK = "memory_peak"
META_SCHEDULE_END = "schedule_end"
META_SPARE_WINDOW = "spare_window"

# What became of a spare window, see META_SPARE_WINDOW.
SPARE_DROPPED = "dropped"
SPARE_KEPT = "kept"
SPARE_STEPPED = "stepped"
SPARE_CUT = "cut"

# The site of a role: its category, and its name where it has one of its own.
OP = "cpu_op"
ANNOTATION = "user_annotation"
STEP = ("user_annotation", "ProfilerStep#")
MODULE = "module"
MODULE_BACKWARD = "module_backward"
PYTHON = "python_function"
MEMORY = "memory"
PHASE = "phase"
WINDOW = ("torch", "window")
DEVICES = ("torch", "devices")
CAPTURE = ("torch", "capture")
EPOCH = ("torch", "epoch")
EXIT = ("torch", "exit")
STEP_CPU = ("torch", "cpu")
STEP_WAITS = ("torch", "waits")
FETCH = ("loader", "fetch")
COLLATE = ("loader", "collate")
PROCESS_MEMORY = ("process", "memory")
PROCESSOR_WAIT = ("process", "processor_wait")
KERNEL = "kernel"
COLLECTIVE = "collective_comm"
COPY = "gpu_memcpy"
SET = "gpu_memset"
DEVICE_ANNOTATION = "gpu_user_annotation"
RUNTIME = "cuda_runtime"
SYNC = "cuda_sync"
OVERHEAD = "overhead"
LINK = "ac2g"
READING = "hardware_counters"
RECORDING = "Trace"

# The phases of a step that every report names.
PHASES = (
    "input",
    "copy",
    "forward",
    "backward",
    "optimizer",
    "communication",
    "gc",
    "compile",
    "checkpoint",
    "evaluation",
    "logging",
    "other",
)
