// SPDX-License-Identifier: Apache-2.0
#include "analyse/stacks/leaf_report.h"

#include <stdio.h>

#include "base/slice.h"
#include "support/tap.h"

enum { ENTRIES = 1000, RANKS = 3 };

TEST("leaf_report: the rows of a rank share its name, however many there are")
{
    const struct leaf_options options = {.by = LEAF_BY_RANK};
    struct leaf_report report;
    struct stack_set set;
    const char *names[RANKS] = {NULL};
    bool are_shared = true;
    stack_set_init(&set);
    for (int i = 0; i < ENTRIES; i++) {
        char line[64];
        snprintf(line, sizeof line, "step (train.py:%d) 2", i + 1);
        ok(!stack_set_add_line(&set, slice_of(line)));
    }
    is_u64(set.entry_count, ENTRIES);
    for (size_t i = 0; i < set.entry_count; i++)
        set.entries[i].rank = (int64_t)i % RANKS;
    ok(!leaf_report_make(&set, &options, &report));
    is_u64(report.count, ENTRIES);
    for (size_t i = 0; i < report.count; i++) {
        const char **name = &names[report.rows[i].group[0] - '0'];
        are_shared = are_shared && (!*name || *name == report.rows[i].group);
        *name = report.rows[i].group;
    }
    ok(are_shared);
    for (int i = 0; i < RANKS; i++)
        ok(names[i][0] == '0' + i);
    leaf_report_finish(&report);
    stack_set_finish(&set);
}
