// SPDX-License-Identifier: Apache-2.0
// Width by code point: two columns for the wide East Asian ranges and emoji,
// none for combining marks, else one. Near enough for a table.
#include "render/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

struct range {
    uint32_t first, last;
};

static const struct range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

static const struct range unseen[] = {
    {0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};

// Controls, and what turns or hides the writing around it.
static const struct range unsafe[] = {{0, 0x1F},        {0x7F, 0x9F},     {0x200B, 0x200F},
                                      {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};

static const unsigned no_limit = UINT32_MAX - 16;

#define IS_IN(code, ranges) is_in(code, ranges, sizeof(ranges) / sizeof(ranges)[0])

static bool is_in(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

// One character ready to print.
struct glyph {
    char text[12];
    unsigned columns;
};

static uint32_t code_of(const char *text, size_t bytes)
{
    const uint8_t *at = (const uint8_t *)text;
    if (bytes == 1)
        return at[0];
    uint32_t code = at[0] & (0x7Fu >> bytes);
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (at[i] & 0x3F);
    return code;
}

static size_t sequence_bytes(uint8_t lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Takes a character off the front.
static struct glyph take_glyph(const char **text, size_t *left)
{
    struct glyph glyph = {.columns = 1};
    size_t bytes = sequence_bytes((uint8_t) * *text);
    if (bytes > *left || utf8_valid_prefix(*text, bytes) != bytes) {
        bytes = utf8_broken_prefix(*text, *left);
        memcpy(glyph.text, "\xEF\xBF\xBD", 4);
    } else {
        uint32_t code = code_of(*text, bytes);
        if (IS_IN(code, unsafe))
            glyph.columns = (unsigned)snprintf(glyph.text, sizeof glyph.text,
                                               code < 0x100 ? "\\x%02x" : "\\u{%04x}", code);
        else
            memcpy(glyph.text, *text, bytes);
        if (IS_IN(code, wide))
            glyph.columns = 2;
        else if (IS_IN(code, unseen))
            glyph.columns = 0;
    }
    *text += bytes;
    *left -= bytes;
    return glyph;
}

// Bytes at the front that are printed as they are, a column each: most of most names.
static size_t easy_prefix(const char *text, size_t most)
{
    size_t at = 0;
    while (at < most && text[at] >= ' ' && text[at] < 127)
        at++;
    return at;
}

static unsigned width_of(const char *text, size_t left, unsigned enough)
{
    unsigned columns = 0;
    while (left && columns <= enough)
        columns += take_glyph(&text, &left).columns;
    return columns;
}

static unsigned put_up_to(FILE *out, const char *text, size_t left, unsigned columns)
{
    unsigned used = 0;
    while (left) {
        const size_t room = columns - used;
        const size_t easy = easy_prefix(text, left < room ? left : room);
        if (easy) {
            fwrite(text, 1, easy, out);
            used += (unsigned)easy;
            text += easy;
            left -= easy;
            continue;
        }
        struct glyph glyph = take_glyph(&text, &left);
        if (used + glyph.columns > columns)
            break;
        fputs(glyph.text, out);
        used += glyph.columns;
    }
    return used;
}

void plain_put(FILE *out, const char *text, unsigned columns, enum plain_side side)
{
    size_t bytes = strlen(text);
    unsigned width = width_of(text, bytes, columns);
    unsigned blanks = width < columns ? columns - width : 0;
    if (side == PLAIN_RIGHT)
        fprintf(out, "%*s", (int)blanks, "");
    if (width <= columns) {
        put_up_to(out, text, bytes, columns);
    } else {
        unsigned dots = columns < 3 ? columns : 3;
        unsigned used = put_up_to(out, text, bytes, columns - dots);
        fprintf(out, "%.*s", (int)dots, "...");
        blanks = columns - dots - used;
    }
    if (side == PLAIN_LEFT || (side == PLAIN_RIGHT && width > columns))
        fprintf(out, "%*s", (int)blanks, "");
}

void plain_put_middle(FILE *out, const char *text, unsigned columns, enum plain_side side)
{
    size_t bytes = strlen(text);
    unsigned width = width_of(text, bytes, no_limit);
    if (width <= columns || columns < 8) {
        plain_put(out, text, columns, side);
        return;
    }
    const unsigned head = (columns - 3) * 2 / 5, tail = columns - 3 - head;
    unsigned used = put_up_to(out, text, bytes, head);
    fputs("...", out);
    while (width > tail)
        width -= take_glyph(&text, &bytes).columns;
    used += 3 + put_up_to(out, text, bytes, tail);
    if (side != PLAIN_BARE)
        fprintf(out, "%*s", (int)(columns - used), "");
}

unsigned plain_width(const char *text, unsigned enough)
{
    return width_of(text, strlen(text), enough);
}

unsigned plain_put_all(FILE *out, const char *text)
{
    return put_up_to(out, text, strlen(text), no_limit);
}

void plain_put_lines(FILE *out, const char *text, const char *before)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fputs(before, out);
        put_up_to(out, text, length, no_limit);
        fputc('\n', out);
        text += length + (text[length] != '\0');
    }
}

// A number and its unit are one word.
static size_t word_length(const char *text)
{
    enum { UNIT_BYTES = 3 }; // "ms,"
    const size_t length = strcspn(text, " ");
    const size_t unit = text[length] ? strcspn(text + length + 1, " ") : 0;
    const char first = text[*text == '('];
    const bool is_number = first >= '0' && first <= '9';
    return is_number && unit && unit <= UNIT_BYTES ? length + 1 + unit : length;
}

void plain_wrap(FILE *out, const char *text, unsigned indent, unsigned at)
{
    bool at_start = true;
    while (*text) {
        size_t word = word_length(text);
        unsigned width = width_of(text, word, PLAIN_COLUMNS);
        if (!at_start && at + 1 + width > PLAIN_COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
            at_start = true;
        }
        if (!at_start)
            fputc(' ', out);
        at += put_up_to(out, text, word, no_limit) + !at_start;
        at_start = false;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}
