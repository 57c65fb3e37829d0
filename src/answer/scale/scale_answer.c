// SPDX-License-Identifier: Apache-2.0
#include "answer/scale/scale_answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/scale/scale_words.h"
#include "base/array.h"

static struct value known(bool is_known, double value)
{
    return value_if(is_known, value_real(value));
}

static struct value as_ns(const struct scale_figure *figure, double seconds)
{
    const double ns = seconds * 1e9;
    return value_if(figure->count && fabs(ns) < 9e18, value_int(llround(ns)));
}

// --- times ------------------------------------------------------------------------------

static const struct column point_columns[] = {
    {.key = "strategy", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "model"},
    {.key = "workers", .label = "workers", .width = 9},
    {.key = "runs", .label = "runs", .width = 6},
    {.key = "time_ns", .label = "mean", .unit = UNIT_NS, .width = 12},
    {.key = "deviation_ns"},
    {.key = "low_ns"},
    {.key = "high_ns"},
    {.label = "95 % interval", .width = 14},
    {.key = "speedup"},
    {.label = "speedup", .width = 9},
    {.key = "efficiency"},
    {.label = "efficient", .width = 10},
    {.key = "scaling"},
    {.key = "base_workers"},
};

static void put_point(struct sheet *sheet, const struct scale_series *series,
                      const struct scale_point *point)
{
    const struct scale_figure *time = &point->time_s;
    const bool has_base = point->speedup > 0;
    char speedup[SCALE_WORDS], efficiency[SCALE_WORDS], interval[SCALE_WORDS];
    scale_words_number(speedup, has_base, "%.2f", point->speedup);
    scale_words_number(efficiency, has_base, "%.1f %%", 100 * point->efficiency);
    scale_words_interval(interval, time);
    const struct value cells[] = {
        value_text(series->strategy),
        value_text(series->model),
        value_real(point->workers),
        value_uint(time->count),
        as_ns(time, time->mean),
        value_if(time->has_interval, as_ns(time, time->deviation)),
        value_if(time->has_interval, as_ns(time, time->low)),
        value_if(time->has_interval, as_ns(time, time->high)),
        value_text(interval),
        known(has_base, point->speedup),
        value_text(speedup),
        known(has_base, point->efficiency),
        value_text(efficiency),
        value_text(scale_kind_names[series->kind]),
        known(series->base, series->base ? series->base->workers : 0),
    };
    sheet_row(sheet, cells, time->count ? 0 : ROW_HIDDEN);
}

// --- energy -----------------------------------------------------------------------------

static const struct column energy_columns[] = {
    {.key = "strategy", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "workers", .label = "workers", .width = 9},
    {.key = "runs", .label = "runs", .width = 6},
    {.key = "energy_wh"},
    {.label = "a run", .width = 12},
    {.key = "deviation_wh"},
    {.key = "low_wh"},
    {.key = "high_wh"},
    {.label = "95 % interval", .width = 15},
    {.key = "utilization"},
    {.label = "utilised", .width = 11},
};

static void put_energy(struct sheet *sheet, const struct scale_series *series,
                       const struct scale_point *point)
{
    const struct scale_figure *energy = &point->energy_wh, *busy = &point->utilisation;
    char words[SCALE_WORDS], interval[SCALE_WORDS], utilised[SCALE_WORDS];
    if (!energy->count)
        return;
    scale_words_number(words, true, "%.4g Wh", energy->mean);
    scale_words_interval(interval, energy);
    scale_words_number(utilised, busy->count, "%.2f %%", busy->mean);
    const struct value cells[] = {
        value_text(series->strategy),
        value_real(point->workers),
        value_uint(energy->count),
        value_real(energy->mean),
        value_text(words),
        known(energy->has_interval, energy->deviation),
        known(energy->has_interval, energy->low),
        known(energy->has_interval, energy->high),
        value_text(interval),
        known(busy->count, busy->mean),
        value_text(utilised),
    };
    sheet_row(sheet, cells, 0);
}

// --- computation ------------------------------------------------------------------------

static const struct column share_columns[] = {
    {.key = "strategy", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "workers", .label = "workers", .width = 9},
    {.key = "computation"},
    {.label = "computation", .width = 13},
    {.key = "communication"},
    {.label = "communication", .width = 15},
    {.key = "computation_of_both"},
    {.key = "basis", .label = "from", .flags = COLUMN_LEFT},
};

