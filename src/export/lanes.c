// SPDX-License-Identifier: Apache-2.0
#include "export/lanes.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

void lanes_init(struct lanes *lanes, bool is_flat)
{
    *lanes = (struct lanes){.is_flat = is_flat};
    for (size_t i = 0; i < LANES_NESTED; i++)
        lanes->nests[i].free_from = INT64_MIN;
}

void lanes_finish(struct lanes *lanes)
{
    for (size_t i = 0; i < LANES_NESTED; i++)
        free(lanes->nests[i].spans);
    min_heap_finish(&lanes->busy);
    min_heap_finish(&lanes->idle);
    *lanes = (struct lanes){0};
}

static int no_memory(size_t count)
{
    return fail(GAIT_ERR_MEMORY, "no memory for %zu spans that overlap", count);
}

static void tell_end(const struct lanes_listener *listener, uint32_t lane, int64_t end)
{
    if (listener->ended && end != LANES_OPEN)
        listener->ended(listener->context, lane, end);
}

// A span that ends where the next one starts is over, unless that is its child:
// a child may be of no length and lie at the very end.
static bool is_over(const struct lane_span *span, const struct lane_span *next)
{
    if (span->end != next->start)
        return span->end < next->start;
    return next->depth <= span->depth || next->end > span->end;
}

static void end_what_is_over(struct lanes *lanes, uint32_t lane, const struct lane_span *next,
                             const struct lanes_listener *listener)
{
    struct lane_nest *nest = &lanes->nests[lane];
    while (nest->count && is_over(&nest->spans[nest->count - 1], next)) {
        nest->free_from = nest->spans[--nest->count].end;
        tell_end(listener, lane, nest->free_from);
    }
}

static bool fits(const struct lane_nest *nest, const struct lane_span *span)
{
    if (span->start < nest->free_from)
        return false;
    if (nest->count == 0)
        return true;
    const struct lane_span *around = &nest->spans[nest->count - 1];
    return span->start >= around->start && span->end <= around->end;
}

static int push(struct lane_nest *nest, const struct lane_span *span)
{
    return ARRAY_ADD(nest->spans, nest->count, nest->capacity, UINT32_MAX, span);
}

static int place_flat(struct lanes *lanes, const struct lane_span *span, uint32_t *ret_lane)
{
    while (lanes->busy.count && lanes->busy.pairs[0].key <= span->start) {
        const uint64_t lane = min_heap_take(&lanes->busy).value;
        int status = min_heap_put(&lanes->idle, (int64_t)lane, lane);
        if (status)
            return status;
    }
    if (!lanes->idle.count && lanes->flat_count == UINT32_MAX - LANES_NESTED)
        return no_memory(lanes->flat_count);
    const uint32_t lane =
        lanes->idle.count ? (uint32_t)min_heap_take(&lanes->idle).value : lanes->flat_count++;
    int status = min_heap_put(&lanes->busy, span->end, lane);
    if (!status)
        *ret_lane = lanes->is_flat ? lane : lane + LANES_NESTED;
    return status;
}

int lanes_place(struct lanes *lanes, const struct lane_span *span,
                const struct lanes_listener *listener, uint32_t *ret_lane)
{
    for (uint32_t lane = 0; lane < LANES_NESTED && !lanes->is_flat; lane++) {
        end_what_is_over(lanes, lane, span, listener);
        if (!fits(&lanes->nests[lane], span))
            continue;
        int status = push(&lanes->nests[lane], span);
        if (!status)
            *ret_lane = lane;
        return status;
    }
    return place_flat(lanes, span, ret_lane);
}

void lanes_end_all(struct lanes *lanes, const struct lanes_listener *listener)
{
    for (uint32_t lane = 0; lane < LANES_NESTED; lane++) {
        struct lane_nest *nest = &lanes->nests[lane];
        while (nest->count)
            tell_end(listener, lane, nest->spans[--nest->count].end);
    }
}
