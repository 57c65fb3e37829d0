// SPDX-License-Identifier: Apache-2.0
// Shares are of the samples of their own set, so recordings of different length
// compare.
#define _GNU_SOURCE
#include "render/shares_text.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/package_path.h"
#include "answer/sheet.h"
#include "base/units.h"
#include "render/plain.h"

#define SENTENCES 5
#define SENTENCE_NAME 50
#define LEAST_PATH 14 // columns, for less says nothing

static uint64_t shown_rows(const struct shares_text *text)
{
    return text->rows < text->shares->count ? text->rows : text->shares->count;
}

// "name (path)" in so many columns: the name whole if it fits.
static void put_function(FILE *out, const struct function_share *row, unsigned columns)
{
    const unsigned width = plain_width(row->name, columns);
    if (!*row->path || width + LEAST_PATH > columns) {
        plain_put_middle(out, row->name, columns, PLAIN_BARE);
        return;
    }
    plain_put_all(out, row->name);
    fputs(" (", out);
    plain_put_middle(out, package_path(row->path), columns - width - 3, PLAIN_BARE);
    fputs(")", out);
}

static const char *what_happened(const struct function_share *row)
{
    const struct function_count *before = &row->counts[0], *after = &row->counts[1];
    if (!before->total)
        return "new";
    if (!after->total)
        return "gone";
    return NULL;
}

// "More time in load (data.py): 1.2 % of the samples before, 12.3 % after."
static void put_sentence(FILE *out, const struct function_share *row, const uint64_t samples[2])
{
    const struct function_count *before = &row->counts[0], *after = &row->counts[1];
    const char *word = what_happened(row);
    const double change =
        function_share_of(after->self, samples[1]) - function_share_of(before->self, samples[0]);
    if (!word)
        fprintf(out, "%s time in ", change > 0 ? "More" : "Less");
    put_function(out, row, SENTENCE_NAME);
    if (!word)
        fprintf(out, ": %s itself before, %s after.", units_share(before->self, samples[0]).text,
                units_share(after->self, samples[1]).text);
    else
        fprintf(out, " is %s: %s of the samples %s in it.", word,
                units_share(before->total ? before->total : after->total,
                            samples[before->total ? 0 : 1])
                    .text,
                before->total ? "were" : "are");
}

static void put_words(FILE *out, const struct function_shares *shares)
{
    unsigned told = 0;
    fprintf(out, "%s samples before, %s after; shares are of each.\n",
            units_count(shares->samples[0]).text, units_count(shares->samples[1]).text);
    // what a caller gained is mostly what those it calls gained
    for (size_t i = 0; i < shares->count && told < SENTENCES; i++) {
        const struct function_share *row = &shares->rows[i];
        char *words = NULL;
        size_t bytes = 0;
        if (row->is_doubted || (!row->is_self && !what_happened(row)))
            continue;
        FILE *sentence = open_memstream(&words, &bytes);
        if (!sentence)
            return;
        put_sentence(sentence, row, shares->samples);
        if (fclose(sentence) == 0)
            plain_wrap(out, words, 2, 0);
        free(words);
        told++;
    }
    if (!told)
        fputs("No function's share changed by more than chance.\n", out);
}

static void put_change(FILE *out, uint64_t before, uint64_t after, const uint64_t samples[2])
{
    const double old = 100 * function_share_of(before, samples[0]);
    const double new = 100 * function_share_of(after, samples[1]);
    fprintf(out, "%6.1f %6.1f %+6.1f ", old, new, new - old);
}

static void print(FILE *out, const struct shares_text *text)
{
    const struct function_shares *shares = text->shares;
    bool has_doubts = false;
    put_words(out, shares);
    if (!shares->count)
        return;
    fprintf(out, "\n%s\n%s\n", "      itself, in %            in all, in %",
            "before  after change  before  after change   function");
    for (uint64_t i = 0; i < shown_rows(text); i++) {
        const struct function_share *row = &shares->rows[i];
        const struct function_count *before = &row->counts[0], *after = &row->counts[1];
        const char *word = what_happened(row);
        put_change(out, before->self, after->self, shares->samples);
        fputc(' ', out);
        put_change(out, before->total, after->total, shares->samples);
        fputs(row->is_doubted ? "? " : "  ", out);
        has_doubts = has_doubts || row->is_doubted;
        put_function(out, row, PLAIN_COLUMNS - 45 - (word ? (unsigned)strlen(word) + 2 : 0));
        fprintf(out, "%s%s\n", word ? ", " : "", word ? word : "");
    }
    if (has_doubts)
        fputs("?: the change may be chance\n", out);
    if (shown_rows(text) < shares->count)
        fprintf(out, "%s more functions changed; -n all shows them\n",
                units_count(shares->count - shown_rows(text)).text);
}

// --- data ------------------------------------------------------------------------------

static const struct column function_columns[] = {{.key = "name"}, {.key = "path"}};
static const struct table functions = {.key = "functions", COLUMNS_ARE(function_columns)};
static const char *const sides[] = {"before", "after"};

static void put_count(struct sheet *sheet, const struct function_count *count, uint64_t samples)
{
    sheet_put(sheet, "self", value_uint(count->self));
    sheet_put(sheet, "total", value_uint(count->total));
    sheet_put(sheet, "self_share", value_real(function_share_of(count->self, samples)));
    sheet_put(sheet, "total_share", value_real(function_share_of(count->total, samples)));
}

static void put_function_row(struct sheet *sheet, const struct function_shares *shares,
                             const struct function_share *row)
{
    double own[2], all[2];
    sheet_row(sheet, (struct value[]){value_text(row->name), value_text(row->path)}, 0);
    for (int of = 0; of < 2; of++) {
        sheet_object(sheet, sides[of]);
        put_count(sheet, &row->counts[of], shares->samples[of]);
        sheet_end(sheet);
        own[of] = function_share_of(row->counts[of].self, shares->samples[of]);
        all[of] = function_share_of(row->counts[of].total, shares->samples[of]);
    }
    sheet_put(sheet, "self_change", value_real(own[1] - own[0]));
    sheet_put(sheet, "total_change", value_real(all[1] - all[0]));
    sheet_put(sheet, "may_be_chance", value_bool(row->is_doubted));
}

void shares_text_put_changes(struct sheet *sheet, const struct shares_text *text)
{
    const struct function_shares *shares = text->shares;
    FILE *lines = sheet_lines_begin(sheet);
    if (lines)
        print(lines, text);
    sheet_lines_end(sheet);
    for (int of = 0; of < 2; of++) {
        sheet_object(sheet, sides[of]);
        sheet_put(sheet, "samples", value_uint(shares->samples[of]));
        sheet_put(sheet, "samples_without_function", value_uint(shares->left_out[of]));
        sheet_put(sheet, "bad_lines", value_uint(text->bad_lines[of]));
        sheet_end(sheet);
    }
    sheet_table(sheet, &functions);
    for (uint64_t i = 0; i < shown_rows(text); i++)
        put_function_row(sheet, shares, &shares->rows[i]);
    sheet_end(sheet);
}