static void put_shares(struct sheet *sheet, const struct scale_series *series,
                       const struct scale_point *point)
{
    const struct scale_shares *shares = &point->shares;
    const double both = shares->computation + shares->communication;
    char computation[SCALE_WORDS], communication[SCALE_WORDS];
    if (!(shares->total > 0))
        return;
    scale_words_number(computation, true, "%.2f %%", 100 * shares->computation / shares->total);
    scale_words_number(communication, true, "%.2f %%", 100 * shares->communication / shares->total);
    const struct value cells[] = {
        value_text(series->strategy),
        value_real(point->workers),
        value_real(shares->computation / shares->total),
        value_text(computation),
        value_real(shares->communication / shares->total),
        value_text(communication),
        known(both > 0, shares->computation / both),
        value_text(shares->basis),
    };
    sheet_row(sheet, cells, 0);
}

// --- laws -------------------------------------------------------------------------------

static const struct column law_columns[] = {
    {.key = "strategy", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "law", .label = "", .width = 8, .flags = COLUMN_LEFT},
    {.key = "serial"},
    {.label = "serial", .width = 10},
    {.key = "coherency"},
    {.label = "coherency", .width = 12},
    {.key = "error"},
    {.label = "fits within", .width = 13},
    {.key = "peak_workers"},
    {.label = "fastest with", .width = 14},
};

static void put_law(struct sheet *sheet, const struct scale_series *series, const char *law,
                    const struct scale_fit *fit)
{
    const double peak = scale_fit_peak(fit);
    char serial[SCALE_WORDS], coherency[SCALE_WORDS], error[SCALE_WORDS], fastest[SCALE_WORDS];
    if (!fit->is_known)
        return;
    scale_words_number(serial, true, "%.3g %%", 100 * fit->serial);
    scale_words_number(coherency, !strcmp(law, "USL"), "%.3g %%", 100 * fit->coherency);
    scale_words_number(error, fit->error > 1e-9, "%.2g %%", 100 * fit->error); // "-": exactly
    scale_words_number(fastest, peak > 0, "%.0f", peak);
    SHEET_ROW(sheet, value_text(series->strategy), value_text(law), value_real(fit->serial),
              value_text(serial), value_real(fit->coherency), value_text(coherency),
              value_real(fit->error), value_text(error), known(peak > 0, peak),
              value_text(fastest));
}

// --- losses -----------------------------------------------------------------------------

static const struct column loss_columns[] = {
    {.key = "strategy", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "workers", .label = "workers", .width = 9},
    {.key = "part", .label = "", .width = 20, .flags = COLUMN_LEFT},
    {.key = "lost"},
    {.label = "lost", .width = 10},
    {.label = "", .flags = COLUMN_BAR},
};

static int by_share(const void *left, const void *right)
{
    const struct scale_loss *a = left, *b = right;
    RETURN_IF_APART(b->share, a->share);
    return strcmp(a->part, b->part);
}

static void put_losses(struct sheet *sheet, const struct scale_series *series,
                       const struct scale_point *point)
{
    static const double least = 0.0005; // of less than 0.1 % people see nothing
    ARRAY_SORT(point->losses, point->loss_count, by_share);
    for (size_t i = 0; i < point->loss_count; i++) {
        const struct scale_loss *loss = &point->losses[i];
        char lost[SCALE_WORDS];
        scale_words_number(lost, true, "%.1f %%", 100 * loss->share);
        const struct value cells[] = {
            value_text(series->strategy), value_real(point->workers), value_text(loss->part),
            value_real(loss->share),      value_text(lost),           value_real(loss->share),
        };
        sheet_row(sheet, cells, fabs(loss->share) < least ? ROW_HIDDEN : 0);
    }
}

// --- itwinai's own figures --------------------------------------------------------------

static const struct column itwinai_columns[] = {
    {.key = "strategy", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "workers", .label = "workers", .width = 9},
    {.key = "figure", .label = "", .width = 18, .flags = COLUMN_LEFT},
    {.key = "itwinai"},
    {.label = "itwinai", .width = 12},
    {.key = "right"},
    {.label = "right", .width = 12},
    {.key = "why"},
};

struct compared_figure {
    const char *name;
    bool is_known, has_right;
    double itwinai, right;
    const char *why;
};

static bool differs(const struct compared_figure *figure)
{
    static const double same = 1e-9;
    const double size = fabs(figure->right) + fabs(figure->itwinai);
    return figure->is_known && figure->has_right &&
           fabs(figure->right - figure->itwinai) > same * size;
}

