// SPDX-License-Identifier: Apache-2.0
// Each rank has a sum for every site of the trace; sites of one name are joined at the end.
#include "analyse/compare/name_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "facts/facts.h"
#include "load/order/event_feed.h"
#include "load/site_role.h"

#define COUNTED (ROLE_BIT(ROLE_OP) | ROLES_OF_DEVICES)

struct site_sum {
    uint64_t calls, total_ns;
};

// Of a rank, or of all.
struct summing {
    const struct gait_trace *trace;
    struct site_sum *sums; // of a site
};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the names in a trace");
}

static int begin(void *opaque, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct summing *part = opaque;
    (void)shard;
    (void)answer;
    part->trace = trace;
    part->sums = calloc((size_t)gait_trace_site_count(trace) + 1, sizeof *part->sums);
    return part->sums ? GAIT_OK : no_memory();
}

static int add_slice(void *opaque, const struct fact_slice *slice)
{
    const struct summing *part = opaque;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        for (size_t at = 0; at < track->count; at++) {
            const struct fact_row *row = &track->rows[at];
            if (row->end_ns == FACT_OPEN)
                continue;
            part->sums[row->site].calls++;
            part->sums[row->site].total_ns += (uint64_t)row->end_ns - (uint64_t)row->start_ns;
        }
    }
    return GAIT_OK;
}

static int merge(void *answer, void *opaque)
{
    const struct summing *summing = answer, *part = opaque;
    for (uint32_t i = 0; i < gait_trace_site_count(part->trace); i++) {
        summing->sums[i].calls += part->sums[i].calls;
        summing->sums[i].total_ns += part->sums[i].total_ns;
    }
    return GAIT_OK;
}

static void drop(void *opaque)
{
    free(((struct summing *)opaque)->sums);
}

static const struct fact_consumer consumer = {
    .name = "name totals",
    .roles = COUNTED | ROLE_BIT(ROLE_STEP),
    .part_bytes = sizeof(struct summing),
    .begin = begin,
    .slice = add_slice,
    .merge = merge,
    .drop = drop,
};

// Those that a program marked are no spans.
static int count_marked(void *context, const struct gait_event *step)
{
    struct name_totals *totals = context;
    totals->steps += step->duration_ns >= 0;
    return GAIT_OK;
}

static int by_role_and_name(const void *left, const void *right)
{
    const struct name_total *a = left, *b = right;
    RETURN_IF_APART(a->role, b->role);
    return strcmp(a->name, b->name);
}

static int put_rows(struct name_totals *totals, const struct summing *summing, struct arena *arena)
{
    const uint32_t sites = gait_trace_site_count(summing->trace);
    size_t count = 0, kept = 0;
    totals->rows = arena_take(arena, ((size_t)sites + 1) * sizeof *totals->rows);
    if (!totals->rows)
        return no_memory();
    for (uint32_t i = 0; i < sites; i++) {
        const enum role role = site_role(summing->trace, i);
        const struct site_sum *sum = &summing->sums[i];
        struct gait_site_info site;
        totals->steps += role == ROLE_STEP ? sum->calls : 0;
        if (!(COUNTED & ROLE_BIT(role)) || !sum->calls || gait_trace_site(summing->trace, i, &site))
            continue;
        const char *name = arena_text(arena, site.name, strlen(site.name));
        if (!name)
            return no_memory();
        totals->rows[count++] = (struct name_total){name, role, sum->calls, sum->total_ns};
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
    return GAIT_OK;
}

int name_totals_make(struct name_totals *totals, struct gait_trace *trace, struct arena *arena)
{
    struct summing summing = {.sums = NULL};
    const struct fact_ask ask = {&consumer, &summing};
    const struct gait_query marked = {.size = sizeof marked, .kinds = 1u << GAIT_KIND_STEP};
    *totals = (struct name_totals){.count = 0};
    int status = begin(&summing, trace, 0, NULL);
    if (!status)
        status = facts_run(trace, &ask, 1);
    if (!status)
        status = each_event(trace, &marked, count_marked, totals);
    if (!status)
        status = put_rows(totals, &summing, arena);
    drop(&summing);
    return status;
}

// --- two of them ------------------------------------------------------------------------

static int by_change(const void *left, const void *right)
{
    const struct name_change *a = left, *b = right;
    const double of_a = fabs(a->b_ns - a->a_ns), of_b = fabs(b->b_ns - b->a_ns);
    RETURN_IF_APART(of_b, of_a);
    RETURN_IF_APART(a->role, b->role);
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
