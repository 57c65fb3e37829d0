// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/kernels.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "facts/facts.h"
#include "facts/facts_file.h"
#include "facts/late_rows.h"
#include "load/arg_keys.h"
#include "load/site_role.h"

enum { MOST_ROWS = 1 << 28, FIRST_ROOM = 64 };

struct part {
    struct kernels sums;
    const struct gait_trace *trace;
    const struct chosen *chosen;
    uint32_t shard;
    struct arg_keys keys;
    struct late_rows late;
};

struct late_kernel {
    struct late_row row;
    struct kernel_sum sum; // of it alone, but for its op
};

enum { OCCUPANCY, BLOCKS, REGISTERS, KEYS };
static const char *const key_names[KEYS] = {"est. achieved occupancy %", "blocks per SM",
                                            "registers per thread"};

// --- sums ------------------------------------------------------------------------------

// Times of 292 years leave 128 bits, and then wrap.
static __int128 add_wide(__int128 left, __int128 right)
{
    return (__int128)((unsigned __int128)left + (unsigned __int128)right);
}

static void add_up(struct kernel_sum *sum, const struct kernel_sum *row)
{
    sum->count += row->count;
    sum->sum_ns += row->sum_ns;
    sum->told_ns += row->told_ns;
    sum->blocks_told_ns += row->blocks_told_ns;
    sum->occupancy = add_wide(sum->occupancy, row->occupancy);
    sum->blocks_per_sm = add_wide(sum->blocks_per_sm, row->blocks_per_sm);
    sum->least_ns = row->least_ns < sum->least_ns ? row->least_ns : sum->least_ns;
    sum->most_ns = row->most_ns > sum->most_ns ? row->most_ns : sum->most_ns;
    sum->registers = row->registers > sum->registers ? row->registers : sum->registers;
}

static int add_sum(struct kernels *sums, const struct kernel_sum *row)
{
    const uint32_t hash = (uint32_t)hash_mix(hash_mix(0, row->site), row->op);
    struct hash_index *index = &sums->index;
    int status = hash_index_reserve(index, FIRST_ROOM);
    if (!status)
        status = ARRAY_RESERVE(sums->rows, sums->capacity, sums->count + 1, MOST_ROWS);
    if (status)
        return status;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at)) {
        struct kernel_sum *sum = &sums->rows[index->places[at].row - 1];
        if (sum->site == row->site && sum->op == row->op) {
            add_up(sum, row);
            return GAIT_OK;
        }
    }
    hash_index_put(index, at, hash, (uint32_t)sums->count);
    sums->rows[sums->count++] = *row;
    return GAIT_OK;
}

// --- rows ------------------------------------------------------------------------------

// No device has more; what a file says beyond that is not told.
#define MOST_NUMBER 1e9

static void take_number(const struct gait_arg *arg, uint64_t ns, __int128 *ret_weighted,
                        uint64_t *ret_told_ns)
{
    double number;
    if (!arg_list_number(arg, &number) || !(fabs(number) < MOST_NUMBER))
        return;
    *ret_weighted = (__int128)llround(number * KERNEL_PARTS) * ns;
    *ret_told_ns = ns;
}

static void take_args(struct kernel_sum *sum, const struct gait_arg *args)
{
    take_number(&args[OCCUPANCY], sum->sum_ns, &sum->occupancy, &sum->told_ns);
    take_number(&args[BLOCKS], sum->sum_ns, &sum->blocks_per_sm, &sum->blocks_told_ns);
    if (args[REGISTERS].kind == GAIT_ARG_INT && args[REGISTERS].integer > 0)
        sum->registers = (uint64_t)args[REGISTERS].integer;
}

static int settle(void *context, const struct late_row *row, const struct launch *launch)
{
    struct part *part = context;
    struct kernel_sum sum = ((const struct late_kernel *)row)->sum;
    sum.op = launch ? launch->op : GAIT_NO_SITE;
    return chosen_has(part->chosen, part->shard, late_row_counts_ns(row, launch))
               ? add_sum(&part->sums, &sum)
               : GAIT_OK;
}

