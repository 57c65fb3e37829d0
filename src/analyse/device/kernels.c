// SPDX-License-Identifier: Apache-2.0
// A kernel and the op that launched it carry the same number (External id). Sums of a
// shard are made when it was read; sums of sums when all were.
//
// Where gait recorded the ops, devices know no such number. There the op is the innermost one
// that was open on the launching thread when the launch began: kernel and launch carry the
// same correlation.
#include "analyse/device/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/device/device_rows.h"
#include "analyse/device/launch_ops.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/pass/pass.h"
#include "load/shard_owner.h"
#include "vocabulary/roles.h"

enum { MOST_ROWS = 1 << 28 };

// An op by its number.
struct numbered {
    uint64_t number;
    int64_t start_ns;
    uint32_t site;
};

struct part {
    struct kernels found; // one row a kernel, then one a name and op
    uint64_t *numbers;    // of the rows, as long as each is a kernel: op, or else link
    size_t number_capacity;
    struct numbered *ops;
    size_t op_count, op_capacity;
    struct launch_ops launches;
    bool is_recorded; // ops have no numbers
    const struct gait_trace *trace;
};

bool kernel_uses_tensor_cores(const char *name)
{
    static const char *const patterns[] = {"h884",
                                           "s884",
                                           "h1688",
                                           "s1688",
                                           "hmma",
                                           "i8816",
                                           "16816",
                                           "c1688",
                                           "xmma_",
                                           "dgrad_1x1_stride_2x2",
                                           "first_layer_wgrad_kernel",
                                           "conv1x1",
                                           "conv2d_c1_k1",
                                           "direct_group",
                                           "wgmma",
                                           "gmma"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (strstr(name, patterns[i]))
            return true;
    return false;
}

static int begin(void *made, const struct pass_shard *shard, void *answer)
{
    struct part *part = made;
    (void)answer;
    part->trace = shard->trace;
    part->is_recorded = shard_owned_first(&shard->trace->run, shard->shard) != RUN_NO_SHARD;
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
                             numbers = {sizeof *part->numbers, MOST_ROWS};
    const uint64_t ns = (uint64_t)batch->duration_ns[at];
    struct kernel_sum row = {
        .site = batch->site[at], .count = 1, .sum_ns = ns, .least_ns = ns, .most_ns = ns};
    int status = take_args(&row, batch, at);
    if (!status)
        status = array_reserve((void **)&part->found.rows, &part->found.capacity,
                               part->found.count + 1, shape);
    if (!status)
        status = array_reserve((void **)&part->numbers, &part->number_capacity,
                               part->found.count + 1, numbers);
    if (status)
        return status;
    part->numbers[part->found.count] =
        part->is_recorded ? launch_ops_link(&part->launches, batch, at) : batch->op[at];
    part->found.rows[part->found.count++] = row;
    return GAIT_OK;
}

static int add_op(struct part *part, const struct gait_batch *batch, size_t at)
{
    const struct array_shape shape = {sizeof *part->ops, MOST_ROWS};
    int status = array_reserve((void **)&part->ops, &part->op_capacity, part->op_count + 1, shape);
    if (!status)
        part->ops[part->op_count++] =
            (struct numbered){batch->op[at], batch->start_ns[at], batch->site[at]};
    return status;
}

static int add_rows(void *made, const struct gait_batch *batch)
{
    struct part *part = made;
    uint32_t site_number = GAIT_NO_SITE; // mostly the same one
    bool is_kernel = false, is_op = false, is_call = false;
    int status = GAIT_OK;
    for (size_t i = 0; i < batch->rows && !status; i++) {
        struct gait_site_info site;
        if (batch->site[i] != site_number) {
            site_number = batch->site[i];
            status = gait_trace_site(part->trace, site_number, &site);
            const enum device_lane lane =
                status ? LANE_NONE : device_lane_of(site.category, site.name);
            is_kernel = lane == LANE_COMPUTE || lane == LANE_COMM;
            const enum role role = status ? ROLE_OTHER : role_of(site.category, site.name);
            is_op = role == ROLE_OP;
            is_call = role == ROLE_RUNTIME;
        }
        if (!status && is_kernel && batch->duration_ns[i] >= 0)
            status = add_kernel(part, batch, i);
        else if (!status && part->is_recorded && (is_op || is_call))
            status = launch_ops_add(&part->launches, batch, i, is_call);
        else if (!status && is_op && batch->op[i])
            status = add_op(part, batch, i);
    }
    return status;
}

// --- sums ------------------------------------------------------------------------------

static int by_number(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static uint32_t op_of(const struct part *part, uint64_t number)
{
    size_t low = 0, high = number ? part->op_count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (part->ops[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return number && low < part->op_count && part->ops[low].number == number ? part->ops[low].site
                                                                             : GAIT_NO_SITE;
}

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
    if (part->op_count)
        qsort(part->ops, part->op_count, sizeof *part->ops, by_number);
    int status = launch_ops_sort(&part->launches);
    for (size_t i = 0; i < part->found.count && !status; i++)
        part->found.rows[i].op = part->is_recorded
                                     ? launch_ops_find(&part->launches, part->numbers[i])
                                     : op_of(part, part->numbers[i]);
    add_up(&part->found);
    launch_ops_finish(&part->launches);
    free(part->ops);
    free(part->numbers);
    part->ops = NULL;
    part->numbers = NULL;
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
    free(part->ops);
    free(part->numbers);
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
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE | GAIT_COLUMN_OP |
               GAIT_COLUMN_ARGS | GAIT_COLUMN_LINK,
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
    *kernels = (struct kernels){.count = 0};
    int status = pass_run(trace, &ask, 1);
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
