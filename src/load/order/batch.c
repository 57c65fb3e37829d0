// SPDX-License-Identifier: Apache-2.0
// Rows on their way to a visitor. Times, ids and values are shown where the
// decoder left them; only sites and depths change their type.
#include "load/order/batch.h"

#include <gait/trace.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define ROW_BYTES (7 * sizeof(int64_t) + 2 * sizeof(uint32_t) + sizeof(struct slice))

void batch_finish(struct batch *batch)
{
    if (!batch)
        return;
    free(batch->memory);
    arg_list_finish(&batch->args.list);
    *batch = (struct batch){0};
}

int batch_begin(struct batch *batch, size_t rows)
{
    int64_t *memory = batch->memory;

    if (rows > batch->capacity) {
        memory = malloc(rows * ROW_BYTES);
        if (!memory)
            return fail(GAIT_ERR_MEMORY, "no memory for a batch of %zu rows", rows);
        free(batch->memory);
        batch->memory = memory;
        batch->capacity = rows;
        memset(memory + 6 * rows, 0, rows * sizeof(*memory)); // nobody writes there
    }
    batch->rows = 0;
    if (!batch->capacity)
        return 0;
    batch->start_ns = memory;
    batch->duration_ns = memory + batch->capacity;
    batch->value = memory + 2 * batch->capacity;
    batch->id = (uint64_t *)(memory + 3 * batch->capacity);
    batch->phase = (uint64_t *)(memory + 4 * batch->capacity);
    batch->total = memory + 5 * batch->capacity;
    batch->zeros = (uint64_t *)(memory + 6 * batch->capacity);
    batch->site = (uint32_t *)(memory + 7 * batch->capacity);
    batch->depth = batch->site + batch->capacity;
    batch->packed = (struct slice *)(void *)(batch->depth + batch->capacity);
    batch->args.packed = batch->packed;
    batch->args.columns = NULL;
    batch->args.forms = NULL;
    batch->link = batch->op = batch->zeros;
    batch->bytes = (const int64_t *)batch->zeros;
    return 0;
}

void batch_add_open(struct batch *batch, const struct open_event *event)
{
    size_t row = batch->rows++;

    batch->start_ns[row] = event->start_ns;
    batch->duration_ns[row] = -1;
    batch->value[row] = batch->total[row] = 0;
    batch->phase[row] = 0;
    batch->id[row] = event->is_step ? event->number : 0;
    batch->site[row] = event->site;
    batch->depth[row] = event->is_step ? 0 : event->depth;
    batch->packed[row] = event->args;
}

void batch_add_async(struct batch *batch, const struct batch_async *span)
{
    size_t row = batch->rows++;

    batch->start_ns[row] = span->start_ns;
    batch->duration_ns[row] = span->duration_ns;
    batch->value[row] = batch->total[row] = 0;
    batch->phase[row] = ASYNC_IS_WHOLE;
    batch->id[row] = span->id;
    batch->site[row] = span->site;
    batch->depth[row] = 0;
    batch->packed[row] = (struct slice){0};
}

uint32_t batch_roles(const struct event_table *table, uint32_t columns)
{
    static const struct {
        uint32_t column, roles;
    } known[] = {
        {GAIT_COLUMN_START, ROLE_BIT(ROLE_START)},
        {GAIT_COLUMN_DURATION, ROLE_BIT(ROLE_START) | ROLE_BIT(ROLE_DURATION)},
        {GAIT_COLUMN_SITE, ROLE_BIT(ROLE_SITE)},
        {GAIT_COLUMN_DEPTH, ROLE_BIT(ROLE_DEPTH)},
        {GAIT_COLUMN_ID, ROLE_BIT(ROLE_ID)},
        {GAIT_COLUMN_VALUE, ROLE_BIT(ROLE_VALUE)},
        {GAIT_COLUMN_ARGS, ROLE_BIT(ROLE_BYTES) | ROLES_FOREIGN},
        {GAIT_COLUMN_PHASE, ROLE_BIT(ROLE_PHASE)},
        {GAIT_COLUMN_TOTAL, ROLE_BIT(ROLE_TOTAL)},
        {GAIT_COLUMN_LINK, ROLE_BIT(ROLE_LINK)},
        {GAIT_COLUMN_OP, ROLE_BIT(ROLE_OP)},
        {GAIT_COLUMN_BYTES, ROLE_BIT(ROLE_SIZE)},
    };
    uint32_t roles = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (columns & known[i].column)
            roles |= known[i].roles;
    if (table->kind == GAIT_KIND_LOG) // whose bytes are its text
        roles &= ~ROLE_BIT(ROLE_BYTES);
    return roles;
}

