// SPDX-License-Identifier: Apache-2.0
#include "answer/compat/compat_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/compat/itwinai.h"
#include "analyse/compat/tracelens.h"

const struct breakdown *compat_truth(const struct compat_asked *asked,
                                     const struct foreign_rows *rows)
{
    for (size_t i = 0; i < asked->run->count; i++)
        if (asked->run->ranks[i].shard == rows->number && asked->run->ranks[i].has_device)
            return &asked->run->ranks[i].whole;
    return NULL;
}

static struct value ns_or_none(double ns)
{
    const bool is_known = isfinite(ns) && fabs(ns) < 9e18;
    return value_if(is_known, value_int(is_known ? llround(ns) : 0));
}

void compat_beside(struct sheet *sheet, const struct foreign_rows *rows,
                   const struct compat_figure *figure)
{
    const struct value cells[] = {
        value_int(rows->shard.rank < 0 ? 0 : rows->shard.rank),
        value_text(figure->what),
        ns_or_none(figure->said_ns),
        ns_or_none(figure->true_ns),
        value_text(figure->why),
    };
    sheet_row(sheet, cells, 0);
}

// --- TraceLens -------------------------------------------------------------------------

static void put_timeline(struct sheet *sheet, const struct tracelens *made)
{
    static const char *const fields[] = {
#define X(field) #field,
        TRACELENS_FIELDS(X)
#undef X
    };
    if (!made->has_events) {
        sheet_put(sheet, "error", value_text("ValueError: No GPU events found in the trace"));
        return;
    }
    sheet_object(sheet, "gpu_timeline");
    for (size_t i = 0; i < TRACELENS_FIELD_COUNT; i++)
        sheet_put(sheet, fields[i], value_real(made->ms[i]));
    sheet_end(sheet);
}

static int put_tracelens(struct sheet *sheet, const struct compat_asked *asked)
{
    int status = GAIT_OK;
    sheet_object(sheet, "ranks");
    for (size_t i = 0; i < asked->foreign->count && !status; i++) {
        const struct foreign_rows *rows = &asked->foreign->ranks[i];
        struct tracelens made;
        char rank[24];
        status = tracelens_make(&made, rows);
        if (status)
            break;
        snprintf(rank, sizeof rank, "%" PRId64, rows->shard.rank < 0 ? 0 : rows->shard.rank);
        sheet_object(sheet, rank);
        put_timeline(sheet, &made);
        sheet_end(sheet);
    }
    sheet_end(sheet);
    return status;
}

static double said(const struct tracelens *made, enum tracelens_field field)
{
    return made->has_events ? made->ms[field] * 1e6 : NAN;
}

static int show_tracelens(struct sheet *sheet, const struct compat_asked *asked)
{
    enum { COMPUTE = 1 << LANE_COMPUTE, COMM = 1 << LANE_COMM, COPY = 1 << LANE_COPY };
    for (size_t i = 0; i < asked->foreign->count; i++) {
        const struct breakdown *truth = compat_truth(asked, &asked->foreign->ranks[i]);
        struct tracelens made;
        int status = tracelens_make(&made, &asked->foreign->ranks[i]);
        if (status)
            return status;
        if (!truth)
            continue;
        const char *lost = made.dropped ? "drops work without an ac2g arrow" : "";
        const struct compat_figure figures[] = {
            {"computation", said(&made, TRACELENS_computation_time),
             (double)breakdown_time(truth, COMPUTE, 0), "also counts memsets"},
            {"exposed comm", said(&made, TRACELENS_exposed_comm_time),
             (double)breakdown_time(truth, COMM, COMPUTE), lost},
            {"exposed copies", said(&made, TRACELENS_exposed_memcpy_time),
             (double)breakdown_time(truth, COPY, COMPUTE | COMM), "counts no memsets here"},
            {"idle", said(&made, TRACELENS_idle_time), (double)truth->state_ns[0], lost},
        };
        for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++)
            compat_beside(sheet, &asked->foreign->ranks[i], &figures[at]);
    }
    return GAIT_OK;
}

// --- itwinai ---------------------------------------------------------------------------

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

