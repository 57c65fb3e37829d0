// SPDX-License-Identifier: Apache-2.0
// Random nested spans, cut into frames as a recorder cuts them, come back in
// order of start; the order wanted is the one they were made in.
#include "analyse/time/span_order.h"
#include "support/tap.h"

enum { SPANS = 2000, FRAME = 37 };

static struct ordered_span made[SPANS], frames[SPANS];
static size_t made_count;
static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

// Spans in order of start; each within the one around it.
static int64_t make(int64_t at, uint32_t depth)
{
    while (made_count < SPANS && draw(8)) {
        size_t mine = made_count++;
        at += draw(3);
        made[mine] = (struct ordered_span){.start_ns = at, .site = (uint32_t)mine, .depth = depth};
        at += draw(2);
        if (depth < 20 && draw(2))
            at = make(at, depth + 1);
        at += draw(3);
        made[mine].end_ns = at;
    }
    return at;
}

static int by_end(const void *left, const void *right)
{
    const struct ordered_span *a = left, *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return a->depth > b->depth ? -1 : 1;
}

static int by_place(const void *left, const void *right)
{
    const struct ordered_span *a = left, *b = right;
    return a->site < b->site ? -1 : 1;
}

struct columns {
    int64_t start[FRAME], duration[FRAME];
    uint32_t site[FRAME], depth[FRAME];
};

static struct gait_batch frame_at(size_t from, struct columns *columns)
{
    size_t rows = made_count - from < FRAME ? made_count - from : FRAME;
    qsort(&frames[from], rows, sizeof frames[0], by_place);
    for (size_t i = 0; i < rows; i++) {
        const struct ordered_span *span = &frames[from + i];
        columns->start[i] = span->start_ns;
        columns->duration[i] = span->end_ns == INT64_MAX ? -1 : span->end_ns - span->start_ns;
        columns->site[i] = span->site;
        columns->depth[i] = span->depth;
    }
    return (struct gait_batch){.kind = GAIT_KIND_SPAN,
                               .rows = rows,
                               .start_ns = columns->start,
                               .duration_ns = columns->duration,
                               .site = columns->site,
                               .depth = columns->depth};
}

struct seen {
    struct ordered_span spans[SPANS];
    size_t count;
};

static void see(const struct ordered_span *span, void *context)
{
    struct seen *seen = context;
    if (seen->count < SPANS)
        seen->spans[seen->count] = *span;
    seen->count++;
}

static bool comes_before(const struct ordered_span *a, const struct ordered_span *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    // a span of no length and its next sibling may share a start
    return a->end_ns >= b->end_ns || a->end_ns == a->start_ns;
}

TEST("span order: spans written by their ends come back by their starts")
{
    static struct seen seen;
    struct columns columns;
    struct span_order order;
    while (made_count < SPANS)
        make(made_count ? made[made_count - 1].end_ns + 1000000 : 0, 0);
    made[SPANS / 2].end_ns = INT64_MAX; // one that never ended
    memcpy(frames, made, sizeof made);
    qsort(frames, SPANS, sizeof frames[0], by_end);
    if (!ok(span_order_init(&order, 0, 1) == 0))
        return;
    for (size_t from = 0; from < SPANS; from += FRAME) {
        struct gait_batch batch = frame_at(from, &columns);
        ok(span_order_survey(&order, &batch) == 0);
    }
    ok(order.late.used / sizeof(struct ordered_span) < SPANS / 2);
    span_order_sort(&order);
    for (size_t from = 0; from < SPANS; from += FRAME) {
        struct gait_batch batch = frame_at(from, &columns);
        span_order_walk(&order, &batch, see, &seen);
    }
    span_order_finish_walk(&order, see, &seen);
    is_u64(seen.count, SPANS);
    size_t disorder = 0;
    for (size_t i = 1; i < SPANS; i++)
        disorder += !comes_before(&seen.spans[i - 1], &seen.spans[i]);
    is_u64(disorder, 0);
    qsort(seen.spans, SPANS, sizeof seen.spans[0], by_place);
    size_t changed = 0;
    for (size_t i = 0; i < SPANS; i++)
        changed += seen.spans[i].site != made[i].site || seen.spans[i].end_ns != made[i].end_ns;
    is_u64(changed, 0);
    span_order_finish(&order);
}

TEST("span order: tracks of another shard are passed over")
{
    static struct seen seen;
    struct columns columns;
    struct span_order order;
    if (!ok(span_order_init(&order, 5, 1) == 0))
        return;
    struct gait_batch batch = frame_at(0, &columns);
    ok(span_order_survey(&order, &batch) == 0); // track 0
    span_order_walk(&order, &batch, see, &seen);
    batch.track = 6;
    span_order_walk(&order, &batch, see, &seen);
    is_u64(seen.count, 0);
    batch.track = 5;
    span_order_walk(&order, &batch, see, &seen);
    ok(seen.count > 0);
    span_order_finish(&order);
}

TEST("span order: rows that are in order over all frames are not kept")
{
    enum { ROWS = 3 };
    const int64_t starts[2][ROWS] = {{0, 10, 20}, {30, 40, 50}};
    const int64_t lengths[2][ROWS] = {{1000, 5, 5}, {5, 5, 5}}; // the first lasts over all
    const uint32_t sites[ROWS] = {0}, depths[ROWS] = {0};
    struct span_order order;
    if (!ok(span_order_init(&order, 0, 1) == 0))
        return;
    for (int frame = 0; frame < 2; frame++) {
        const struct gait_batch batch = {.kind = GAIT_KIND_SPAN,
                                         .rows = ROWS,
                                         .start_ns = starts[frame],
                                         .duration_ns = lengths[frame],
                                         .site = sites,
                                         .depth = depths};
        ok(span_order_survey(&order, &batch) == 0);
    }
    is_u64(order.late.used, 0);
    span_order_finish(&order);
}
