// SPDX-License-Identifier: Apache-2.0
// A column packed by format/quad.h in one go, and unpacked: what gait itself does in steps.
#ifndef GAIT_TESTS_QUAD_WHOLE_H
#define GAIT_TESTS_QUAD_WHOLE_H

#include "base/fail.h"
#include "format/quad.h"

// Packs values into `out` (quad_bound() bytes) and returns the length.
static inline size_t quad_encode(enum quad_width width, const uint64_t *values, size_t rows,
                                 uint8_t *out)
{
    struct quad_sink sink;
    quad_sink_init(&sink, width, rows, out);
    quad_put(&sink, values, rows);
    return (size_t)(sink.rest - out);
}

// Unpacks exactly `rows` values. Fails unless the packed form is well formed;
// `ret_used` (may be NULL) gets its length, which may be less than `packed`.
GAIT_CHECK static inline int quad_decode(enum quad_width width, struct slice packed, size_t rows,
                                         uint64_t *ret_values, size_t *ret_used)
{
    struct quad_source source;
    const int status = quad_source_init(&source, width, packed, rows);
    if (status)
        return status;
    if (!quad_take(&source, ret_values, rows))
        return fail(GAIT_ERR_FORMAT, "packed values end after %zu bytes, before the last of %zu",
                    packed.count, rows);
    if (ret_used)
        *ret_used = (size_t)(source.rest - packed.bytes);
    return GAIT_OK;
}

#endif