static void put_compared(struct sheet *sheet, const struct scale_series *series,
                         const struct scale_point *point, const struct compared_figure *figure)
{
    char theirs[SCALE_WORDS], right[SCALE_WORDS];
    if (!figure->is_known)
        return;
    scale_words_number(theirs, true, "%.4g", figure->itwinai);
    scale_words_number(right, figure->has_right, "%.4g", figure->right);
    const struct value cells[] = {
        value_text(series->strategy),
        value_real(point->workers),
        value_text(figure->name),
        value_real(figure->itwinai),
        value_text(theirs),
        known(figure->has_right, figure->right),
        value_text(right),
        value_text(differs(figure) ? figure->why : NULL),
    };
    sheet_row(sheet, cells, 0);
}

// --- all of it --------------------------------------------------------------------------

typedef void put_one(struct sheet *sheet, const struct scale_series *series,
                     const struct scale_point *point);

static void put_points(struct sheet *sheet, const struct scaling *scaling,
                       const struct table *table, put_one *put)
{
    sheet_table_copy(sheet, table);
    for (size_t i = 0; i < scaling->count; i++)
        for (size_t k = 0; k < scaling->series[i].count; k++)
            put(sheet, &scaling->series[i], &scaling->series[i].points[k]);
    sheet_end(sheet);
}

