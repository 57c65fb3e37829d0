// SPDX-License-Identifier: Apache-2.0
// A ring's unit: 16 bytes. A record is one slot, or one and the payload slots
// that `about` counts. Rings are private to gait; files never hold slots.
//
// The three records of the hot path differ in the top two bits of the tick (of
// which 62 last for 45 years at 3 GHz), so that each is three stores of four
// bytes: what stands in `about`, and in an end's `site`, is left over from
// earlier laps and means nothing.
#ifndef GAIT_FORMAT_SLOT_H
#define GAIT_FORMAT_SLOT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slot {
    uint32_t tick_low, tick_high; // tick_high: class << 30 | bits 32..61
    uint32_t site;                // or the key of an argument
    uint32_t about;               // class other: kind | phase << 8 | slots << 16
};

enum slot_class { SLOT_CLASS_BEGIN, SLOT_CLASS_END, SLOT_CLASS_NEXT, SLOT_CLASS_OTHER };

enum slot_kind {
    SLOT_BEGIN,
    SLOT_END,
    SLOT_NEXT,
    SLOT_PAD, // nothing: fills the way to the ring's end
    SLOT_MARK,
    SLOT_STEP_BEGIN, // payload: number
    SLOT_STEP_END,
    SLOT_COUNT,      // payload: value
    SLOT_COUNT_REAL, // payload: a double's bits
    SLOT_ASYNC,      // payload: id; phase 0 begin, 1 end
    SLOT_FLOW,       // payload: id; phase 0 begin, 1 step, 2 end
    SLOT_ARG_INT,    // payload: value
    SLOT_ARG_REAL,   // payload: a double's bits
    SLOT_ARG_TEXT,   // tick is the length; payload: the bytes
    SLOT_OP,         // about the span begun before it, see slot_of_op()
    SLOT_MEMORY,     // payload: address, bytes; total; phase 1 allocation, 2 release
    SLOT_OP_BEGIN,   // a begin and its only argument, see slot_about_op_begin()
};

// String ids of the arguments that SLOT_OP stands for, in every shard.
enum slot_op_key {
    SLOT_KEY_SEQ = 8,
    SLOT_KEY_FWD_THREAD,
    SLOT_KEY_SHAPES,
    SLOT_KEY_SCOPE,
    SLOT_KEY_END,
};

#define SLOT_TEXT_MAX 4000 // bytes of one text argument

static inline uint32_t slot_class_bits(enum slot_class class)
{
    return (uint32_t) class << 30;
}

static inline enum slot_kind slot_kind_of(const struct slot *slot)
{
    uint32_t class = slot->tick_high >> 30;
    return (enum slot_kind)(class < SLOT_CLASS_OTHER ? class : slot->about & 0xff);
}

static inline uint64_t slot_tick(const struct slot *slot)
{
    return (uint64_t)(slot->tick_high & 0x3fffffff) << 32 | slot->tick_low;
}

static inline uint32_t slot_phase(const struct slot *slot)
{
    return slot->about >> 8 & 0xff;
}

// Slots the record takes, as its writer says.
static inline uint32_t slot_count(const struct slot *slot)
{
    return slot->tick_high >> 30 < SLOT_CLASS_OTHER ? 1 : slot->about >> 16;
}

static inline struct slot slot_other(uint64_t tick, enum slot_kind kind, uint32_t site,
                                     uint32_t phase, uint32_t slots)
{
    return (struct slot){(uint32_t)tick,
                         (uint32_t)(tick >> 32 & 0x3fffffff) | slot_class_bits(SLOT_CLASS_OTHER),
                         site, (uint32_t)kind | phase << 8 | slots << 16};
}

// The number in a payload slot.
static inline uint64_t slot_value(const struct slot *payload)
{
    uint64_t value;
    memcpy(&value, payload, sizeof(value));
    return value;
}

// What SLOT_OP says; 0 means that there is none. In one slot: `shapes` (a string
// id) lies in the site's place, `scope` in the phase's, the others in the tick's.
struct slot_op {
    uint64_t seq_above; // sequence number + 1
    uint32_t fwd_thread;
    uint32_t shapes;
    uint8_t scope;
};
#define SLOT_OP_SEQ_BITS 40
#define SLOT_OP_THREAD_BITS 22

static inline struct slot slot_of_op(const struct slot_op *op)
{
    const uint64_t seq = op->seq_above >> SLOT_OP_SEQ_BITS ? 0 : op->seq_above;
    const uint64_t thread = op->fwd_thread >> SLOT_OP_THREAD_BITS ? 0 : op->fwd_thread;
    return slot_other(thread << SLOT_OP_SEQ_BITS | seq, SLOT_OP, op->shapes, op->scope, 1);
}

static inline struct slot_op slot_op_of(const struct slot *slot)
{
    const uint64_t both = slot_tick(slot);
    return (struct slot_op){both & ((UINT64_C(1) << SLOT_OP_SEQ_BITS) - 1),
                            (uint32_t)(both >> SLOT_OP_SEQ_BITS), slot->site,
                            (uint8_t)slot_phase(slot)};
}

// The begin of an op of which only the shapes are to be told: one slot instead of
// two. Their string id lies where other records have phase and slots.
#define SLOT_OP_SHAPES_MAX 0xffffffu

static inline uint32_t slot_about_op_begin(uint32_t shapes)
{
    return (uint32_t)SLOT_OP_BEGIN | shapes << 8;
}

static inline uint32_t slot_op_begin_shapes(const struct slot *slot)
{
    return slot->about >> 8;
}

static inline uint32_t slot_text_slots(size_t bytes)
{
    return 1 + (uint32_t)((bytes + sizeof(struct slot) - 1) / sizeof(struct slot));
}

#endif
