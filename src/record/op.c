// SPDX-License-Identifier: Apache-2.0
// The hot path of calls.c for a span and its arguments at once: entering for
// each apart costs as much again as the span does.
#include "record/op.h"

#include <gait/record.h>
#include <string.h>

#include "record/writer.h"

#undef gait_begin

#define RARE(condition) __builtin_expect(!!(condition), 0)

static struct slot slot_about(const struct op_about *about)
{
    const struct slot_op op = {(uint64_t)(about->seq + 1),
                               about->fwd_thread > UINT32_MAX ? 0 : (uint32_t)about->fwd_thread,
                               about->shapes, about->scope};
    return slot_of_op(&op);
}

// No room at hand: the span as it can be had, then its arguments if it was not
// dropped.
static void begin_apart(uint32_t site, const struct op_about *about)
{
    writer_begin_slow(site);
    const struct writer *writer = writer_self;
    if (!writer || writer->gaps & 1 || writer->deep)
        return;
    struct slot *slot = writer_enter(1, false);
    if (!slot)
        return;
    *slot = slot_about(about);
    writer_publish(1, false);
}

void op_begin(uint32_t site, const struct op_about *about)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    uint32_t high;
    WRITER_SET(ring->busy, 1);
    writer_fence();
    struct slot *slot = (struct slot *)(uintptr_t)WRITER_GET(ring->next);
    if (RARE((uint64_t)(uintptr_t)(slot + 2) > WRITER_GET(ring->limit))) {
        WRITER_SET(ring->busy, 0);
        begin_apart(site, about);
        return;
    }
    slot[1] = slot_about(about);
    writer_self->point_slots++;
    clock_now_halves(&slot->tick_low, &high);
    slot->tick_high = high;
    slot->site = site;
    __atomic_store_n(&ring->next, (uint64_t)(uintptr_t)(slot + 2), __ATOMIC_RELEASE);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE); // a stop waits for it
}

void op_memory(uint32_t site, const struct op_memory *memory)
{
    struct slot *slot = writer_enter(3, true);
    if (RARE(!slot))
        return;
    const uint64_t payload[4] = {memory->address, (uint64_t)memory->bytes, (uint64_t)memory->total};
    slot[0] = slot_other(clock_now(), SLOT_MEMORY, site, (uint32_t)memory->kind, 3);
    memcpy(&slot[1], payload, sizeof(payload));
    writer_publish(3, true);
}
