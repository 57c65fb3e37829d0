// SPDX-License-Identifier: Apache-2.0
// Unpacks gzip and zlib streams: by ISA-L where the machine has it, which takes half of
// zlib's time or less, else by zlib.
#ifndef GAIT_INGEST_BYTES_GUNZIP_H
#define GAIT_INGEST_BYTES_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gunzip_result { GUNZIP_MORE, GUNZIP_MEMBER_ENDS, GUNZIP_DAMAGED };

struct gunzip {
    const uint8_t *in; // what comes next, set by the caller
    size_t in_count;
    uint8_t *out; // where it goes
    size_t room;
    void *state;
    bool is_isal;
};

// NULL in `state` where there is no memory.
void gunzip_init(struct gunzip *gunzip);
void gunzip_finish(struct gunzip *gunzip); // takes a zeroed one

// Before another member.
void gunzip_reset(struct gunzip *gunzip);

// Until the input or the room is at an end, or a member.
enum gunzip_result gunzip_step(struct gunzip *gunzip);

#endif
