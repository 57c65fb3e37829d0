// SPDX-License-Identifier: Apache-2.0
// `gait ops`: the rows of torch.profiler's key_averages(), of all windows of one process or
// of a trace; as a list of ours, or as the table that torch prints.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "answer/answers.h"
#include "answer/ops/ops_reading.h"
#include "answer/ops/torch_table.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

struct ops_values {
    int64_t stack, row_limit;
    const char *sort_by;
    bool by_shapes, is_torch;
};

#define COLUMNS(before_device)                                                                     \
    {.key = "name", .label = "", .width = 28, .flags = COLUMN_LEFT}, {.key = "shapes"},            \
        {.key = "calls", .label = "calls", .unit = UNIT_COUNT, .width = 8, .flags = COLUMN_SUMS},  \
        {.key = "self_cpu_ns",                                                                     \
         .label = "self",                                                                          \
         .unit = UNIT_NS,                                                                          \
         .width = 10,                                                                              \
         .flags = COLUMN_SUMS},                                                                    \
        {.key = "self_share",                                                                      \
         .label = "share",                                                                         \
         .unit = UNIT_SHARE,                                                                       \
         .width = 8,                                                                               \
         .flags = COLUMN_SUMS},                                                                    \
        {.key = "cpu_ns", .label = "total", .unit = UNIT_NS, .width = 10},                         \
        {.label = before_device, .unit = UNIT_NS, .width = 10}, {.key = "self_cpu_bytes"},         \
        {.key = "cpu_bytes"}, {.key = "flops"}, {.key = "kind"}, {.key = "device_self_ns"},        \
    {                                                                                              \
        .key = "stack"                                                                             \
    }

static const struct column host_columns[] = {
    COLUMNS("a call"),
    {.key = "device_ns"},
};
static const struct column device_columns[] = {
    COLUMNS(NULL),
    {.key = "device_ns", .label = "device", .unit = UNIT_NS, .width = 10},
};

// Rows of devices are those of `gait kernels`: people see them there.
static const char *kind_of(const struct gait_op *op)
{
    if (op->flags & GAIT_OP_ON_DEVICE)
        return op->flags & GAIT_OP_RANGE ? "device_range" : "device";
    if (op->flags & GAIT_OP_PYTHON)
        return "function";
    return op->flags & GAIT_OP_RANGE ? "range" : "op";
}

static uint64_t ns_of(double us)
{
    return us > 0 ? (uint64_t)llround(fmin(us, 1e15) * 1e3) : 0;
}

static void put_row(struct sheet *sheet, const struct ops_reading *reading,
                    const struct ops_values *values, const struct gait_op_sums *row,
                    uint64_t all_ns)
{
    const struct gait_op *op = ops_reading_op(reading, row);
    const uint64_t self_ns = ns_of(row->self_cpu_us), total_ns = ns_of(row->cpu_us);
    uint32_t names[1];
    const bool has_stack =
        values->stack && ops_reading_stack(reading->ops, row->stack, names, 1) > 0;
    const struct value cells[] = {
        value_text(gait_ops_text(reading->ops, op->name)),
        value_if(values->by_shapes, value_json(gait_ops_text(reading->ops, op->shapes))),
        value_uint(row->count),
        value_uint(self_ns),
        value_share(self_ns, all_ns),
        value_uint(total_ns),
        value_mean(total_ns, row->count),
        value_int(row->self_cpu_bytes),
        value_int(row->cpu_bytes),
        value_uint(row->flops_low),
        value_text(kind_of(op)),
        value_if(reading->has_device, value_uint(ns_of(row->self_device_us))),
        has_stack ? value_text(gait_ops_text(reading->ops, names[0])) : value_none(),
        value_if(reading->has_device, value_uint(ns_of(row->device_us))),
    };
    sheet_row(sheet, cells, op->flags & GAIT_OP_ON_DEVICE ? ROW_HIDDEN : 0);
}

static void put_rows(struct sheet *sheet, const struct ops_reading *reading,
                     const struct ops_values *values)
{
    const struct table table = {
        .key = "ops",
        .heading = values->is_torch ? NULL : "Ops",
        .columns = reading->has_device ? device_columns : host_columns,
        .count = sizeof host_columns / sizeof host_columns[0],
        .most = values->row_limit > 0 ? (size_t)values->row_limit
                : values->row_limit   ? 0
                                      : 20,
        .more = values->sort_by ? "more" : "smaller",
        .falling_by = values->sort_by ? NULL : "self_cpu_ns",
    };
    uint64_t all_ns = 0;
    for (size_t i = 0; i < reading->count; i++)
        all_ns += ns_of(reading->rows[i]->self_cpu_us);
    sheet_table_copy(sheet, &table);
    for (size_t i = 0; i < reading->count; i++)
        put_row(sheet, reading, values, reading->rows[i], all_ns);
    sheet_end(sheet);
}

