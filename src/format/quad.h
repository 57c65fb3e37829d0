// SPDX-License-Identifier: Apache-2.0
// The quad packing: 64-bit numbers in groups of four; their lengths, their low
// bytes and their other bytes stand apart (docs/FORMAT.md section 2). Lengths
// known ahead make decoding branch-free; low bytes are mostly noise, and apart
// from it the others compress better.
#ifndef GAIT_FORMAT_QUAD_H
#define GAIT_FORMAT_QUAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/slice.h"

// Most bytes `rows` values can take, 8 bytes of slack for the encoder included.
static inline size_t quad_bound(size_t rows)
{
    return (rows + 3) / 4 + rows * 8 + 8;
}

// How long the longest of the four lengths is; the others are 1, 2 and 3 bytes.
enum quad_width { QUAD_8, QUAD_5, QUAD_4, QUAD_WIDTH_COUNT };

// The narrowest that holds values up to `most`.
static inline enum quad_width quad_width_for(uint64_t most)
{
    return most >> 40 ? QUAD_8 : most >> 32 ? QUAD_5 : QUAD_4;
}

// In steps, for callers that transform values while they are in the first cache. A sink packs
// into quad_bound() bytes and ends at `rest`. Every step but the last takes a multiple of four
// rows.
struct quad_sink {
    const struct quad_layouts *layouts;
    uint8_t *control, *low, *rest; // where the next group goes
};
struct quad_source {
    const struct quad_layouts *layouts;
    const uint8_t *control, *low, *rest, *end; // of the next group
};

void quad_sink_init(struct quad_sink *sink, enum quad_width width, size_t rows, uint8_t *out);
void quad_put(struct quad_sink *sink, const uint64_t *values, size_t rows);
// The same, of values below 256.
void quad_put_low(struct quad_sink *sink, const uint64_t *values, size_t rows);

GAIT_CHECK int quad_source_init(struct quad_source *source, enum quad_width width,
                                struct slice packed, size_t rows);
// False when the bytes end before the values do.
GAIT_CHECK bool quad_take(struct quad_source *source, uint64_t *ret_values, size_t rows);

#endif
