// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "answer/shares_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/stacks/function_shares.h"
#include "analyse/stacks/package_path.h"
#include "analyse/stacks/stack_set.h"
#include "answer/sheet.h"
#include "base/units.h"

static const struct column columns[] = {
    {.label = "self (samples)", .width = 21},
    {.label = "total (samples)", .width = 22},
    {.label = "function", .flags = COLUMN_LEFT | COLUMN_PLACE},
    {.key = "name"},
    {.key = "path"},
    {.key = "self"},
    {.key = "total"},
    {.key = "self_share"},
    {.key = "total_share"},
};
static const struct table table = {
    .key = "functions", .heading = "Functions", .look = TABLE_FLAT, COLUMNS_ARE(columns)};

struct share_text {
    char text[64];
};

static struct share_text share_text(uint64_t part, uint64_t whole)
{
    struct share_text text;
    char count[40];
    snprintf(count, sizeof count, "(%s)", units_count_short(part).text);
    snprintf(text.text, sizeof text.text, "%.2f %% %11s", 100 * function_share_of(part, whole),
             count);
    return text;
}

static void put_row(struct sheet *sheet, const struct function_share *row, uint64_t samples)
{
    const struct function_count *count = &row->counts[0];
    const struct share_text self = share_text(count->self, samples);
    const struct share_text total = share_text(count->total, samples);
    char *place = NULL;
    if (*row->path && asprintf(&place, "%s (%s)", row->name, package_path(row->path)) < 0)
        place = NULL;
    const struct value cells[] = {
        value_text(self.text),
        value_text(total.text),
        value_text(place ? place : row->name),
        value_text(row->name),
        value_text(row->path),
        value_uint(count->self),
        value_uint(count->total),
        value_real(function_share_of(count->self, samples)),
        value_real(function_share_of(count->total, samples)),
    };
    sheet_row(sheet, cells, 0);
    free(place);
}

void shares_answer_put(struct sheet *sheet, const struct function_shares *shares,
                       const struct stack_set *set, uint64_t rows)
{
    const uint64_t shown = rows < shares->count ? rows : shares->count;
    char text[100];
    sheet_put(sheet, "samples", value_uint(shares->samples[0]));
    sheet_put(sheet, "samples_without_function", value_uint(shares->left_out[0]));
    sheet_put(sheet, "samples_blocked", value_uint(set->blocked));
    sheet_put(sheet, "bad_lines", value_uint(set->bad_lines));
    sheet_table(sheet, &table);
    for (uint64_t i = 0; i < shown; i++)
        put_row(sheet, &shares->rows[i], shares->samples[0]);
    sheet_end(sheet);
    snprintf(text, sizeof text, "%s more functions; -n all shows them",
             units_count(shares->count - shown).text);
    if (shown < shares->count)
        sheet_say(sheet, SAY_LEAD, text);
}
