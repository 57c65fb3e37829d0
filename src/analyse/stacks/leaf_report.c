// SPDX-License-Identifier: Apache-2.0
// Without aggregation a row is a stack, as itwinai's report has it.
#include "analyse/stacks/leaf_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/package_path.h"
#include "base/array.h"
#include "base/fail.h"

#define ROW_LIMIT ((size_t)1 << 28)
#define GROUP_BYTES (64u << 20) // of as many ranks as nobody has

struct making {
    struct leaf_report report;
    const struct stack_set *set;
    const struct leaf_options *options;
    struct intern ranks; // their names, each once
    uint8_t *marks;      // by frame
};

enum { IS_CODE = 1, IS_IN_LIBRARY = 2 };

static const char *group_of(struct making *making, const struct stack_entry *entry)
{
    const enum leaf_group by = making->options->by;
    char words[40];
    if (by == LEAF_BY_PROCESS)
        return entry->process;
    if (by == LEAF_BY_THREAD)
        return entry->thread;
    if (by == LEAF_BY_PLACE)
        return making->options->places[entry->place];
    if (by == LEAF_BY_NOTHING || entry->rank < 0)
        return "";
    const int bytes = snprintf(words, sizeof words, "%lld", (long long)entry->rank);
    return intern_text(&making->ranks, (struct slice){(uint8_t *)words, (size_t)bytes});
}

static bool is_code(const struct stack_frame *frame, const struct leaf_options *options)
{
    return frame->kind == FRAME_NONE &&
           !(options->without_modules && strstr(frame->name, "<module>"));
}

// What is asked of each frame is asked once.
static int mark_frames(struct making *making)
{
    const struct leaf_options *options = making->options;
    const struct stack_set *set = making->set;
    making->marks = calloc(set->frame_count + 1, 1);
    if (!making->marks)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", set->frame_count);
    for (size_t i = 0; i < set->frame_count; i++) {
        if (!is_code(&set->frames[i], options))
            continue;
        making->marks[i] = IS_CODE;
        if (options->is_of_user
                ? package_path_is_users(set->frames[i].path)
                : !options->library || strstr(set->frames[i].path, options->library))
            making->marks[i] |= IS_IN_LIBRARY;
    }
    return 0;
}

// Of a sample in which there is no function of the user.
static const struct stack_frame nobodys = {.name = "", .path = ""};

static int add_row(struct making *making, const struct stack_entry *entry)
{
    const struct leaf_options *options = making->options;
    struct leaf_report *report = &making->report;
    const uint32_t *ids = &making->set->ids[entry->first];
    struct leaf_row row = {.count = entry->count, .times = entry->times};
    for (uint32_t depth = entry->depth; depth-- > 0;) {
        const struct stack_frame *frame = &making->set->frames[ids[depth]];
        const uint8_t mark = making->marks[ids[depth]];
        if (mark && !row.leaf)
            row.leaf = frame;
        if (mark & IS_IN_LIBRARY) {
            row.library = options->library || options->is_of_user ? frame : NULL;
            break;
        }
    }
    if (!row.leaf) {
        report->left_out += entry->count * entry->times;
        return 0;
    }
    if (options->is_of_user)
        row.leaf = row.library ? row.library : &nobodys;
    row.group = group_of(making, entry);
    if (!row.group)
        return GAIT_ERR_MEMORY; // the story is told
    int status = ARRAY_RESERVE(report->rows, report->capacity, report->count + 1, ROW_LIMIT);
    if (status == 0) {
        report->rows[report->count++] = row;
        report->samples += row.count * row.times;
    }
    return status;
}

static int compare_addresses(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int by_key(const void *a, const void *b)
{
    const struct leaf_row *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    if (order == 0)
        order = compare_addresses(x->leaf, y->leaf);
    return order ? order : compare_addresses(x->library, y->library);
}

// Numbers in names count as numbers: rank 10 comes after rank 9.
static int compare_groups(const char *a, const char *b)
{
    const long long x = strtoll(a, NULL, 10), y = strtoll(b, NULL, 10);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

static int by_count(const void *a, const void *b)
{
    const struct leaf_row *x = a, *y = b;
    int order = compare_groups(x->group, y->group);
    if (order)
        return order;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    order = strcmp(x->leaf->name, y->leaf->name);
    if (order == 0)
        order = strcmp(x->leaf->path, y->leaf->path);
    return order ? order : (x->leaf->line > y->leaf->line) - (x->leaf->line < y->leaf->line);
}

static void aggregate(struct leaf_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->count; i++) {
        report->rows[i].count *= report->rows[i].times;
        report->rows[i].times = 1;
    }
    qsort(report->rows, report->count, sizeof *report->rows, by_key);
    for (size_t i = 1; i < report->count; i++)
        if (by_key(&report->rows[kept], &report->rows[i]) == 0)
            report->rows[kept].count += report->rows[i].count;
        else
            report->rows[++kept] = report->rows[i];
    report->count = report->count ? kept + 1 : 0;
}

static void set_shares(struct leaf_report *report)
{
    for (size_t from = 0, to; from < report->count; from = to) {
        uint64_t all = 0;
        for (to = from;
             to < report->count && strcmp(report->rows[to].group, report->rows[from].group) == 0;
             to++)
            all += report->rows[to].count * report->rows[to].times;
        for (size_t i = from; i < to; i++)
            report->rows[i].share = all ? (double)report->rows[i].count / (double)all : 0;
    }
}

int leaf_report_make(const struct stack_set *set, const struct leaf_options *options,
                     struct leaf_report *ret_report)
{
    struct making making = {.set = set, .options = options};
    struct leaf_report *report = &making.report;
    arena_init(&report->arena, GROUP_BYTES);
    intern_init(&making.ranks, &report->arena);
    int status = mark_frames(&making);
    for (size_t i = 0; i < set->entry_count && status == 0; i++)
        status = add_row(&making, &set->entries[i]);
    intern_finish(&making.ranks);
    free(making.marks);
    if (status) {
        leaf_report_finish(report);
        return status;
    }
    if (options->is_aggregated && report->count)
        aggregate(report);
    ARRAY_SORT(report->rows, report->count, by_count);
    set_shares(report);
    *ret_report = *report;
    return 0;
}

void leaf_report_finish(struct leaf_report *report)
{
    free(report->rows);
    arena_finish(&report->arena);
    memset(report, 0, sizeof *report);
}
