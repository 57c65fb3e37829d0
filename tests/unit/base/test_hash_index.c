// SPDX-License-Identifier: Apache-2.0
// Rows are numbers; where one stands, a look at all of them says as well.
#include "base/index/hash_index.h"

#include "support/tap.h"

enum { ROWS = 5000, VALUES = 1500 };

struct rows {
    struct hash_index index;
    uint32_t values[ROWS];
    size_t count;
};

// The row of the value, a new one if there is none; -1: no memory.
static int64_t row_of(struct rows *rows, uint32_t value, uint32_t hash)
{
    struct hash_index *index = &rows->index;
    if (hash_index_reserve(index, 4))
        return -1;
    size_t at = hash_index_first(index, hash);
    while (index->places[at].row && rows->values[index->places[at].row - 1] != value)
        at = hash_index_next(index, at);
    if (!index->places[at].row) {
        hash_index_put(index, at, hash, (uint32_t)rows->count);
        rows->values[rows->count++] = value;
    }
    return index->places[at].row - 1;
}

static int64_t seen_at(const uint32_t *values, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] == value)
            return (int64_t)i;
    return (int64_t)count;
}

static void try_hashes(uint32_t (*hash_of)(uint32_t value))
{
    struct rows rows = {.count = 0};
    uint32_t chance = 12345;
    for (int i = 0; i < ROWS; i++) {
        chance = chance * 1664525u + 1013904223u;
        const uint32_t value = chance >> 8 & 0x7ff;
        if (value >= VALUES)
            continue;
        const int64_t wanted = seen_at(rows.values, rows.count, value);
        is_int(row_of(&rows, value, hash_of(value)), wanted);
    }
    ok(rows.count > VALUES / 2);
    is_u64(rows.index.count, rows.count);
    ok(rows.index.room >= 2 * rows.count);
    ok((rows.index.room & (rows.index.room - 1)) == 0);
    hash_index_finish(&rows.index);
    ok(!rows.index.places && !rows.index.room && !rows.index.count);
}

static uint32_t spread(uint32_t value)
{
    return value * 2654435761u;
}

static uint32_t high_bits_alone(uint32_t value)
{
    return value << 20; // all in one place, with different hashes
}

static uint32_t three_hashes(uint32_t value)
{
    return value % 3;
}

TEST("hash_index: a row is found again, and a new one put, whatever the hashes are like")
{
    try_hashes(spread);
    try_hashes(high_bits_alone);
    try_hashes(three_hashes);
}

TEST("hash_index: an index of zeroes may be finished, and wraps at its end")
{
    struct rows rows = {.count = 0};
    hash_index_finish(&rows.index);
    for (int i = 0; i < 2; i++) {
        is_int(row_of(&rows, 7, UINT32_MAX), 0); // the last place
        is_int(row_of(&rows, 8, UINT32_MAX), 1); // the first one
    }
    is_u64(rows.index.room, 8);
    hash_index_finish(&rows.index);
}
