// SPDX-License-Identifier: Apache-2.0
// Records of collectors that the public calls would make dearer: a span begun
// together with what an op has for arguments, and memory events. Like the calls
// of record.h they may come from any thread at any time; op_begin() is ended by
// gait_end().
#ifndef GAIT_RECORD_OP_H
#define GAIT_RECORD_OP_H

#include <stdint.h>

#include "record/writer.h"

struct op_about {
    int64_t seq;         // -1: none
    uint64_t fwd_thread; // 0: none
    uint32_t shapes;     // string id, 0: none
    uint8_t scope;
};

// gait_begin() with arguments: two slots, however many there are.
void op_begin(uint32_t site, const struct op_about *about);

enum op_memory_kind { OP_ALLOCATION = 1, OP_RELEASE = 2 };

struct op_memory {
    enum op_memory_kind kind;
    uint64_t address;
    int64_t bytes; // below 0 for a release, 0 when its size is not known
    int64_t total; // after it
};
void op_memory(uint32_t site, const struct op_memory *memory);

// The number of the session being recorded, 0 when off. What belongs to another
// one is not on record.
static inline uint64_t op_session(void)
{
    return __atomic_load_n(&writer_session, __ATOMIC_RELAXED);
}

#endif
