// SPDX-License-Identifier: Apache-2.0
// Both ways move 8 bytes a value, whatever its length, and step by the length:
// no branch depends on the data (measured in docs/decisions).
#include "format/quad.h"

#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"

// Bytes of a value besides its low one, by its two control bits; `last` where
// all are set.
#define REST(code, last) ((code) == 3 ? (last) : (code))
#define CODE(control, i) ((control) >> 2 * (i) & 3)
#define AT1(c, last) REST(CODE(c, 0), last)
#define AT2(c, last) (AT1(c, last) + REST(CODE(c, 1), last))
#define AT3(c, last) (AT2(c, last) + REST(CODE(c, 2), last))
#define TOTAL(c, last) (AT3(c, last) + REST(CODE(c, 3), last))

#define LAYOUT(c, l) {AT1(c, l), AT2(c, l), AT3(c, l), TOTAL(c, l)}
#define LAYOUTS4(c, l) LAYOUT(c, l), LAYOUT((c) + 1, l), LAYOUT((c) + 2, l), LAYOUT((c) + 3, l)
#define LAYOUTS16(c, l)                                                                            \
    LAYOUTS4(c, l), LAYOUTS4((c) + 4, l), LAYOUTS4((c) + 8, l), LAYOUTS4((c) + 12, l)
#define LAYOUTS64(c, l)                                                                            \
    LAYOUTS16(c, l), LAYOUTS16((c) + 16, l), LAYOUTS16((c) + 32, l), LAYOUTS16((c) + 48, l)
#define LAYOUTS256(l) LAYOUTS64(0u, l), LAYOUTS64(64u, l), LAYOUTS64(128u, l), LAYOUTS64(192u, l)

// By control byte: where the rests of values 1 to 3 of the group begin, and the
// length of all four. One load keeps the chain from group to group at a single
// addition.
struct quad_layouts {
    struct {
        uint8_t at1, at2, at3, total;
    } of[256];
    uint64_t masks[4]; // of a rest, by control bits
    uint8_t lengths[4];
};

#define WIDTH(last)                                                                                \
    {                                                                                              \
        {LAYOUTS256(last)}, {0, 0xff, 0xffff, UINT64_MAX >> (64 - 8 * (last))},                    \
        {                                                                                          \
            0, 1, 2, (last)                                                                        \
        }                                                                                          \
    }

static const struct quad_layouts widths[QUAD_WIDTH_COUNT] = {
    [QUAD_8] = WIDTH(7u),
    [QUAD_5] = WIDTH(4u),
    [QUAD_4] = WIDTH(3u),
};

// By the number of the highest byte that is not zero.
static const uint8_t codes[8] = {0, 1, 2, 3, 3, 3, 3, 3};

// What looking at the rests of a group reads at most: 7 + 7 + 7 + 8 bytes.
#define GROUP_REACH 29

static unsigned code_of(uint64_t value)
{
    return codes[(63 ^ __builtin_clzll(value | 1)) >> 3];
}

void quad_sink_init(struct quad_sink *sink, enum quad_width width, size_t rows, uint8_t *out)
{
    sink->layouts = &widths[width];
    sink->control = out;
    sink->low = out + (rows + 3) / 4;
    sink->rest = sink->low + rows;
}

static void put_few(struct quad_sink *sink, const uint64_t *values, size_t rows)
{
    unsigned control = 0;

    for (size_t row = 0; row < rows; row++) {
        const unsigned code = code_of(values[row]);
        control |= code << 2 * row;
        *sink->low++ = (uint8_t)values[row];
        bytes_put64(sink->rest, values[row] >> 8);
        sink->rest += sink->layouts->lengths[code];
    }
    *sink->control++ = (uint8_t)control;
}

