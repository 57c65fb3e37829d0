// SPDX-License-Identifier: Apache-2.0
#include "base/csv/csv_field.h"

#include <stdbool.h>

#include "base/fail.h"
#include "base/utf8.h"

static bool is_plain(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n')
            return false;
    }
    return true;
}

// Repaired first, since that may triple it, then quoted in place, from its end.
int csv_field_append(struct buffer *out, const char *text, size_t bytes)
{
    size_t begin = out->used, quotes = 0;
    int status = utf8_append_repaired(out, text, bytes);
    if (status || is_plain(text, bytes))
        return status;
    size_t end = out->used;
    for (size_t i = begin; i < end; i++)
        quotes += out->bytes[i] == '"';
    if (!buffer_reserve(out, quotes + 2))
        return fail(GAIT_ERR_MEMORY, "no memory for a field of %zu bytes", end - begin);
    out->used = end + quotes + 2;
    uint8_t *put = out->bytes + out->used;
    *--put = '"';
    for (const uint8_t *from = out->bytes + end; from > out->bytes + begin;) {
        *--put = *--from;
        if (*from == '"')
            *--put = '"';
    }
    *--put = '"';
    return GAIT_OK;
}
