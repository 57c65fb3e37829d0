// SPDX-License-Identifier: Apache-2.0
// A ring's unit: 16 bytes. A record is one slot, or one and the slots after it
// that `slots` counts. Rings are private to gait; files never hold slots.
#ifndef GAIT_FORMAT_SLOT_H
#define GAIT_FORMAT_SLOT_H

#include <stddef.h>
#include <stdint.h>

struct slot {
    uint64_t tick; // when; for arguments: the value, or a text's length
    uint64_t word; // site or key | kind << 32 | phase << 40 | slots << 48
};

enum slot_kind {
    SLOT_BEGIN = 1,
    SLOT_END,
    SLOT_NEXT,
    SLOT_MARK,
    SLOT_STEP_END,
    SLOT_ARG_INT,
    SLOT_ARG_REAL,
    SLOT_ARG_TEXT,   // 1 + (length + 15) / 16 slots
    SLOT_COUNT,      // 2 slots: the second's tick is the value
    SLOT_COUNT_REAL, // likewise, a double's bits
    SLOT_STEP_BEGIN, // 2: number
    SLOT_ASYNC,      // 2: id; phase 0 begin, 1 end
    SLOT_FLOW,       // 2: id; phase 0 begin, 1 step, 2 end
};

#define SLOT_TEXT_MAX 4000 // bytes of one text argument

static inline uint64_t slot_word(enum slot_kind kind, uint32_t site, uint32_t phase, uint32_t slots)
{
    return site | (uint64_t)kind << 32 | (uint64_t)phase << 40 | (uint64_t)slots << 48;
}

static inline uint32_t slot_site(uint64_t word)
{
    return (uint32_t)word;
}

static inline enum slot_kind slot_kind_of(uint64_t word)
{
    return (enum slot_kind)(word >> 32 & 0xff);
}

static inline uint32_t slot_phase(uint64_t word)
{
    return (uint32_t)(word >> 40 & 0xff);
}

static inline uint32_t slot_count(uint64_t word)
{
    return (uint32_t)(word >> 48);
}

static inline uint32_t slot_text_slots(size_t bytes)
{
    return 1 + (uint32_t)((bytes + sizeof(struct slot) - 1) / sizeof(struct slot));
}

#endif
