// SPDX-License-Identifier: Apache-2.0
// Where samples ended: the innermost function of each stack, and the innermost
// one that belongs to a library of the user's choice.
#ifndef GAIT_ANALYSE_LEAF_REPORT_H
#define GAIT_ANALYSE_LEAF_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "analyse/stacks/stack_set.h"

enum leaf_group { LEAF_BY_NOTHING, LEAF_BY_PROCESS, LEAF_BY_RANK, LEAF_BY_THREAD, LEAF_BY_PLACE };

struct leaf_options {
    const char *library;  // a part of its paths; NULL: no library
    bool is_of_user;      // in place of both the innermost one of the user's own code
    bool is_aggregated;   // equal rows become one
    bool without_modules; // frames named <module> are left out, as itwinai does
    enum leaf_group by;
    const char *const *places; // their names, with LEAF_BY_PLACE
};

struct leaf_row {
    const struct stack_frame *leaf, *library; // library NULL: not found
    const char *group;                        // "" with LEAF_BY_NOTHING
    uint64_t count;
    uint32_t times; // equal rows that it stands for
    double share;   // of all samples, or of the group's
};

struct leaf_report {
    struct leaf_row *rows; // most samples first; groups in order of their names
    size_t count, capacity;
    uint64_t samples;   // in rows
    uint64_t left_out;  // in stacks without a function
    struct arena arena; // holds the names of ranks
};

GAIT_CHECK int leaf_report_make(const struct stack_set *set, const struct leaf_options *options,
                                struct leaf_report *ret_report);
void leaf_report_finish(struct leaf_report *report);

#endif
