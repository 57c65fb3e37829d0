// SPDX-License-Identifier: Apache-2.0
// How the command of a run ended: `.gait-end` in its folder, one line of JSON, which `gait run`
// writes. The shards tell of their own processes, and not of those that they were the ranks of.
#ifndef GAIT_LOAD_RUN_OUTCOME_H
#define GAIT_LOAD_RUN_OUTCOME_H

#include <stdbool.h>

#include <gait/error.h>

#define RUN_OUTCOME_NAME ".gait-end"

struct run_outcome {
    bool is_known;
    unsigned code, signal; // both 0: it ended well
};

// Not known where there is no such file, or none that makes sense.
struct run_outcome run_outcome_read(const char *directory);

// With `is_one_of_many`, of several that share a folder: what another one failed with stays.
GAIT_CHECK int run_outcome_write(const char *directory, struct run_outcome outcome,
                                 bool is_one_of_many);

// Of {"code": 3} and {"signal": 9}, as shards have it, too.
struct run_outcome run_outcome_parse(const char *json);

#endif
