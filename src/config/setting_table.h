// SPDX-License-Identifier: Apache-2.0
// Everything that can be set, as data: what is read from files, variables and
// the command line, what `gait config` shows, what docs/CONFIG.md and
// gait-config(1) say, and what gait.Config holds, come from this table.
//
// A new setting is a line of the enum and one of the table in setting_table.c;
// tests/python/test_py_config.py tells when gait.Config lacks it.
#ifndef GAIT_CONFIG_SETTING_TABLE_H
#define GAIT_CONFIG_SETTING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum setting_id {
    SETTING_ENABLED,
    SETTING_UNIT,
    SETTING_SKIP_FIRST,
    SETTING_SKIP_FIRST_WAIT,
    SETTING_WAIT,
    SETTING_WARMUP,
    SETTING_ACTIVE,
    SETTING_REPEAT,
    SETTING_EVERY_N_STEPS,
    SETTING_EPOCHS,
    SETTING_ACTIVITIES,
    SETTING_RECORD_SHAPES,
    SETTING_PROFILE_MEMORY,
    SETTING_WITH_STACK,
    SETTING_WITH_FLOPS,
    SETTING_WITH_MODULES,
    SETTING_STORE_TRACES,
    SETTING_OUTPUT_DIR,
    SETTING_WORKER_NAME,
    SETTING_USE_GZIP,
    SETTING_MAX_TRACE_SIZE,
    SETTING_TABLE,
    SETTING_SORT_BY,
    SETTING_ROW_LIMIT,
    SETTING_GROUP_BY_INPUT_SHAPE,
    SETTING_GROUP_BY_STACK_N,
    SETTING_NSIGHT_ENABLED,
    SETTING_NSIGHT_OUTPUT,
    SETTING_PROFILER,
    SETTING_MEASURE_EPOCH_TIME,
    SETTING_MEASURE_GPU_DATA,
    SETTING_PY_SPY,
    SETTING_PY_SPY_RATE,
    SETTING_LINE_COUNT_RESTRICTION,
    SETTING_DUMP_STATS,
    SETTING_EXTENDED,
    SETTING_EXPORT_TO_FLAME_GRAPH,
    SETTING_METRIC,
    SETTING_DIRECTORY,
    SETTING_OVERFLOW,
    SETTING_RING,
    SETTING_WINDOWS,
    SETTING_INDUCTOR_KERNELS,
    SETTING_TAGS,
    SETTING_METADATA,
    SETTING_COUNT,
};

enum setting_kind {
    SETTING_BOOL,
    SETTING_NUMBER,
    SETTING_SIZE,   // bytes: 65536, 64K, 16M
    SETTING_CHOICE, // one of `choices`
    SETTING_LIST,   // some of `choices`, with commas between
    SETTING_TEXT,
};

struct setting {
    const char *name; // section and key: "profiling.wait"
    enum setting_kind kind;
    const char *standard; // its default, in canonical form; "" is none
    int64_t low, high;    // of numbers and sizes
    const char *unit;     // what a number counts, or NULL
    const char *const *choices;
    bool (*is_legal)(const char *text);       // of a text, or NULL: any that is not empty
    const char *takes;                        // what is_legal() wants, in words
    const char *(*why_not)(const char *text); // "takes ...", where there are several reasons; NULL
    const char *variable;                     // of the environment
    const char *option;                       // of gait run, where it has one of its own
    const char *help;                         // one sentence, no full stop
};

extern const struct setting setting_table[SETTING_COUNT];

// The part of its name behind the section: "wait".
const char *setting_key(const struct setting *setting);

// What a value may be, in a few words: "a number of units from 0".
void setting_describe_values(const struct setting *setting, char *out, unsigned room);

#endif
