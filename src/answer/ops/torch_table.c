// SPDX-License-Identifier: Apache-2.0
// Widths count code points. torch's oddities are kept: the bare 0 of an asynchronous row's
// share, the unit of FLOPs by the smallest row, and the cells of FLOPs and of stacks that
// change places.
#include "answer/ops/torch_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum {
    WIDTH = 12,
    MOST_NAME = 55,
    MOST_SHAPES = 80,
    MOST_SOURCE = 75,
    CELL = 64,
    MOST_COLUMNS = 20,
};

struct printing;

struct table_column {
    const char *title;
    size_t width;
    bool is_left;
    void (*put)(const struct printing *, const struct gait_op_sums *, size_t width);
};

struct printing {
    FILE *out;
    const struct ops_reading *reading;
    const struct torch_table_wish *wish;
    struct table_column columns[MOST_COLUMNS];
    size_t count;
    char titles[5][32]; // those that name the device, or the unit of FLOPs
    double cpu_us, device_us, flop_scale;
    size_t name_width, source_width;
    bool has_device_time, has_device_memory, has_shapes, has_stacks, has_flops;
};

// --- texts -----------------------------------------------------------------------------

static size_t points_of(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

// How many bytes the first `points` code points have.
static size_t bytes_of(const char *text, size_t points)
{
    const char *at = text;
    for (; *at; at++)
        if (((unsigned char)*at & 0xc0) != 0x80 && points-- == 0)
            break;
    return (size_t)(at - text);
}

static void put_blanks(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

static void put_right(const struct printing *printing, const char *text, size_t width)
{
    const size_t points = points_of(text);
    put_blanks(printing->out, points < width ? width - points : 0);
    fputs(text, printing->out);
}

static void put_left(const struct printing *printing, const char *text, size_t width)
{
    const size_t points = points_of(text);
    fputs(text, printing->out);
    put_blanks(printing->out, points < width ? width - points : 0);
}

static void put_time(const struct printing *printing, double us, size_t width)
{
    char text[CELL];
    if (us >= 1e6)
        snprintf(text, sizeof text, "%.3fs", us / 1e6);
    else if (us >= 1e3)
        snprintf(text, sizeof text, "%.3fms", us / 1e3);
    else
        snprintf(text, sizeof text, "%.3fus", us);
    put_right(printing, text, width);
}

static void put_share(const struct printing *printing, double part, double whole, size_t width)
{
    char text[CELL] = "NaN";
    if (whole)
        snprintf(text, sizeof text, "%.2f%%", part * 100.0 / whole);
    put_right(printing, text, width);
}

static void put_bytes(const struct printing *printing, int64_t bytes, size_t width)
{
    static const struct {
        const char *unit;
        int shift;
    } units[] = {{"GB", 30}, {"MB", 20}, {"KB", 10}};
    const uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
    char text[CELL];
    snprintf(text, sizeof text, "%" PRId64 " B", bytes);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (size < (uint64_t)1 << units[i].shift)
            continue;
        snprintf(text, sizeof text, "%.2f %s", (double)bytes / (double)(1u << units[i].shift),
                 units[i].unit);
        break;
    }
    put_right(printing, text, width);
}

// --- cells -----------------------------------------------------------------------------

#define CELL_OF(name)                                                                              \
    static void name(const struct printing *printing, const struct gait_op_sums *row, size_t width)

static const char *name_of(const struct printing *printing, const struct gait_op_sums *row)
{
    const struct gait_op *op = ops_reading_op(printing->reading, row);
    const char *text = gait_ops_text(printing->reading->ops, op->name);
    return text ? text : "";
}

static const char *shapes_of(const struct printing *printing, const struct gait_op_sums *row)
{
    const struct gait_op *op = ops_reading_op(printing->reading, row);
    const char *text = gait_ops_text(printing->reading->ops, op->shapes);
    return text && *text ? text : "[]";
}

CELL_OF(put_name)
{
    const char *name = name_of(printing, row);
    const size_t points = points_of(name), most = MOST_NAME - 3;
    if (points < most) {
        put_right(printing, name, width);
        return;
    }
    put_blanks(printing->out, width > MOST_NAME ? width - MOST_NAME : 0);
    fwrite(name, 1, bytes_of(name, most), printing->out);
    fputs("...", printing->out);
}

CELL_OF(put_self_cpu_share)
{
    put_share(printing, row->self_cpu_us, printing->cpu_us, width);
}

CELL_OF(put_cpu_share)
{
    if (ops_reading_op(printing->reading, row)->flags & GAIT_OP_ASYNC)
        put_right(printing, "0", width);
    else
        put_share(printing, row->cpu_us, printing->cpu_us, width);
}

CELL_OF(put_self_cpu)
{
    put_time(printing, row->self_cpu_us, width);
}

CELL_OF(put_cpu)
{
    put_time(printing, row->cpu_us, width);
}

CELL_OF(put_cpu_mean)
{
    put_time(printing, row->count ? row->cpu_us / (double)row->count : 0, width);
}

CELL_OF(put_self_device)
{
    put_time(printing, row->self_device_us, width);
}

CELL_OF(put_self_device_share)
{
    put_share(printing, row->self_device_us, printing->device_us, width);
}

CELL_OF(put_device)
{
    put_time(printing, row->device_us, width);
}

CELL_OF(put_device_mean)
{
    put_time(printing, row->count ? row->device_us / (double)row->count : 0, width);
}

CELL_OF(put_cpu_memory)
{
    put_bytes(printing, row->cpu_bytes, width);
}

CELL_OF(put_self_cpu_memory)
{
    put_bytes(printing, row->self_cpu_bytes, width);
}

CELL_OF(put_device_memory)
{
    put_bytes(printing, row->device_bytes, width);
}

CELL_OF(put_self_device_memory)
{
    put_bytes(printing, row->self_device_bytes, width);
}

CELL_OF(put_calls)
{
    char text[CELL];
    snprintf(text, sizeof text, "%" PRIu64, row->count);
    put_right(printing, text, width);
}

CELL_OF(put_shapes)
{
    const char *shapes = shapes_of(printing, row);
    const size_t points = points_of(shapes), bytes = bytes_of(shapes, width);
    put_blanks(printing->out, points < width ? width - points : 0);
    fwrite(shapes, 1, bytes, printing->out);
}

// The end of a path, three dots where something is missing.
static void put_source(const struct printing *printing, const char *text)
{
    const size_t points = points_of(text), width = printing->source_width;
    if (points <= width) {
        put_left(printing, text, width);
        return;
    }
    fputs("...", printing->out);
    fputs(text + bytes_of(text, points - width + 3), printing->out);
}

static void put_first_source(const struct printing *printing, const struct gait_op_sums *row,
                             size_t width)
{
    uint32_t name;
    const size_t count = ops_reading_stack(printing->reading->ops, row->stack, &name, 1);
    const char *text = count ? gait_ops_text(printing->reading->ops, name) : "";
    if (width == printing->source_width)
        put_source(printing, text);
    else
        put_right(printing, text, width);
}

CELL_OF(put_flops)
{
    char text[CELL] = "--";
    if (row->flops_low)
        snprintf(text, sizeof text, "%8.3f", (double)row->flops_low * printing->flop_scale);
    if (width == printing->source_width && printing->has_stacks)
        put_left(printing, text, width);
    else
        put_right(printing, text, width);
}

// --- columns ---------------------------------------------------------------------------

static void look_at_row(struct printing *printing, const struct gait_op_sums *row,
                        size_t *shape_width)
{
    const struct gait_op *op = ops_reading_op(printing->reading, row);
    const size_t name = points_of(name_of(printing, row));
    const char *shapes = shapes_of(printing, row);
    printing->cpu_us += row->self_cpu_us;
    if (op->flags & GAIT_OP_ON_DEVICE && !(op->flags & GAIT_OP_RANGE))
        printing->device_us += row->self_device_us;
    printing->has_device_time |= row->self_device_us > 0;
    printing->has_device_memory |= row->self_device_bytes > 0;
    printing->has_shapes |= printing->wish->has_shapes && strcmp(shapes, "[]") != 0;
    if (name + 4 > printing->name_width)
        printing->name_width = name + 4;
    if (points_of(shapes) + 4 > *shape_width)
        *shape_width = points_of(shapes) + 4;
}

static void look_at_stack(struct printing *printing, const struct gait_op_sums *row)
{
    uint32_t names[OPS_MOST_STACK];
    const size_t count =
        ops_reading_stack(printing->reading->ops, row->stack, names, printing->wish->stack);
    for (size_t i = 0; i < count; i++) {
        const size_t width = points_of(gait_ops_text(printing->reading->ops, names[i])) + 4;
        printing->source_width = width > printing->source_width ? width : printing->source_width;
        printing->has_stacks = true;
    }
}

static void scale_flops(struct printing *printing)
{
    static const char *const units[] = {"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"};
    const struct ops_reading *reading = printing->reading;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < reading->count; i++)
        if (reading->rows[i]->flops_low && reading->rows[i]->flops_low < least)
            least = reading->rows[i]->flops_low;
    printing->has_flops = reading->has_flops && least < UINT64_MAX;
    if (!printing->has_flops)
        return;
    const double step = fmax(0, fmin(log10((double)least) / 3, 5));
    printing->flop_scale = pow(10, floor(step) * -3.0);
    snprintf(printing->titles[4], sizeof printing->titles[4], "Total %s", units[(size_t)step]);
}

