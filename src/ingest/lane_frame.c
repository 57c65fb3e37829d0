// SPDX-License-Identifier: Apache-2.0
#include "ingest/lane_frame.h"

#include <stdlib.h>

#include "base/fail.h"

enum { START, DURATION, SITE, DEPTH, ID, PHASE, FORM, BLANKS, COLUMNS = BLANKS + BLANK_COUNT };

// Where the columns that not all tables have stand in each; 0: nowhere.
static const struct {
    uint8_t site, id, phase;
} places[TABLE_COUNT] = {
    [TABLE_SPAN] = {.site = 2},
    [TABLE_MARK] = {.site = 1},
    [TABLE_COUNTER] = {.site = 1, .id = 2},
    [TABLE_COUNTER_REAL] = {.site = 1, .id = 2},
    [TABLE_ASYNC] = {.site = 1, .id = 2, .phase = 3},
    [TABLE_FLOW] = {.site = 1, .id = 2, .phase = 3},
};

int lane_frame_init(struct lane_frame *frame, enum table_id table, uint32_t track,
                    uint64_t most_rows)
{
    const size_t room = most_rows < LANE_FRAME_ROWS ? (size_t)most_rows : LANE_FRAME_ROWS;
    *frame = (struct lane_frame){.table = table, .track = track, .room = room};
    frame->memory = malloc((room ? room : 1) * COLUMNS * sizeof *frame->memory);
    return frame->memory ? 0 : fail(GAIT_ERR_MEMORY, "no memory for frames of events");
}

void lane_frame_finish(struct lane_frame *frame)
{
    free(frame->memory);
    frame->memory = NULL;
}

static uint64_t *column(const struct lane_frame *frame, unsigned index)
{
    return frame->memory + (size_t)index * frame->room;
}

void lane_frame_add(struct lane_frame *frame, const struct row *row, uint64_t depth)
{
    const size_t at = frame->rows++;
    uint64_t end;
    if (__builtin_add_overflow((uint64_t)row->start, row->duration, &end))
        end = UINT64_MAX;
    column(frame, START)[at] = (uint64_t)row->start;
    column(frame, DURATION)[at] = row->duration;
    column(frame, SITE)[at] = row->site;
    column(frame, DEPTH)[at] = depth;
    column(frame, ID)[at] = row->id;
    column(frame, PHASE)[at] = row->phase;
    column(frame, FORM)[at] = row->form.form;
    for (unsigned blank = 0; blank < BLANK_COUNT; blank++) {
        uint64_t *values = column(frame, BLANKS + blank);
        // what no form asks for may be anything: the value before costs least
        const uint64_t idle = at && blank >= BLANK_VALUE ? values[at - 1] : 0;
        values[at] = row->form.mask >> blank & 1 ? row->form.values[blank] : idle;
    }
    frame->mask |= row->form.mask;
    frame->has_forms |= row->form.form != 0;
    if (end > frame->last)
        frame->last = end;
}

static unsigned quad_bytes(uint64_t value)
{
    if (value < 1u << 8)
        return 1;
    return value < 1u << 16 ? 2 : value < 1u << 24 ? 3 : 8;
}

static uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ -(value >> 63);
}

// As differences or as they are, whatever takes less.
static void put(struct table_writer *tables, uint16_t index, const uint64_t *values, size_t rows)
{
    uint64_t plain = 0, steps = 0, before = 0, all = 0;
    for (size_t i = 0; i < rows; i++) {
        plain += quad_bytes(values[i]);
        steps += quad_bytes(zigzag(values[i] - before));
        before = values[i];
        all |= values[i];
    }
    const enum column_transform kept = all >> 63 ? TRANSFORM_ZIGZAG : TRANSFORM_NONE;
    table_put(tables, index, steps < plain ? TRANSFORM_DELTA : kept, values);
}

static void put_times(struct lane_frame *frame, struct table_writer *tables)
{
    const uint64_t *starts = column(frame, START);
    table_count_from(tables, starts[0]);
    if (frame->table == TABLE_SPAN)
        table_put_nested(tables, starts, column(frame, DURATION), column(frame, DEPTH));
    else
        table_put(tables, 0, TRANSFORM_CLIMB, starts);
}

int lane_frame_write(struct lane_frame *frame, struct table_writer *tables)
{
    const uint32_t own = schema_table(frame->table)->own_count;
    if (!frame->rows)
        return 0;
    table_begin(tables, frame->table, frame->track, (uint32_t)frame->rows);
    put_times(frame, tables);
    table_put(tables, places[frame->table].site, TRANSFORM_NONE, column(frame, SITE));
    if (frame->table == TABLE_COUNTER_REAL)
        table_put_real(tables, places[frame->table].id,
                       (const double *)(const void *)column(frame, ID));
    else if (places[frame->table].id)
        put(tables, places[frame->table].id, column(frame, ID), frame->rows);
    if (places[frame->table].phase)
        table_put(tables, places[frame->table].phase, TRANSFORM_NONE, column(frame, PHASE));
    for (unsigned blank = 0; blank < BLANK_COUNT; blank++)
        if (frame->mask >> blank & 1)
            put(tables, (uint16_t)(own + blank), column(frame, BLANKS + blank), frame->rows);
    if (frame->has_forms)
        table_put(tables, (uint16_t)(own + BLANK_COUNT), TRANSFORM_NONE, column(frame, FORM));
    uint32_t events = (uint32_t)frame->rows;
    if (frame->table == TABLE_ASYNC)
        for (size_t i = 0; i < frame->rows; i++)
            events -= column(frame, PHASE)[i] != 0;
    const struct table_about about = {column(frame, START)[0], frame->last, events};
    const int status = table_end(tables, &about, NULL);
    frame->rows = 0;
    frame->last = 0;
    frame->mask = 0;
    frame->has_forms = false;
    return status;
}
