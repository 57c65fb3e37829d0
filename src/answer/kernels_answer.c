// SPDX-License-Identifier: Apache-2.0
// `gait kernels`: what the devices computed with, and the op that launched each.
#include <stdio.h>

#include "analyse/device/kernels.h"
#include "analyse/device/tensor_use.h"
#include "answer/answers.h"
#include "base/units.h"
#include "load/choice.h"

static const struct column columns[] = {
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 30},
    {.key = "calls", .label = "calls", .unit = UNIT_COUNT, .width = 8},
    {.key = "total_ns", .label = "time", .unit = UNIT_NS, .width = 9, .flags = COLUMN_SUMS},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 8},
    {.key = "op", .label = "op", .flags = COLUMN_LEFT, .width = 19},
    {.key = "mean_ns"},
    {.key = "min_ns"},
    {.key = "max_ns"},
    {.key = "occupancy_pctg"},
    {.key = "blocks_per_sm"},
    {.key = "registers"},
    {.key = "tensor_cores"},
};
static const struct table table = {
    .key = "kernels", .heading = "Kernels", COLUMNS_ARE(columns), .most = 30, .more = "shorter"};

static const char *name_of(const struct gait_trace *trace, uint32_t site)
{
    struct gait_site_info info;
    return site == GAIT_NO_SITE || gait_trace_site(trace, site, &info) ? NULL : info.name;
}

static struct value mean_of(__int128 weighted, uint64_t told_ns)
{
    const double mean = told_ns ? (double)weighted / (double)told_ns / KERNEL_PARTS : 0;
    return value_if(told_ns > 0, value_real(mean));
}

static void put_kernel(struct sheet *sheet, const struct gait_trace *trace,
                       const struct kernel_sum *sum, uint64_t all_ns)
{
    const char *name = name_of(trace, sum->site);
    const enum tensor_use use = name ? tensor_use_of(name) : TENSOR_UNKNOWN;
    const struct value cells[] = {
        value_text(name),
        value_uint(sum->count),
        value_uint(sum->sum_ns),
        value_share(sum->sum_ns, all_ns),
        value_text(name_of(trace, sum->op)),
        value_mean(sum->sum_ns, sum->count),
        value_uint(sum->least_ns),
        value_uint(sum->most_ns),
        mean_of(sum->occupancy, sum->told_ns),
        mean_of(sum->blocks_per_sm, sum->blocks_told_ns),
        value_if(sum->registers > 0, value_uint(sum->registers)),
        value_if(use != TENSOR_UNKNOWN, value_bool(use == TENSOR_USED)),
    };
    sheet_row(sheet, cells, 0);
}

// Names tell of a part of the time alone: the share is of that part.
static void say_use(char *out, size_t room, const uint64_t ns[TENSOR_USES])
{
    const uint64_t known_ns = ns[TENSOR_USED] + ns[TENSOR_NOT_USED];
    const uint64_t all_ns = known_ns + ns[TENSOR_UNKNOWN];
    if (!known_ns)
        snprintf(out, room, "no name tells of tensor cores");
    else if (!ns[TENSOR_UNKNOWN])
        snprintf(out, room, "on tensor cores %.0f %% of it",
                 100 * (double)ns[TENSOR_USED] / (double)known_ns);
    else
        snprintf(out, room, "on tensor cores %.0f %% of the known, %.0f %% unknown",
                 100 * (double)ns[TENSOR_USED] / (double)known_ns,
                 100 * (double)ns[TENSOR_UNKNOWN] / (double)all_ns);
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct kernels kernels;
    uint64_t calls = 0, all_ns = 0, use_ns[TENSOR_USES] = {0};
    char text[200], use[80];
    int status = kernels_make(&kernels, asked->trace, asked->chosen);
    if (status)
        return status;
    for (size_t i = 0; i < kernels.count; i++) {
        const char *name = name_of(asked->trace, kernels.rows[i].site);
        calls += kernels.rows[i].count;
        all_ns += kernels.rows[i].sum_ns;
        use_ns[name ? tensor_use_of(name) : TENSOR_UNKNOWN] += kernels.rows[i].sum_ns;
    }
    say_use(use, sizeof use, use_ns);
    if (calls)
        snprintf(text, sizeof text, "%s kernels take %s; %s", units_count(calls).text,
                 units_ns((int64_t)all_ns).text, use);
    else
        snprintf(text, sizeof text, "No kernel is on record");
    sheet_title(sheet, asked->path, text);
    sheet_table(sheet, &table);
    for (size_t i = 0; i < kernels.count; i++)
        put_kernel(sheet, asked->trace, &kernels.rows[i], all_ns);
    sheet_end(sheet);
    kernels_finish(&kernels);
    return GAIT_OK;
}

const struct answer kernels_answer = {
    .summary = "Lists kernels by the device time they took, and the op of PyTorch that launched "
               "each.",
    .about = {"Times add up: what ran at a time on several streams counts for each. Occupancy and "
              "blocks are means, weighted by time; registers the most. Tensor cores are told by "
              "the kernel's name.",
              CHOICE_COUNTS},
    .examples = {{"gait kernels run1", "The kernels that took the devices most."}},
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .is_rare = true,
    .put = put,
};
