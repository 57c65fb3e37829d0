// SPDX-License-Identifier: Apache-2.0
// Compact strings of 1, 2 or 4 bytes a character; names and paths are no others.
#include "sample/cpython/python_text.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "base/utf8.h"

enum { GUESS_BYTES = 192 }; // head and text of nearly every name, in one read

bool python_text_head(const struct layout *layout, const uint8_t *bytes,
                      struct python_text_head *head)
{
    const uint32_t state = bytes_get32(bytes + layout->text_state);
    const bool is_ascii = state >> layout->text_is_ascii_shift & 1;
    head->count = bytes_get64(bytes + layout->text_count);
    head->kind = state >> layout->text_kind_shift & 7;
    head->is_apart = !(state >> layout->text_is_compact_shift & 1);
    head->data = (size_t)(is_ascii && !head->is_apart ? layout->text_ascii : layout->text_compact);
    if (head->count > UINT64_C(1) << 40)
        return false;
    return head->kind == 1 || (!is_ascii && (head->kind == 2 || head->kind == 4));
}

uint32_t python_text_character(const uint8_t *from, unsigned kind, uint64_t index)
{
    const uint8_t *at = from + index * kind;
    return kind == 1 ? *at : kind == 2 ? bytes_get16(at) : bytes_get32(at);
}

size_t python_text_put(char *out, uint32_t c)
{
    const bool is_text = c && c <= 0x10ffff && (c < 0xd800 || c >= 0xe000);
    return utf8_put(out, is_text ? c : '?');
}

static void convert(const uint8_t *from, const struct python_text_head *head, char *out,
                    size_t room)
{
    size_t used = 0;
    for (uint64_t i = 0; i < head->count && used + 5 <= room; i++)
        used += python_text_put(out + used, python_text_character(from, head->kind, i));
    out[used] = '\0';
}

int python_text_read(struct memory *memory, const struct layout *layout, uint64_t address,
                     char *out, size_t room)
{
    uint8_t bytes[128 + 4 * PYTHON_TEXT_MAX];
    struct python_text_head head;
    const size_t got = memory_get_some(memory, address, bytes, GUESS_BYTES);
    if (got < (size_t)layout->text_ascii || layout->text_compact > 128)
        return fail(GAIT_ERR_FORMAT, "a name is not a text");
    if (!python_text_head(layout, bytes, &head) || head.is_apart)
        return fail(GAIT_ERR_FORMAT, "a name is not a text");
    if (head.count > PYTHON_TEXT_MAX)
        head.count = PYTHON_TEXT_MAX;
    const size_t wanted = head.data + head.count * head.kind;
    if (wanted > got && !memory_get(memory, address + got, bytes + got, wanted - got))
        return fail(GAIT_ERR_FORMAT, "a name goes past the mapped memory");
    convert(bytes + head.data, &head, out, room);
    return 0;
}
