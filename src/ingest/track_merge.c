// SPDX-License-Identifier: Apache-2.0
#include "ingest/track_merge.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_DEPTH ((size_t)1 << 20)

static bool is_first(const struct track_merge *merge, uint32_t left, uint32_t right)
{
    const struct row *a = &merge->readings[left].row, *b = &merge->readings[right].row;
    if (row_is_before(a, b))
        return true;
    // an equal pair stays in the order in which the file had it
    return !row_is_before(b, a) && left < right;
}

static void sift(struct track_merge *merge, size_t at)
{
    const uint32_t moved = merge->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->count)
            break;
        if (child + 1 < merge->count && is_first(merge, merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!is_first(merge, merge->heap[child], moved))
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = moved;
}

static size_t count_runs(const struct event_store *store, uint32_t track)
{
    size_t count = 0;
    for (uint32_t i = store->tracks[track].first_lane; i; i = store->lanes[i - 1].next)
        count += store->lanes[i - 1].rows.run_count;
    return count;
}

int track_merge_open(struct track_merge *merge, const struct event_store *store, uint32_t track)
{
    const size_t count = count_runs(store, track);
    *merge = (struct track_merge){.readings = calloc(count + 1, sizeof *merge->readings),
                                  .lanes = calloc(count + 1, sizeof *merge->lanes),
                                  .heap = calloc(count + 1, sizeof *merge->heap)};
    if (!merge->readings || !merge->lanes || !merge->heap) {
        track_merge_close(merge);
        return fail(GAIT_ERR_MEMORY, "no memory to put %zu runs of events in order", count);
    }
    for (uint32_t i = store->tracks[track].first_lane; i; i = store->lanes[i - 1].next) {
        const struct row_runs *runs = &store->lanes[i - 1].rows;
        for (size_t run = 0; run < runs->run_count; run++) {
            struct row_reading *reading = &merge->readings[merge->count];
            row_reading_begin(reading, runs, run, &store->forms);
            merge->lanes[merge->count] = i - 1;
            merge->heap[merge->count] = (uint32_t)merge->count;
            const int got = row_reading_next(reading);
            if (got < 0) {
                track_merge_close(merge);
                return got;
            }
            merge->all = merge->count += (size_t)got;
        }
    }
    for (size_t i = merge->count / 2; i-- > 0;)
        sift(merge, i);
    return 0;
}

void track_merge_close(struct track_merge *merge)
{
    for (size_t i = 0; merge->readings && i < merge->all; i++)
        row_reading_end(&merge->readings[i]);
    free(merge->readings);
    free(merge->lanes);
    free(merge->heap);
    free(merge->ends);
    *merge = (struct track_merge){.count = 0};
}

// `last_ns` is the end of the trace.
static int enter_span(struct track_merge *merge, int64_t last_ns, const struct row **row,
                      uint64_t *ret_depth)
{
    const int64_t start = (*row)->start;
    int64_t end;
    while (merge->depth && merge->ends[merge->depth - 1] <= start)
        merge->depth--;
    if ((*row)->duration == ROW_UNFINISHED) {
        end = merge->depth ? merge->ends[merge->depth - 1] : last_ns;
        merge->ended = **row;
        merge->ended.duration = (uint64_t)end - (uint64_t)start;
        *row = &merge->ended;
    } else if (__builtin_add_overflow(start, (*row)->duration, &end)) {
        end = INT64_MAX;
    }
    const int status = ARRAY_RESERVE(merge->ends, merge->depth_room, merge->depth + 1, MOST_DEPTH);
    if (status)
        return status;
    *ret_depth = merge->depth;
    merge->ends[merge->depth++] = end;
    return 1;
}

int track_merge_next(struct track_merge *merge, const struct event_store *store,
                     const struct row **ret_row, uint32_t *ret_lane, uint64_t *ret_depth)
{
    if (merge->has_row && merge->count) { // the row given out last is done with
        const int got = row_reading_next(&merge->readings[merge->heap[0]]);
        if (got < 0)
            return got;
        if (!got)
            merge->heap[0] = merge->heap[--merge->count];
        if (merge->count)
            sift(merge, 0);
    }
    if (!merge->count)
        return 0;
    merge->has_row = true;
    *ret_lane = merge->lanes[merge->heap[0]];
    *ret_row = &merge->readings[merge->heap[0]].row;
    *ret_depth = 0;
    return store->lanes[*ret_lane].table == TABLE_SPAN
               ? enter_span(merge, store->last_ns, ret_row, ret_depth)
               : 1;
}
