// SPDX-License-Identifier: Apache-2.0
#include "ingest/bytes/utf16.h"

#include <string.h>

#include "base/utf8.h"

bool utf16_begins(struct slice text, bool *ret_is_big)
{
    if (text.count < 2)
        return false;
    *ret_is_big = text.bytes[0] == 0xFE;
    return memcmp(text.bytes, *ret_is_big ? "\xFE\xFF" : "\xFF\xFE", 2) == 0;
}

// Two bytes become three at most.
size_t utf16_wants(const struct utf16 *utf16, size_t room)
{
    const size_t all = room / 3 * 2 < UTF16_STRETCH ? room / 3 * 2 : UTF16_STRETCH;
    return all > utf16->used + 2 ? all - utf16->used : 2;
}

static uint32_t unit_at(const struct utf16 *utf16, size_t at)
{
    const uint32_t first = utf16->in[at], second = utf16->in[at + 1];
    return utf16->is_big ? first << 8 | second : second << 8 | first;
}

size_t utf16_convert(struct utf16 *utf16, bool is_end, uint8_t *out)
{
    size_t at = 0, put = 0;
    for (; at + 2 <= utf16->used; at += 2) {
        uint32_t code = unit_at(utf16, at);
        if (code >= 0xD800 && code < 0xE000) {
            const bool is_high = code < 0xDC00, has_low = at + 4 <= utf16->used;
            if (is_high && !has_low && !is_end)
                break;
            const uint32_t low = is_high && has_low ? unit_at(utf16, at + 2) : 0;
            const bool is_pair = low >= 0xDC00 && low < 0xE000;
            code = is_pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
            utf16->broken += !is_pair;
            at += is_pair ? 2 : 0;
        }
        if (code < 0x80)
            out[put++] = (uint8_t)code;
        else
            put += utf8_put((char *)out + put, code);
    }
    if (is_end && at < utf16->used) { // half of a unit
        put += utf8_put((char *)out + put, 0xFFFD);
        utf16->broken++;
        at = utf16->used;
    }
    utf16->used -= at;
    memmove(utf16->in, utf16->in + at, utf16->used);
    return put;
}