static void put_runs(struct sheet *sheet, const struct scale_asked *asked)
{
    static const struct column columns[] = {
        {.key = "path"},  {.key = "id"},    {.key = "source"},  {.key = "strategy"},
        {.key = "model"}, {.key = "nodes"}, {.key = "workers"}, {.key = "epochs"},
        {.key = "steps"}, {.key = "time_s"}};
    static const struct table table = {.key = "inputs", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < asked->set->count; i++) {
        const struct scale_run *run = &asked->set->runs[i];
        const double time = scaling_time(asked->scaling, run);
        const struct value cells[] = {
            value_text(run->path),
            value_text(run->id),
            value_text(scale_source_names[run->source]),
            value_text(run->strategy),
            value_text(run->model),
            known(run->nodes > 0, run->nodes),
            known(run->workers > 0, run->workers),
            value_uint(run->epoch_count),
            value_uint(run->steps),
            known(time > 0, time),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_skips(struct sheet *sheet, const struct scale_set *set)
{
    static const struct column columns[] = {
        {.key = "path", .label = "", .width = 30, .flags = COLUMN_LEFT},
        {.key = "why", .label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
    };
    static const struct table table = {
        .key = "skipped", .heading = "Left out", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    if (!set->skip_count)
        sheet_heading(sheet, NULL);
    for (size_t i = 0; i < set->skip_count; i++)
        SHEET_ROW(sheet, value_text(set->skips[i].path), value_text(set->skips[i].why));
    sheet_end(sheet);
}

// Whether any point has some of it: an empty table has no heading for people.
static bool has_any(const struct scaling *scaling, bool (*has)(const struct scale_point *point))
{
    for (size_t i = 0; i < scaling->count; i++)
        for (size_t k = 0; k < scaling->series[i].count; k++)
            if (has(&scaling->series[i].points[k]))
                return true;
    return false;
}

static bool has_energy(const struct scale_point *point)
{
    return point->energy_wh.count;
}

static bool has_shares(const struct scale_point *point)
{
    return point->shares.total > 0;
}

static bool has_losses(const struct scale_point *point)
{
    return point->loss_count;
}

static bool has_itwinai(const struct scale_point *point)
{
    return point->itwinai.epochs > 0 || point->itwinai.samples > 0 || point->itwinai.total_us > 0;
}

static void put_laws(struct sheet *sheet, const struct scaling *scaling)
{
    bool is_any = false;
    for (size_t i = 0; i < scaling->count; i++)
        is_any = is_any || scaling->series[i].amdahl.is_known;
    const struct table table = {
        .key = "laws", .heading = is_any ? "Laws that fit" : NULL, COLUMNS_ARE(law_columns)};
    sheet_table_copy(sheet, &table);
    for (size_t i = 0; i < scaling->count; i++) {
        put_law(sheet, &scaling->series[i], "Amdahl", &scaling->series[i].amdahl);
        put_law(sheet, &scaling->series[i], "USL", &scaling->series[i].usl);
    }
    sheet_end(sheet);
}

enum { COMPARED = 6 };

static void compare_figures(struct compared_figure figures[COMPARED],
                            const struct scale_asked *asked, const struct scale_point *point)
{
    const struct itwinai_sums *sums = &point->itwinai;
    const struct scale_shares *shares = &point->shares;
    const double seconds = 1e-6, least = 1e-10;
    const double total = (sums->total_us - sums->steps_us) * seconds;
    const double computation = sums->computation_us * seconds;
    const double both = computation + sums->communication_us * seconds;
    const double right_both = shares->computation + shares->communication;
    const struct compared_figure all[COMPARED] = {
        {"epoch, s", sums->epochs > 0, point->time_s.count, sums->epochs_s / sums->epochs,
         point->time_s.mean, "without the first epoch; a run counts as one value"},
        {"speedup", point->itwinai_speedup > 0, point->speedup > 0, point->itwinai_speedup,
         point->speedup, "from the right times, against the base named above"},
        {"energy, Wh", sums->samples > 0, point->energy_wh.count, sums->energy_wh,
         point->energy_wh.mean, "itwinai adds the runs up"},
        {"utilisation, %", sums->samples > 0, point->utilisation.count,
         sums->utilisation / sums->samples, point->utilisation.mean, "a run counts as one value"},
        {"computation", sums->total_us > 0, shares->total > 0, computation / (total + least),
         shares->computation / shares->total,
         "itwinai counts operators and their kernels, but no kernel of cuBLAS or cuDNN"},
        {"comp. of both", asked->has_communication && sums->total_us > 0, right_both > 0,
         computation / (both + least), shares->computation / right_both,
         "itwinai counts kernels that compute twice, collectives once"},
    };
    memcpy(figures, all, sizeof all);
}

static void put_figures(struct sheet *sheet, const struct scale_series *series,
                        const struct scale_point *point, const struct compared_figure *figures)
{
    for (size_t i = 0; i < COMPARED; i++)
        put_compared(sheet, series, point, &figures[i]);
}

static void note_figures(const char **notes, const struct compared_figure *figures)
{
    for (size_t i = 0; i < COMPARED; i++)
        if (differs(&figures[i]))
            notes[i] = figures[i].why;
}

static void put_all_itwinai(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scaling *scaling = asked->scaling;
    const char *notes[COMPARED] = {NULL}; // why itwinai's figure differs anywhere
    struct compared_figure figures[COMPARED];
    const struct table table = {.key = "itwinai",
                                .heading =
                                    has_any(scaling, has_itwinai) ? "itwinai's figures" : NULL,
                                COLUMNS_ARE(itwinai_columns)};
    sheet_table_copy(sheet, &table);
    for (size_t i = 0; i < scaling->count; i++) {
        for (size_t k = 0; k < scaling->series[i].count; k++) {
            compare_figures(figures, asked, &scaling->series[i].points[k]);
            put_figures(sheet, &scaling->series[i], &scaling->series[i].points[k], figures);
            note_figures(notes, figures);
        }
    }
    sheet_end(sheet);
    for (size_t at = 0; at < COMPARED; at++) {
        char text[160];
        if (!notes[at])
            continue;
        snprintf(text, sizeof text, "%s: %s", figures[at].name, notes[at]);
        sheet_say(sheet, SAY_ITEM, text);
    }
}

static void put_tables(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scaling *scaling = asked->scaling;
    const struct {
        struct table table;
        bool (*has)(const struct scale_point *point);
        put_one *put;
    } tables[] = {
        {{.key = "energy", .heading = "Energy", COLUMNS_ARE(energy_columns)},
         has_energy,
         put_energy},
        {{.key = "computation", .heading = "Computation", COLUMNS_ARE(share_columns)},
         has_shares,
         put_shares},
        {{.key = "losses", .heading = "Where efficiency is lost", COLUMNS_ARE(loss_columns)},
         has_losses,
         put_losses},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct table table = tables[i].table;
        if (!has_any(scaling, tables[i].has))
            table.heading = NULL;
        put_points(sheet, scaling, &table, tables[i].put);
    }
}

void scale_answer_put(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scaling *scaling = asked->scaling;
    const bool is_by_epoch = scaling->basis == SCALE_BY_EPOCH;
    const struct table times = {.key = "times",
                                .heading = is_by_epoch ? "Time of an epoch" : "Time of a step",
                                COLUMNS_ARE(point_columns)};
    scale_words_title(sheet, asked);
    scale_words_verdict(sheet, asked);
    sheet_put(sheet, "basis", value_text(is_by_epoch ? "epoch" : "step"));
    sheet_put(sheet, "baseline", value_text(scaling->baseline == SCALE_COMMON ? "common" : "own"));
    sheet_put(sheet, "unit_of_work",
              value_text(scaling->is_by_sample ? "sample"
                         : is_by_epoch         ? "epoch"
                                               : "step"));
    scale_words_notes(sheet, asked);
    put_points(sheet, scaling, &times, put_point);
    put_tables(sheet, asked);
    put_laws(sheet, scaling);
    scale_plots_put(sheet, asked);
    put_all_itwinai(sheet, asked);
    put_runs(sheet, asked);
    put_skips(sheet, asked->set);
}
