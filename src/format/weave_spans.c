// SPDX-License-Identifier: Apache-2.0
// The drainer's inner loop: runs of begins and ends, which are most of what a
// ring holds. Whether the next record is a begin or an end is a coin toss to
// the processor, so nothing here branches on it: a begin writes a row and
// counts up, an end writes the same places without counting and completes
// the row on top of the stack.
#include "format/weave_rows.h"

// Slots to look ahead: the writer's core has them, fetching takes a while.
#define AHEAD 48

struct span_run {
    uint64_t *start, *duration, *site, *depth;
    uint32_t *args;
    uint32_t rows; // index of the next row
    uint32_t open; // spans open now
};

// The stack as rows, for the spans begun in this frame.
static uint32_t carried_spans(const struct weave_track *track)
{
    uint32_t carried = 0;
    while (carried < track->open_count && track->open[carried].row < 0) {
        carried++;
    }
    return carried;
}

static void load_stack(const struct weave *weave, const struct weave_track *track, uint32_t carried)
{
    for (uint32_t i = carried; i < track->open_count; i++) {
        weave->stack[i] = (uint32_t)track->open[i].row;
    }
}

static void store_stack(const struct weave *weave, struct weave_track *track,
                        const struct span_run *run, uint32_t from)
{
    track->open_count = run->open;
    for (uint32_t i = from; i < run->open; i++) {
        struct weave_span *span = &track->open[i];
        uint32_t row = weave->stack[i];
        span->row = row;
        span->start = run->start[row];
        span->site = (uint32_t)run->site[row];
        span->depth = (uint32_t)run->depth[row];
        span->args.used = 0;
    }
}

// One record; true when it was a begin or an end that this loop may take.
static inline bool take_one(struct span_run *run, uint32_t *stack, const struct slot *slot,
                            uint32_t base_depth)
{
    const uint32_t class = slot->tick_high >> 30;
    const uint64_t tick = slot_tick(slot);
    const uint32_t row = run->rows;
    if (class > SLOT_CLASS_END)
        return false;
    run->start[row] = tick;
    run->site[row] = slot->site;
    run->depth[row] = base_depth + run->open;
    run->args[row] = 0;
    stack[run->open] = row;
    // a begin meets itself: 0 for now
    const uint32_t top = stack[run->open - class];
    const uint64_t start = run->start[top];
    run->duration[top] = tick > start ? tick - start : 0;
    run->rows += 1 - class;
    run->open += 1 - 2 * class;
    return true;
}

uint64_t weave_take_spans(struct weave *weave, struct weave_track *track, const struct slot *slots,
                          uint64_t mask, uint64_t until)
{
    struct weave_rows *rows = &weave->tables[WEAVE_SPAN];
    struct span_run run = {rows->columns[0],   rows->columns[1], rows->columns[2], rows->columns[3],
                           weave->args_of_row, rows->end,        track->open_count};
    const uint32_t carried = carried_spans(track);
    const uint32_t depth_max =
        track->open_capacity < WEAVE_STACK_ROWS ? track->open_capacity : WEAVE_STACK_ROWS;
    uint64_t position = track->position;
    uint64_t last = 0;

    if (track->open_count > depth_max)
        return 0;
    load_stack(weave, track, carried);
    uint32_t lowest = run.open; // stack entries below it stayed as they were
    while (position < until) {
        const struct slot *slot = &slots[position & mask];
        __builtin_prefetch(&slots[(position + AHEAD) & mask]);
        bool is_end = slot->tick_high >> 30 == SLOT_CLASS_END;
        if (run.open + !is_end > depth_max || run.open < carried + is_end ||
            !take_one(&run, weave->stack, slot, track->base_depth))
            break;
        lowest = run.open < lowest ? run.open : lowest;
        last = slot_tick(slot) > last ? slot_tick(slot) : last;
        position++;
    }
    if (position == track->position)
        return 0;
    store_stack(weave, track, &run, lowest);
    rows->last = last > rows->last ? last : rows->last;
    track->begun += run.rows - rows->end;
    rows->end = run.rows;
    const uint64_t taken = position - track->position;
    track->position = position;
    return taken;
}
