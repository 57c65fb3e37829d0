// SPDX-License-Identifier: Apache-2.0
// Passes over values run in blocks that stay in the first cache. What looks at
// all values to choose a packing gives up early where it does not apply.
#include "format/column_pack.h"

#include "base/bytes.h"

#define BLOCK_ROWS 1024

static uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ -(value >> 63);
}

static size_t block_rows(size_t row, size_t rows)
{
    return rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS;
}

static bool is_constant(const uint64_t *values, size_t rows)
{
    uint64_t differences = 0;

    if (values[rows - 1] != values[0] || values[rows / 2] != values[0])
        return false;
    for (size_t row = 0; row < rows; row++)
        differences |= values[row] ^ values[0];
    return differences == 0;
}

// Whether each value is the one before plus the first one: ids handed out in
// a row. Their differences, seen from 0, are a constant.
static bool is_progression(const uint64_t *values, size_t rows)
{
    uint64_t differences = 0;

    if (values[rows - 1] != values[0] * rows)
        return false;
    for (size_t row = 1; row < rows; row++)
        differences |= (values[row] - values[row - 1]) ^ values[0];
    return differences == 0;
}

static bool never_falls(const uint64_t *values, size_t rows)
{
    uint64_t differences = 0;

    for (size_t row = 1; row < rows; row++)
        differences |= values[row] - values[row - 1];
    return differences >> 63 == 0;
}

static bool fits_nibbles(const uint64_t *values, size_t rows)
{
    for (size_t row = 0; row < rows; row += BLOCK_ROWS) {
        const size_t count = block_rows(row, rows);
        uint64_t all = 0;
        for (size_t i = 0; i < count; i++)
            all |= values[row + i];
        if (all > 0xf)
            return false;
    }
    return true;
}

static void finish_section(struct column_blob *blob, size_t end)
{
    blob->section_ends[blob->sections++] = end;
    blob->bytes = end;
}

// Stored form of `rows` values that begin at values[from].
static void transform_block(enum column_transform transform, const uint64_t *values, size_t from,
                            size_t rows, uint64_t *ret_block)
{
    const uint64_t *block = values + from;

    if (transform == TRANSFORM_ZIGZAG) {
        for (size_t row = 0; row < rows; row++)
            ret_block[row] = zigzag(block[row]);
        return;
    }
    ret_block[0] = block[0] - (from ? block[-1] : 0);
    for (size_t row = 1; row < rows; row++)
        ret_block[row] = block[row] - block[row - 1];
    for (size_t row = 0; transform == TRANSFORM_DELTA && row < rows; row++)
        ret_block[row] = zigzag(ret_block[row]);
}

static void pack_quad(enum column_transform transform, const uint64_t *values, size_t rows,
                      uint8_t *out, struct column_blob *blob)
{
    uint64_t block[BLOCK_ROWS];
    struct quad_sink sink;

    quad_sink_init(&sink, rows, out);
    finish_section(blob, (size_t)(sink.low - out));
    finish_section(blob, (size_t)(sink.rest - out));
    if (transform == TRANSFORM_NONE)
        quad_put(&sink, values, rows);
    for (size_t row = 0; transform != TRANSFORM_NONE && row < rows; row += BLOCK_ROWS) {
        const size_t count = block_rows(row, rows);
        transform_block(transform, values, row, count, block);
        quad_put(&sink, block, count);
    }
    finish_section(blob, (size_t)(sink.rest - out));
    blob->packing = PACKING_QUAD;
    blob->transform = transform;
}

static void pack_nibbles(const uint64_t *values, size_t rows, uint8_t *out,
                         struct column_blob *blob)
{
    for (size_t pair = 0; pair < rows / 2; pair++)
        out[pair] = (uint8_t)(values[2 * pair] | values[2 * pair + 1] << 4);
    if (rows % 2)
        out[rows / 2] = (uint8_t)values[rows - 1];
    finish_section(blob, (rows + 1) / 2);
    blob->packing = PACKING_NIBBLE;
}

void column_pack_constant(uint64_t value, uint8_t *out, struct column_blob *ret_blob)
{
    *ret_blob = (struct column_blob){.packing = PACKING_CONSTANT};
    if (!value)
        return;
    bytes_put64(out, value);
    finish_section(ret_blob, sizeof(value));
}

static void pack_progression(uint64_t step, uint8_t *out, struct column_blob *blob)
{
    column_pack_constant(step, out, blob);
    blob->transform = TRANSFORM_RISE;
}

void column_pack_fixed(const uint64_t *values, size_t rows, uint8_t *out,
                       struct column_blob *ret_blob)
{
    *ret_blob = (struct column_blob){.packing = PACKING_FIXED64};
    if (!rows)
        return;
    if (is_constant(values, rows)) {
        column_pack_constant(values[0], out, ret_blob);
        return;
    }
    memcpy(out, values, rows * sizeof(*values));
    finish_section(ret_blob, rows * sizeof(*values));
}

void column_pack(enum column_transform wanted, const uint64_t *values, size_t rows, uint8_t *out,
                 struct column_blob *ret_blob)
{
    const bool is_delta = wanted == TRANSFORM_DELTA || wanted == TRANSFORM_RISE;

    *ret_blob = (struct column_blob){0};
    if (!rows)
        return;
    if (is_constant(values, rows)) {
        column_pack_constant(values[0], out, ret_blob);
    } else if (is_delta && is_progression(values, rows)) {
        pack_progression(values[0], out, ret_blob);
    } else if (wanted == TRANSFORM_NONE && fits_nibbles(values, rows)) {
        pack_nibbles(values, rows, out, ret_blob);
    } else {
        if (is_delta)
            wanted = never_falls(values, rows) ? TRANSFORM_RISE : TRANSFORM_DELTA;
        pack_quad(wanted, values, rows, out, ret_blob);
        if (ret_blob->bytes >= rows * sizeof(*values))
            column_pack_fixed(values, rows, out, ret_blob);
    }
}

static uint8_t *pack_lengths(const struct slice *values, size_t rows, uint8_t *out)
{
    uint64_t block[BLOCK_ROWS];
    struct quad_sink sink;

    quad_sink_init(&sink, rows, out);
    for (size_t row = 0; row < rows; row += BLOCK_ROWS) {
        const size_t count = block_rows(row, rows);
        for (size_t i = 0; i < count; i++)
            block[i] = values[row + i].count;
        quad_put(&sink, block, count);
    }
    return sink.rest;
}

void column_pack_bytes(const struct slice *values, size_t rows, size_t total_bytes, uint8_t *out,
                       struct column_blob *ret_blob)
{
    *ret_blob = (struct column_blob){.packing = PACKING_BYTES};
    if (!total_bytes)
        return;
    uint8_t *end = pack_lengths(values, rows, out + 4);
    bytes_put32(out, (uint32_t)(end - out - 4));
    finish_section(ret_blob, (size_t)(end - out));
    for (size_t row = 0; row < rows; row++) {
        if (values[row].count)
            memcpy(end, values[row].bytes, values[row].count);
        end += values[row].count;
    }
    finish_section(ret_blob, (size_t)(end - out));
}
