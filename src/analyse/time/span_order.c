// SPDX-License-Identifier: Apache-2.0
// Both passes make the same decision about every row, because both remember
// the same thing of a track: where the latest closed span of the frames before began.
#include "analyse/time/span_order.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/invariant.h"

int span_order_init(struct span_order *order, uint32_t first_track, uint32_t track_count)
{
    *order = (struct span_order){.first_track = first_track, .track_count = track_count};
    buffer_init(&order->late, SPAN_ORDER_MAX_LATE * sizeof(struct ordered_span));
    order->tracks = calloc((size_t)track_count + 1, sizeof *order->tracks);
    if (!order->tracks)
        return fail(GAIT_ERR_MEMORY, "no memory for %u tracks", track_count);
    for (uint32_t i = 0; i < track_count; i++)
        order->tracks[i].last_start_ns = INT64_MIN;
    return GAIT_OK;
}

void span_order_finish(struct span_order *order)
{
    if (!order)
        return;
    free(order->tracks);
    buffer_finish(&order->late);
    *order = (struct span_order){.tracks = NULL};
}

static struct ordered_span row_of(const struct gait_batch *batch, size_t row)
{
    int64_t start = batch->start_ns[row], duration = batch->duration_ns[row], end;
    if (duration < 0 || __builtin_add_overflow(start, duration, &end))
        end = INT64_MAX;
    return (struct ordered_span){.start_ns = start,
                                 .end_ns = end,
                                 .track = batch->track,
                                 .site = batch->site[row],
                                 .depth = batch->depth ? batch->depth[row] : UINT32_MAX};
}

static bool is_open(const struct gait_batch *batch, size_t row)
{
    const int64_t duration = batch->duration_ns[row];
    return duration < 0 || batch->start_ns[row] > INT64_MAX - duration;
}

// Whether the row comes too late to be handed on as it stands: one that begins with a
// row of an earlier frame may be its parent. Spans without an end always do: they stand
// in a frame of their own at the end of the file.
static bool is_late(const struct ordered_track *track, const struct gait_batch *batch, size_t row)
{
    return batch->start_ns[row] <= track->last_start_ns || is_open(batch, row);
}

// After a batch, whose rows are in order: its starts count for those that follow.
static void remember_starts(struct ordered_track *track, const struct gait_batch *batch)
{
    size_t row = batch->rows;
    while (row && is_open(batch, row - 1))
        row--;
    if (row && batch->start_ns[row - 1] > track->last_start_ns)
        track->last_start_ns = batch->start_ns[row - 1];
}

static struct ordered_track *track_of(const struct span_order *order,
                                      const struct gait_batch *batch)
{
    const uint32_t place = batch->track - order->first_track;
    return batch->kind == GAIT_KIND_SPAN && place < order->track_count ? &order->tracks[place]
                                                                       : NULL;
}

int span_order_survey(struct span_order *order, const struct gait_batch *batch)
{
    struct ordered_track *track = track_of(order, batch);
    if (!track)
        return GAIT_OK;
    for (size_t row = 0; row < batch->rows; row++) {
        if (!is_late(track, batch, row))
            continue;
        const struct ordered_span span = row_of(batch, row);
        if (buffer_append(&order->late, &span, sizeof span))
            return fail(GAIT_ERR_MEMORY, "more than %d spans are out of order",
                        SPAN_ORDER_MAX_LATE);
    }
    remember_starts(track, batch);
    return GAIT_OK;
}

static int by_track_start_longest(const void *left, const void *right)
{
    const struct ordered_span *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static const struct ordered_span *late_spans(const struct span_order *order, size_t *ret_count)
{
    *ret_count = order->late.used / sizeof(struct ordered_span);
    return (const struct ordered_span *)(const void *)order->late.bytes;
}

void span_order_sort(struct span_order *order)
{
    size_t count;
    const struct ordered_span *late = late_spans(order, &count);
    if (count)
        qsort(order->late.bytes, count, sizeof *late, by_track_start_longest);
    for (uint32_t i = 0; i < order->track_count; i++)
        order->tracks[i].last_start_ns = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        struct ordered_track *track = &order->tracks[late[i].track - order->first_track];
        if (!i || late[i - 1].track != late[i].track)
            track->next = i;
        track->end = i + 1;
        GAIT_ASSERT(track->next <= i); // those of a track stand together
    }
}

// The late spans of the track that come before `span`; all that are left for NULL.
static void hand_on_late(struct span_order *order, struct ordered_track *track,
                         const struct ordered_span *span, span_order_visit *visit, void *context)
{
    size_t count;
    const struct ordered_span *late = late_spans(order, &count);
    for (; track->next < track->end; track->next++) {
        if (span && by_track_start_longest(&late[track->next], span) > 0)
            return;
        visit(&late[track->next], context);
    }
}

void span_order_walk(struct span_order *order, const struct gait_batch *batch,
                     span_order_visit *visit, void *context)
{
    struct ordered_track *track = track_of(order, batch);
    if (!track)
        return;
    for (size_t row = 0; row < batch->rows; row++) {
        if (is_late(track, batch, row))
            continue;
        const struct ordered_span span = row_of(batch, row);
        if (track->next < track->end)
            hand_on_late(order, track, &span, visit, context);
        visit(&span, context);
    }
    remember_starts(track, batch);
}

void span_order_finish_walk(struct span_order *order, span_order_visit *visit, void *context)
{
    for (uint32_t i = 0; i < order->track_count; i++)
        hand_on_late(order, &order->tracks[i], NULL, visit, context);
}