static int compare_spans(const void *left, const void *right)
{
    const struct batch_async *a = left;
    const struct batch_async *b = right;

    RETURN_IF_APART(a->track, b->track);
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

void batch_sort_async(struct batch_async *spans, size_t count)
{
    ARRAY_SORT(spans, count, compare_spans);
}

static bool wants_row(const struct event_frame *frame, const struct event_filter *filter,
                      size_t row)
{
    if (frame->table->kind == GAIT_KIND_ASYNC && frame->numbers[ROLE_PHASE][row])
        return false; // an end is no event
    return !filter || event_filter_touches(filter, frame->start_ns[row],
                                           frame->duration_ns ? frame->duration_ns[row] : 0);
}

// Moves the rows that are wanted to the front.
static void keep_wanted(struct event_frame *frame, const struct event_filter *filter)
{
    size_t kept = 0;

    for (size_t row = 0; row < frame->rows; row++) {
        if (!wants_row(frame, filter, row))
            continue;
        for (int role = 0; role < ROLE_NUMBERS; role++)
            if (frame->numbers[role])
                frame->numbers[role][kept] = frame->numbers[role][row];
        if (frame->start_ns)
            frame->start_ns[kept] = frame->start_ns[row];
        if (frame->duration_ns)
            frame->duration_ns[kept] = frame->duration_ns[row];
        if (frame->has_bytes)
            frame->bytes[kept] = frame->bytes[row];
        kept++;
    }
    frame->rows = kept;
}

// Rounds toward zero; what no integer can hold becomes the nearest one.
static void round_reals(uint64_t *values, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        double real;
        int64_t rounded = 0;

        memcpy(&real, &values[i], sizeof(real));
        if (real >= 9223372036854775808.0)
            rounded = INT64_MAX;
        else if (real <= -9223372036854775808.0)
            rounded = INT64_MIN;
        else if (real == real)
            rounded = (int64_t)real;
        values[i] = (uint64_t)rounded;
    }
}

static void narrow(const uint64_t *values, size_t rows, uint32_t *ret_values)
{
    if (!values) {
        memset(ret_values, 0, rows * sizeof(*ret_values));
        return;
    }
    for (size_t i = 0; i < rows; i++)
        ret_values[i] = (uint32_t)values[i];
}

// Points at the column of the frame, or fills our own with zeros.
static void *column_or_zeros(void *column, void *own, size_t rows)
{
    return column ? column : memset(own, 0, rows * sizeof(int64_t));
}

static void point_at_columns(struct batch *batch, const struct event_frame *frame, uint32_t columns)
{
    size_t rows = frame->rows;

    if (columns & GAIT_COLUMN_START)
        batch->start_ns = column_or_zeros(frame->start_ns, batch->start_ns, rows);
    if (columns & GAIT_COLUMN_DURATION)
        batch->duration_ns = column_or_zeros(frame->duration_ns, batch->duration_ns, rows);
    if (columns & GAIT_COLUMN_VALUE)
        batch->value = column_or_zeros(frame->numbers[ROLE_VALUE], batch->value, rows);
    if (columns & GAIT_COLUMN_ID)
        batch->id = column_or_zeros(frame->numbers[ROLE_ID], batch->id, rows);
    if (columns & GAIT_COLUMN_PHASE)
        batch->phase = column_or_zeros(frame->numbers[ROLE_PHASE], batch->phase, rows);
    if (columns & GAIT_COLUMN_TOTAL)
        batch->total = column_or_zeros(frame->numbers[ROLE_TOTAL], batch->total, rows);
    if (columns & GAIT_COLUMN_SITE)
        narrow(frame->numbers[ROLE_SITE], rows, batch->site);
    if (columns & GAIT_COLUMN_DEPTH)
        narrow(frame->numbers[ROLE_DEPTH], rows, batch->depth);
    if (frame->numbers[ROLE_LINK])
        batch->link = frame->numbers[ROLE_LINK];
    if (frame->numbers[ROLE_OP])
        batch->op = frame->numbers[ROLE_OP];
    if (frame->numbers[ROLE_SIZE])
        batch->bytes = (const int64_t *)frame->numbers[ROLE_SIZE];
    batch->args.packed = frame->has_bytes ? frame->bytes : NULL;
    batch->args.forms = frame->numbers[ROLE_FORM];
    batch->args.columns = &frame->numbers[ROLE_LINK];
}

