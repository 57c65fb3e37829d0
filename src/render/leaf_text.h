// SPDX-License-Identifier: Apache-2.0
// `gait leaf`: a table as itwinai's report has it, and JSON.
#ifndef GAIT_RENDER_LEAF_TEXT_H
#define GAIT_RENDER_LEAF_TEXT_H

#include <stdio.h>

#include "analyse/stacks/leaf_report.h"

struct leaf_text {
    const struct leaf_report *report;
    const struct stack_set *set;
    bool has_library;  // columns for it
    const char *group; // "process"; NULL: no column for groups
    uint64_t rows;     // at most, of each group
};

void leaf_text_put(FILE *out, const struct leaf_text *text);
void leaf_text_put_json(FILE *out, const struct leaf_text *text);

#endif
