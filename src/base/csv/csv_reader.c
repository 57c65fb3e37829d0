// SPDX-License-Identifier: Apache-2.0
// Cells are unquoted where they stand: that makes them shorter, never longer.
#include "base/csv/csv_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void csv_reader_init(struct csv_reader *reader, char *text, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf"; // of UTF-8, which some tools write
    *reader = (struct csv_reader){.at = text, .end = text + bytes};
    *reader->end = '\0';
    if (bytes >= 3 && !memcmp(text, mark, 3))
        reader->at += 3;
}

// What is within quotes, put together at `out`; gives the place behind it.
static char *unquote(struct csv_reader *reader, char *out)
{
    char *at = reader->at + 1;
    for (; at < reader->end; at++) {
        reader->line += *at == '\n';
        if (*at == '"' && at + 1 < reader->end && at[1] == '"')
            at++;
        else if (*at == '"')
            break;
        *out++ = *at;
    }
    reader->at = at < reader->end ? at + 1 : at;
    return out;
}

// Reads one cell; gives what ended it, 0 at the end of the text.
static char read_cell(struct csv_reader *reader)
{
    char *begin = reader->at, *out = begin;
    if (reader->at < reader->end && *reader->at == '"')
        out = unquote(reader, out);
    while (reader->at < reader->end && !strchr(",\r\n", *reader->at))
        *out++ = *reader->at++;
    const char ended_by = reader->at < reader->end ? *reader->at : '\0';
    if (reader->at < reader->end)
        reader->at++;
    if (ended_by == '\r' && reader->at < reader->end && *reader->at == '\n')
        reader->at++;
    *out = '\0';
    if (reader->count < CSV_MOST_CELLS)
        reader->cells[reader->count++] = begin;
    return ended_by;
}

bool csv_reader_next(struct csv_reader *reader)
{
    while (reader->at < reader->end) {
        reader->count = 0;
        reader->line++;
        while (read_cell(reader) == ',')
            ;
        if (reader->count > 1 || *reader->cells[0])
            return true;
    }
    return false;
}

bool csv_reader_number(const struct csv_reader *reader, size_t cell, double *ret_number)
{
    char *end;
    if (cell >= reader->count || !*reader->cells[cell])
        return false;
    const double number = strtod(reader->cells[cell], &end);
    if (*end || !isfinite(number))
        return false;
    *ret_number = number;
    return true;
}