int batch_load(struct batch *batch, struct event_frame *frame, uint32_t columns,
               const struct event_filter *filter)
{
    if (filter || frame->table->kind == GAIT_KIND_ASYNC)
        keep_wanted(frame, filter);
    return batch_load_all(batch, frame, columns);
}

int batch_load_all(struct batch *batch, struct event_frame *frame, uint32_t columns)
{
    int status = batch_begin(batch, frame->rows);

    if (status)
        return status;
    batch->kind = frame->table->kind;
    batch->track = frame->track;
    batch->rows = frame->rows;
    if (!frame->rows)
        return 0;
    if (frame->table->is_real && frame->numbers[ROLE_VALUE])
        round_reals(frame->numbers[ROLE_VALUE], frame->rows);
    point_at_columns(batch, frame, columns);
    return 0;
}

void batch_show(struct batch *batch, uint32_t columns, struct gait_batch *ret_batch)
{
    *ret_batch = (struct gait_batch){
        .size = sizeof(*ret_batch),
        .kind = batch->kind,
        .track = batch->track,
        .rows = batch->rows,
        .start_ns = columns & GAIT_COLUMN_START ? batch->start_ns : NULL,
        .duration_ns = columns & GAIT_COLUMN_DURATION ? batch->duration_ns : NULL,
        .value = columns & GAIT_COLUMN_VALUE ? batch->value : NULL,
        .site = columns & GAIT_COLUMN_SITE ? batch->site : NULL,
        .depth = columns & GAIT_COLUMN_DEPTH ? batch->depth : NULL,
        .id = columns & GAIT_COLUMN_ID ? batch->id : NULL,
        .args = columns & GAIT_COLUMN_ARGS ? &batch->args : NULL,
        .phase = columns & GAIT_COLUMN_PHASE ? batch->phase : NULL,
        .total = columns & GAIT_COLUMN_TOTAL ? batch->total : NULL,
        .link = columns & GAIT_COLUMN_LINK ? batch->link : NULL,
        .op = columns & GAIT_COLUMN_OP ? batch->op : NULL,
        .bytes = columns & GAIT_COLUMN_BYTES ? batch->bytes : NULL,
    };
}

int gait_batch_args(const struct gait_batch *batch, size_t row, const struct gait_arg **ret_args,
                    size_t *ret_count)
{
    if (!batch || !ret_args || !ret_count || row >= batch->rows)
        return fail(GAIT_ERR_ARGUMENT,
                    "batch, ret_args and ret_count must not be NULL, and row must be in the batch");
    *ret_args = NULL;
    *ret_count = 0;
    struct gait_batch_rows *rows = batch->args;
    struct arg_source source = {.row = row};
    if (rows && rows->packed)
        source.packed = rows->packed[row];
    if (rows && rows->forms) {
        source.form = dictionary_form(rows->dictionary, rows->forms[row]).args;
        source.columns = rows->columns;
    }
    if (!source.packed.count && !source.form.count)
        return 0;
    int status = arg_list_unpack(&rows->list, &source, rows->dictionary);
    if (status && status != GAIT_ERR_FORMAT)
        return status;
    *ret_args = batch->args->list.args;
    *ret_count = batch->args->list.count;
    return 0;
}