// All ranks together, as it has them, and each.
static int put_itwinai(struct sheet *sheet, const struct compat_asked *asked)
{
    struct itwinai all = {0, 0, 0};
    int status = GAIT_OK;
    sheet_object(sheet, "ranks");
    for (size_t i = 0; i < asked->foreign->count && !status; i++) {
        const struct foreign_rows *rows = &asked->foreign->ranks[i];
        struct itwinai sums = {0, 0, 0};
        char rank[24];
        status = itwinai_add(&sums, rows);
        if (!status)
            status = itwinai_add(&all, rows);
        snprintf(rank, sizeof rank, "%" PRId64, rows->shard.rank < 0 ? 0 : rows->shard.rank);
        sheet_object(sheet, rank);
        put_sums(sheet, &sums);
        sheet_end(sheet);
    }
    sheet_end(sheet);
    put_sums(sheet, &all);
    return status;
}

static int show_itwinai(struct sheet *sheet, const struct compat_asked *asked)
{
    enum { COMPUTE = 1 << LANE_COMPUTE };
    for (size_t i = 0; i < asked->foreign->count; i++) {
        const struct breakdown *truth = compat_truth(asked, &asked->foreign->ranks[i]);
        struct itwinai sums = {0, 0, 0};
        int status = itwinai_add(&sums, &asked->foreign->ranks[i]);
        if (status)
            return status;
        if (!truth)
            continue;
        const struct compat_figure figures[] = {
            {"computation", (double)sums.computation_ns, (double)breakdown_time(truth, COMPUTE, 0),
             "by words in names; op and kernel count both"},
            {"device time", (double)sums.total_ns, (double)(truth->span_ns - truth->state_ns[0]),
             "op, kernel and annotation count it each"},
        };
        for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++)
            compat_beside(sheet, &asked->foreign->ranks[i], &figures[at]);
    }
    return GAIT_OK;
}

// --- all tools -------------------------------------------------------------------------

static const struct tool {
    const char *name, *heading;
    int (*put)(struct sheet *sheet, const struct compat_asked *asked);
    int (*show)(struct sheet *sheet, const struct compat_asked *asked);
} tools[] = {
    {"tracelens", "As TraceLens", put_tracelens, show_tracelens},
    {"hta", "As HTA", compat_put_hta, compat_show_hta},
    {"itwinai", "As itwinai", put_itwinai, show_itwinai},
    {"tensorboard", "As TensorBoard", compat_put_tb, compat_show_tb},
};
enum { TOOLS = sizeof tools / sizeof tools[0] };

const char *const compat_tools[] = {"hta", "itwinai", "tensorboard", "tracelens", NULL};

static int put_tool(struct sheet *sheet, const struct tool *tool, const struct compat_asked *asked)
{
    static const struct column columns[] = {
        {.key = "rank", .label = "", .width = 13},
        {.key = "figure", .label = "figure", .flags = COLUMN_LEFT, .width = 15},
        {.key = "said_ns", .label = "it says", .unit = UNIT_NS, .width = 9},
        {.key = "true_ns", .label = "true", .unit = UNIT_NS, .width = 9},
        {.key = "why", .label = "why", .flags = COLUMN_LEFT},
    };
    static const struct table table = {
        .key = "compat_beside", .heading = "As the tool", COLUMNS_ARE(columns)};
    sheet_object(sheet, "compat");
    sheet_object(sheet, tool->name);
    int status = tool->put(sheet, asked);
    sheet_end(sheet);
    sheet_end(sheet);
    sheet_table(sheet, &table);
    sheet_heading(sheet, tool->heading);
    if (!status)
        status = tool->show(sheet, asked);
    sheet_end(sheet);
    return status;
}

int compat_answer_put(struct sheet *sheet, const char *name, const struct device_run *run,
                      struct gait_trace *trace)
{
    struct foreign_run foreign;
    int status = foreign_run_read(&foreign, trace);
    if (status)
        return status;
    const struct compat_asked asked = {&foreign, run};
    for (size_t i = 0; i < TOOLS && !status; i++)
        if (strcmp(tools[i].name, name) == 0)
            status = put_tool(sheet, &tools[i], &asked);
    foreign_run_finish(&foreign);
    return status;
}
