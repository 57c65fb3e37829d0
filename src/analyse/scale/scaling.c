// SPDX-License-Identifier: Apache-2.0
#include "analyse/scale/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare/means.h"
#include "analyse/compare/student.h"
#include "analyse/scale/scaling_losses.h"
#include "base/fail.h"

#define SCALING_BYTES ((size_t)1 << 28)
static const double alike = 0.1; // amounts of work that differ by less are the same

const char *const scale_kind_names[] = {
    [SCALE_STRONG] = "strong", [SCALE_WEAK] = "weak", [SCALE_MIXED] = "mixed"};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for a report on scaling");
}

// --- single runs ------------------------------------------------------------------------

static double epoch_time(const struct scale_run *run, bool leaves_first)
{
    const size_t first = leaves_first && run->epoch_count > 1;
    double sum = 0;
    for (size_t i = first; i < run->epoch_count; i++)
        sum += run->epochs_s[i];
    return run->epoch_count ? sum / (double)(run->epoch_count - first) : 0;
}

double scaling_time(const struct scaling *scaling, const struct scale_run *run)
{
    return scaling->basis == SCALE_BY_EPOCH ? epoch_time(run, scaling->leaves_first) : run->step_s;
}

static double samples_of(const struct scaling *scaling, const struct scale_run *run)
{
    return scaling->basis == SCALE_BY_EPOCH ? run->epoch_samples : run->step_samples;
}

static void choose_basis(struct scaling *scaling, const struct scale_set *set)
{
    size_t epochs = 0, steps = 0, times = 0;
    for (size_t i = 0; i < set->count; i++) {
        epochs += set->runs[i].epoch_count > 0;
        steps += set->runs[i].step_s > 0;
        times += set->runs[i].epoch_count > 0 || set->runs[i].step_s > 0;
    }
    scaling->basis = steps > epochs ? SCALE_BY_STEP : SCALE_BY_EPOCH;
    scaling->untimed = times - (steps > epochs ? steps : epochs);
}

// A unit of work is a sample only where all runs with a time count them.
static bool count_samples(const struct scaling *scaling, const struct scale_set *set)
{
    bool is_any = false;
    for (size_t i = 0; i < set->count; i++) {
        if (!(scaling_time(scaling, &set->runs[i]) > 0))
            continue;
        if (!(samples_of(scaling, &set->runs[i]) > 0))
            return false;
        is_any = true;
    }
    return is_any;
}

// --- repeats ----------------------------------------------------------------------------

static struct scale_figure figure_of(const double *values, size_t count)
{
    struct scale_figure figure = {.count = count};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    figure.mean = count ? sum / (double)count : 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - figure.mean) * (values[i] - figure.mean);
    figure.low = figure.high = figure.mean;
    if (count < 2)
        return figure;
    figure.has_interval = true;
    figure.deviation = sqrt(squares / (double)(count - 1));
    const double error = figure.deviation / sqrt((double)count) *
                         student_quantile(1 - (1 - MEANS_CONFIDENCE) / 2, (double)count - 1);
    figure.low = figure.mean - error;
    figure.high = figure.mean + error;
    return figure;
}

static void add_sums(struct itwinai_sums *sums, const struct itwinai_sums *more)
{
    sums->epochs_s += more->epochs_s;
    sums->epochs += more->epochs;
    sums->energy_wh += more->energy_wh;
    sums->utilisation += more->utilisation;
    sums->samples += more->samples;
    sums->computation_us += more->computation_us;
    sums->communication_us += more->communication_us;
    sums->total_us += more->total_us;
    sums->steps_us += more->steps_us;
}

// Runs weigh alike, however long each was on record.
static void add_shares(struct scale_shares *shares, const struct scale_shares *more)
{
    if (!(more->total > 0))
        return;
    shares->computation += more->computation / more->total;
    shares->communication += more->communication / more->total;
    shares->total += 1;
    shares->basis = more->basis;
}

static double mean_work(const struct scaling *scaling, const struct scale_members *members)
{
    double work = 0, count = 0;
    for (size_t i = 0; i < members->count; i++) {
        if (!(scaling_time(scaling, members->runs[i]) > 0))
            continue;
        work += samples_of(scaling, members->runs[i]);
        count++;
    }
    return count > 0 ? work / count : 0;
}