static void add(struct printing *printing, const char *title, size_t width,
                void (*put)(const struct printing *, const struct gait_op_sums *, size_t))
{
    printing->columns[printing->count++] =
        (struct table_column){.title = title, .width = width, .put = put};
}

static void add_device(struct printing *printing)
{
    static const char *const formats[] = {"Self %s", "Self %s %%", "%s total", "%s time avg"};
    static void (*const puts_of[])(const struct printing *, const struct gait_op_sums *, size_t) = {
        put_self_device, put_self_device_share, put_device, put_device_mean};
    for (size_t i = 0; i < 4; i++) {
        snprintf(printing->titles[i], sizeof printing->titles[i], formats[i],
                 printing->reading->device);
        add(printing, printing->titles[i], WIDTH, puts_of[i]);
    }
}

static void add_last(struct printing *printing)
{
    if (printing->has_stacks) {
        if (printing->source_width > MOST_SOURCE)
            printing->source_width = MOST_SOURCE;
        add(printing, "Source Location", printing->source_width, put_first_source);
        printing->columns[printing->count - 1].is_left = true;
    }
    if (!printing->has_flops)
        return;
    add(printing, printing->titles[4], WIDTH, put_flops);
    if (printing->has_stacks) {
        printing->columns[printing->count - 2].put = put_flops;
        printing->columns[printing->count - 1].put = put_first_source;
    }
}

