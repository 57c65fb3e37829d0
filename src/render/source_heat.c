// SPDX-License-Identifier: Apache-2.0
// Lines with samples and two on either side; the rest is dots.
#include "render/source_heat.h"

#include <string.h>

#include "base/json_writer.h"
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

void source_heat_put(FILE *out, const struct source_heat *heat)
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
        fputs("  line not told\n", out);
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

void source_heat_put_json(FILE *out, const struct source_heat *heat)
{
    const struct line_shares *shares = heat->shares;
    struct reading reading = {.heat = heat, .left = heat->text};
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    json_object(&json);
    json_put_text(&json, "path", shares->path);
    json_put_uint(&json, "samples", shares->samples);
    json_put_uint(&json, "samples_in_file", shares->in_file);
    json_put_bool(&json, "source_read", heat->text.bytes);
    json_key(&json, "lines");
    json_array(&json);
    for (size_t i = 0; i < shares->count; i++) {
        const struct line_share *row = &shares->rows[i];
        struct slice line = {NULL, 0};
        while (reading.line < row->line && next_line(&reading, &line))
            ;
        json_object(&json);
        json_key(&json, "line");
        if (row->line > 0)
            json_int(&json, row->line);
        else
            json_null(&json);
        json_put_uint(&json, "self", row->self);
        json_put_uint(&json, "total", row->total);
        json_key(&json, "self_share");
        json_real(&json, shares->samples ? (double)row->self / (double)shares->samples : 0);
        json_key(&json, "total_share");
        json_real(&json, shares->samples ? (double)row->total / (double)shares->samples : 0);
        json_key(&json, "text");
        if (reading.line == row->line && line.bytes)
            json_slice(&json, line);
        else
            json_null(&json);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}
