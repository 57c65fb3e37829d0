// SPDX-License-Identifier: Apache-2.0
// Each shard has a sum for every site of the trace; sites of one name are joined at the end.
#include "analyse/compare/name_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/pass/pass.h"
#include "load/site_role.h"

#define COUNTED (ROLE_BIT(ROLE_OP) | ROLES_OF_DEVICES)

struct site_sum {
    uint64_t calls, total_ns;
};

struct summing {
    const struct gait_trace *trace;
    uint32_t site_count;
    struct site_sum *sums; // of a site, all shards
    uint64_t steps;
};

struct part {
    const struct summing *summing;
    struct site_sum *sums;
    uint64_t steps;
};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the names in a trace");
}

static int begin(void *opaque, const struct pass_shard *shard, void *answer)
{
    struct part *part = opaque;
    (void)shard;
    part->summing = answer;
    part->sums = calloc((size_t)part->summing->site_count + 1, sizeof *part->sums);
    return part->sums ? GAIT_OK : no_memory();
}

static int add_rows(void *opaque, const struct gait_batch *batch)
{
    struct part *part = opaque;
    for (size_t i = 0; i < batch->rows; i++) {
        const uint32_t site = batch->site ? batch->site[i] : UINT32_MAX;
        const int64_t ns = batch->duration_ns[i];
        if (batch->kind == GAIT_KIND_STEP) {
            part->steps += ns >= 0;
            continue;
        }
        if (site >= part->summing->site_count || ns < 0)
            continue;
        const enum role role = site_role(part->summing->trace, site);
        part->steps += role == ROLE_STEP;
        if (!(COUNTED & ROLE_BIT(role)))
            continue;
        part->sums[site].calls++;
        part->sums[site].total_ns += (uint64_t)ns;
    }
    return GAIT_OK;
}

static int merge(void *answer, void *opaque)
{
    struct summing *summing = answer;
    const struct part *part = opaque;
    for (uint32_t i = 0; i < summing->site_count; i++) {
        summing->sums[i].calls += part->sums[i].calls;
        summing->sums[i].total_ns += part->sums[i].total_ns;
    }
    summing->steps += part->steps;
    return GAIT_OK;
}

static void drop(void *opaque)
{
    free(((struct part *)opaque)->sums);
}

static const struct analysis name_totals_analysis = {
    .name = "name totals",
    .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_STEP,
    .columns = GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .rows = add_rows,
    .merge = merge,
    .drop = drop,
};

static int by_role_and_name(const void *left, const void *right)
{
    const struct name_total *a = left, *b = right;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int put_rows(struct name_totals *totals, const struct summing *summing, struct arena *arena)
{
    size_t count = 0, kept = 0;
    totals->rows = arena_take(arena, ((size_t)summing->site_count + 1) * sizeof *totals->rows);
    if (!totals->rows)
        return no_memory();
    for (uint32_t i = 0; i < summing->site_count; i++) {
        struct gait_site_info site;
        if (!summing->sums[i].calls || gait_trace_site(summing->trace, i, &site))
            continue;
        const char *name = arena_text(arena, site.name, strlen(site.name));
        if (!name)
            return no_memory();
        totals->rows[count++] = (struct name_total){
            name, site_role(summing->trace, i), summing->sums[i].calls, summing->sums[i].total_ns};
    }
    qsort(totals->rows, count, sizeof *totals->rows, by_role_and_name);
    for (size_t i = 0; i < count; i++) {
        if (!kept || by_role_and_name(&totals->rows[kept - 1], &totals->rows[i])) {
            totals->rows[kept++] = totals->rows[i];
            continue;
        }
        totals->rows[kept - 1].calls += totals->rows[i].calls;
        totals->rows[kept - 1].total_ns += totals->rows[i].total_ns;
    }
    totals->count = kept;
    totals->steps = summing->steps;
    return GAIT_OK;
}

int name_totals_make(struct name_totals *totals, struct gait_trace *trace, struct arena *arena)
{
    const uint32_t sites = gait_trace_site_count(trace);
    struct summing summing = {.trace = trace,
                              .site_count = sites,
                              .sums = calloc((size_t)sites + 1, sizeof *summing.sums)};
    const struct pass_ask ask = {&name_totals_analysis, &summing};
    int status = summing.sums ? GAIT_OK : no_memory();
    *totals = (struct name_totals){.count = 0};
    if (!status)
        status = pass_run(trace, &ask, 1);
    if (!status)
        status = put_rows(totals, &summing, arena);
    free(summing.sums);
    return status;
}

// --- two of them ------------------------------------------------------------------------

static int by_change(const void *left, const void *right)
{
    const struct name_change *a = left, *b = right;
    const double of_a = fabs(a->b_ns - a->a_ns), of_b = fabs(b->b_ns - b->a_ns);
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void set_side(struct name_change *change, const struct name_total *total, double steps,
                     bool is_b)
{
    change->name = total->name;
    change->role = total->role;
    *(is_b ? &change->b_calls : &change->a_calls) = (double)total->calls / steps;
    *(is_b ? &change->b_ns : &change->a_ns) = (double)total->total_ns / steps;
}

int name_changes_make(struct name_changes *changes, const struct name_totals *a,
                      const struct name_totals *b, struct arena *arena)
{
    const bool is_by_step = a->steps && b->steps;
    const double a_steps = is_by_step ? (double)a->steps : 1;
    const double b_steps = is_by_step ? (double)b->steps : 1;
    size_t at = 0, to = 0;
    *changes = (struct name_changes){.is_by_step = is_by_step};
    changes->rows = arena_take(arena, (a->count + b->count + 1) * sizeof *changes->rows);
    if (!changes->rows)
        return no_memory();
    while (at < a->count || to < b->count) { // both are in order
        struct name_change *change = &changes->rows[changes->count++];
        const int order = at == a->count   ? 1
                          : to == b->count ? -1
                                           : by_role_and_name(&a->rows[at], &b->rows[to]);
        *change = (struct name_change){.name = NULL};
        if (order <= 0)
            set_side(change, &a->rows[at++], a_steps, false);
        if (order >= 0)
            set_side(change, &b->rows[to++], b_steps, true);
    }
    qsort(changes->rows, changes->count, sizeof *changes->rows, by_change);
    return GAIT_OK;
}
