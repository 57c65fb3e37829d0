// SPDX-License-Identifier: Apache-2.0
// One column of a frame before compression: chooses how its values are stored
// and stores them so (docs/FORMAT.md section 2; why: docs/decisions).
#ifndef GAIT_FORMAT_COLUMN_PACK_H
#define GAIT_FORMAT_COLUMN_PACK_H

#include "base/slice.h"
#include "format/quad.h"
#include "format/schema.h"

#define COLUMN_MAX_SECTIONS 3

// A packed column. Sections are stretches of different nature (lengths, noise,
// skewed bytes); a compressor that looks at each alone does better.
struct column_blob {
    enum column_transform transform;
    enum column_packing packing;
    size_t bytes; // 0: the column is zero in all rows and need not be stored
    size_t section_ends[COLUMN_MAX_SECTIONS];
    uint32_t sections;
};

// Room that packing needs.
static inline size_t column_bound(size_t rows)
{
    return quad_bound(rows);
}
static inline size_t column_bound_bytes(size_t rows, size_t total_bytes)
{
    return 4 + quad_bound(rows) + total_bytes;
}

struct column_numbers {
    const uint64_t *values;
    size_t rows;
    const uint64_t *first; // NULL, or what a time column may count from
};

// `wanted` is a hint: what is constant is stored as such; TRANSFORM_DELTA
// becomes TRANSFORM_RISE or TRANSFORM_CLIMB where no value is below the one
// before, TRANSFORM_NESTED (of gaps or tails) becomes TRANSFORM_NESTED_RISE
// where none is below 0.
void column_pack(enum column_transform wanted, const struct column_numbers *numbers, uint8_t *out,
                 struct column_blob *ret_blob);

// 64-bit patterns without structure, as reals are.
void column_pack_fixed(const uint64_t *values, size_t rows, uint8_t *out,
                       struct column_blob *ret_blob);

void column_pack_constant(uint64_t value, uint8_t *out, struct column_blob *ret_blob);

// Rows of bytes that add up to `total_bytes`.
void column_pack_bytes(const struct slice *values, size_t rows, size_t total_bytes, uint8_t *out,
                       struct column_blob *ret_blob);

#endif
