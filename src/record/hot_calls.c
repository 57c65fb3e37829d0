// SPDX-License-Identifier: Apache-2.0
// The calls of record.h that run inside the training. Begin, end and next are
// some dozen instructions around one reading of the clock, because on the
// processors of the day each handful of instructions costs a cycle that the
// clock does not hide; docs/decisions/0005-hot-path.md has what was measured.
#define _GNU_SOURCE
#include <gait/record.h>

#include <string.h>

#include "record/writer.h"

#undef gait_begin
#undef gait_end
#undef gait_next
#undef gait_mark
#undef gait_count
#undef gait_count_real

#define RARE(condition) __builtin_expect(!!(condition), 0)
#define HOT __attribute__((aligned(64)))

// A plain read of what a stop may take away at any time. gcc keeps an atomic one
// out of the compare, and a pair then costs 21.8 instead of 21.1 ns; the
// processor reads an aligned word whole either way.
__attribute__((no_sanitize("thread"))) static inline uint64_t limit_of(const struct ring_head *ring)
{
    return ring->limit;
}

HOT void gait_begin(uint32_t site)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    uint32_t high;
    WRITER_SET(ring->busy, 1);
    writer_fence();
    struct slot *slot = (struct slot *)WRITER_GET(ring->next);
    if (RARE((uint64_t)slot >= limit_of(ring))) {
        WRITER_SET(ring->busy, 0);
        writer_begin_slow(site);
        return;
    }
    clock_now_halves(&slot->tick_low, &high);
    slot->tick_high = high;
    slot->site = site;
    __atomic_store_n(&ring->next, (uint64_t)(slot + 1), __ATOMIC_RELEASE);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE); // a stop waits for it
}

HOT void gait_end(void)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    uint32_t high;
    WRITER_SET(ring->busy, 1);
    writer_fence();
    struct slot *slot = (struct slot *)WRITER_GET(ring->next);
    if (RARE((uint64_t)slot >= limit_of(ring))) {
        WRITER_SET(ring->busy, 0);
        writer_end_slow();
        return;
    }
    clock_now_halves(&slot->tick_low, &high);
    slot->tick_high = high | slot_class_bits(SLOT_CLASS_END);
    ring->ends++;
    __atomic_store_n(&ring->next, (uint64_t)(slot + 1), __ATOMIC_RELEASE);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE); // a stop waits for it
}

HOT void gait_next(uint32_t site)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    uint32_t high;
    WRITER_SET(ring->busy, 1);
    writer_fence();
    struct slot *slot = (struct slot *)WRITER_GET(ring->next);
    if (RARE((uint64_t)slot >= limit_of(ring))) {
        WRITER_SET(ring->busy, 0);
        writer_next_slow(site);
        return;
    }
    clock_now_halves(&slot->tick_low, &high);
    slot->tick_high = high | slot_class_bits(SLOT_CLASS_NEXT);
    slot->site = site;
    ring->nexts++;
    __atomic_store_n(&ring->next, (uint64_t)(slot + 1), __ATOMIC_RELEASE);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE); // a stop waits for it
}

void gait_mark(uint32_t site)
{
    struct slot *slot = writer_enter(1, true);
    if (RARE(!slot))
        return;
    *slot = slot_other(clock_now(), SLOT_MARK, site, 0, 1);
    writer_publish(1, true);
}

// A record with a number as payload.
static void record_pair(enum slot_kind kind, uint32_t site, uint32_t phase, uint64_t value)
{
    bool is_event = kind != SLOT_ASYNC || phase == 0;
    struct slot *slot = writer_enter(2, is_event);
    if (RARE(!slot))
        return;
    slot[0] = slot_other(clock_now(), kind, site, phase, 2);
    memcpy(&slot[1], &value, sizeof(value));
    writer_publish(2, is_event);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

void gait_count(uint32_t site, int64_t value)
{
    record_pair(SLOT_COUNT, site, 0, (uint64_t)value);
}

void gait_count_real(uint32_t site, double value)
{
    record_pair(SLOT_COUNT_REAL, site, 0, bits_of(value));
}

void gait_flow_begin(uint32_t site, uint64_t id)
{
    record_pair(SLOT_FLOW, site, 0, id);
}

void gait_flow_step(uint32_t site, uint64_t id)
{
    record_pair(SLOT_FLOW, site, 1, id);
}

void gait_flow_end(uint32_t site, uint64_t id)
{
    record_pair(SLOT_FLOW, site, 2, id);
}

void gait_async_begin(uint32_t site, uint64_t id)
{
    record_pair(SLOT_ASYNC, site, 0, id);
}

void gait_async_end(uint32_t site, uint64_t id)
{
    record_pair(SLOT_ASYNC, site, 1, id);
}

void gait_step_begin(uint64_t number)
{
    writer_step_begin(number);
}

void gait_step_end(void)
{
    writer_step_end();
}

// --- arguments --------------------------------------------------------------

// Arguments belong to the innermost span; if that was dropped, so are they.
static struct slot *enter_arg(uint32_t slots)
{
    const struct writer *writer = writer_self;
    return RARE(writer && (writer->gaps & 1 || writer->deep)) ? NULL : writer_enter(slots, false);
}

static void record_arg(enum slot_kind kind, uint32_t key, uint64_t value)
{
    struct slot *slot = enter_arg(2);
    if (RARE(!slot))
        return;
    slot[0] = slot_other(0, kind, key, 0, 2);
    memcpy(&slot[1], &value, sizeof(value));
    writer_publish(2, false);
}

void gait_arg_int(uint32_t key, int64_t value)
{
    record_arg(SLOT_ARG_INT, key, (uint64_t)value);
}

void gait_arg_real(uint32_t key, double value)
{
    record_arg(SLOT_ARG_REAL, key, bits_of(value));
}

void gait_arg_text(uint32_t key, const char *text)
{
    size_t bytes = text ? strnlen(text, SLOT_TEXT_MAX) : 0;
    uint32_t slots = slot_text_slots(bytes);
    struct slot *slot = enter_arg(slots);
    if (RARE(!slot))
        return;
    slot[0] = slot_other(bytes, SLOT_ARG_TEXT, key, 0, slots);
    if (bytes) {
        slot[slots - 1] = (struct slot){0}; // no rest of an earlier lap behind the text
        memcpy(&slot[1], text, bytes);
    }
    writer_publish(slots, false);
}
