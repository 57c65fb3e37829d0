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
    char text[UTF8_SHOWN_BYTES];
    unsigned columns;
};

// Takes a character off the front.
static struct glyph take_glyph(const char **text, size_t *left)
{
    struct glyph glyph = {.columns = 1};
    const uint32_t code = utf8_take(text, left);
    if (utf8_is_unsafe(code)) {
        glyph.columns = (unsigned)utf8_show(glyph.text, code);
        return glyph;
    }
    glyph.text[utf8_put(glyph.text, code)] = '\0';
    if (IS_IN(code, wide))
        glyph.columns = 2;
    else if (IS_IN(code, unseen))
        glyph.columns = 0;
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
    while (left && columns <= enough) {
        const size_t easy = easy_prefix(text, left < enough ? left : enough + 1);
        columns += (unsigned)easy;
        text += easy;
        left -= easy;
        if (!easy)
            columns += take_glyph(&text, &left).columns;
    }
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

// Returns how many columns it took.
static unsigned put_middle(FILE *out, const char *text, size_t bytes, unsigned columns)
{
    if (width_of(text, bytes, columns) <= columns)
        return put_up_to(out, text, bytes, columns);
    unsigned width = width_of(text, bytes, no_limit);
    const unsigned head = (columns - 3) * 2 / 5, tail = columns - 3 - head;
    unsigned used = put_up_to(out, text, bytes, head);
    fputs("...", out);
    while (width > tail)
        width -= take_glyph(&text, &bytes).columns;
    return used + 3 + put_up_to(out, text, bytes, tail);
}

void plain_put_middle(FILE *out, const char *text, unsigned columns, enum plain_side side)
{
    const size_t bytes = strlen(text);
    if (columns < 8 || width_of(text, bytes, columns) <= columns) {
        plain_put(out, text, columns, side);
        return;
    }
    const unsigned used = put_middle(out, text, bytes, columns);
    if (side != PLAIN_BARE)
        fprintf(out, "%*s", (int)(columns - used), "");
}

unsigned plain_width(const char *text, unsigned enough)
{
    return width_of(text, strlen(text), enough);
}

unsigned plain_put_all(FILE *out, const char *text)
{
    return put_middle(out, text, strlen(text), PLAIN_MOST);
}

void plain_put_lines(FILE *out, const char *text, const char *before)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fputs(before, out);
        put_middle(out, text, length, PLAIN_MOST);
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

unsigned plain_flow(FILE *out, const char *text, struct plain_room room)
{
    bool at_start = true;
    while (*text) {
        size_t word = word_length(text);
        unsigned width = width_of(text, word, room.columns);
        if (!at_start && room.at + 1 + width > room.columns) {
            fprintf(out, "\n%*s", (int)room.indent, "");
            room.at = room.indent;
            at_start = true;
        }
        if (!at_start)
            fputc(' ', out);
        room.at += put_middle(out, text, word, PLAIN_MOST_OF_WORD) + !at_start;
        at_start = false;
        text += word;
        text += strspn(text, " ");
    }
    return room.at;
}

void plain_wrap(FILE *out, const char *text, unsigned indent, unsigned at)
{
    plain_flow(out, text, (struct plain_room){PLAIN_COLUMNS, indent, at});
    fputc('\n', out);
}
