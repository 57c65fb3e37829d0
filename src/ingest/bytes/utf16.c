// SPDX-License-Identifier: Apache-2.0
#include "ingest/bytes/utf16.h"

#include <string.h>

#include "base/utf8.h"

// The mark of UTF-32 begins with that of UTF-16, so it stands first.
static const struct utf16_form forms[] = {
    {{0xFF, 0xFE, 0, 0}, 4, 4, 4, false},
    {{0, 0, 0xFE, 0xFF}, 4, 4, 4, true},
    {{'{', 0, 0, 0}, 4, 0, 4, false},
    {{'[', 0, 0, 0}, 4, 0, 4, false},
    {{0, 0, 0, '{'}, 4, 0, 4, true},
    {{0, 0, 0, '['}, 4, 0, 4, true},
    {{0xFF, 0xFE}, 2, 2, 2, false},
    {{0xFE, 0xFF}, 2, 2, 2, true},
    {{'{', 0}, 2, 0, 2, false},
    {{'[', 0}, 2, 0, 2, false},
    {{0, '{'}, 2, 0, 2, true},
    {{0, '['}, 2, 0, 2, true},
};

const struct utf16_form *utf16_begins(struct slice text)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (text.count >= forms[i].head_bytes &&
            !memcmp(text.bytes, forms[i].head, forms[i].head_bytes))
            return &forms[i];
    return NULL;
}

// Two bytes become three at most, and four stay four.
size_t utf16_wants(const struct utf16 *utf16, size_t room)
{
    const size_t all = room / 3 * 2 < UTF16_STRETCH ? room / 3 * 2 : UTF16_STRETCH;
    const size_t unit = utf16->form->unit_bytes;
    return all > utf16->used + unit ? all - utf16->used : unit;
}

static uint32_t unit_at(const struct utf16 *utf16, size_t at)
{
    const unsigned count = utf16->form->unit_bytes;
    uint32_t unit = 0;
    for (unsigned i = 0; i < count; i++)
        unit = unit << 8 | utf16->in[at + (utf16->form->is_big ? i : count - 1 - i)];
    return unit;
}

size_t utf16_convert(struct utf16 *utf16, bool is_end, uint8_t *out)
{
    const size_t unit = utf16->form->unit_bytes;
    size_t at = 0, put = 0;
    for (; at + unit <= utf16->used; at += unit) {
        uint32_t code = unit_at(utf16, at);
        if (code > 0x10FFFF) {
            code = 0xFFFD;
            utf16->broken++;
        } else if (code >= 0xD800 && code < 0xE000) {
            const bool is_high = code < 0xDC00 && unit == 2, has_low = at + 4 <= utf16->used;
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
    if (is_end && at < utf16->used) { // a part of a unit
        put += utf8_put((char *)out + put, 0xFFFD);
        utf16->broken++;
        at = utf16->used;
    }
    utf16->used -= at;
    memmove(utf16->in, utf16->in + at, utf16->used);
    return put;
}
