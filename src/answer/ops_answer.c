// SPDX-License-Identifier: Apache-2.0
// `gait ops`: the rows of torch.profiler's key_averages(), of all windows of one process.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <gait/internal/ops.h>

#include "analyse/job/torch_processes.h"
#include "answer/answers.h"
#include "base/fail.h"
#include "base/units.h"

struct ops_values {
    int64_t rank;
    bool by_shapes;
};

static const struct column columns[] = {
    {.key = "name", .label = "", .width = 28, .flags = COLUMN_LEFT},
    {.key = "shapes"},
    {.key = "calls", .label = "calls", .unit = UNIT_COUNT, .width = 8, .flags = COLUMN_SUMS},
    {.key = "self_cpu_ns", .label = "self", .unit = UNIT_NS, .width = 10, .flags = COLUMN_SUMS},
    {.key = "self_share", .label = "share", .unit = UNIT_SHARE, .width = 8, .flags = COLUMN_SUMS},
    {.key = "cpu_ns", .label = "total", .unit = UNIT_NS, .width = 10},
    {.label = "a call", .unit = UNIT_NS, .width = 10},
    {.key = "self_cpu_bytes"},
    {.key = "cpu_bytes"},
    {.key = "flops"},
};
static const struct table table = {.key = "ops",
                                   .heading = "Ops",
                                   COLUMNS_ARE(columns),
                                   .most = 20,
                                   .more = "smaller",
                                   .falling_by = "self_cpu_ns"};

static uint64_t ns_of(double us)
{
    return us > 0 ? (uint64_t)llround(fmin(us, 1e15) * 1e3) : 0;
}

static void put_rows(struct sheet *sheet, const struct gait_ops *ops,
                     const struct gait_op_sums *rows, size_t count, bool by_shapes)
{
    size_t added_count;
    const struct gait_op *added = gait_ops_added(ops, &added_count);
    uint64_t all_ns = 0;
    for (size_t i = 0; i < count; i++)
        all_ns += ns_of(rows[i].self_cpu_us);
    sheet_table(sheet, &table);
    for (size_t i = 0; i < count; i++) {
        const struct gait_op_sums *row = &rows[i];
        const uint64_t self_ns = ns_of(row->self_cpu_us), total_ns = ns_of(row->cpu_us);
        const struct value cells[] = {
            value_text(gait_ops_text(ops, added[row->first].name)),
            value_if(by_shapes, value_json(gait_ops_text(ops, added[row->first].shapes))),
            value_uint(row->count),
            value_uint(self_ns),
            value_share(self_ns, all_ns),
            value_uint(total_ns),
            value_mean(total_ns, row->count),
            value_int(row->self_cpu_bytes),
            value_int(row->cpu_bytes),
            value_uint(row->flops_low),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

// The newest window is read first, as torch.profiler has it.
static int put_process(struct sheet *sheet, const struct asked *asked,
                       const struct torch_process *process, struct gait_ops *ops)
{
    const struct ops_values *values = asked->values;
    const struct gait_grouping grouping = {.size = sizeof grouping, .by_shapes = values->by_shapes};
    const struct gait_op_sums *rows;
    size_t count = 0;
    struct gait_shard_info shard;
    char text[120];
    int status = gait_trace_shard(asked->trace, process->shard, &shard);
    for (size_t i = process->window_count; i-- > 0 && !status;) {
        const struct torch_window *window = &process->windows[i];
        const struct gait_ops_query query = {
            .size = sizeof query,
            .pid = shard.pid,
            .since_ns = window->begin_ns,
            .until_ns = window->end_ns,
            .with_memory = 1,
            .with_flops = 1,
            .origin_ns = process->windows[process->window_count - 1].begin_ns};
        status = gait_ops_read(ops, asked->trace, &query);
    }
    if (!status)
        status = gait_ops_build(ops);
    if (!status)
        status = gait_ops_average(ops, &grouping, &rows, &count);
    snprintf(text, sizeof text, "%zu window%s of process %" PRId64, process->window_count,
             units_plural(process->window_count), shard.pid);
    sheet_title(sheet, asked->path, text);
    sheet_put(sheet, "rank", value_rank(shard.rank));
    sheet_put(sheet, "windows", value_uint(process->window_count));
    if (!status)
        put_rows(sheet, ops, rows, count, values->by_shapes);
    return status;
}

// The process of the lowest rank that has windows, from the wished one on.
static const struct torch_process *choose(const struct torch_processes *processes,
                                          const struct asked *asked)
{
    const struct ops_values *values = asked->values;
    const struct torch_process *chosen = NULL;
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < processes->count; i++) {
        struct gait_shard_info shard;
        if (!processes->rows[i].window_count ||
            gait_trace_shard(asked->trace, processes->rows[i].shard, &shard))
            continue;
        const int64_t rank = shard.rank < 0 ? 0 : shard.rank;
        if (rank < lowest && rank >= values->rank) {
            lowest = rank;
            chosen = &processes->rows[i];
        }
    }
    return chosen;
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct torch_processes processes = {.count = 0};
    struct gait_ops *ops = NULL;
    int status = torch_processes_find(&processes, asked->trace);
    const struct torch_process *process = status ? NULL : choose(&processes, asked);
    if (!status && !process)
        status = fail(GAIT_ERR_MISSING, "no windows with ops of PyTorch are on record there; gait "
                                        "run records some by itself, --windows says which");
    if (!status)
        status = gait_ops_create(&ops);
    if (!status)
        status = put_process(sheet, asked, process, ops);
    gait_ops_destroy(ops);
    torch_processes_finish(&processes);
    return status;
}

static const struct option options[] = {
    {.name = "rank",
     .kind = OPTION_NUMBER,
     .value = "N",
     .help = "of that rank; of the lowest without it",
     .offset = offsetof(struct ops_values, rank),
     .high = INT32_MAX},
    {.name = "shapes",
     .kind = OPTION_FLAG,
     .help = "a row for each op with the shapes of its inputs",
     .offset = offsetof(struct ops_values, by_shapes)},
};

static const char *const about[] = {
    "The rows are those of torch.profiler's key_averages(): an op's own time is without the ops "
    "that it calls. gait run --profile prints the same as torch's table; gait report has the ops "
    "of the steps alone.",
    NULL,
};

static const struct example examples[] = {
    {"gait ops run1", "Which ops took the time while windows were open."},
    {"gait ops --shapes run1 -o ops.csv", "All of them by their shapes, for a spreadsheet."},
    {NULL, NULL},
};

const struct answer ops_answer = {
    .summary = "Lists the ops of PyTorch in the windows of a process, the one with most time of "
               "its own first.",
    .about = about,
    .examples = examples,
    OPTIONS_ARE(options),
    .put = put,
};
