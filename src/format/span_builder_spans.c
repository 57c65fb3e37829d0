// SPDX-License-Identifier: Apache-2.0
// The drainer's inner loop: runs of begins, ends and nexts, which are most of
// what a ring holds. Whether the next record is a begin or an end is a coin toss
// to the processor, so nothing here branches on it: a begin writes a row and
// counts up, an end writes the same places without counting and completes
// the row on top of the stack.
#include "format/span_builder_rows.h"

#include "base/invariant.h"
#include "format/columns.h"

// Slots to look ahead: the writer's core has them, fetching takes a while. So
// many at a time are taken, and asked for.
#define AHEAD 48
#define STRETCH 32
#define SLOTS_A_LINE 4

struct span_run {
    uint64_t *start, *duration, *site, *depth; // columns
    uint32_t *stack;                           // rows of the spans open
    uint32_t row;                              // the next one
    uint32_t open;                             // spans open now;
    uint32_t lowest, most;                     // so many at least, and at most
    uint32_t base_depth;
    uint64_t last; // largest tick
};

// The stack as rows, for the spans begun in this frame.
static uint32_t carried_spans(const struct span_builder_track *track)
{
    uint32_t carried = 0;
    while (carried < track->open_count && track->open[carried].row < 0) {
        carried++;
    }
    return carried;
}

static void load_stack(const struct span_builder *builder, const struct span_builder_track *track,
                       uint32_t carried)
{
    for (uint32_t i = carried; i < track->open_count; i++) {
        builder->stack[i] = (uint32_t)track->open[i].row;
    }
}

static void store_stack(struct span_builder_track *track, const struct span_run *run)
{
    GAIT_ASSERT(run->lowest <= run->open && run->open <= run->most);
    track->open_count = run->open;
    for (uint32_t i = run->lowest; i < run->open; i++) {
        struct span_builder_span *span = &track->open[i];
        uint32_t row = run->stack[i];
        GAIT_ASSERT(row < run->row);
        span->row = row;
        span->start = run->start[row];
        span->site = (uint32_t)run->site[row];
        span->depth = (uint32_t)run->depth[row];
        span->args.used = 0;
    }
}

// A next closes the row on top and puts its own in that place.
static inline bool take_next(struct span_run *run, uint64_t tick, uint32_t site)
{
    if (run->open == run->lowest)
        return false;
    uint32_t *top = &run->stack[run->open - 1];
    const uint64_t start = run->start[*top];
    run->duration[*top] = tick >= start ? tick - start : 0;
    *top = run->row++;
    run->start[*top] = tick;
    run->duration[*top] = 0;
    run->site[*top] = site;
    run->depth[*top] = run->base_depth + run->open - 1;
    return true;
}

static inline bool take_begin_or_end(struct span_run *run, uint32_t class, uint64_t tick,
                                     uint32_t site)
{
    const uint32_t open = run->open + 1 - 2 * class;
    if (open - run->lowest > run->most - run->lowest)
        return false;
    run->start[run->row] = tick;
    run->site[run->row] = site;
    run->depth[run->row] = run->base_depth + run->open;
    run->stack[run->open] = run->row;
    // a begin meets itself: 0 for now, and never "before its start", which the
    // compiler makes a branch
    const uint32_t top = run->stack[run->open - class];
    const uint64_t start = run->start[top];
    run->duration[top] = tick >= start ? tick - start : 0;
    run->row += 1 - class;
    run->open = open;
    return true;
}

// Takes begins, ends and nexts from `slot` on; returns the one that it leaves.
static const struct slot *take_stretch(struct span_run *all, const struct slot *slot,
                                       const struct slot *end)
{
    struct span_run run = *all; // its parts in registers
    for (; slot < end; slot++) {
        const uint64_t word = slot->tick_low | (uint64_t)slot->tick_high << 32;
        const uint32_t class = (uint32_t)(word >> 62);
        const uint64_t tick = word << 2 >> 2;
        if (class <= SLOT_CLASS_END
                ? !take_begin_or_end(&run, class, tick, slot->site)
                : class != SLOT_CLASS_NEXT || !take_next(&run, tick, slot->site))
            break;
        run.last = tick > run.last ? tick : run.last;
    }
    all->row = run.row;
    all->open = run.open;
    all->last = run.last;
    return slot;
}

static void look_ahead(const struct slot *slots, uint64_t mask, uint64_t position)
{
    for (uint64_t at = position; at < position + STRETCH; at += SLOTS_A_LINE) {
        __builtin_prefetch(&slots[at & mask]);
    }
}

// Position of the first record left.
static uint64_t take_run(struct span_run *run, const struct slot *slots, uint64_t mask,
                         uint64_t position, uint64_t until)
{
    while (position < until) {
        const struct slot *slot = &slots[position & mask];
        uint64_t count = STRETCH - (position & (STRETCH - 1));
        count = count < until - position ? count : until - position;
        look_ahead(slots, mask, position + AHEAD);
        const uint64_t taken = (uint64_t)(take_stretch(run, slot, slot + count) - slot);
        position += taken;
        if (taken < count)
            break;
    }
    return position;
}

uint64_t span_builder_take_spans(struct span_builder *builder, struct span_builder_track *track,
                                 const struct slot *slots, uint64_t mask, uint64_t until)
{
    struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    const uint32_t most = track->open_capacity < SPAN_BUILDER_STACK_ROWS ? track->open_capacity
                                                                         : SPAN_BUILDER_STACK_ROWS;
    struct span_run run = {
        .start = rows->columns[COLUMN(SPAN, start)],
        .duration = rows->columns[COLUMN(SPAN, duration)],
        .site = rows->columns[COLUMN(SPAN, site)],
        .depth = rows->columns[COLUMN(SPAN, depth)],
        .stack = builder->stack,
        .row = rows->end,
        .open = track->open_count,
        .lowest = carried_spans(track),
        .most = most,
        .base_depth = track->base_depth,
        .last = rows->last,
    };
    if (track->open_count > most)
        return 0;
    load_stack(builder, track, run.lowest);
    const uint64_t position = take_run(&run, slots, mask, track->position, until);
    const uint64_t taken = position - track->position;
    if (taken == 0)
        return 0;
    GAIT_ASSERT(position <= until && run.row - rows->end <= taken); // a slot begins one at most
    store_stack(track, &run);
    rows->last = run.last;
    track->begun += run.row - rows->end;
    rows->end = run.row;
    track->position = position;
    return taken;
}
