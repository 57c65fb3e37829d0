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

// A set of lines, the last of which are of the second place.
static void make_places(struct stack_set *set, const char *const *lines, size_t count, size_t first)
{
    stack_set_init(set);
    for (size_t i = 0; i < count; i++)
        ok(!stack_set_add_line(set, slice_of(lines[i])));
    is_u64(set->entry_count, count);
    for (size_t i = 0; i < set->entry_count; i++)
        set->entries[i].place = i >= first;
}

TEST("leaf_report: of each place the innermost lines of the user, of all its samples")
{
    static const char *const lines[] = {
        "main (train.py:3);augment (train.py:6);f (/lib/python3.11/random.py:9) 5",
        "main (train.py:4);augment (train.py:6) 1",
        "main (train.py:3);collate (/v/site-packages/torch/c.py:1) 2",
        "_load (<frozen os>:1);g (/lib/python3.11/a.py:2) 4",
        "main (train.py:3);measure (train.py:8) 7",
    };
    static const char *const places[] = {"input", "other"};
    const struct leaf_options options = {
        .is_of_user = true, .is_aggregated = true, .by = LEAF_BY_PLACE, .places = places};
    static const struct {
        const char *group, *name;
        int32_t line;
        uint64_t count;
        double share;
    } wanted[] = {{"input", "augment", 6, 6, 6. / 12},
                  {"input", "", 0, 4, 4. / 12},
                  {"input", "main", 3, 2, 2. / 12},
                  {"other", "measure", 8, 7, 1}};
    struct leaf_report report;
    struct stack_set set;
    make_places(&set, lines, 5, 4);
    ok(!leaf_report_make(&set, &options, &report));
    is_u64(report.count, 4);
    for (size_t i = 0; i < report.count && i < 4; i++) {
        const struct leaf_row *row = &report.rows[i];
        is_str(row->group, wanted[i].group);
        is_str(row->leaf->name, wanted[i].name);
        is_u64((uint64_t)row->leaf->line, (uint64_t)wanted[i].line);
        is_u64(row->count, wanted[i].count);
        ok(row->share == wanted[i].share);
        ok(!row->library == !*wanted[i].name);
    }
    leaf_report_finish(&report);
    stack_set_finish(&set);
}
