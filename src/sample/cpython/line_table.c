// SPDX-License-Identifier: Apache-2.0
// Three encodings: co_lnotab up to 3.9, co_linetable of pairs in 3.10, locations
// in variable lengths from 3.11. Never reads past the table, and running numbers
// are held to limits, so any bytes give some rows or -1.
#include "sample/cpython/line_table.h"

#include <limits.h>
#include <stdbool.h>

#define NO_LINE (-1)
#define LINE_LIMIT (1 << 28) // nobody's file; keeps sums of hostile tables small
#define CODE_LIMIT (1 << 28)

struct cursor {
    const uint8_t *at, *end;
    bool is_bad;
};

static struct line_entry entry_of(int start, int end, int line)
{
    return (struct line_entry){start, end, line, line, -1, -1};
}

static int signed_byte(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256;
}

static bool is_sane(int address, int line)
{
    return address < CODE_LIMIT && line < LINE_LIMIT && line > -LINE_LIMIT;
}

// Pairs (bytes on, lines on); of two lines at one address the later holds.
static int decode_lnotab(struct cursor *table, int line, struct line_entry *out, int room)
{
    int count = 0, address = 0;
    if (room < 1)
        return -1;
    out[count++] = entry_of(0, INT_MAX, line);
    for (; table->end - table->at >= 2; table->at += 2) {
        address += table->at[0];
        line += signed_byte(table->at[1]);
        struct line_entry *last = &out[count - 1];
        if (!is_sane(address, line))
            return -1;
        if (address > last->start) {
            if (count == room)
                return -1;
            last->end = address;
            out[count++] = entry_of(address, INT_MAX, line);
        } else {
            last->line = last->end_line = line;
        }
    }
    return count;
}

// Pairs (bytes long, lines on); -128: no line. An empty one only moves the line.
static int decode_pairs(struct cursor *table, int line, struct line_entry *out, int room)
{
    int count = 0, address = 0;
    for (; table->end - table->at >= 2; table->at += 2) {
        const int bytes = table->at[0], delta = signed_byte(table->at[1]);
        if (delta != -128)
            line += delta;
        if (bytes == 0)
            continue;
        if (count == room || !is_sane(address, line))
            return -1;
        out[count++] = entry_of(address, address + bytes, delta == -128 ? NO_LINE : line);
        address += bytes;
    }
    return count;
}

static unsigned byte(struct cursor *table)
{
    if (table->at >= table->end) {
        table->is_bad = true;
        return 0;
    }
    return *table->at++;
}

// Six bits a byte, the lowest first.
static int unsigned_number(struct cursor *table)
{
    unsigned value = 0, part;
    int shift = 0;
    do {
        part = byte(table);
        if (shift > 24)
            table->is_bad = true;
        else
            value |= (part & 63) << shift;
        shift += 6;
    } while (part & 64 && !table->is_bad);
    return (int)(value & (LINE_LIMIT - 1));
}

static int signed_number(struct cursor *table)
{
    const int value = unsigned_number(table);
    return value & 1 ? -(value >> 1) : value >> 1;
}

// One location after its head byte; moves `line`.
static void read_location(struct cursor *table, unsigned code, int *line, struct line_entry *entry)
{
    if (code == 15) {
        entry->line = entry->end_line = NO_LINE;
        return;
    }
    if (code == 14 || code == 13)
        *line += signed_number(table);
    else if (code >= 10)
        *line += (int)code - 10;
    entry->line = entry->end_line = *line;
    if (code == 14) {
        entry->end_line = *line + unsigned_number(table);
        entry->column = unsigned_number(table) - 1;
        entry->end_column = unsigned_number(table) - 1;
    } else if (code >= 10 && code < 13) {
        entry->column = (int)byte(table);
        entry->end_column = (int)byte(table);
    } else if (code < 10) {
        const unsigned columns = byte(table);
        entry->column = (int)(code << 3 | (columns >> 4 & 7));
        entry->end_column = entry->column + (int)(columns & 15);
    }
}

static int decode_locations(struct cursor *table, int line, struct line_entry *out, int room)
{
    int count = 0, address = 0;
    while (table->at < table->end) {
        const unsigned head = *table->at++;
        const int bytes = ((int)(head & 7) + 1) * 2;
        if (!(head & 128) || count == room)
            return -1;
        struct line_entry entry = entry_of(address, address + bytes, line);
        read_location(table, head >> 3 & 15, &line, &entry);
        if (table->is_bad || !is_sane(address, line))
            return -1;
        out[count++] = entry;
        address += bytes;
    }
    return count;
}

int line_table_decode(const struct line_table *table, struct line_entry *out, int room)
{
    static const uint8_t nothing[1];
    const uint8_t *bytes = table->count ? table->bytes : nothing;
    struct cursor cursor = {bytes, bytes + table->count, false};
    if (!is_sane(0, table->first_line))
        return -1;
    if (table->minor <= 9)
        return decode_lnotab(&cursor, table->first_line, out, room);
    if (table->minor == 10)
        return decode_pairs(&cursor, table->first_line, out, room);
    return decode_locations(&cursor, table->first_line, out, room);
}

const struct line_entry *line_table_find(const struct line_entry *entries, int count, int offset)
{
    int low = 0, high = count - 1;
    while (low <= high) {
        const int middle = low + (high - low) / 2;
        if (offset < entries[middle].start)
            high = middle - 1;
        else if (offset >= entries[middle].end)
            low = middle + 1;
        else
            return &entries[middle];
    }
    return NULL;
}
