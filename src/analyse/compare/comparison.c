// SPDX-License-Identifier: Apache-2.0
#include "analyse/compare/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum { SENTENCE_BYTES = 300 };

const char *const comparison_verdict_names[] = {
    [COMPARED_UNKNOWN] = "unknown",
    [COMPARED_SAME] = "no difference shown",
    [COMPARED_MORE] = "more",
    [COMPARED_LESS] = "less",
};

const char *const limit_verdict_names[] = {
    [LIMIT_KEPT] = "ok",
    [LIMIT_BROKEN] = "failed",
    [LIMIT_OPEN] = "inconclusive",
};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory to compare runs");
}

// --- figures ----------------------------------------------------------------------------

// The values of one figure in a set; false: a run lacks it, and it is no phase.
static bool take_values(const struct run_set *set, const char *name, double *values)
{
    const bool is_phase = !strncmp(name, "phase.", 6);
    for (size_t i = 0; i < set->count; i++) {
        const struct run_metric *metric = run_metrics_find(&set->runs[i], name);
        if (!metric && !is_phase)
            return false;
        values[i] = metric ? metric->value : 0;
    }
    return true;
}

static enum comparison_verdict judge(const struct means *means)
{
    if (!means->is_known || !means->has_interval)
        return COMPARED_UNKNOWN;
    if (means->low > 0)
        return COMPARED_MORE;
    return means->high < 0 ? COMPARED_LESS : COMPARED_SAME;
}

static bool is_known(const struct comparison *comparison, const char *name)
{
    return comparison_find(comparison, name) != NULL;
}

static void add_metrics(struct comparison *comparison, const struct run_set *sets, double *values,
                        const struct run_metrics *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct run_metric *metric = &run->metrics[i];
        const struct sample a = {values, sets[0].count}, b = {values + a.count, sets[1].count};
        if (is_known(comparison, metric->name) || !take_values(&sets[0], metric->name, values) ||
            !take_values(&sets[1], metric->name, values + a.count))
            continue;
        struct metric_row *row = &comparison->metrics[comparison->metric_count++];
        *row = (struct metric_row){metric->name, metric->unit, means_compare(&a, &b), 0};
        row->verdict = judge(&row->means);
    }
}

static int compare_metrics(struct comparison *comparison, const struct run_set *sets,
                           struct arena *arena)
{
    size_t most = 0;
    for (size_t set = 0; set < 2; set++)
        for (size_t i = 0; i < sets[set].count; i++)
            most += sets[set].runs[i].count;
    double *values = malloc((sets[0].count + sets[1].count + 1) * sizeof *values);
    comparison->metrics = arena_take(arena, (most + 1) * sizeof *comparison->metrics);
    if (!values || !comparison->metrics) {
        free(values);
        return no_memory();
    }
    for (size_t set = 0; set < 2; set++)
        for (size_t i = 0; i < sets[set].count; i++)
            add_metrics(comparison, sets, values, &sets[set].runs[i]);
    free(values);
    return GAIT_OK;
}

const struct metric_row *comparison_find(const struct comparison *comparison, const char *name)
{
    for (size_t i = 0; i < comparison->metric_count; i++)
        if (!strcmp(comparison->metrics[i].name, name))
            return &comparison->metrics[i];
    return NULL;
}

// --- ops ----------------------------------------------------------------------------------

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct op_row *)left)->name, ((const struct op_row *)right)->name);
}