static void choose_columns(struct printing *printing)
{
    static const char *const memory[] = {"CUDA Mem", "Self CUDA Mem"};
    const struct ops_reading *reading = printing->reading;
    size_t shape_width = 0;
    for (size_t i = 0; i < reading->count; i++) {
        look_at_row(printing, reading->rows[i], &shape_width);
        look_at_stack(printing, reading->rows[i]);
    }
    scale_flops(printing);
    if (printing->name_width > MOST_NAME)
        printing->name_width = MOST_NAME;
    add(printing, "Name", printing->name_width, put_name);
    add(printing, "Self CPU %", WIDTH, put_self_cpu_share);
    add(printing, "Self CPU", WIDTH, put_self_cpu);
    add(printing, "CPU total %", WIDTH, put_cpu_share);
    add(printing, "CPU total", WIDTH, put_cpu);
    add(printing, "CPU time avg", WIDTH, put_cpu_mean);
    if (printing->has_device_time)
        add_device(printing);
    if (reading->has_memory) {
        add(printing, "CPU Mem", WIDTH, put_cpu_memory);
        add(printing, "Self CPU Mem", WIDTH, put_self_cpu_memory);
    }
    if (reading->has_memory && reading->has_device && printing->has_device_memory) {
        add(printing, memory[0], WIDTH, put_device_memory);
        add(printing, memory[1], WIDTH, put_self_device_memory);
    }
    add(printing, "# of Calls", WIDTH, put_calls);
    if (printing->has_shapes)
        add(printing, "Input Shapes", shape_width < MOST_SHAPES ? shape_width : MOST_SHAPES,
            put_shapes);
    add_last(printing);
}

// --- lines -----------------------------------------------------------------------------

static void put_rule(const struct printing *printing)
{
    for (size_t i = 0; i < printing->count; i++) {
        for (size_t k = 0; k < printing->columns[i].width; k++)
            fputc('-', printing->out);
        fputs("  ", printing->out);
    }
    fputc('\n', printing->out);
}

static void put_titles(const struct printing *printing)
{
    for (size_t i = 0; i < printing->count; i++) {
        const struct table_column *column = &printing->columns[i];
        (column->is_left ? put_left : put_right)(printing, column->title, column->width);
        fputs("  ", printing->out);
    }
    fputc('\n', printing->out);
}

// Functions of a stack stand below each other, an empty line behind them.
static void put_callers(const struct printing *printing, const struct gait_op_sums *row)
{
    uint32_t names[OPS_MOST_STACK];
    const size_t count =
        ops_reading_stack(printing->reading->ops, row->stack, names, printing->wish->stack);
    for (size_t i = 1; i <= (count ? count : 1); i++) {
        const char *text = i < count ? gait_ops_text(printing->reading->ops, names[i]) : "";
        for (size_t k = 0; k + 1 < printing->count; k++)
            put_blanks(printing->out, printing->columns[k].width + 2);
        if (printing->columns[printing->count - 1].width == printing->source_width)
            put_source(printing, text);
        else
            put_right(printing, text, printing->columns[printing->count - 1].width);
        fputs("  \n", printing->out);
    }
}

static void put_row(const struct printing *printing, const struct gait_op_sums *row)
{
    for (size_t i = 0; i < printing->count; i++) {
        printing->columns[i].put(printing, row, printing->columns[i].width);
        fputs("  ", printing->out);
    }
    fputc('\n', printing->out);
    if (printing->has_stacks)
        put_callers(printing, row);
}

static void put_last_line(const struct printing *printing, const char *what, double us)
{
    fprintf(printing->out, "Self %s time total: ", what);
    put_time(printing, us, 0);
    fputc('\n', printing->out);
}

int torch_table_print(FILE *out, const struct ops_reading *reading,
                      const struct torch_table_wish *wish)
{
    struct printing printing = {.out = out, .reading = reading, .wish = wish};
    if (!reading->count)
        return GAIT_OK;
    choose_columns(&printing);
    put_rule(&printing);
    put_titles(&printing);
    put_rule(&printing);
    for (size_t i = 0; i < reading->count && i < wish->row_limit; i++)
        put_row(&printing, reading->rows[i]);
    put_rule(&printing);
    put_last_line(&printing, "CPU", printing.cpu_us);
    if (printing.has_device_time)
        put_last_line(&printing, reading->device, printing.device_us);
    return GAIT_OK;
}
