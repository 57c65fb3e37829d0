// SPDX-License-Identifier: Apache-2.0
#include "answer/compare_answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { CELL_BYTES = 48, SIDE_BYTES = 4200, FEW_PERCENT = 3, MOST_OPS = 200 };

struct percent_text {
    char text[12];
};

static const struct column metric_columns[] = {
    {.key = "name", .label = "", .width = 20, .flags = COLUMN_LEFT},
    {.key = "unit"},
    {.key = "a"},
    {.key = "b"},
    {.label = "A", .width = 12},
    {.label = "B", .width = 12},
    {.key = "difference"},
    {.key = "low"},
    {.key = "high"},
    {.label = "difference", .width = 32},
    {.key = "detectable"},
    {.key = "repeats_for_3_percent"},
    {.key = "verdict"},
};
static const struct table metric_table = {
    .key = "metrics", .heading = "Figures", COLUMNS_ARE(metric_columns)};

static const struct column op_columns[] = {
    {.key = "name", .label = "", .width = 34, .flags = COLUMN_LEFT},
    {.key = "a_ns", .label = "A a step", .unit = UNIT_NS, .width = 12},
    {.key = "b_ns", .label = "B a step", .unit = UNIT_NS, .width = 12},
    {.key = "difference_ns"},
    {.label = "more", .width = 12},
};
static const struct table op_table = {.key = "ops",
                                      .heading = "Ops that changed most",
                                      COLUMNS_ARE(op_columns),
                                      .most = 8,
                                      .more = "smaller"};

