// SPDX-License-Identifier: Apache-2.0
// Sums of a shard are made when it was read, since an op is known then; sums of sums when all
// were.
#include "analyse/device/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/device/launch_ops.h"
#include "base/array.h"
#include "load/pass/pass.h"
#include "load/site_role.h"

enum { MOST_ROWS = 1 << 28 };

struct part {
    struct kernels found; // one row a kernel, then one a name and op
    uint64_t *links;      // of the rows, as long as each is a kernel
    size_t link_capacity;
    struct launch_ops launches;
};

static int begin(void *made, const struct pass_shard *shard, void *answer)
{
    struct part *part = made;
    (void)answer;
    launch_ops_init(&part->launches, shard->trace);
    return GAIT_OK;
}

// --- rows ------------------------------------------------------------------------------

static double number_of(const struct gait_arg *arg)
{
    return arg->kind == GAIT_ARG_INT ? (double)arg->integer : arg->real;
}

static int take_args(struct kernel_sum *row, const struct gait_batch *batch, size_t at)
{
    const struct gait_arg *args;
    size_t count;
    int status = gait_batch_args(batch, at, &args, &count);
    for (size_t i = 0; i < count && !status; i++) {
        if (args[i].kind != GAIT_ARG_INT && args[i].kind != GAIT_ARG_REAL)
            continue;
        if (strcmp(args[i].key, "est. achieved occupancy %") == 0) {
            row->occupancy = number_of(&args[i]) * (double)row->sum_ns;
            row->told_ns = row->sum_ns;
        } else if (strcmp(args[i].key, "blocks per SM") == 0)
            row->blocks_per_sm = number_of(&args[i]) * (double)row->sum_ns;
        else if (strcmp(args[i].key, "registers per thread") == 0 && args[i].integer > 0)
            row->registers = (uint64_t)args[i].integer;
    }
    return status;
}

static int add_kernel(struct part *part, const struct gait_batch *batch, size_t at)
{
    const struct array_shape shape = {sizeof *part->found.rows, MOST_ROWS},
                             links = {sizeof *part->links, MOST_ROWS};
    const uint64_t ns = (uint64_t)batch->duration_ns[at];
    struct kernel_sum row = {
        .site = batch->site[at], .count = 1, .sum_ns = ns, .least_ns = ns, .most_ns = ns};
    int status = take_args(&row, batch, at);
    if (!status)
        status = array_reserve((void **)&part->found.rows, &part->found.capacity,
                               part->found.count + 1, shape);
    if (!status)
        status = array_reserve((void **)&part->links, &part->link_capacity, part->found.count + 1,
                               links);
    if (status)
        return status;
    part->links[part->found.count] =
        launch_ops_link(&part->launches, batch->track, batch->link ? batch->link[at] : 0);
    part->found.rows[part->found.count++] = row;
    return GAIT_OK;
}

static int add_rows(void *made, const struct gait_batch *batch)
{
    struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < batch->rows && !status; i++) {
        const enum role role = site_role(part->launches.trace, batch->site[i]);
        if ((ROLES_OF_KERNELS & ROLE_BIT(role)) && batch->duration_ns[i] >= 0)
            status = add_kernel(part, batch, i);
        else if (role == ROLE_OP)
            status = launch_ops_add_op(&part->launches, batch->track, batch->start_ns[i],
                                       batch->duration_ns[i], batch->site[i]);
        else if (role == ROLE_RUNTIME && batch->link)
            status = launch_ops_add_call(&part->launches, batch->track, batch->start_ns[i],
                                         batch->link[i]);
    }
    return status;
}

// --- sums ------------------------------------------------------------------------------

static int by_site_op(const void *left, const void *right)
{
    const struct kernel_sum *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static void add_up(struct kernels *kernels)
{
    size_t kept = 0;
    if (kernels->count)
        qsort(kernels->rows, kernels->count, sizeof *kernels->rows, by_site_op);
    for (size_t i = 0; i < kernels->count; i++) {
        const struct kernel_sum row = kernels->rows[i];
        struct kernel_sum *sum = &kernels->rows[kept ? kept - 1 : 0];
        if (!kept || by_site_op(sum, &row)) {
            kernels->rows[kept++] = row;
            continue;
        }
        sum->count += row.count;
        sum->sum_ns += row.sum_ns;
        sum->told_ns += row.told_ns;
        sum->occupancy += row.occupancy;
        sum->blocks_per_sm += row.blocks_per_sm;
        sum->least_ns = row.least_ns < sum->least_ns ? row.least_ns : sum->least_ns;
        sum->most_ns = row.most_ns > sum->most_ns ? row.most_ns : sum->most_ns;
        sum->registers = row.registers > sum->registers ? row.registers : sum->registers;
    }
    kernels->count = kept;
}

static int end(void *made)
{
    struct part *part = made;
    int status = launch_ops_sort(&part->launches);
    for (size_t i = 0; i < part->found.count && !status; i++)
        part->found.rows[i].op = launch_ops_find(&part->launches, part->links[i]);
    add_up(&part->found);
    launch_ops_finish(&part->launches);
    free(part->links);
    part->links = NULL;
    return status;
}

static int merge(void *answer, void *made)
{
    struct kernels *all = answer;
    const struct part *part = made;
    const struct array_shape shape = {sizeof *all->rows, MOST_ROWS};
    int status = array_reserve((void **)&all->rows, &all->capacity,
                               all->count + part->found.count + 1, shape);
    if (status)
        return status;
    if (part->found.count)
        memcpy(&all->rows[all->count], part->found.rows,
               part->found.count * sizeof *part->found.rows);
    all->count += part->found.count;
    add_up(all);
    return GAIT_OK;
}

static void drop(void *made)
{
    struct part *part = made;
    kernels_finish(&part->found);
    launch_ops_finish(&part->launches);
    free(part->links);
}

static int by_time(const void *left, const void *right)
{
    const struct kernel_sum *a = left, *b = right;
    if (a->sum_ns != b->sum_ns)
        return a->sum_ns > b->sum_ns ? -1 : 1;
    return by_site_op(left, right);
}

static const struct analysis analysis = {
    .name = "kernels",
    .kinds = 1u << GAIT_KIND_SPAN,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE | GAIT_COLUMN_ARGS |
               GAIT_COLUMN_LINK,
    .has_owned = true,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .rows = add_rows,
    .end = end,
    .merge = merge,
    .drop = drop,
};

int kernels_make(struct kernels *kernels, struct gait_trace *trace)
{
    const struct pass_ask ask = {&analysis, kernels};
    int status = GAIT_OK;
    *kernels = (struct kernels){.count = 0};
    if (site_role_any(trace, ROLES_OF_KERNELS))
        status = pass_run(trace, &ask, 1);
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
    *kernels = (struct kernels){.rows = NULL};
}