static int put_torch(struct sheet *sheet, const struct ops_reading *reading,
                     const struct ops_values *values)
{
    const struct torch_table_wish wish = {
        .row_limit = values->row_limit > 0 ? (size_t)values->row_limit
                     : values->row_limit   ? SIZE_MAX
                                           : 100,
        .stack = (size_t)values->stack,
        .has_shapes = values->by_shapes,
    };
    FILE *lines = sheet_lines_begin(sheet);
    int status = lines ? torch_table_print(lines, reading, &wish) : GAIT_OK;
    sheet_lines_end(sheet);
    return status;
}

static void put_title(struct sheet *sheet, const struct asked *asked,
                      const struct ops_reading *reading)
{
    const struct ops_values *values = asked->values;
    char text[120];
    if (reading->is_imported)
        snprintf(text, sizeof text, "process %" PRId64 " of a trace", reading->shard.pid);
    else
        snprintf(text, sizeof text, "%zu window%s of process %" PRId64, reading->window_count,
                 units_plural(reading->window_count), reading->shard.pid);
    sheet_title(sheet, asked->path, values->is_torch ? NULL : text);
    sheet_put(sheet, "rank", value_rank(reading->shard.rank));
    sheet_put(sheet, "windows", value_uint(reading->window_count));
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct ops_values *values = asked->values;
    const struct ops_wish wish = {.stack = values->stack,
                                  .by_shapes = values->by_shapes,
                                  .is_torch = values->is_torch,
                                  .sort_by = values->sort_by,
                                  .chosen = asked->chosen};
    struct ops_reading reading;
    if (asked->chosen && (values->is_torch || values->stack))
        return fail(GAIT_ERR_ARGUMENT, "--torch and --stack list all of a process: leave out "
                                       "--steps, --from, --to and --phase");
    int status = ops_reading_make(&reading, asked->trace, &wish);
    if (!status) {
        put_title(sheet, asked, &reading);
        status = values->is_torch ? put_torch(sheet, &reading, values) : GAIT_OK;
    }
    if (!status)
        put_rows(sheet, &reading, values);
    ops_reading_finish(&reading);
    return status;
}

static const struct option options[] = {
    {.name = "shapes",
     .kind = OPTION_FLAG,
     .help = "a row for each op with the shapes of its inputs",
     .offset = offsetof(struct ops_values, by_shapes)},
    {.name = "stack",
     .kind = OPTION_NUMBER,
     .value = "N",
     .help = "rows by the N functions that called it, too",
     .offset = offsetof(struct ops_values, stack),
     .low = 1,
     .high = OPS_MOST_STACK},
    {.name = "torch",
     .kind = OPTION_FLAG,
     .help = "torch.profiler's own table, byte for byte",
     .offset = offsetof(struct ops_values, is_torch)},
    {.name = "sort-by",
     .kind = OPTION_CHOICE,
     .value = "KEY",
     .help = "sort by one of torch's keys",
     .offset = offsetof(struct ops_values, sort_by),
     .choices = ops_sort_keys},
    {.name = "row-limit",
     .kind = OPTION_NUMBER,
     .value = "N",
     .help = "print so many rows, -1 for all",
     .offset = offsetof(struct ops_values, row_limit),
     .low = -1,
     .high = INT32_MAX},
};

const struct answer ops_answer = {
    .summary = "Lists the ops of PyTorch, the one with most time of its own first.",
    .about = {"The rows are those of torch.profiler's key_averages(): an op's own time is without "
              "the ops that it calls. Of a run they are of the windows in which ops were on "
              "record, of a trace of all of it. gait report has the ops of the steps alone.",
              CHOICE_COUNTS,
              "--torch prints what prof.key_averages().table() would have printed of the same "
              "session, with the columns that the trace holds: memory where it was profiled, FLOPs "
              "where with_flops was set and shapes are there, device time where devices are on "
              "record. As there, rows stand in the order of their first events without --sort-by, "
              "and 100 are printed without --row-limit."},
    .examples = {{"gait ops run1", "Which ops took the time while windows were open."},
                 {"gait ops --torch --sort-by cpu_time_total trace.json",
                  "torch.profiler's own table."},
                 {"gait ops --shapes run1 -o ops.csv",
                  "All of them by their shapes, for a spreadsheet."}},
    OPTIONS_ARE(options),
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
