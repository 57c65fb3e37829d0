// SPDX-License-Identifier: Apache-2.0
// What a file says is checked where it is read: of a group that says what cannot be, no row is
// told.
#include "facts/lod.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "facts/fact_cells.h"
#include "facts/facts_file.h"

enum { MOST_SPANS = 1 << 26 };

struct lod {
    struct facts_file *file;
    struct lod_lane *lanes;
    struct lod_group *groups;
    size_t lane_count, group_count;
    size_t *frames; // of each group: the place of its first in the list of rows
};

// --- the lists -------------------------------------------------------------------------

static bool is_level(uint32_t level)
{
    return level == LOD_SINGLE ||
           (level >= LOD_FIRST && level <= LOD_LAST && level % LOD_STEP == 0);
}

static bool is_sane_group(const struct lod_group *group, const struct lod_group *before)
{
    const bool is_next = !before || before->level < group->level ||
                         (before->level == group->level && before->until_ns <= group->since_ns);
    return is_level(group->level) && is_next && group->since_ns < group->until_ns && group->rows &&
           group->rows <= group->spans && (!group->is_kept || group->rows <= MOST_SPANS);
}

static size_t frames_of(const struct lod_group *group)
{
    return group->is_kept ? (size_t)(group->rows + FACT_ROWS - 1) / FACT_ROWS : 0;
}

static bool are_sane(struct lod *lod)
{
    size_t frames = 0;
    bool are = true;
    for (size_t i = 0; i < lod->lane_count; i++)
        are &= lod->lanes[i].depth <= LOD_MOST_DEPTH && lod->lanes[i].spans &&
               lod->lanes[i].start_ns <= lod->lanes[i].end_ns;
    for (size_t i = 0; i < lod->group_count && are; i++) {
        are = is_sane_group(&lod->groups[i], i ? &lod->groups[i - 1] : NULL);
        lod->frames[i] = frames;
        frames += frames_of(&lod->groups[i]);
    }
    return are && frames == facts_file_frames(lod->file, &lod_row_list);
}

// 1: they are there; 0: not on record.
static int take(struct lod *lod)
{
    int status = facts_file_take(lod->file, &lod_lane_list, (void **)&lod->lanes, &lod->lane_count);
    if (status == 1)
        status =
            facts_file_take(lod->file, &lod_group_list, (void **)&lod->groups, &lod->group_count);
    if (status != 1)
        return status;
    lod->frames = calloc(lod->group_count + 1, sizeof *lod->frames);
    return lod->frames ? are_sane(lod) : fail(GAIT_ERR_MEMORY, "no memory for levels of detail");
}

int lod_open(struct lod **ret_lod, struct gait_trace *trace, uint32_t shard)
{
    *ret_lod = NULL;
    struct lod *lod = calloc(1, sizeof *lod);
    if (!lod)
        return fail(GAIT_ERR_MEMORY, "no memory for levels of detail");
    int status = facts_file_open(&lod->file, trace, shard);
    if (!status && lod->file)
        status = take(lod);
    if (status == 1)
        *ret_lod = lod;
    else
        lod_close(lod);
    return status < 0 ? status : GAIT_OK;
}

void lod_close(struct lod *lod)
{
    if (!lod)
        return;
    facts_file_close(lod->file);
    free(lod->lanes);
    free(lod->groups);
    free(lod->frames);
    free(lod);
}

const struct lod_lane *lod_lanes(const struct lod *lod, size_t *ret_count)
{
    *ret_count = lod->lane_count;
    return lod->lanes;
}

const struct lod_group *lod_groups(const struct lod *lod, size_t *ret_count)
{
    *ret_count = lod->group_count;
    return lod->groups;
}

// --- a window --------------------------------------------------------------------------

static uint64_t ns_of(uint64_t units, unsigned bits)
{
    return units > UINT64_MAX >> bits ? UINT64_MAX : units << bits;
}

static bool tell_times(const struct lod_row *row, unsigned bits, struct lod_span *span)
{
    span->busy_ns = ns_of(row->busy, bits);
    span->longest_ns = ns_of(row->longest, bits);
    return row->longest <= row->busy && row->longest <= row->length;
}

