// SPDX-License-Identifier: Apache-2.0
// What `gait leaf --lines` answers: a table as itwinai's report has it.
#ifndef GAIT_ANSWER_LEAF_ANSWER_H
#define GAIT_ANSWER_LEAF_ANSWER_H

#include "analyse/stacks/leaf_report.h"

struct sheet;

struct leaf_answer {
    const struct leaf_report *report;
    const struct stack_set *set;
    bool has_library;  // columns for it
    const char *group; // "process"; NULL: no column for groups
    uint64_t rows;     // at most, of each group
};

void leaf_answer_put(struct sheet *sheet, const struct leaf_answer *answer);

#endif
