// SPDX-License-Identifier: Apache-2.0
// Both ways move 8 bytes a value, whatever its length, and step by the length:
// no branch depends on the data (measured in docs/decisions/0001-columns.md).
#include "format/quad.h"

#include "base/bytes.h"
#include "base/fail.h"

#define CODE(control, i) ((control) >> 2 * (i) & 3)
#define LENGTH(code) ((code) == 3 ? 8u : (code) + 1u)
#define AT1(c) LENGTH(CODE(c, 0))
#define AT2(c) (AT1(c) + LENGTH(CODE(c, 1)))
#define AT3(c) (AT2(c) + LENGTH(CODE(c, 2)))
#define TOTAL(c) (AT3(c) + LENGTH(CODE(c, 3)))

// By control byte: where values 1 to 3 of the group begin, and its length. One
// load keeps the chain from group to group at a single addition.
#define LAYOUT(c) {AT1(c), AT2(c), AT3(c), TOTAL(c)}
#define LAYOUTS4(c) LAYOUT(c), LAYOUT((c) + 1), LAYOUT((c) + 2), LAYOUT((c) + 3)
#define LAYOUTS16(c) LAYOUTS4(c), LAYOUTS4((c) + 4), LAYOUTS4((c) + 8), LAYOUTS4((c) + 12)
#define LAYOUTS64(c) LAYOUTS16(c), LAYOUTS16((c) + 16), LAYOUTS16((c) + 32), LAYOUTS16((c) + 48)

static const struct {
    uint8_t at1, at2, at3, total;
} layouts[256] = {LAYOUTS64(0u), LAYOUTS64(64u), LAYOUTS64(128u), LAYOUTS64(192u)};

static const uint64_t masks[4] = {0xff, 0xffff, 0xffffff, UINT64_MAX};

#define GROUP_MAX_BYTES 32

static unsigned code_of(uint64_t value)
{
    return (value > 0xff) + (value > 0xffff) + (value > 0xffffff);
}

void quad_sink_init(struct quad_sink *sink, size_t rows, uint8_t *out)
{
    sink->control = out;
    sink->data = out + (rows + 3) / 4;
}

void quad_put(struct quad_sink *sink, const uint64_t *values, size_t rows)
{
    uint8_t *control = sink->control, *data = sink->data;
    size_t row = 0;

    for (; row + 4 <= rows; row += 4) {
        const uint64_t v0 = values[row], v1 = values[row + 1];
        const uint64_t v2 = values[row + 2], v3 = values[row + 3];
        const unsigned code = code_of(v0) | code_of(v1) << 2 | code_of(v2) << 4 | code_of(v3) << 6;
        *control++ = (uint8_t)code;
        bytes_put64(data, v0);
        bytes_put64(data + layouts[code].at1, v1);
        bytes_put64(data + layouts[code].at2, v2);
        bytes_put64(data + layouts[code].at3, v3);
        data += layouts[code].total;
    }
    if (row < rows) {
        unsigned code = 0;
        for (unsigned i = 0; row < rows; row++, i++) {
            code |= code_of(values[row]) << 2 * i;
            bytes_put64(data, values[row]);
            data += LENGTH(code_of(values[row]));
        }
        *control++ = (uint8_t)code;
    }
    sink->control = control;
    sink->data = data;
}

size_t quad_encode(const uint64_t *values, size_t rows, uint8_t *out)
{
    struct quad_sink sink;

    quad_sink_init(&sink, rows, out);
    quad_put(&sink, values, rows);
    return (size_t)(sink.data - out);
}

int quad_source_init(struct quad_source *source, const uint8_t *packed, size_t bytes, size_t rows)
{
    const size_t groups = rows / 4 + (rows % 4 != 0);

    if (groups > bytes)
        return fail(GAIT_ERR_FORMAT, "%zu packed values need %zu control bytes, there are %zu",
                    rows, groups, bytes);
    if (rows % 4 && packed[groups - 1] >> 2 * (rows % 4))
        return fail(GAIT_ERR_FORMAT, "control bits stand behind the last of %zu packed values",
                    rows);
    source->control = packed;
    source->data = packed + groups;
    source->end = packed + bytes;
    return 0;
}

// Value by value where fewer than GROUP_MAX_BYTES are left to look at.
static bool take_carefully(struct quad_source *source, uint64_t *ret_values, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        const unsigned code = CODE(source->control[row / 4], row % 4);
        const size_t length = LENGTH(code);
        uint64_t value = 0;

        if (length > (size_t)(source->end - source->data))
            return false;
        memcpy(&value, source->data, length);
        ret_values[row] = value;
        source->data += length;
    }
    source->control += (rows + 3) / 4;
    return true;
}

bool quad_take(struct quad_source *source, uint64_t *ret_values, size_t rows)
{
    const uint8_t *control = source->control, *data = source->data;
    size_t row = 0;

    for (; row + 4 <= rows && source->end - data >= GROUP_MAX_BYTES; row += 4) {
        const unsigned code = *control++;
        ret_values[row] = bytes_get64(data) & masks[CODE(code, 0)];
        ret_values[row + 1] = bytes_get64(data + layouts[code].at1) & masks[CODE(code, 1)];
        ret_values[row + 2] = bytes_get64(data + layouts[code].at2) & masks[CODE(code, 2)];
        ret_values[row + 3] = bytes_get64(data + layouts[code].at3) & masks[CODE(code, 3)];
        data += layouts[code].total;
    }
    source->control = control;
    source->data = data;
    return row == rows || take_carefully(source, ret_values + row, rows - row);
}

int quad_decode(const uint8_t *packed, size_t bytes, size_t rows, uint64_t *ret_values,
                size_t *ret_used)
{
    struct quad_source source;
    int status = quad_source_init(&source, packed, bytes, rows);

    if (status)
        return status;
    if (!quad_take(&source, ret_values, rows))
        return fail(GAIT_ERR_FORMAT, "packed values end after %zu bytes, before the last of %zu",
                    bytes, rows);
    if (ret_used)
        *ret_used = (size_t)(source.data - packed);
    return 0;
}