static bool tell_values(const struct lod_row *row, struct lod_span *span)
{
    span->is_counter = true;
    memcpy(&span->least, &row->busy, sizeof span->least);
    memcpy(&span->most, &row->longest, sizeof span->most);
    memcpy(&span->last, &row->last, sizeof span->last);
    return span->least <= span->last && span->last <= span->most;
}

// False where no span can be so.
static bool make_span(const struct lod *lod, const struct lod_group *group,
                      const struct lod_row *row, struct lod_span *ret_span)
{
    const unsigned bits = lod_unit_bits(group->level);
    int64_t start_ns, end_ns;
    if (row->lane >= lod->lane_count || !row->count ||
        __builtin_mul_overflow(row->start, INT64_C(1) << bits, &start_ns) ||
        start_ns < group->since_ns || start_ns >= group->until_ns)
        return false;
    if (__builtin_add_overflow(start_ns, ns_of(row->length, bits), &end_ns))
        end_ns = INT64_MAX;
    *ret_span = (struct lod_span){.start_ns = start_ns,
                                  .end_ns = end_ns,
                                  .count = row->count,
                                  .site = row->site,
                                  .depth = lod->lanes[row->lane].depth,
                                  .frame = row->frame};
    return end_ns <= group->reach_ns &&
           (lod->lanes[row->lane].counter == GAIT_NO_SITE ? tell_times(row, bits, ret_span)
                                                          : tell_values(row, ret_span));
}

static bool touches(const struct lod_window *window, int64_t start_ns, int64_t end_ns)
{
    return start_ns < window->until_ns &&
           (end_ns > window->since_ns || start_ns >= window->since_ns);
}

// 1, 0 where the frame says what cannot be, or an error.
static int add_frame(const struct lod *lod, const struct lod_group *group,
                     const struct lod_window *window, const struct fact_taken *taken,
                     struct lod_rows *rows)
{
    const struct lod_row *row = taken->rows;
    int status = 1;
    for (size_t i = 0; i < taken->count && status == 1; i++, row++) {
        struct lod_span span;
        if (!make_span(lod, group, row, &span))
            return 0;
        if (lod->lanes[row->lane].track != window->track ||
            !touches(window, span.start_ns, span.end_ns))
            continue;
        const int added = ARRAY_ADD(rows->spans, rows->count, rows->capacity, MOST_SPANS, &span);
        status = added ? added : 1;
    }
    return status;
}

static int add_group(struct lod *lod, size_t number, const struct lod_window *window,
                     struct lod_rows *rows)
{
    const struct lod_group *group = &lod->groups[number];
    size_t left = group->rows;
    int status = 1;
    for (size_t i = 0; i < frames_of(group) && status == 1; i++) {
        struct fact_taken taken;
        status = facts_file_take_frame(lod->file, &lod_row_list, lod->frames[number] + i, &taken);
        const size_t due = left < FACT_ROWS ? left : FACT_ROWS;
        if (status == 1)
            status = taken.count == due ? add_frame(lod, group, window, &taken, rows) : 0;
        left -= due;
        free(taken.rows);
    }
    return status;
}

// No more of it than the window has.
static int add_raw(const struct lod_group *group, const struct lod_window *window,
                   struct lod_rows *rows)
{
    const struct lod_raw raw = {
        group->since_ns, group->until_ns < window->until_ns ? group->until_ns : window->until_ns};
    const int status = ARRAY_ADD(rows->raws, rows->raw_count, rows->raw_capacity, MOST_SPANS, &raw);
    return status ? status : 1;
}

int lod_read(struct lod *lod, const struct lod_window *window, struct lod_rows *ret_rows)
{
    struct lod_rows rows = {.spans = NULL};
    int status = 1;
    for (size_t i = 0; i < lod->group_count && status == 1; i++) {
        const struct lod_group *group = &lod->groups[i];
        if (group->level != window->level || !touches(window, group->since_ns, group->reach_ns))
            continue;
        status = group->is_kept ? add_group(lod, i, window, &rows) : add_raw(group, window, &rows);
    }
    if (status == 1)
        *ret_rows = rows;
    else
        lod_rows_finish(&rows);
    return status;
}

void lod_rows_finish(struct lod_rows *rows)
{
    free(rows->spans);
    free(rows->raws);
    *rows = (struct lod_rows){.spans = NULL};
}
