// SPDX-License-Identifier: Apache-2.0
// Records of collectors that the public calls would make dearer: a span begun
// together with what an op has for arguments, and memory events. Like the calls
// of record.h they may come from any thread at any time.
//
// The quick halves stand here, to become part of the callback that needs them:
// between a thousand other functions of an op each call costs another cache
// line of code. Why they look as they do is in hot_calls.c.
#ifndef GAIT_RECORD_OP_H
#define GAIT_RECORD_OP_H

#include <stdint.h>
#include <string.h>

#include "record/writer.h"

#define OP_RARE(condition) __builtin_expect(!!(condition), 0)

enum op_memory_kind { OP_ALLOCATION = 1, OP_RELEASE = 2 };

struct op_memory {
    enum op_memory_kind kind;
    uint64_t address;
    int64_t bytes; // below 0 for a release, 0 when its size is not known
    int64_t total; // after it
};

// No room at hand.
void op_begin_slow(uint32_t site, const struct slot_op *op);
void op_memory_slow(uint32_t site, const struct op_memory *memory);

// The number of the session being recorded, 0 when off. What belongs to another
// one is not on record.
static inline uint64_t op_session(void)
{
    return __atomic_load_n(&writer_session, __ATOMIC_RELAXED);
}

// The drainer has read the lines that come next: the processor has to fetch them
// back before it can write, and everything after waits for that. gcc has no word
// for fetching to write that it uses without knowing the processor; those that
// do not know the instruction pass over it.
static inline void op_fetch(const char *ahead)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*ahead));
#else
    __builtin_prefetch(ahead, 1);
#endif
}

// Room for `slots` in a row, or NULL; a stop waits until op_leave().
static inline struct slot *op_enter(struct ring_head *ring, uint32_t slots)
{
    WRITER_SET(ring->busy, 1);
    writer_fence();
    const uint64_t next = WRITER_GET(ring->next);
    op_fetch((const char *)(uintptr_t)next + 3 * 64);
    if (!OP_RARE(next + slots * sizeof(struct slot) > WRITER_GET(ring->limit)))
        return (struct slot *)(uintptr_t)next;
    WRITER_SET(ring->busy, 0);
    return NULL;
}

static inline void op_leave(struct ring_head *ring, const struct slot *end)
{
    __atomic_store_n(&ring->next, (uint64_t)(uintptr_t)end, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE);
}

// A span and its arguments, if any: one slot or two.
static inline void op_begin(uint32_t site, const struct slot_op *op)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    const bool has_more = op->seq_above || op->scope || op->shapes > SLOT_OP_SHAPES_MAX;
    const uint32_t slots = 1 + has_more;
    uint32_t high;
    struct slot *slot = op_enter(ring, slots);
    if (OP_RARE(!slot)) {
        op_begin_slow(site, op);
        return;
    }
    const bool has_shapes = op->shapes && !has_more;
    if (has_more) {
        slot[1] = slot_of_op(op);
        writer_self->point_slots++;
    } else if (has_shapes) {
        slot->about = slot_about_op_begin(op->shapes);
    }
    clock_now_halves(&slot->tick_low, &high);
    slot->tick_high = high | slot_class_bits(has_shapes ? SLOT_CLASS_OTHER : SLOT_CLASS_BEGIN);
    slot->site = site;
    op_leave(ring, slot + slots);
}

static inline void op_end(void)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    uint32_t high;
    struct slot *slot = op_enter(ring, 1);
    if (OP_RARE(!slot)) {
        writer_end_slow();
        return;
    }
    clock_now_halves(&slot->tick_low, &high);
    slot->tick_high = high | slot_class_bits(SLOT_CLASS_END);
    ring->ends++;
    op_leave(ring, slot + 1);
}

static inline void op_put_memory(struct slot *slot, uint32_t site, const struct op_memory *memory)
{
    const uint64_t payload[4] = {memory->address, (uint64_t)memory->bytes, (uint64_t)memory->total};
    slot[0] = slot_other(clock_now(), SLOT_MEMORY, site, (uint32_t)memory->kind, 3);
    memcpy(&slot[1], payload, sizeof(payload));
}

static inline void op_memory(uint32_t site, const struct op_memory *memory)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    // an allocator may be called from a signal handler
    struct slot *slot = WRITER_GET(ring->busy) ? NULL : op_enter(ring, 3);
    if (OP_RARE(!slot)) {
        op_memory_slow(site, memory);
        return;
    }
    op_put_memory(slot, site, memory);
    writer_self->points++;
    writer_self->point_slots += 3;
    op_leave(ring, slot + 3);
}

#endif