static int by_change(const void *left, const void *right)
{
    const struct op_row *a = left, *b = right;
    const double of_a = fabs(a->b_ns - a->a_ns), of_b = fabs(b->b_ns - b->a_ns);
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

// How many runs of the set have ops.
static double count_with_ops(const struct run_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        count += set->runs[i].op_count > 0;
    return (double)count;
}

static void add_ops(struct comparison *comparison, const struct run_set *set, bool is_b)
{
    const double runs = count_with_ops(set);
    for (size_t i = 0; i < set->count; i++) {
        for (size_t k = 0; k < set->runs[i].op_count; k++) {
            const double ns = set->runs[i].ops[k].step_ns / runs;
            comparison->ops[comparison->op_count++] =
                (struct op_row){set->runs[i].ops[k].name, is_b ? 0 : ns, is_b ? ns : 0};
        }
    }
}

static void join_ops(struct comparison *comparison)
{
    size_t kept = 0;
    qsort(comparison->ops, comparison->op_count, sizeof *comparison->ops, by_name);
    for (size_t i = 0; i < comparison->op_count; i++) {
        const struct op_row *row = &comparison->ops[i];
        if (kept && !strcmp(comparison->ops[kept - 1].name, row->name)) {
            comparison->ops[kept - 1].a_ns += row->a_ns;
            comparison->ops[kept - 1].b_ns += row->b_ns;
        } else {
            comparison->ops[kept++] = *row;
        }
    }
    comparison->op_count = kept;
    qsort(comparison->ops, kept, sizeof *comparison->ops, by_change);
}

// Only where both sides have ops: else all of them would have changed.
static int compare_ops(struct comparison *comparison, const struct run_set *sets,
                       struct arena *arena)
{
    size_t most = 0;
    if (count_with_ops(&sets[0]) < 1 || count_with_ops(&sets[1]) < 1)
        return GAIT_OK;
    for (size_t set = 0; set < 2; set++)
        for (size_t i = 0; i < sets[set].count; i++)
            most += sets[set].runs[i].op_count;
    comparison->ops = arena_take(arena, (most + 1) * sizeof *comparison->ops);
    if (!comparison->ops)
        return no_memory();
    add_ops(comparison, &sets[0], false);
    add_ops(comparison, &sets[1], true);
    join_ops(comparison);
    return GAIT_OK;
}

// --- likeness -----------------------------------------------------------------------------

static int find_unlike(struct comparison *comparison, const struct run_set *sets,
                       struct arena *arena)
{
    char text[SENTENCE_BYTES];
    const struct run_metrics *first = &sets[0].runs[0];
    for (size_t set = 0; set < 2; set++)
        for (size_t i = 0; i < sets[set].count; i++) {
            const struct run_metrics *run = &sets[set].runs[i];
            if (!likeness_tell((struct likeness_of_run){first->path, &first->like},
                               (struct likeness_of_run){run->path, &run->like}, false, text,
                               sizeof text))
                continue;
            comparison->unlike = arena_text(arena, text, strlen(text));
            return comparison->unlike ? GAIT_OK : no_memory();
        }
    return GAIT_OK;
}

// --- identity -----------------------------------------------------------------------------

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static const char *say_of(const struct run_set *set, const char *key, bool *ret_varies)
{
    const char *first = run_identity_find(&set->runs[0].identity, key);
    *ret_varies = false;
    for (size_t i = 1; i < set->count; i++)
        *ret_varies |= !is_same_text(first, run_identity_find(&set->runs[i].identity, key));
    return first;
}

static bool has_change(const struct comparison *comparison, const char *key)
{
    for (size_t i = 0; i < comparison->change_count; i++)
        if (!strcmp(comparison->changes[i].key, key))
            return true;
    return false;
}

static void add_changes(struct comparison *comparison, const struct run_set *sets,
                        const struct run_identity *identity)
{
    for (size_t i = 0; i < identity->count; i++) {
        struct identity_change change = {.key = identity->facts[i].key};
        change.a = say_of(&sets[0], change.key, &change.a_varies);
        change.b = say_of(&sets[1], change.key, &change.b_varies);
        const bool is_same =
            is_same_text(change.a, change.b) && !change.a_varies && !change.b_varies;
        if (!is_same && !has_change(comparison, change.key))
            comparison->changes[comparison->change_count++] = change;
    }
}

// Of the first run a side: what only a later one says is no difference between the sides.
static int compare_identities(struct comparison *comparison, const struct run_set *sets,
                              struct arena *arena)
{
    const struct run_identity *a = &sets[0].runs[0].identity, *b = &sets[1].runs[0].identity;
    comparison->changes =
        arena_take(arena, (a->count + b->count + 1) * sizeof *comparison->changes);
    if (!comparison->changes)
        return no_memory();
    add_changes(comparison, sets, a);
    add_changes(comparison, sets, b);
    return GAIT_OK;
}

int comparison_make(struct comparison *comparison, const struct run_set *a, const struct run_set *b,
                    struct arena *arena)
{
    const struct run_set sets[] = {*a, *b};
    *comparison = (struct comparison){.metric_count = 0};
    int status = compare_metrics(comparison, sets, arena);
    if (!status)
        status = compare_ops(comparison, sets, arena);
    if (!status)
        status = compare_identities(comparison, sets, arena);
    return status ? status : find_unlike(comparison, sets, arena);
}

// --- limits -------------------------------------------------------------------------------

int limit_read(struct limit *limit, const char *text)
{
    const size_t length = strcspn(text, "<>");
    char *end = NULL;
    errno = 0;
    const double percent = text[length] ? strtod(text + length + 1, &end) : 0;
    if (!length || length >= sizeof limit->name || !text[length] || end == text + length + 1 ||
        strcmp(end, "%") != 0 || errno || !isfinite(percent))
        return fail(GAIT_ERR_ARGUMENT,
                    "'%.60s' is no limit: it looks like step.p50>5%% or throughput.samples<-5%%",
                    text);
    memcpy(limit->name, text, length);
    limit->name[length] = 0;
    limit->is_above = text[length] == '>';
    limit->part = percent / 100;
    return GAIT_OK;
}

enum limit_verdict limit_judge(const struct limit *limit, const struct metric_row *row)
{
    if (!row->means.is_known || !row->means.has_interval)
        return LIMIT_OPEN;
    if (limit->is_above ? row->means.low > limit->part : row->means.high < limit->part)
        return LIMIT_BROKEN;
    if (limit->is_above ? row->means.high <= limit->part : row->means.low >= limit->part)
        return LIMIT_KEPT;
    return LIMIT_OPEN;
}
