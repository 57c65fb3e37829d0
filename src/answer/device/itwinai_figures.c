// SPDX-License-Identifier: Apache-2.0
#include "answer/device/itwinai_figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyse/scale/itwinai.h"
#include "answer/device/device_table.h"

static void put_sums(struct sheet *sheet, const struct itwinai *sums)
{
    const double both = itwinai_fraction_of_both(sums);
    sheet_put(sheet, "computation_us", value_real((double)sums->computation_ns / 1000));
    sheet_put(sheet, "total_us", value_real((double)sums->total_ns / 1000));
    sheet_put(sheet, "computation_fraction", value_real(itwinai_fraction(sums)));
    sheet_put(sheet, "communication_us", value_real((double)sums->communication_ns / 1000));
    sheet_put(sheet, "computation_of_both_fraction",
              value_if(isfinite(both), value_real(isfinite(both) ? both : 0)));
}

// Each rank, and all together, as it has them.
static void put_ranks(struct sheet *sheet, const struct itwinai_run *made,
                      const struct gait_trace *trace)
{
    sheet_object(sheet, "compat");
    sheet_object(sheet, "itwinai");
    sheet_object(sheet, "ranks");
    for (size_t i = 0; i < made->count; i++) {
        char rank[24];
        snprintf(rank, sizeof rank, "%" PRId64, device_rank_number(trace, made->ranks[i].shard));
        sheet_object(sheet, rank);
        put_sums(sheet, &made->ranks[i].sums);
        sheet_end(sheet);
    }
    sheet_end(sheet);
    put_sums(sheet, &made->all);
    sheet_end(sheet);
    sheet_end(sheet);
}

static void put_beside(struct sheet *sheet, int64_t rank, const struct itwinai *sums,
                       const struct breakdown *truth)
{
    const struct {
        const char *what;
        uint64_t said_ns, true_ns;
        const char *why;
    } figures[] = {
        {"computation", sums->computation_ns, breakdown_time(truth, DEVICE_COMPUTE, 0),
         "by words in names; op and kernel count both"},
        {"device time", sums->total_ns, truth->span_ns - truth->state_ns[0],
         "op, kernel and annotation count it each"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        SHEET_ROW(sheet, value_int(rank), value_text(figures[i].what),
                  value_uint(figures[i].said_ns), value_uint(figures[i].true_ns),
                  value_text(figures[i].why));
}

static void show_beside(struct sheet *sheet, const struct itwinai_run *made,
                        const struct device_run *run, const struct gait_trace *trace)
{
    static const struct column columns[] = {
        {.key = "rank", .label = "", .width = 13},
        {.key = "figure", .label = "figure", .flags = COLUMN_LEFT, .width = 15},
        {.key = "said_ns", .label = "it says", .unit = UNIT_NS, .width = 9},
        {.key = "true_ns", .label = "true", .unit = UNIT_NS, .width = 9},
        {.key = "why", .label = "why", .flags = COLUMN_LEFT},
    };
    static const struct table table = {
        .key = "compat_beside", .heading = "As itwinai", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < made->count; i++)
        for (size_t at = 0; at < run->count; at++)
            if (run->ranks[at].shard == made->ranks[i].shard && run->ranks[at].has_device) {
                put_beside(sheet, device_rank_number(trace, made->ranks[i].shard),
                           &made->ranks[i].sums, &run->ranks[at].whole);
                break;
            }
    sheet_end(sheet);
}

int itwinai_figures_put(struct sheet *sheet, const struct device_run *run, struct gait_trace *trace)
{
    struct itwinai_run made;
    const int status = itwinai_run_make(&made, trace);
    if (status)
        return status;
    put_ranks(sheet, &made, trace);
    show_beside(sheet, &made, run, trace);
    itwinai_run_finish(&made);
    return GAIT_OK;
}
