// SPDX-License-Identifier: Apache-2.0
// Passes over values run in blocks that stay in the first cache. What looks at
// all values to choose a packing gives up early where it does not apply.
#include "format/column_pack.h"

#include "base/bytes.h"
#include "base/invariant.h"

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

static uint64_t rise_of(const uint64_t *values, size_t rows)
{
    uint64_t differences = 0;

    for (size_t row = 1; row < rows; row++)
        differences |= values[row] - values[row - 1];
    return differences;
}

// The transform that fits the values best among those that `wanted` stands for.
static enum column_transform choose(enum column_transform wanted,
                                    const struct column_numbers *numbers)
{
    const uint64_t *values = numbers->values;

    if (transform_is_nested(wanted))
        return TRANSFORM_NESTED_RISE; // unless the survey finds one below 0
    if (wanted < TRANSFORM_DELTA)
        return wanted;
    if (rise_of(values, numbers->rows) >> 63)
        return TRANSFORM_DELTA;
    return numbers->first && *numbers->first <= values[0] ? TRANSFORM_CLIMB : TRANSFORM_RISE;
}

static void finish_section(struct column_blob *blob, size_t end)
{
    GAIT_ASSERT(blob->sections < COLUMN_MAX_SECTIONS && end >= blob->bytes);
    blob->section_ends[blob->sections++] = end;
    blob->bytes = end;
}

// Stored form of `rows` values from values[from] on.
static const uint64_t *transform_block(enum column_transform transform,
                                       const struct column_numbers *numbers, size_t from,
                                       uint64_t *block)
{
    const uint64_t *values = numbers->values + from;
    const size_t rows = block_rows(from, numbers->rows);
    const uint64_t base = transform == TRANSFORM_CLIMB ? *numbers->first : 0;

    if (transform == TRANSFORM_NONE || transform == TRANSFORM_NESTED_RISE)
        return values;
    if (transform == TRANSFORM_ZIGZAG || transform == TRANSFORM_NESTED) {
        for (size_t row = 0; row < rows; row++)
            block[row] = zigzag(values[row]);
        return block;
    }
    block[0] = values[0] - (from ? values[-1] : base);
    for (size_t row = 1; row < rows; row++)
        block[row] = values[row] - values[row - 1];
    for (size_t row = 0; transform == TRANSFORM_DELTA && row < rows; row++)
        block[row] = zigzag(block[row]);
    return block;
}

// All bits that occur in the stored form: as long as the longest value.
static uint64_t survey(enum column_transform transform, const struct column_numbers *numbers)
{
    uint64_t block[BLOCK_ROWS], all = 0;

    for (size_t row = 0; row < numbers->rows; row += BLOCK_ROWS) {
        const uint64_t *stored = transform_block(transform, numbers, row, block);
        const size_t count = block_rows(row, numbers->rows);
        for (size_t i = 0; i < count; i++)
            all |= stored[i];
    }
    return all;
}

static void pack_quad(enum column_transform transform, const struct column_numbers *numbers,
                      uint64_t most, uint8_t *out, struct column_blob *blob)
{
    static const enum column_packing packings[QUAD_WIDTH_COUNT] = {
        [QUAD_8] = PACKING_QUAD,
        [QUAD_5] = PACKING_QUAD5,
        [QUAD_4] = PACKING_QUAD4,
    };
    const enum quad_width width = quad_width_for(most);
    uint64_t block[BLOCK_ROWS];
    struct quad_sink sink;

    quad_sink_init(&sink, width, numbers->rows, out);
    finish_section(blob, (size_t)(sink.low - out));
    finish_section(blob, (size_t)(sink.rest - out));
    void (*put)(struct quad_sink *, const uint64_t *, size_t) =
        most > 0xff ? quad_put : quad_put_low;
    for (size_t row = 0; row < numbers->rows; row += BLOCK_ROWS)
        put(&sink, transform_block(transform, numbers, row, block), block_rows(row, numbers->rows));
    finish_section(blob, (size_t)(sink.rest - out));
    blob->packing = packings[width];
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

// Of one value. A nested column is never left out: what it is not, the other of
// the two would not be either.
static void pack_one_value(enum column_transform wanted, uint64_t value, uint8_t *out,
                           struct column_blob *blob)
{
    column_pack_constant(value, out, blob);
    if (!transform_is_nested(wanted))
        return;
    blob->transform = TRANSFORM_NESTED_RISE;
    if (value)
        return;
    bytes_put64(out, 0);
    finish_section(blob, sizeof(value));
}

void column_pack(enum column_transform wanted, const struct column_numbers *numbers, uint8_t *out,
                 struct column_blob *ret_blob)
{
    const uint64_t *values = numbers->values;
    const size_t rows = numbers->rows;

    *ret_blob = (struct column_blob){0};
    if (!rows)
        return;
    if (is_constant(values, rows)) {
        pack_one_value(wanted, values[0], out, ret_blob);
        return;
    }
    wanted = choose(wanted, numbers);
    if ((wanted == TRANSFORM_RISE || wanted == TRANSFORM_DELTA) && is_progression(values, rows)) {
        pack_progression(values[0], out, ret_blob);
        return;
    }
    uint64_t most = survey(wanted, numbers);
    if (wanted == TRANSFORM_NESTED_RISE && most >> 63) {
        wanted = TRANSFORM_NESTED; // one is below 0
        most = survey(wanted, numbers);
    }
    if (most <= 0xf && (wanted == TRANSFORM_NONE || wanted == TRANSFORM_NESTED_RISE)) {
        pack_nibbles(values, rows, out, ret_blob);
        ret_blob->transform = wanted;
        return;
    }
    pack_quad(wanted, numbers, most, out, ret_blob);
    GAIT_ASSERT(ret_blob->bytes <= column_bound(rows));
    if (ret_blob->bytes >= rows * sizeof(*values) && !transform_is_nested(wanted))
        column_pack_fixed(values, rows, out, ret_blob);
}

static uint8_t *pack_lengths(const struct slice *values, size_t rows, uint8_t *out)
{
    uint64_t block[BLOCK_ROWS];
    struct quad_sink sink;

    quad_sink_init(&sink, QUAD_8, rows, out);
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
    GAIT_ASSERT((size_t)(end - out) <= column_bound_bytes(rows, total_bytes));
    finish_section(ret_blob, (size_t)(end - out));
}
