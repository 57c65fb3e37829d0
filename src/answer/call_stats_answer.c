// SPDX-License-Identifier: Apache-2.0
// The columns of pstats.Stats.print_stats(). Reals are rounded by printf(),
// which rounds as Python does: the exact value, half to even.
#define _GNU_SOURCE
#include "answer/call_stats_answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/sheet.h"

#define REAL_ROOM 400 // the largest double has 309 digits before the point

struct integer_text {
    char chars[44];
};

static struct integer_text integer_text(__int128 value)
{
    struct integer_text text;
    char *at = text.chars + sizeof text.chars;
    unsigned __int128 rest = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    *--at = '\0';
    do {
        *--at = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--at = '-';
    memmove(text.chars, at, (size_t)(text.chars + sizeof text.chars - at));
    return text;
}

static void put_seconds(FILE *out, double seconds)
{
    if (isnan(seconds))
        fputs("     nan", out);
    else
        fprintf(out, "%8.3f", seconds);
}

static void put_slice(FILE *out, struct slice text)
{
    if (text.count)
        fwrite(text.bytes, 1, text.count, out);
}

static void put_name(FILE *out, const struct prof_row *row)
{
    bool is_of_c = row->file.count == 1 && row->file.bytes[0] == '~' && row->line == 0;
    if (!is_of_c) {
        put_slice(out, row->file);
        fprintf(out, ":%s(", integer_text(row->line).chars);
        put_slice(out, row->name);
        fputc(')', out);
        return;
    }
    struct slice name = row->name;
    if (name.count && name.bytes[0] == '<' && name.bytes[name.count - 1] == '>') {
        fputc('{', out);
        if (name.count > 2)
            put_slice(out, (struct slice){name.bytes + 1, name.count - 2});
        fputc('}', out);
    } else {
        put_slice(out, name);
    }
}

static void put_share(FILE *out, double seconds, __int128 calls)
{
    if (calls == 0)
        fputs("        ", out);
    else
        put_seconds(out, seconds / (double)calls);
    fputc(' ', out);
}

static void put_row(FILE *out, const struct prof_row *row)
{
    char calls[2 * sizeof(struct integer_text)];
    snprintf(calls, sizeof calls, "%s", integer_text(row->calls).chars);
    if (row->calls != row->primitive_calls)
        snprintf(calls + strlen(calls), sizeof calls - strlen(calls), "/%s",
                 integer_text(row->primitive_calls).chars);
    fprintf(out, "%9s ", calls);
    put_seconds(out, row->own_seconds);
    fputc(' ', out);
    put_share(out, row->own_seconds, row->calls);
    put_seconds(out, row->seconds);
    fputc(' ', out);
    put_share(out, row->seconds, row->primitive_calls);
    put_name(out, row);
    fputc('\n', out);
}

// A real number as Python's repr() spells it: the shortest digits that give it
// back; exponents from 1e16 on and below 0.0001.
static void put_real(FILE *out, double value)
{
    char digits[40];
    int precision = 0;
    do
        snprintf(digits, sizeof digits, "%.*e", precision, value);
    while (precision++ < 17 && strtod(digits, NULL) != value);
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent >= 16 || exponent < -4) {
        char *mark = strchr(digits, 'e');
        fprintf(out, "%.*se%c%02d", (int)(mark - digits), digits, exponent < 0 ? '-' : '+',
                abs(exponent));
        return;
    }
    int decimals = precision - 1 - exponent;
    char plain[REAL_ROOM];
    snprintf(plain, sizeof plain, "%.*f", decimals > 0 ? decimals : 1, value);
    fputs(plain, out);
}

static void put_limit(FILE *out, const struct call_stats *stats, const struct call_limit *limit)
{
    fprintf(out, "   List reduced from %zu to %zu due to restriction <", stats->all_count,
            stats->count);
    if (limit->is_share)
        put_real(out, limit->share);
    else
        fputs(integer_text(limit->number).chars, out);
    fputs(">\n", out);
}

static void print(FILE *out, const struct call_stats *stats, const struct call_limit *limit)
{
    for (size_t i = 0; i < stats->top_count; i++) {
        fputs("         ", out);
        put_slice(out, stats->top[i]->name);
        fputc('\n', out);
    }
    fprintf(out, "         %s function calls ", integer_text(stats->calls).chars);
    if (stats->calls != stats->primitive_calls)
        fprintf(out, "(%s primitive calls) ", integer_text(stats->primitive_calls).chars);
    if (isnan(stats->seconds))
        fputs("in nan seconds\n\n", out);
    else
        fprintf(out, "in %.3f seconds\n\n", stats->seconds);
    if (!stats->count)
        return;
    fprintf(out, "   Ordered by: %s\n", stats->ordered_by);
    if (stats->count != stats->all_count)
        put_limit(out, stats, limit);
    fputs("\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n", out);
    for (size_t i = 0; i < stats->count; i++)
        put_row(out, stats->rows[i]);
    fputs("\n\n", out);
}

// --- data ------------------------------------------------------------------------------

static const struct column columns[] = {
    {.key = "file"},
    {.key = "line"},
    {.key = "name"},
    {.key = "calls"},
    {.key = "primitive_calls"},
    {.key = "own_seconds"},
    {.key = "seconds"},
};
static const struct table functions = {.key = "functions", COLUMNS_ARE(columns)};

static void put_function(struct sheet *sheet, const struct prof_row *row)
{
    const struct integer_text line = integer_text(row->line), calls = integer_text(row->calls),
                              primitive = integer_text(row->primitive_calls);
    char *file = strndup((const char *)row->file.bytes, row->file.count);
    char *name = strndup((const char *)row->name.bytes, row->name.count);
    SHEET_ROW(sheet, value_text(file ? file : ""), value_json(line.chars),
              value_text(name ? name : ""), value_json(calls.chars), value_json(primitive.chars),
              value_real(row->own_seconds), value_real(row->seconds));
    free(file);
    free(name);
}

void call_stats_answer_put(struct sheet *sheet, const struct call_stats *stats,
                           const struct call_limit *limit)
{
    FILE *lines = sheet_lines_begin(sheet);
    if (lines)
        print(lines, stats, limit);
    sheet_lines_end(sheet);
    sheet_put(sheet, "calls", value_json(integer_text(stats->calls).chars));
    sheet_put(sheet, "primitive_calls", value_json(integer_text(stats->primitive_calls).chars));
    sheet_put(sheet, "seconds", value_real(stats->seconds));
    sheet_put(sheet, "ordered_by", value_text(stats->ordered_by));
    sheet_put(sheet, "function_count", value_uint(stats->all_count));
    sheet_table(sheet, &functions);
    for (size_t i = 0; i < stats->count; i++)
        put_function(sheet, stats->rows[i]);
    sheet_end(sheet);
}
