// SPDX-License-Identifier: Apache-2.0
// A heap of the tracks, by the row that is due. The head that was handed out stays on top
// until the next is asked for.
#include "facts/feed.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

enum { MOST_TRACKS = 1 << 28 };

void feed_finish(struct feed *feed)
{
    free(feed->heads);
    *feed = (struct feed){.heads = NULL};
}

static bool is_before(const struct feed_head *a, const struct feed_head *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->track < b->track;
}

static bool is_in_place(const struct feed *feed, size_t at)
{
    const size_t child = 2 * at + 1;
    return !(child < feed->count && is_before(&feed->heads[child], &feed->heads[at])) &&
           !(child + 1 < feed->count && is_before(&feed->heads[child + 1], &feed->heads[at]));
}

// A head has 200 bytes, and mostly stays where it is.
static void sift_down(struct feed *feed, size_t at)
{
    if (is_in_place(feed, at))
        return;
    const struct feed_head head = feed->heads[at];
    for (size_t child; (child = 2 * at + 1) < feed->count; at = child) {
        if (child + 1 < feed->count && is_before(&feed->heads[child + 1], &feed->heads[child]))
            child++;
        if (!is_before(&feed->heads[child], &head))
            break;
        feed->heads[at] = feed->heads[child];
    }
    feed->heads[at] = head;
}

// Also notes how far it reaches. What never ended covers nothing.
static bool is_wanted(const struct feed *feed, struct feed_head *head, const struct fact_row *row)
{
    const uint8_t kind = feed->kinds[row->site];
    if (kind == FEED_NO_KIND)
        return false;
    if (!(feed->outermost & 1u << kind))
        return true;
    const bool is_covered = row->end_ns <= head->reach_ns[kind];
    if (!is_covered && row->end_ns != FACT_OPEN)
        head->reach_ns[kind] = row->end_ns;
    return !is_covered;
}

// Moves on to the next row that has a kind, `row` itself if it has one.
static bool take(const struct feed *feed, struct feed_head *head, const struct fact_row *row)
{
    while (row < head->behind && !is_wanted(feed, head, row))
        row++;
    if (row == head->behind)
        return false;
    head->row = row;
    head->start_ns = row->start_ns;
    head->end_ns = row->end_ns;
    head->kind = feed->kinds[row->site];
    return true;
}

int feed_begin(struct feed *feed, const struct fact_slice *slice, const uint8_t *kinds)
{
    int status = ARRAY_RESERVE(feed->heads, feed->capacity, slice->count + 1, MOST_TRACKS);
    if (status)
        return status;
    feed->kinds = kinds;
    feed->count = 0;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        struct feed_head *head = &feed->heads[feed->count];
        *head = (struct feed_head){.behind = track->rows + track->count, .track = track};
        for (unsigned kind = 0; kind < FEED_KINDS; kind++)
            head->reach_ns[kind] = INT64_MIN;
        feed->count += take(feed, head, track->rows);
    }
    for (size_t i = feed->count / 2; i-- > 0;)
        sift_down(feed, i);
    feed->is_begun = false;
    return GAIT_OK;
}

const struct feed_head *feed_next(struct feed *feed)
{
    if (feed->is_begun && feed->count) {
        struct feed_head *top = &feed->heads[0];
        if (!take(feed, top, top->row + 1))
            *top = feed->heads[--feed->count];
        if (feed->count)
            sift_down(feed, 0);
    }
    feed->is_begun = true;
    return feed->count ? &feed->heads[0] : NULL;
}
