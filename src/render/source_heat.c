// SPDX-License-Identifier: Apache-2.0
// Lines with samples and two on either side; the rest is dots.
#define _GNU_SOURCE
#include "render/source_heat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/sheet.h"
#include "base/units.h"
#include "render/plain.h"

#define AROUND 2
#define BAR 6
#define LINE_BYTES 400

struct reading {
    const struct source_heat *heat;
    struct slice left; // of the source
    int32_t line;      // that next_line() gave
    size_t next;       // of the shares: not before that line
};

// The next line, tabs and all; false behind the last one.
static bool next_line(struct reading *reading, struct slice *ret_line)
{
    struct slice *left = &reading->left;
    if (!left->count)
        return false;
    const uint8_t *end = memchr(left->bytes, '\n', left->count);
    const size_t bytes = end ? (size_t)(end - left->bytes) : left->count;
    *ret_line = (struct slice){left->bytes, bytes};
    *left =
        (struct slice){left->bytes + bytes + (end != NULL), left->count - bytes - (end != NULL)};
    reading->line++;
    return true;
}

// As text: tabs to every fourth column, zeros as blanks.
static void make_text(struct slice line, char text[LINE_BYTES])
{
    size_t used = 0;
    if (line.count && line.bytes[line.count - 1] == '\r')
        line.count--;
    for (size_t i = 0; i < line.count && used + 5 < LINE_BYTES; i++) {
        if (line.bytes[i] != '\t') {
            text[used++] = line.bytes[i] ? (char)line.bytes[i] : ' ';
            continue;
        }
        do
            text[used++] = ' ';
        while (used % 4);
    }
    text[used] = '\0';
}

static bool is_near(const struct reading *reading)
{
    const struct line_shares *shares = reading->heat->shares;
    const size_t at = reading->next;
    return reading->heat->has_all ||
           (at < shares->count && shares->rows[at].line - reading->line <= AROUND) ||
           (at > 0 && shares->rows[at - 1].line > 0 && // else it is nowhere in the file
            reading->line - shares->rows[at - 1].line <= AROUND);
}

static void put_share(FILE *out, const struct source_heat *heat, const struct line_share *row)
{
    const uint64_t samples = heat->shares->samples, most = heat->shares->most;
    const unsigned bar = (unsigned)((double)BAR * (double)row->total / (double)most + 0.5);
    fprintf(out, "%8s %8s %-*.*s", row->self ? units_share(row->self, samples).text : "",
            units_share(row->total, samples).text, BAR, (int)bar, "######");
}

static void put_line(FILE *out, struct reading *reading, struct slice line)
{
    const struct line_shares *shares = reading->heat->shares;
    char text[LINE_BYTES];
    const bool has_samples =
        reading->next < shares->count && shares->rows[reading->next].line == reading->line;
    if (has_samples)
        put_share(out, reading->heat, &shares->rows[reading->next++]);
    else
        fprintf(out, "%*s", 18 + BAR, "");
    make_text(line, text);
    fprintf(out, " %5d  ", reading->line);
    plain_put(out, text, PLAIN_COLUMNS - 18 - BAR - 8, PLAIN_BARE);
    fputc('\n', out);
}

// Lines that the source does not have: it changed since, or nobody could read it.
static void put_rest(FILE *out, struct reading *reading)
{
    const struct line_shares *shares = reading->heat->shares;
    for (; reading->next < shares->count; reading->next++) {
        put_share(out, reading->heat, &shares->rows[reading->next]);
        fprintf(out, " %5d%s\n", shares->rows[reading->next].line,
                reading->heat->text.bytes ? "  (the file has no such line)" : "");
    }
}

static void print(FILE *out, const struct source_heat *heat)
{
    const struct line_shares *shares = heat->shares;
    struct reading reading = {.heat = heat, .left = heat->text};
    struct slice line;
    bool is_dotted = false;
    plain_put_middle(out, shares->path, PLAIN_COLUMNS, PLAIN_BARE);
    fprintf(out, "\n%s of %s samples pass through it (%s)\n\n", units_count(shares->in_file).text,
            units_count(shares->samples).text, units_share(shares->in_file, shares->samples).text);
    fprintf(out, "%8s %8s %-*s  %s\n", "self", "total", BAR, "", "line");
    while (reading.next < shares->count && shares->rows[reading.next].line <= 0) {
        put_share(out, heat, &shares->rows[reading.next++]);
        fputs("  line not known\n", out);
    }
    while (next_line(&reading, &line)) {
        if (is_near(&reading))
            put_line(out, &reading, line);
        else if (!is_dotted)
            fprintf(out, "%*s ...\n", 21 + BAR, "");
        is_dotted = !is_near(&reading);
    }
    put_rest(out, &reading);
}

// --- data ------------------------------------------------------------------------------

static const struct column line_columns[] = {
    {.key = "line"},       {.key = "self"},        {.key = "total"},
    {.key = "self_share"}, {.key = "total_share"}, {.key = "text"},
};
static const struct table lines = {.key = "lines", COLUMNS_ARE(line_columns)};

static void put_data_row(struct sheet *sheet, const struct line_share *row, uint64_t samples,
                         struct slice line)
{
    char *text = line.bytes ? strndup((const char *)line.bytes, line.count) : NULL;
    const double whole = samples ? (double)samples : 1;
    const struct value cells[] = {
        value_if(row->line > 0, value_int(row->line)),
        value_uint(row->self),
        value_uint(row->total),
        value_real((double)row->self / whole),
        value_real((double)row->total / whole),
        value_text(text),
    };
    sheet_row(sheet, cells, 0);
    free(text);
}

void source_heat_put(struct sheet *sheet, const struct source_heat *heat)
{
    const struct line_shares *shares = heat->shares;
    struct reading reading = {.heat = heat, .left = heat->text};
    FILE *out = sheet_lines_begin(sheet);
    if (out)
        print(out, heat);
    sheet_lines_end(sheet);
    sheet_put(sheet, "path", value_text(shares->path));
    sheet_put(sheet, "samples", value_uint(shares->samples));
    sheet_put(sheet, "samples_in_file", value_uint(shares->in_file));
    sheet_put(sheet, "source_read", value_bool(heat->text.bytes));
    sheet_table(sheet, &lines);
    for (size_t i = 0; i < shares->count; i++) {
        const struct line_share *row = &shares->rows[i];
        struct slice line = {NULL, 0};
        while (reading.line < row->line && next_line(&reading, &line))
            ;
        if (reading.line != row->line)
            line.bytes = NULL;
        put_data_row(sheet, row, shares->samples, line);
    }
    sheet_end(sheet);
}