static int fill_point(struct scaling *scaling, struct scale_point *point,
                      const struct scale_members *members)
{
    double *values = malloc((3 * members->count + 1) * sizeof *values);
    size_t times = 0, energy_count = 0, busy_count = 0;
    if (!values)
        return no_memory();
    double *energies = values + members->count, *busy = energies + members->count;
    *point = (struct scale_point){.workers = members->runs[0]->workers};
    for (size_t i = 0; i < members->count; i++) {
        const struct scale_run *run = members->runs[i];
        const double time = scaling_time(scaling, run);
        point->nodes = run->nodes > point->nodes ? run->nodes : point->nodes;
        if (time > 0)
            values[times++] = time;
        if (run->has_energy) {
            energies[energy_count++] = run->energy_wh;
            if (run->utilisation >= 0) // it may be not known
                busy[busy_count++] = run->utilisation;
        }
        add_sums(&point->itwinai, &run->itwinai);
        add_shares(&point->shares, &run->shares);
    }
    point->time_s = figure_of(values, times);
    point->energy_wh = figure_of(energies, energy_count);
    point->utilisation = figure_of(busy, busy_count);
    free(values);
    return scaling_parts_find(scaling, point, members);
}

// --- work and its cost ------------------------------------------------------------------

static void find_kind(const struct scaling *scaling, struct scale_series *series,
                      const double *work, const struct scaling_wish *wish)
{
    bool is_strong = true, is_weak = true;
    series->kind = scaling->basis == SCALE_BY_EPOCH ? SCALE_STRONG : SCALE_WEAK;
    for (size_t i = 1; i < series->count && scaling->is_by_sample; i++) {
        const double grown = work[i] / work[0];
        const double workers = series->points[i].workers / series->points[0].workers;
        is_strong = is_strong && fabs(grown - 1) < alike;
        is_weak = is_weak && fabs(grown / workers - 1) < alike;
    }
    if (wish->has_kind)
        series->kind = wish->kind;
    else if (scaling->is_by_sample)
        series->kind = is_strong ? SCALE_STRONG : is_weak ? SCALE_WEAK : SCALE_MIXED;
    series->is_kind_told = wish->has_kind || (scaling->is_by_sample && series->count > 1);
}

static void find_costs(const struct scaling *scaling, struct scale_series *series,
                       const double *work, const struct scaling_wish *wish)
{
    for (size_t i = 0; i < series->count; i++) {
        struct scale_point *point = &series->points[i];
        const bool counts = scaling->is_by_sample && !wish->has_kind;
        const double units = counts ? work[i] : series->kind == SCALE_WEAK ? point->workers : 1;
        if (point->time_s.count)
            point->cost = point->workers * point->time_s.mean / units;
    }
}

// --- series -----------------------------------------------------------------------------

static int order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_series(const void *left, const void *right)
{
    const struct scale_run *a = *(const struct scale_run *const *)left,
                           *b = *(const struct scale_run *const *)right;
    int order = order_text(a->model, b->model);
    order = order ? order : strcmp(a->strategy, b->strategy);
    if (order || a->workers != b->workers)
        return order ? order : a->workers < b->workers ? -1 : 1;
    order = strcmp(a->id, b->id);
    return order ? order : a < b ? -1 : a > b;
}

static bool is_of_series(const struct scale_run *a, const struct scale_run *b)
{
    return !strcmp(a->strategy, b->strategy) && !order_text(a->model, b->model);
}

static int fill_series(struct scaling *scaling, struct scale_series *series,
                       const struct scale_members *members, const struct scaling_wish *wish)
{
    double *work = calloc(members->count + 1, sizeof *work);
    int status = work ? GAIT_OK : no_memory();
    *series = (struct scale_series){.strategy = members->runs[0]->strategy,
                                    .model = members->runs[0]->model};
    series->points = arena_take(&scaling->arena, members->count * sizeof *series->points);
    if (!series->points)
        status = no_memory();
    for (size_t i = 0, end; !status && i < members->count; i = end) {
        for (end = i;
             end < members->count && members->runs[end]->workers == members->runs[i]->workers;)
            end++;
        const struct scale_members same = {members->runs + i, end - i};
        work[series->count] = mean_work(scaling, &same);
        status = fill_point(scaling, &series->points[series->count++], &same);
    }
    if (!status) {
        find_kind(scaling, series, work, wish);
        find_costs(scaling, series, work, wish);
    }
    free(work);
    return status;
}

static int make_series(struct scaling *scaling, const struct scale_members *all,
                       const struct scaling_wish *wish)
{
    int status = GAIT_OK;
    scaling->series = arena_take(&scaling->arena, (all->count + 1) * sizeof *scaling->series);
    if (!scaling->series)
        return no_memory();
    for (size_t i = 0, end; !status && i < all->count; i = end) {
        for (end = i; end < all->count && is_of_series(all->runs[i], all->runs[end]);)
            end++;
        const struct scale_members members = {all->runs + i, end - i};
        scaling->has_models |= i && order_text(all->runs[i]->model, all->runs[i - 1]->model) != 0;
        status = fill_series(scaling, &scaling->series[scaling->count++], &members, wish);
    }
    return status;
}

