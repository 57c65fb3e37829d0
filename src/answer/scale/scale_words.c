// SPDX-License-Identifier: Apache-2.0
#include "answer/scale/scale_words.h"

#include <stdio.h>

#include "base/units.h"

enum { SENTENCE = 400 };

void scale_words_number(char out[SCALE_WORDS], bool is_known, const char *format, double number)
{
    if (is_known)
        snprintf(out, SCALE_WORDS, format, number);
    else
        snprintf(out, SCALE_WORDS, "-");
}

void scale_words_interval(char out[SCALE_WORDS], const struct scale_figure *figure)
{
    const double half = figure->mean > 0 ? (figure->high - figure->mean) / figure->mean : 0;
    const bool is_wide = half >= 0.1;
    scale_words_number(out, figure->has_interval, is_wide ? "+-%.0f %%" : "+-%.2g %%", 100 * half);
}

void scale_words_title(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scaling *scaling = asked->scaling;
    char text[SENTENCE];
    double low = 0, high = 0;
    for (size_t i = 0; i < scaling->count; i++) {
        for (size_t k = 0; k < scaling->series[i].count; k++) {
            const double workers = scaling->series[i].points[k].workers;
            low = low > 0 && low < workers ? low : workers;
            high = high > workers ? high : workers;
        }
    }
    snprintf(text, sizeof text, "%zu run%s, %g to %g worker%s", asked->set->count,
             units_plural(asked->set->count), low, high, high == 1 ? "" : "s");
    sheet_title(sheet, "How it scales", text);
}

// --- the verdict ------------------------------------------------------------------------

// The largest training that has a base to compare with; NULL: none has.
static const struct scale_point *find_largest(const struct scaling *scaling,
                                              const struct scale_series **ret_series)
{
    const struct scale_point *largest = NULL;
    for (size_t i = 0; i < scaling->count; i++) {
        const struct scale_series *series = &scaling->series[i];
        for (size_t k = 0; k < series->count; k++) {
            const struct scale_point *point = &series->points[k];
            if (!(point->speedup > 0) || point->workers <= series->base->workers ||
                (largest && point->workers < largest->workers) ||
                (largest && point->workers == largest->workers &&
                 point->efficiency < largest->efficiency))
                continue;
            largest = point;
            *ret_series = series;
        }
    }
    return largest;
}

static const struct scale_loss *find_loss(const struct scale_point *point)
{
    const struct scale_loss *most = NULL;
    for (size_t i = 0; i < point->loss_count; i++)
        if (point->losses[i].share > (most ? most->share : 0))
            most = &point->losses[i];
    return most;
}

static void put_verdict(struct sheet *sheet, const char *label, const char *why, const char *advice)
{
    const struct sheet_try what = {.text = advice};
    sheet_verdict(
        sheet, &(struct sheet_verdict){.label = label, .why = why, .tries = &what, .try_count = 1});
}

static void say_largest(struct sheet *sheet, const struct scale_series *series,
                        const struct scale_point *point)
{
    static const double little = 0.01;
    const struct scale_loss *loss = find_loss(point);
    char label[SCALE_WORDS], why[SENTENCE], advice[SENTENCE];
    const int used = snprintf(why, sizeof why,
                              "'%.60s' does %.2f times as much in a time with %g workers as with "
                              "%g; ideal were %g times",
                              series->strategy, point->speedup, point->workers,
                              series->base->workers, point->workers / series->base->workers);
    snprintf(label, sizeof label, "%.0f %% EFFICIENT AT %g", 100 * point->efficiency,
             point->workers);
    snprintf(advice, sizeof advice,
             "gait report or gait breakdown of the largest run say where its time goes");
    if (loss && loss->share > little && point->efficiency < 1) {
        snprintf(why + used, sizeof why - (size_t)used, "; '%.60s' costs most: %.1f %%", loss->part,
                 100 * loss->share);
        snprintf(advice, sizeof advice,
                 "gait report of the largest run, which says what is in '%.60s'", loss->part);
    }
    put_verdict(sheet, label, why, advice);
}

void scale_words_verdict(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scale_series *series = NULL;
    const struct scale_point *largest = find_largest(asked->scaling, &series);
    if (largest) {
        say_largest(sheet, series, largest);
        return;
    }
    put_verdict(sheet, "ONE SIZE",
                "no strategy was timed at two sizes, so nothing can be said of how it scales",
                "run the same training with half and with twice the workers");
}

// --- how it was taken -------------------------------------------------------------------

static void say_base(struct sheet *sheet, const struct scale_series *series)
{
    char text[SENTENCE];
    if (!series->base || series->count + series->is_base_lent < 2)
        return;
    snprintf(text, sizeof text, "'%.60s' is compared with %g worker%s%s, by %s scaling%s",
             series->strategy, series->base->workers, series->base->workers == 1 ? "" : "s",
             series->is_base_lent ? " of the training that is not distributed" : "",
             scale_kind_names[series->kind],
             series->is_kind_told           ? ""
             : series->kind == SCALE_STRONG ? ": taken for the same work at each size (--scaling)"
                                            : ": taken for the same work a worker (--scaling)");
    sheet_say(sheet, SAY_ITEM, text);
}

void scale_words_notes(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scaling *scaling = asked->scaling;
    char text[SENTENCE];
    if (scaling->has_models)
        sheet_say(sheet, SAY_ALERT,
                  "the runs train different models: each is compared with its own only");
    if (asked->set->assumed) {
        snprintf(text, sizeof text,
                 "%zu table%s number of nodes, not of devices: taken as %d devices a node, as "
                 "itwinai does (--gpus-per-node)",
                 asked->set->assumed, asked->set->assumed == 1 ? " tells the" : "s tell the",
                 SCALE_NODE_DEVICES);
        sheet_say(sheet, SAY_ALERT, text);
    }
    if (scaling->untimed) {
        snprintf(text, sizeof text, "%zu run%s no %ss, by which the others are compared",
                 scaling->untimed, scaling->untimed == 1 ? " has" : "s have",
                 scaling->basis == SCALE_BY_EPOCH ? "epoch" : "step");
        sheet_say(sheet, SAY_ALERT, text);
    }
    for (size_t i = 0; i < scaling->count; i++)
        say_base(sheet, &scaling->series[i]);
    if (scaling->basis == SCALE_BY_EPOCH && scaling->leaves_first)
        sheet_say(sheet, SAY_ITEM,
                  "the first epoch of a run, which warms up, does not count where there are more");
    if (asked->has_communication)
        sheet_say(sheet, SAY_ITEM,
                  "fractions of communication depend on hardware and library: compare them within "
                  "one system only");
}
