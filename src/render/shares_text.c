// SPDX-License-Identifier: Apache-2.0
// Shares are of the samples of their own set, so recordings of different length
// compare.
#define _GNU_SOURCE
#include "render/shares_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/units.h"
#include "render/package_path.h"
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

void shares_text_put(FILE *out, const struct shares_text *text)
{
    const struct function_shares *shares = text->shares;
    const uint64_t samples = shares->samples[0];
    fprintf(out, "%21s %21s  %s\n", "self (samples)", "total (samples)", "function");
    for (uint64_t i = 0; i < shown_rows(text); i++) {
        const struct function_share *row = &shares->rows[i];
        const struct function_count *count = &row->counts[0];
        char self[40], total[40];
        snprintf(self, sizeof self, "(%s)", units_count_short(count->self).text);
        snprintf(total, sizeof total, "(%s)", units_count_short(count->total).text);
        fprintf(out, "%7.2f %% %11s %7.2f %% %11s  ", 100 * function_share_of(count->self, samples),
                self, 100 * function_share_of(count->total, samples), total);
        put_function(out, row, PLAIN_COLUMNS - 45);
        fputc('\n', out);
    }
    if (shown_rows(text) < shares->count)
        fprintf(out, "%s more functions; -n all shows them\n",
                units_count(shares->count - shown_rows(text)).text);
}

static void put_real(struct json_writer *json, const char *key, double value)
{
    json_key(json, key);
    json_real(json, value);
}

static void put_count(struct json_writer *json, const struct function_count *count,
                      uint64_t samples)
{
    json_put_uint(json, "self", count->self);
    json_put_uint(json, "total", count->total);
    put_real(json, "self_share", function_share_of(count->self, samples));
    put_real(json, "total_share", function_share_of(count->total, samples));
}

static void put_who(struct json_writer *json, const struct function_share *row)
{
    json_put_text(json, "name", row->name);
    json_put_text(json, "path", row->path);
}

void shares_text_put_json(FILE *out, const struct shares_text *text)
{
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    json_object(&json);
    json_put_uint(&json, "samples", text->shares->samples[0]);
    json_put_uint(&json, "samples_without_function", text->shares->left_out[0]);
    json_put_uint(&json, "samples_blocked", text->blocked);
    json_put_uint(&json, "bad_lines", text->bad_lines[0]);
    json_key(&json, "functions");
    json_array(&json);
    for (uint64_t i = 0; i < shown_rows(text); i++) {
        json_object(&json);
        put_who(&json, &text->shares->rows[i]);
        put_count(&json, &text->shares->rows[i].counts[0], text->shares->samples[0]);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
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
        fputs("No function's share changed by more than chance may do.\n", out);
}

static void put_change(FILE *out, uint64_t before, uint64_t after, const uint64_t samples[2])
{
    const double old = 100 * function_share_of(before, samples[0]);
    const double new = 100 * function_share_of(after, samples[1]);
    fprintf(out, "%6.1f %6.1f %+6.1f ", old, new, new - old);
}

void shares_text_put_changes(FILE *out, const struct shares_text *text)
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
        fputs("?: so much may be chance\n", out);
    if (shown_rows(text) < shares->count)
        fprintf(out, "%s more functions changed; -n all shows them\n",
                units_count(shares->count - shown_rows(text)).text);
}

void shares_text_put_changes_json(FILE *out, const struct shares_text *text)
{
    static const char *const sides[] = {"before", "after"};
    const struct function_shares *shares = text->shares;
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    json_object(&json);
    for (int of = 0; of < 2; of++) {
        json_key(&json, sides[of]);
        json_object(&json);
        json_put_uint(&json, "samples", shares->samples[of]);
        json_put_uint(&json, "samples_without_function", shares->left_out[of]);
        json_put_uint(&json, "bad_lines", text->bad_lines[of]);
        json_close(&json);
    }
    json_key(&json, "functions");
    json_array(&json);
    for (uint64_t i = 0; i < shown_rows(text); i++) {
        const struct function_share *row = &shares->rows[i];
        double values[2][2];
        json_object(&json);
        put_who(&json, row);
        for (int of = 0; of < 2; of++) {
            json_key(&json, sides[of]);
            json_object(&json);
            put_count(&json, &row->counts[of], shares->samples[of]);
            json_close(&json);
            values[of][0] = function_share_of(row->counts[of].self, shares->samples[of]);
            values[of][1] = function_share_of(row->counts[of].total, shares->samples[of]);
        }
        put_real(&json, "self_change", values[1][0] - values[0][0]);
        put_real(&json, "total_change", values[1][1] - values[0][1]);
        json_put_bool(&json, "may_be_chance", row->is_doubted);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}