void quad_put(struct quad_sink *sink, const uint64_t *values, size_t rows)
{
    const struct quad_layouts *layouts = sink->layouts;
    uint8_t *control = sink->control, *low = sink->low, *rest = sink->rest;
    size_t row = 0;

    for (; row + 4 <= rows; row += 4) {
        const uint64_t v0 = values[row], v1 = values[row + 1];
        const uint64_t v2 = values[row + 2], v3 = values[row + 3];
        const unsigned code = code_of(v0) | code_of(v1) << 2 | code_of(v2) << 4 | code_of(v3) << 6;
        *control++ = (uint8_t)code;
        low[0] = (uint8_t)v0;
        low[1] = (uint8_t)v1;
        low[2] = (uint8_t)v2;
        low[3] = (uint8_t)v3;
        low += 4;
        bytes_put64(rest, v0 >> 8);
        bytes_put64(rest + layouts->of[code].at1, v1 >> 8);
        bytes_put64(rest + layouts->of[code].at2, v2 >> 8);
        bytes_put64(rest + layouts->of[code].at3, v3 >> 8);
        rest += layouts->of[code].total;
    }
    *sink = (struct quad_sink){layouts, control, low, rest};
    if (row < rows)
        put_few(sink, values + row, rows - row);
}

void quad_put_low(struct quad_sink *sink, const uint64_t *values, size_t rows)
{
    const size_t groups = (rows + 3) / 4;

    memset(sink->control, 0, groups);
    for (size_t row = 0; row < rows; row++)
        sink->low[row] = (uint8_t)values[row];
    sink->control += groups;
    sink->low += rows;
}

int quad_source_init(struct quad_source *source, enum quad_width width, struct slice packed,
                     size_t rows)
{
    const size_t groups = rows / 4 + (rows % 4 != 0);

    if (rows > packed.count || groups > packed.count - rows)
        return fail(GAIT_ERR_FORMAT, "%zu packed values do not fit %zu bytes", rows, packed.count);
    if (rows % 4 && packed.bytes[groups - 1] >> 2 * (rows % 4))
        return fail(GAIT_ERR_FORMAT, "control bits follow the last of %zu packed values", rows);
    source->layouts = &widths[width];
    source->control = packed.bytes;
    source->low = packed.bytes + groups;
    source->rest = source->low + rows;
    source->end = packed.bytes + packed.count;
    return 0;
}

// All that is left are low bytes: what site and id columns mostly are.
static bool take_low(struct quad_source *source, uint64_t *ret_values, size_t rows)
{
    const size_t groups = (rows + 3) / 4;
    unsigned controls = 0;

    for (size_t group = 0; group < groups; group++)
        controls |= source->control[group];
    for (size_t row = 0; row < rows; row++)
        ret_values[row] = source->low[row];
    source->control += groups;
    source->low += rows;
    return controls == 0;
}

// Value by value where fewer than GROUP_REACH bytes are left to look at.
static bool take_carefully(struct quad_source *source, uint64_t *ret_values, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        const unsigned code = CODE(source->control[row / 4], row % 4);
        const size_t length = source->layouts->lengths[code];
        uint64_t rest = 0;

        if (length > (size_t)(source->end - source->rest))
            return false;
        memcpy(&rest, source->rest, length);
        ret_values[row] = *source->low++ | rest << 8;
        source->rest += length;
    }
    source->control += (rows + 3) / 4;
    return true;
}

bool quad_take(struct quad_source *source, uint64_t *ret_values, size_t rows)
{
    const struct quad_layouts *layouts = source->layouts;
    const uint64_t *masks = layouts->masks;
    const uint8_t *control = source->control, *low = source->low, *rest = source->rest;
    size_t row = 0;

    for (; row + 4 <= rows && source->end - rest >= GROUP_REACH; row += 4) {
        const unsigned code = *control++;
        const uint64_t r0 = bytes_get64(rest) & masks[CODE(code, 0)];
        const uint64_t r1 = bytes_get64(rest + layouts->of[code].at1) & masks[CODE(code, 1)];
        const uint64_t r2 = bytes_get64(rest + layouts->of[code].at2) & masks[CODE(code, 2)];
        const uint64_t r3 = bytes_get64(rest + layouts->of[code].at3) & masks[CODE(code, 3)];
        ret_values[row] = low[0] | r0 << 8;
        ret_values[row + 1] = low[1] | r1 << 8;
        ret_values[row + 2] = low[2] | r2 << 8;
        ret_values[row + 3] = low[3] | r3 << 8;
        low += 4;
        rest += layouts->of[code].total;
    }
    source->control = control;
    source->low = low;
    source->rest = rest;
    if (rest == source->end)
        return take_low(source, ret_values + row, rows - row);
    return take_carefully(source, ret_values + row, rows - row);
}