static const struct column limit_columns[] = {
    {.key = "limit", .label = "", .width = 30, .flags = COLUMN_LEFT},
    {.key = "verdict", .label = "", .width = 14, .flags = COLUMN_LEFT},
    {.key = "why", .label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
};
static const struct table limit_table = {
    .key = "limits", .heading = "Limits", COLUMNS_ARE(limit_columns)};

static const struct column change_columns[] = {
    {.key = "name"}, {.key = "a"}, {.key = "b"}, {.key = "a_varies"}, {.key = "b_varies"}};
static const struct table change_table = {.key = "identity", COLUMNS_ARE(change_columns)};

static const struct column side_columns[] = {
    {.label = "", .width = 20, .flags = COLUMN_LEFT},
    {.label = "", .width = 1, .flags = COLUMN_LEFT},
    {.label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
};
static const struct table side_table = {.heading = "Runs differ in",
                                        COLUMNS_ARE(side_columns),
                                        .most = 24,
                                        .more = "more: see --format json"};

// --- figures as words -----------------------------------------------------------------

static void show_figure(char out[CELL_BYTES], double value, enum metric_unit unit)
{
    if (unit == METRIC_NS)
        snprintf(out, CELL_BYTES, "%s", units_ns((int64_t)llround(value)).text);
    else if (unit == METRIC_BYTES)
        snprintf(out, CELL_BYTES, "%s", units_bytes((uint64_t)llround(value)).text);
    else
        snprintf(out, CELL_BYTES, "%.4g/s", value);
}

// At most 7 columns, however large it is.
static struct percent_text percent(double part)
{
    struct percent_text out;
    const double value = 100 * part, size = fabs(value);
    snprintf(out.text, sizeof out.text,
             size < 1e3   ? "%+.1f"
             : size < 1e6 ? "%+.0f"
                          : "%+.0e",
             value);
    return out;
}

static void show_difference(char *out, size_t room, const struct means *means)
{
    if (!means->is_known)
        snprintf(out, room, "-");
    else if (!means->has_interval)
        snprintf(out, room, "%s %%", percent(means->difference).text);
    else
        snprintf(out, room, "%s %% [%s to %s]", percent(means->difference).text,
                 percent(means->low).text, percent(means->high).text);
}

static struct value known_real(bool is_known, double value)
{
    return value_if(is_known, value_real(value));
}

static const char *unit_name(enum metric_unit unit)
{
    static const char *const names[] = {
        [METRIC_NS] = "ns", [METRIC_BYTES] = "bytes", [METRIC_PER_SECOND] = "per second"};
    return names[unit];
}

static void put_metric(struct sheet *sheet, const struct metric_row *row)
{
    const struct means *means = &row->means;
    const size_t repeats = means_repeats(means, FEW_PERCENT / 100.0);
    char a[CELL_BYTES], b[CELL_BYTES], difference[CELL_BYTES];
    show_figure(a, means->a, row->unit);
    show_figure(b, means->b, row->unit);
    show_difference(difference, sizeof difference, means);
    const struct value cells[] = {
        value_text(row->name),
        value_text(unit_name(row->unit)),
        value_real(means->a),
        value_real(means->b),
        value_text(a),
        value_text(b),
        known_real(means->is_known, means->difference),
        known_real(means->has_interval, means->low),
        known_real(means->has_interval, means->high),
        value_text(difference),
        known_real(means->has_interval, means->detectable),
        value_if(repeats > 0, value_uint(repeats)),
        value_text(comparison_verdict_names[row->verdict]),
    };
    sheet_row(sheet, cells, 0);
}

// --- in words -------------------------------------------------------------------------

// The phase whose mean grew or shrank most in the direction of the steps.
static const struct metric_row *find_phase(const struct comparison *comparison, double change_ns)
{
    const struct metric_row *most = NULL;
    for (size_t i = 0; i < comparison->metric_count; i++) {
        const struct metric_row *row = &comparison->metrics[i];
        const double own = row->means.b - row->means.a;
        if (!strncmp(row->name, "phase.", 6) && own * change_ns > 0 &&
            (!most || fabs(own) > fabs(most->means.b - most->means.a)))
            most = row;
    }
    return most;
}

static void put_verdict(struct sheet *sheet, const char *label, const char *why, const char *advice)
{
    const struct sheet_try what = {.text = advice};
    sheet_verdict(
        sheet, &(struct sheet_verdict){.label = label, .why = why, .tries = &what, .try_count = 1});
}

static void say_too_few(struct sheet *sheet, const struct means *means)
{
    char text[240];
    snprintf(text, sizeof text,
             "a step of B takes %+.1f %% against A, but one run a side cannot tell a change from "
             "chance",
             100 * means->difference);
    put_verdict(sheet, "TOO FEW RUNS", text, "run each side at least twice, better five times");
}

static void say_same(struct sheet *sheet, const struct means *means)
{
    char text[240], advice[160] = "nothing, if smaller changes do not matter to you";
    const size_t repeats = means_repeats(means, FEW_PERCENT / 100.0);
    snprintf(text, sizeof text,
             "the mean step differs by %+.1f %%, which chance explains; a change of %.1f %% would "
             "have been found",
             100 * means->difference, 100 * means->detectable);
    if (repeats && means->detectable > FEW_PERCENT / 100.0)
        snprintf(advice, sizeof advice, "run more: %zu runs a side find a change of %d %%", repeats,
                 FEW_PERCENT);
    put_verdict(sheet, "NO DIFFERENCE SHOWN", text, advice);
}

static void say_change(struct sheet *sheet, const struct comparison *comparison,
                       const struct metric_row *step)
{
    const double change_ns = step->means.b - step->means.a;
    const struct metric_row *phase = find_phase(comparison, change_ns);
    char text[400];
    int used = snprintf(text, sizeof text, "the %s step takes %.1f %% %s [%.1f to %.1f]",
                        strcmp(step->name, "step.mean") ? "median" : "mean",
                        fabs(100 * step->means.difference), change_ns > 0 ? "longer" : "less",
                        100 * step->means.low, 100 * step->means.high);
    if (phase)
        snprintf(text + used, sizeof text - (size_t)used, "; '%.100s' takes %s %s a step",
                 phase->name + 6, units_ns((int64_t)fabs(phase->means.b - phase->means.a)).text,
                 change_ns > 0 ? "more" : "less");
    put_verdict(sheet, change_ns > 0 ? "B IS SLOWER" : "B IS FASTER", text,
                "see below which phases and ops changed; gait report says more of each run");
}

static void say_verdict(struct sheet *sheet, const struct comparison *comparison)
{
    const struct metric_row *step = comparison_find(comparison, "step.mean");
    const struct metric_row *median = comparison_find(comparison, "step.p50");
    if (!step || !median)
        return;
    if (step->verdict == COMPARED_SAME && median->verdict != COMPARED_SAME)
        step = median; // a few long steps hide what the others show
    if (step->verdict == COMPARED_UNKNOWN)
        say_too_few(sheet, &step->means);
    else if (step->verdict == COMPARED_SAME)
        say_same(sheet, &step->means);
    else
        say_change(sheet, comparison, step);
}

// --- the sheet ------------------------------------------------------------------------

static void put_set(struct sheet *sheet, const char *key, const struct run_set *set)
{
    static const struct column columns[] = {{.key = "path"}, {.key = "ranks"}, {.key = "batch"}};
    const struct table table = {.key = key, COLUMNS_ARE(columns)};
    sheet_table_copy(sheet, &table);
    for (size_t i = 0; i < set->count; i++) {
        const struct run_metrics *run = &set->runs[i];
        SHEET_ROW(sheet, value_text(run->path), value_uint(run->like.ranks),
                  known_real(run->like.batch > 0, run->like.batch));
    }
    sheet_end(sheet);
}

static void put_title(struct sheet *sheet, const struct compared *compared)
{
    const struct run_set *sets[] = {compared->a, compared->b};
    char text[2][300], all[620];
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "%c: %zu run%s, '%.200s'%s", "AB"[i], sets[i] -> count,
                 units_plural(sets[i]->count), sets[i] -> runs[0].path,
                 sets[i]->count > 1 ? " and others" : "");
    snprintf(all, sizeof all, "%s; %s", text[0], text[1]);
    sheet_title(sheet, "B against A", all);
}

static void put_side(struct sheet *sheet, const char *name, const char *side, const char *text,
                     bool varies)
{
    char shown[SIDE_BYTES];
    snprintf(shown, sizeof shown, "%s%s", text ? text : "-", varies ? ", and others" : "");
    SHEET_ROW(sheet, value_text(name), value_text(side), value_text(shown));
}

// What does not differ is not said.
static void put_changes(struct sheet *sheet, const struct comparison *comparison)
{
    sheet_table(sheet, &change_table);
    for (size_t i = 0; i < comparison->change_count; i++) {
        const struct identity_change *change = &comparison->changes[i];
        SHEET_ROW(sheet, value_text(change->key), value_text(change->a), value_text(change->b),
                  value_bool(change->a_varies), value_bool(change->b_varies));
    }
    sheet_end(sheet);
    if (!comparison->change_count)
        return;
    sheet_table(sheet, &side_table);
    for (size_t i = 0; i < comparison->change_count; i++) {
        const struct identity_change *change = &comparison->changes[i];
        put_side(sheet, change->key, "A", change->a, change->a_varies);
        put_side(sheet, " ", "B", change->b, change->b_varies);
    }
    sheet_end(sheet);
}

static void put_ops(struct sheet *sheet, const struct comparison *comparison)
{
    sheet_table(sheet, &op_table);
    for (size_t i = 0; i < comparison->op_count && i < MOST_OPS; i++) {
        const struct op_row *op = &comparison->ops[i];
        const double more_ns = op->b_ns - op->a_ns;
        char more[CELL_BYTES];
        snprintf(more, sizeof more, "%s%s", more_ns < 0 ? "-" : "+",
                 units_ns((int64_t)llround(fabs(more_ns))).text);
        SHEET_ROW(sheet, value_text(op->name), value_int(llround(op->a_ns)),
                  value_int(llround(op->b_ns)), value_int(llround(more_ns)), value_text(more));
    }
    sheet_end(sheet);
}

static void put_limits(struct sheet *sheet, const struct compared *compared)
{
    if (!compared->limit_count)
        return;
    sheet_table(sheet, &limit_table);
    for (size_t i = 0; i < compared->limit_count; i++) {
        const struct limit *limit = &compared->limits[i];
        const struct metric_row *row = comparison_find(compared->comparison, limit->name);
        char text[CELL_BYTES * 6], difference[CELL_BYTES];
        snprintf(text, sizeof text, "%.200s%c%g%%", limit->name, limit->is_above ? '>' : '<',
                 100 * limit->part);
        show_difference(difference, sizeof difference, &row->means);
        SHEET_ROW(sheet, value_text(text), value_text(limit_verdict_names[limit_judge(limit, row)]),
                  value_text(difference));
    }
    sheet_end(sheet);
}

void compare_answer_put(struct sheet *sheet, const struct compared *compared)
{
    const struct comparison *comparison = compared->comparison;
    put_title(sheet, compared);
    say_verdict(sheet, comparison);
    put_set(sheet, "a_runs", compared->a);
    put_set(sheet, "b_runs", compared->b);
    sheet_put(sheet, "confidence", value_real(MEANS_CONFIDENCE));
    sheet_put(sheet, "power", value_real(MEANS_POWER));
    sheet_put(sheet, "unlike", value_text(comparison->unlike));
    if (comparison->unlike) {
        char text[400];
        snprintf(text, sizeof text, "the runs are not alike: %.300s", comparison->unlike);
        sheet_say(sheet, SAY_ALERT, text);
    }
    put_changes(sheet, comparison);
    put_limits(sheet, compared);
    sheet_table(sheet, &metric_table);
    for (size_t i = 0; i < comparison->metric_count; i++)
        put_metric(sheet, &comparison->metrics[i]);
    sheet_end(sheet);
    put_ops(sheet, comparison);
}

bool compare_answer_fails(const struct compared *compared)
{
    bool fails = compared->a->count < 2 || compared->b->count < 2;
    for (size_t i = 0; i < compared->limit_count; i++) {
        const struct limit *limit = &compared->limits[i];
        const struct metric_row *row = comparison_find(compared->comparison, limit->name);
        fails |= limit_judge(limit, row) != LIMIT_KEPT;
    }
    return fails;
}