static int add_kernel(struct part *part, const struct fact_slice *slice,
                      const struct fact_rows *track, const struct fact_row *row)
{
    const uint64_t ns = (uint64_t)row->end_ns - (uint64_t)row->start_ns;
    struct late_kernel kernel = {
        .row = {row->link, row->start_ns, track->shard},
        .sum = {.site = row->site, .count = 1, .sum_ns = ns, .least_ns = ns, .most_ns = ns}};
    struct gait_arg args[KEYS];
    const int status = fact_args(slice, row, &part->keys, args);
    if (!status)
        take_args(&kernel.sum, args);
    return status ? status : late_rows_add(&part->late, slice->launches, &kernel.row);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        for (size_t at = 0; at < track->count && !status; at++) {
            const struct fact_row *row = &track->rows[at];
            if (ROLES_OF_KERNELS & ROLE_BIT(site_role(part->trace, row->site)) &&
                row->end_ns != FACT_OPEN)
                status = add_kernel(part, slice, track, row);
        }
    }
    return status ? status : late_rows_look(&part->late, slice);
}

// --- ranks -----------------------------------------------------------------------------

static int begin(void *made, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct part *part = made;
    part->trace = trace;
    part->shard = shard;
    part->chosen = ((const struct kernels *)answer)->chosen;
    part->late = (struct late_rows){
        .settle = settle, .context = part, .row_bytes = sizeof(struct late_kernel)};
    arg_keys_init(&part->keys, key_names, KEYS);
    return GAIT_OK;
}

static int merge(void *opaque, void *made)
{
    const struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < part->sums.count && !status; i++)
        status = add_sum(opaque, &part->sums.rows[i]);
    return status;
}

static void drop(void *made)
{
    struct part *part = made;
    kernels_finish(&part->sums);
    arg_keys_finish(&part->keys);
    late_rows_finish(&part->late);
}

// --- what is kept ----------------------------------------------------------------------

static const struct fact_field fields[] = {
    FACT_FIELD(SITE, kernel_sum, site),          FACT_FIELD(SITE, kernel_sum, op),
    FACT_FIELD(NUMBER, kernel_sum, count),       FACT_FIELD(NUMBER, kernel_sum, sum_ns),
    FACT_FIELD(NUMBER, kernel_sum, least_ns),    FACT_FIELD(NUMBER, kernel_sum, most_ns),
    FACT_FIELD(NUMBER, kernel_sum, told_ns),     FACT_FIELD(NUMBER, kernel_sum, blocks_told_ns),
    FACT_FIELD(WIDE, kernel_sum, blocks_per_sm), FACT_FIELD(WIDE, kernel_sum, occupancy),
    FACT_FIELD(NUMBER, kernel_sum, registers),
};
static const struct fact_list list = FACT_LIST(KERNELS, kernel_sum, fields);

static bool is_whole(const void *opaque)
{
    return !((const struct kernels *)opaque)->chosen;
}

static int save(const void *made, struct facts_file *file)
{
    const struct part *part = made;
    return facts_file_put(file, &list, part->sums.rows, part->sums.count);
}

static int load(void *made, struct facts_file *file)
{
    struct part *part = made;
    return facts_file_take(file, &list, (void **)&part->sums.rows, &part->sums.count);
}

static int by_time(const void *left, const void *right)
{
    const struct kernel_sum *a = left, *b = right;
    RETURN_IF_APART(b->sum_ns, a->sum_ns);
    RETURN_IF_APART(a->site, b->site);
    return a->op < b->op ? -1 : a->op > b->op;
}

const struct fact_consumer kernels_consumer = {
    .name = "kernels",
    .columns = FACT_LINKS | FACT_ARGS,
    .roles = ROLES_OF_KERNELS,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .slice = add_slice,
    .merge = merge,
    .drop = drop,
    .is_whole = is_whole,
    .save = save,
    .load = load,
};

int kernels_make(struct kernels *kernels, struct gait_trace *trace, const struct chosen *chosen)
{
    const struct fact_ask ask = {&kernels_consumer, kernels};
    *kernels = (struct kernels){.chosen = chosen};
    const int status = facts_run(trace, &ask, 1);
    if (status)
        kernels_finish(kernels);
    else if (kernels->count)
        qsort(kernels->rows, kernels->count, sizeof *kernels->rows, by_time);
    return status;
}

void kernels_finish(struct kernels *kernels)
{
    if (!kernels)
        return;
    free(kernels->rows);
    hash_index_finish(&kernels->index);
    *kernels = (struct kernels){.rows = NULL};
}