// --- speedup ----------------------------------------------------------------------------

static const struct scale_point *first_timed(const struct scale_series *series)
{
    for (size_t i = 0; i < series->count; i++)
        if (series->points[i].cost > 0)
            return &series->points[i];
    return NULL;
}

// A training without distribution is what any strategy is at one worker.
static const struct scale_point *lent_base(const struct scaling *scaling,
                                           const struct scale_series *series)
{
    for (size_t i = 0; i < scaling->count; i++) {
        const struct scale_series *other = &scaling->series[i];
        const struct scale_point *point = first_timed(other);
        if (other != series && point && point->workers == 1 &&
            !strcmp(other->strategy, "non-distributed") && !order_text(other->model, series->model))
            return point;
    }
    return NULL;
}

// The fewest workers that any series of the model has; of several, the least cost.
static const struct scale_point *common_base(const struct scaling *scaling, const char *model)
{
    const struct scale_point *base = NULL;
    for (size_t i = 0; i < scaling->count; i++) {
        const struct scale_point *point = first_timed(&scaling->series[i]);
        if (!point || order_text(scaling->series[i].model, model))
            continue;
        if (!base || point->workers < base->workers ||
            (point->workers == base->workers && point->cost < base->cost))
            base = point;
    }
    return base;
}

static const struct scale_point *base_of(const struct scaling *scaling, struct scale_series *series)
{
    const struct scale_point *own = first_timed(series), *lent = lent_base(scaling, series);
    if (!own)
        return NULL;
    if (scaling->baseline == SCALE_COMMON)
        own = common_base(scaling, series->model);
    series->is_base_lent = scaling->baseline == SCALE_OWN && own->workers > 1 && lent;
    return series->is_base_lent ? lent : own;
}

static int find_fits(const struct scaling *scaling, struct scale_series *series)
{
    struct scale_cost *costs = malloc((series->count + 1) * sizeof *costs);
    const struct scale_point *lent = lent_base(scaling, series), *own = first_timed(series);
    size_t count = 0;
    if (!costs)
        return no_memory();
    if (lent && own && own->workers > 1)
        costs[count++] = (struct scale_cost){lent->workers, lent->cost};
    for (size_t i = 0; i < series->count; i++)
        if (series->points[i].cost > 0)
            costs[count++] = (struct scale_cost){series->points[i].workers, series->points[i].cost};
    series->amdahl = scale_fit_amdahl(costs, count);
    series->usl = scale_fit_usl(costs, count);
    free(costs);
    return GAIT_OK;
}

// As itwinai has it: from the pooled mean of all epochs, to the strategy's smallest number.
static void find_itwinai(struct scale_series *series)
{
    double base = 0;
    for (size_t i = 0; i < series->count; i++) {
        struct scale_point *point = &series->points[i];
        if (!(point->itwinai.epochs > 0))
            continue;
        const double mean = point->itwinai.epochs_s / point->itwinai.epochs;
        base = base > 0 ? base : mean;
        point->itwinai_speedup = base / mean;
    }
}

static int find_speedups(struct scaling *scaling, struct scale_series *series)
{
    const struct scale_point *base = base_of(scaling, series);
    find_itwinai(series);
    if (!base)
        return GAIT_OK;
    series->base = base;
    for (size_t i = 0; i < series->count; i++) {
        struct scale_point *point = &series->points[i];
        if (!(point->cost > 0))
            continue;
        point->efficiency = base->cost / point->cost;
        point->speedup = point->efficiency * point->workers / base->workers;
        if (scaling_losses_find(scaling, point, base))
            return no_memory();
    }
    return find_fits(scaling, series);
}

int scaling_make(struct scaling *scaling, const struct scale_set *set,
                 const struct scaling_wish *wish)
{
    struct scale_members all = {malloc((set->count + 1) * sizeof *all.runs), 0};
    *scaling = (struct scaling){.leaves_first = !wish->keeps_first, .baseline = wish->baseline};
    arena_init(&scaling->arena, SCALING_BYTES);
    if (!all.runs)
        return no_memory();
    choose_basis(scaling, set);
    scaling->is_by_sample = count_samples(scaling, set);
    for (size_t i = 0; i < set->count; i++)
        if (set->runs[i].workers > 0)
            all.runs[all.count++] = &set->runs[i];
    if (all.count)
        qsort(all.runs, all.count, sizeof *all.runs, by_series);
    int status = make_series(scaling, &all, wish);
    for (size_t i = 0; !status && i < scaling->count; i++)
        status = find_speedups(scaling, &scaling->series[i]);
    free(all.runs);
    return status;
}

void scaling_finish(struct scaling *scaling)
{
    if (!scaling)
        return;
    arena_finish(&scaling->arena);
    *scaling = (struct scaling){.count = 0};
}
