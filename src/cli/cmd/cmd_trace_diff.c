// SPDX-License-Identifier: Apache-2.0
// `gait trace-diff A B`: ops and kernels that came, went, or take another time.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>

#include <gait/trace.h>

#include "analyse/compare/name_totals.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "cli/trace/trace_door.h"

#define NAMES_BYTES ((size_t)1 << 30)
static const double least_change = 0.05; // of the time: less is "same"

static const struct column columns[] = {
    {.key = "name", .label = "", .width = 26, .flags = COLUMN_LEFT},
    {.key = "kind", .label = "", .width = 11, .flags = COLUMN_LEFT},
    {.key = "change", .label = "", .width = 7, .flags = COLUMN_LEFT},
    {.key = "a_calls"},
    {.key = "b_calls"},
    {.key = "a_ns", .label = "A", .unit = UNIT_NS, .width = 9},
    {.key = "b_ns", .label = "B", .unit = UNIT_NS, .width = 9},
    {.key = "difference_ns"},
    {.label = "more", .width = 10},
};
static const struct table table = {
    .key = "names", .heading = "Name", COLUMNS_ARE(columns), .most = 25, .more = "smaller"};

static const char *kind_of(enum role role)
{
    return role == ROLE_OP           ? "op"
           : role == ROLE_KERNEL     ? "kernel"
           : role == ROLE_COLLECTIVE ? "collective"
           : role == ROLE_COPY       ? "copy"
                                     : "memset";
}

static const char *change_of(const struct name_change *row)
{
    if (!(row->a_calls > 0))
        return "added";
    if (!(row->b_calls > 0))
        return "gone";
    if (fabs(row->b_ns - row->a_ns) <= least_change * row->a_ns)
        return "same";
    return row->b_ns > row->a_ns ? "slower" : "faster";
}

static void put_row(struct sheet *sheet, const struct name_change *row)
{
    const double more_ns = row->b_ns - row->a_ns;
    char more[48];
    snprintf(more, sizeof more, "%s%s", more_ns < 0 ? "-" : "+",
             units_ns((int64_t)llround(fabs(more_ns))).text);
    SHEET_ROW(sheet, value_text(row->name), value_text(kind_of(row->role)),
              value_text(change_of(row)), value_real(row->a_calls), value_real(row->b_calls),
              value_int(llround(row->a_ns)), value_int(llround(row->b_ns)),
              value_int(llround(more_ns)), value_text(more));
}

static void put(struct sheet *sheet, const struct operands *operands,
                const struct name_changes *changes)
{
    char text[600];
    sheet_title(sheet, "B against A",
                changes->is_by_step ? "Times and calls a step" : "Times and calls in all");
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%c is %.500s", "AB"[i], operands -> texts[i]);
        sheet_say(sheet, SAY_ITEM, text);
    }
    sheet_put(sheet, "by_step", value_bool(changes->is_by_step));
    sheet_table(sheet, &table);
    for (size_t i = 0; i < changes->count; i++)
        put_row(sheet, &changes->rows[i]);
    sheet_end(sheet);
}

static int read_names(struct name_totals *totals, const struct operands *operands, int place,
                      struct arena *arena)
{
    struct gait_trace *trace;
    int status = trace_door_open(operands->texts[place], operands->is_uncached, &trace);
    if (status)
        return status;
    status = name_totals_make(totals, trace, arena);
    gait_trace_close(trace);
    if (!status && !totals->count)
        status = fail(GAIT_ERR_MISSING, "'%s' has neither ops nor kernels", operands->texts[place]);
    return status;
}

static int run(const void *values, const struct operands *operands)
{
    struct name_totals totals[2];
    struct name_changes changes;
    struct sheet *sheet = NULL;
    struct arena arena;
    (void)values;
    arena_init(&arena, NAMES_BYTES);
    int status = sheet_wish_check(&operands->wish, operands->texts[0]);
    for (int i = 0; !status && i < 2; i++)
        status = read_names(&totals[i], operands, i, &arena);
    if (!status)
        status = name_changes_make(&changes, &totals[0], &totals[1], &arena);
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        put(sheet, operands, &changes);
    const int code = sheet_answer(&cmd_trace_diff, &operands->wish, sheet, status);
    arena_finish(&arena);
    return code;
}

const struct command cmd_trace_diff = {
    .purpose = "list ops and kernels that changed between two traces",
    .summary = "Lists the ops and kernels of two traces that came, went, or take another time.",
    .about = {"A and B are runs, or traces of other tools. Names are compared by their time a "
              "step, summed over ranks, where both have steps; else by their time in all. The "
              "largest change comes first.",
              "added: only B has it. gone: only A has it. same: less than 5 % of its time. The "
              "time of an op includes the ops that it calls."},
    .examples = {{"gait trace-diff before.json.gz after.json.gz", "What an upgrade changed."},
                 {"gait trace-diff --format csv -o changes.csv run1 run2",
                  "All of it as a table."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "trace-diff",
             .min_operands = 2,
             .max_operands = 2,
             .operands = "A B",
             .has_sheet = true,
             .has_trace = true},
    .is_rare = true,
    .run = run,
};
