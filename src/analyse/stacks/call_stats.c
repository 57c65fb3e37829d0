// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Python's pstats: sums in the file's order before anything is
// merged, a stable sort, a share that rounds half up.
#define _GNU_SOURCE
#include "analyse/stacks/call_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum field { PRIMITIVE, CALLS, OWN, TOTAL, FILE_NAME, LINE, NAME, NO_FIELD };

struct order {
    const char *name, *words;
    enum field fields[3];
    int direction; // 1: the smallest first
};

const char *const call_stats_orders[] = {
    "cumulative", "cumtime", "time", "tottime", "calls", "ncalls", "pcalls",
    "filename",   "module",  "line", "name",    "nfl",   NULL,
};

static const struct order orders[] = {
    {"cumulative", "cumulative time", {TOTAL, NO_FIELD, NO_FIELD}, -1},
    {"cumtime", "cumulative time", {TOTAL, NO_FIELD, NO_FIELD}, -1},
    {"time", "internal time", {OWN, NO_FIELD, NO_FIELD}, -1},
    {"tottime", "internal time", {OWN, NO_FIELD, NO_FIELD}, -1},
    {"calls", "call count", {CALLS, NO_FIELD, NO_FIELD}, -1},
    {"ncalls", "call count", {CALLS, NO_FIELD, NO_FIELD}, -1},
    {"pcalls", "primitive call count", {PRIMITIVE, NO_FIELD, NO_FIELD}, -1},
    {"filename", "file name", {FILE_NAME, NO_FIELD, NO_FIELD}, 1},
    {"module", "file name", {FILE_NAME, NO_FIELD, NO_FIELD}, 1},
    {"line", "line number", {LINE, NO_FIELD, NO_FIELD}, 1},
    {"name", "function name", {NAME, NO_FIELD, NO_FIELD}, 1},
    {"nfl", "name/file/line", {NAME, FILE_NAME, LINE}, 1},
};

static const struct order *find_order(const char *name)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (!strcmp(orders[i].name, name))
            return &orders[i];
    return NULL;
}

// --- merging ---

static void cut_folder(struct prof_row *row)
{
    const uint8_t *slash = row->file.count ? memrchr(row->file.bytes, '/', row->file.count) : NULL;
    if (!slash)
        return;
    row->file.count -= (size_t)(slash + 1 - row->file.bytes);
    row->file.bytes = slash + 1;
}

static void add_row(struct prof_row *sum, const struct prof_row *row)
{
    sum->primitive_calls += row->primitive_calls;
    sum->calls += row->calls;
    sum->own_seconds += row->own_seconds;
    sum->seconds += row->seconds;
    sum->is_top_level |= row->is_top_level;
}

static int merge(struct prof_file *file)
{
    struct prof_places places;
    int status = prof_places_init(&places, &file->arena, file->count);
    size_t kept = 0;
    for (size_t i = 0; i < file->count && !status; i++) {
        struct prof_row row = file->rows[i];
        cut_folder(&row);
        size_t place = prof_places_find(&places, file->rows, kept, &row);
        if (place < kept)
            add_row(&file->rows[place], &row);
        else
            file->rows[kept++] = row;
    }
    if (!status)
        file->count = kept;
    return status;
}

// --- order ---

static int compare_texts(struct slice a, struct slice b)
{
    size_t common = a.count < b.count ? a.count : b.count;
    int order = common ? memcmp(a.bytes, b.bytes, common) : 0;
    return order ? order : (a.count > b.count) - (a.count < b.count);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_field(const struct prof_row *a, const struct prof_row *b, enum field field)
{
    switch (field) {
    case PRIMITIVE:
        return COMPARE(a->primitive_calls, b->primitive_calls);
    case CALLS:
        return COMPARE(a->calls, b->calls);
    case OWN:
        return COMPARE(a->own_seconds, b->own_seconds);
    case TOTAL:
        return COMPARE(a->seconds, b->seconds);
    case FILE_NAME:
        return compare_texts(a->file, b->file);
    case LINE:
        return COMPARE(a->line, b->line);
    case NAME:
        return compare_texts(a->name, b->name);
    default:
        return 0;
    }
}

static int compare_rows(const void *left, const void *right, void *given)
{
    const struct prof_row *a = *(const struct prof_row *const *)left;
    const struct prof_row *b = *(const struct prof_row *const *)right;
    const struct order *order = given;
    for (int i = 0; i < 3 && order->fields[i] != NO_FIELD; i++) {
        int difference = compare_field(a, b, order->fields[i]);
        if (difference)
            return difference * order->direction;
    }
    return COMPARE(a, b); // equal ones stay as they came
}

// --- limit ---

static size_t limit_of(const struct call_limit *limit, size_t count)
{
    if (limit->is_share && limit->share >= 0.0 && limit->share < 1.0)
        return (size_t)((double)count * limit->share + .5);
    if (limit->is_number && limit->number >= 0 && limit->number < (__int128)count)
        return (size_t)limit->number;
    return count;
}

int call_stats_make(struct prof_file *file, const char *order, const struct call_limit *limit,
                    struct call_stats *ret_stats)
{
    struct call_stats stats = {.calls = 0};
    const struct order *how = find_order(order);
    if (!how)
        return fail(GAIT_ERR_ARGUMENT, "unknown order '%s'", order);
    for (size_t i = 0; i < file->count; i++) {
        stats.calls += file->rows[i].calls;
        stats.primitive_calls += file->rows[i].primitive_calls;
        stats.seconds += file->rows[i].own_seconds;
    }
    int status = merge(file);
    if (status)
        return status;
    stats.rows = arena_take(&file->arena, file->count * sizeof *stats.rows);
    stats.top = arena_take(&file->arena, file->count * sizeof *stats.top);
    if (!stats.rows || !stats.top)
        return GAIT_ERR_MEMORY;
    for (size_t i = 0; i < file->count; i++) {
        stats.rows[i] = &file->rows[i];
        if (file->rows[i].is_top_level)
            stats.top[stats.top_count++] = &file->rows[i];
    }
    qsort_r(stats.rows, file->count, sizeof *stats.rows, compare_rows, (void *)how);
    stats.ordered_by = how->words;
    stats.all_count = file->count;
    stats.count = limit_of(limit, file->count);
    *ret_stats = stats;
    return GAIT_OK;
}
