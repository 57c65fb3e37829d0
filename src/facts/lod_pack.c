// SPDX-License-Identifier: Apache-2.0
#include "facts/lod_pack.h"

#include "base/fail.h"

enum { MEMBERS = 9, MOST_BYTES = MEMBERS * 10 };

static size_t put(uint8_t *to, uint64_t number)
{
    size_t used = 0;
    for (; number > 127; number >>= 7)
        to[used++] = (uint8_t)(number | 128);
    to[used++] = (uint8_t)number;
    return used;
}

static uint64_t take(const uint8_t *bytes, size_t *at)
{
    uint64_t number = 0;
    for (unsigned bits = 0;; bits += 7) {
        const uint8_t byte = bytes[(*at)++];
        number |= (uint64_t)(byte & 127) << bits;
        if (byte < 128)
            return number;
    }
}

// Small where the difference is, of either sign.
static uint64_t fold(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unfold(uint64_t folded)
{
    return folded >> 1 ^ (0 - (folded & 1));
}

int lod_pack(struct buffer *packed, const struct lod_row *rows, size_t count)
{
    struct lod_row last = {.start = 0};
    for (size_t i = 0; i < count; last = rows[i++]) {
        const struct lod_row *row = &rows[i];
        const uint64_t members[MEMBERS] = {fold((uint64_t)row->start - (uint64_t)last.start),
                                           row->length,
                                           row->busy,
                                           row->longest,
                                           row->count,
                                           row->site,
                                           row->lane - last.lane,
                                           fold((uint64_t)row->frame - (uint64_t)last.frame),
                                           row->last};
        uint8_t *to = buffer_reserve(packed, MOST_BYTES);
        if (!to)
            return fail(GAIT_ERR_MEMORY, "no memory for levels of detail");
        for (int k = 0; k < MEMBERS; k++)
            packed->used += put(packed->bytes + packed->used, members[k]);
    }
    return GAIT_OK;
}

size_t lod_unpack(const struct buffer *packed, size_t at, struct lod_row *rows, size_t count)
{
    struct lod_row last = {.start = 0};
    for (size_t i = 0; i < count; last = rows[i++]) {
        uint64_t members[MEMBERS];
        for (int k = 0; k < MEMBERS; k++)
            members[k] = take(packed->bytes, &at);
        rows[i] = (struct lod_row){
            .start = (int64_t)(unfold(members[0]) + (uint64_t)last.start),
            .length = members[1],
            .busy = members[2],
            .longest = members[3],
            .count = members[4],
            .site = (uint32_t)members[5],
            .lane = (uint32_t)members[6] + last.lane,
            .frame = (uint32_t)(unfold(members[7]) + last.frame),
            .last = members[8],
        };
    }
    return at;
}
