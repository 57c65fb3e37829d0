// SPDX-License-Identifier: Apache-2.0
// From slots to rows. The ring is taken as it is found: after a crash it may
// hold anything, so nothing here trusts a slot beyond its own 16 bytes.
#include "format/span_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "format/args.h"
#include "format/columns.h"
#include "format/span_builder_rows.h"

#define MAX_OPEN_SPANS (1u << 20)
#define MAX_PIECES_BYTES (8u << 20)
#define MAX_SPAN_ARGS_BYTES (64u << 10)

// Rows more, so that columns do not lie a multiple of 4 KiB apart: a load would
// wait for a store to another column (0.3 ns a record).
#define OFF_THE_PAGE 24

const struct span_builder_table_shape span_builder_shapes[SPAN_BUILDER_TABLE_COUNT] = {
    [SPAN_BUILDER_SPAN] = {TABLE_SPAN, 4, 4, {TRANSFORM_NESTED}},
    [SPAN_BUILDER_MARK] = {TABLE_MARK, 2, 0, {TRANSFORM_DELTA}},
    [SPAN_BUILDER_COUNTER] = {TABLE_COUNTER,
                              3,
                              0,
                              {TRANSFORM_DELTA, TRANSFORM_NONE, TRANSFORM_DELTA}},
    [SPAN_BUILDER_COUNTER_REAL] = {TABLE_COUNTER_REAL, 3, 0, {TRANSFORM_DELTA}},
    [SPAN_BUILDER_ASYNC] = {TABLE_ASYNC, 4, 0, {TRANSFORM_DELTA, TRANSFORM_NONE, TRANSFORM_DELTA}},
    [SPAN_BUILDER_FLOW] = {TABLE_FLOW, 4, 0, {TRANSFORM_DELTA, TRANSFORM_NONE, TRANSFORM_DELTA}},
    [SPAN_BUILDER_STEP] = {TABLE_STEP, 3, 0, {TRANSFORM_NESTED, TRANSFORM_NESTED, TRANSFORM_DELTA}},
    [SPAN_BUILDER_MEMORY] = {TABLE_MEMORY,
                             6,
                             0,
                             {TRANSFORM_DELTA, TRANSFORM_NONE, TRANSFORM_DELTA, TRANSFORM_ZIGZAG,
                              TRANSFORM_DELTA, TRANSFORM_NONE}},
};

static void empty_rows(struct span_builder *builder)
{
    for (int i = 0; i < SPAN_BUILDER_TABLE_COUNT; i++) {
        struct span_builder_rows *rows = &builder->tables[i];
        rows->begin = rows->end = i == SPAN_BUILDER_SPAN ? SPAN_BUILDER_HEADROOM : 0;
        rows->last = rows->events = 0;
    }
    builder->has_args = false;
    builder->pieces.used = sizeof(struct span_builder_piece); // offset 0 means none
}

int span_builder_create(struct table_writer *writer, uint32_t max_slots,
                        struct span_builder **ret_builder)
{
    const size_t rows_max = SPAN_BUILDER_HEADROOM + (size_t)max_slots + OFF_THE_PAGE;
    struct span_builder *builder = calloc(1, sizeof(*builder));
    if (!builder)
        return fail(GAIT_ERR_MEMORY, "no memory to arrange records");
    size_t columns = 0;
    for (int i = 0; i < SPAN_BUILDER_TABLE_COUNT; i++) {
        columns += span_builder_shapes[i].column_count;
    }
    builder->writer = writer;
    builder->max_slots = max_slots;
    builder->memory = malloc(columns * rows_max * sizeof(uint64_t));
    builder->args_of_row = calloc(rows_max, sizeof(uint32_t));
    builder->args_column = malloc(rows_max * sizeof(struct slice));
    builder->stack = malloc((SPAN_BUILDER_STACK_ROWS + 1) * sizeof(uint32_t));
    buffer_init(&builder->pieces, MAX_PIECES_BYTES);
    buffer_init(&builder->joined, MAX_PIECES_BYTES);
    if (!builder->memory || !builder->args_of_row || !builder->args_column || !builder->stack ||
        !buffer_reserve(&builder->pieces, sizeof(struct span_builder_piece))) {
        span_builder_destroy(builder);
        return fail(GAIT_ERR_MEMORY, "no memory to arrange records");
    }
    uint64_t *next = builder->memory;
    for (int i = 0; i < SPAN_BUILDER_TABLE_COUNT; i++) {
        for (int c = 0; c < span_builder_shapes[i].column_count; c++, next += rows_max) {
            builder->tables[i].columns[c] = next;
        }
    }
    empty_rows(builder);
    *ret_builder = builder;
    return 0;
}

void span_builder_destroy(struct span_builder *builder)
{
    if (!builder)
        return;
    free(builder->memory);
    free(builder->args_of_row);
    free(builder->args_column);
    free(builder->stack);
    buffer_finish(&builder->pieces);
    buffer_finish(&builder->joined);
    free(builder);
}

void span_builder_reset(struct span_builder *builder)
{
    empty_rows(builder);
}

void span_builder_track_init(struct span_builder_track *track, uint32_t id, uint64_t position)
{
    *track = (struct span_builder_track){.track = id, .position = position};
}

void span_builder_track_finish(struct span_builder_track *track)
{
    if (!track)
        return;
    for (uint32_t i = 0; i < track->open_capacity; i++) {
        buffer_finish(&track->open[i].args);
    }
    free(track->open);
    *track = (struct span_builder_track){0};
}

// --- one row each ---------------------------------------------------------

static void note_last(struct span_builder_rows *rows, uint64_t last)
{
    rows->last = last > rows->last ? last : rows->last;
}

static void add_point(struct span_builder *builder, enum span_builder_table table,
                      const uint64_t *values, uint64_t last)
{
    struct span_builder_rows *rows = &builder->tables[table];
    GAIT_ASSERT(rows->end < SPAN_BUILDER_HEADROOM + builder->max_slots); // a slot a row at most
    for (int c = 0; c < span_builder_shapes[table].column_count; c++) {
        rows->columns[c][rows->end] = values[c];
    }
    rows->end++;
    note_last(rows, last);
}

static int grow_open(struct span_builder_track *track)
{
    uint32_t capacity = track->open_capacity ? track->open_capacity * 2 : 32;
    if (capacity > MAX_OPEN_SPANS)
        return fail(GAIT_ERR_MEMORY, "more than %u spans open in one thread", MAX_OPEN_SPANS);
    struct span_builder_span *open = realloc(track->open, capacity * sizeof(*open));
    if (!open)
        return fail(GAIT_ERR_MEMORY, "no memory for %u open spans", capacity);
    for (uint32_t i = track->open_capacity; i < capacity; i++) {
        open[i] = (struct span_builder_span){0};
        buffer_init(&open[i].args, MAX_SPAN_ARGS_BYTES);
    }
    track->open = open;
    track->open_capacity = capacity;
    return 0;
}

int span_builder_track_restore(struct span_builder_track *track,
                               const struct span_builder_span *span, struct slice args)
{
    int status = track->open_count == track->open_capacity ? grow_open(track) : 0;
    if (status)
        return status;
    if (track->open_count == 0)
        track->base_depth = span->depth;
    GAIT_ASSERT(track->open_count < track->open_capacity);
    struct span_builder_span *restored = &track->open[track->open_count++];
    restored->start = span->start;
    restored->site = span->site;
    restored->depth = span->depth;
    restored->row = -1;
    restored->args.used = 0;
    return buffer_append(&restored->args, args.bytes, args.count);
}

static int begin_span(struct span_builder *builder, struct span_builder_track *track, uint64_t tick,
                      uint32_t site)
{
    struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    if (track->open_count == track->open_capacity) {
        int status = grow_open(track);
        if (status)
            return status;
    }
    GAIT_ASSERT(track->open_count < track->open_capacity);
    GAIT_ASSERT(rows->end < SPAN_BUILDER_HEADROOM + builder->max_slots);
    uint32_t row = rows->end++;
    struct span_builder_span *span = &track->open[track->open_count];
    span->start = tick;
    span->site = site;
    span->depth = track->base_depth + track->open_count++;
    span->row = row;
    span->args.used = 0;
    rows->columns[COLUMN(SPAN, start)][row] = tick;
    rows->columns[COLUMN(SPAN, site)][row] = site;
    rows->columns[COLUMN(SPAN, depth)][row] = span->depth;
    track->begun++; // here: what failed is taken again
    return 0;
}

// Puts a span of an earlier frame in front: inner ones end first, so the
// outer ones end up further down, in order of start.
static void end_carried(struct span_builder *builder, const struct span_builder_span *span,
                        uint64_t duration)
{
    struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    GAIT_ASSERT(rows->begin > 0); // span_builder_take() stops before
    uint32_t row = --rows->begin;
    rows->columns[COLUMN(SPAN, start)][row] = span->start;
    rows->columns[COLUMN(SPAN, duration)][row] = duration;
    rows->columns[COLUMN(SPAN, site)][row] = span->site;
    rows->columns[COLUMN(SPAN, depth)][row] = span->depth;
    uint8_t *piece =
        span->args.used
            ? buffer_reserve(&builder->pieces, sizeof(struct span_builder_piece) + span->args.used)
            : NULL;
    if (!piece)
        return;
    struct span_builder_piece head = {0, (uint32_t)span->args.used};
    memcpy(piece, &head, sizeof(head));
    memcpy(piece + sizeof(head), span->args.bytes, span->args.used);
    builder->args_of_row[row] = (uint32_t)builder->pieces.used;
    builder->pieces.used += sizeof(head) + span->args.used;
    builder->has_args = true;
}

static void end_span(struct span_builder *builder, struct span_builder_track *track, uint64_t tick)
{
    struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    if (track->open_count == 0) {
        // its begin was overwritten: already counted as lost there
        track->unbalanced += track->base_depth == 0;
        track->base_depth -= track->base_depth > 0;
        return;
    }
    struct span_builder_span *span = &track->open[--track->open_count];
    uint64_t duration = tick > span->start ? tick - span->start : 0;
    GAIT_ASSERT(span->row < (int64_t)rows->end);
    if (span->row >= 0)
        rows->columns[COLUMN(SPAN, duration)][span->row] = duration;
    else
        end_carried(builder, span, duration);
    note_last(rows, span->start + duration);
}

static void end_step(struct span_builder *builder, struct span_builder_track *track, uint64_t tick)
{
    if (!track->has_step)
        return;
    uint64_t duration = tick > track->step_start ? tick - track->step_start : 0;
    const uint64_t values[4] = {track->step_start, duration, track->step_number};
    add_point(builder, SPAN_BUILDER_STEP, values, track->step_start + duration);
    track->has_step = false;
}

static void begin_step(struct span_builder *builder, struct span_builder_track *track,
                       uint64_t tick, uint64_t number)
{
    end_step(builder, track, tick);
    track->has_step = true;
    track->step_start = tick;
    track->step_number = number;
}

// --- arguments ------------------------------------------------------------

// Slots each kind takes; 0: as the record says.
static const uint8_t record_slots[] = {
    [SLOT_BEGIN] = 1,      [SLOT_END] = 1,        [SLOT_NEXT] = 1,     [SLOT_PAD] = 1,
    [SLOT_MARK] = 1,       [SLOT_STEP_BEGIN] = 2, [SLOT_STEP_END] = 1, [SLOT_COUNT] = 2,
    [SLOT_COUNT_REAL] = 2, [SLOT_ASYNC] = 2,      [SLOT_FLOW] = 2,     [SLOT_ARG_INT] = 2,
    [SLOT_ARG_REAL] = 2,   [SLOT_ARG_TEXT] = 0,   [SLOT_OP] = 1,       [SLOT_MEMORY] = 3,
    [SLOT_OP_BEGIN] = 1,
};

// 0 for what no recorder writes.
static uint32_t slots_of(const struct slot *slot)
{
    enum slot_kind kind = slot_kind_of(slot);
    if (kind >= sizeof(record_slots))
        return 0;
    return record_slots[kind] ? record_slots[kind] : slot_count(slot);
}

struct arg_text {
    uint8_t bytes[SLOT_TEXT_MAX + sizeof(struct slot)];
};

static int read_arg(const struct slot *slots, uint64_t mask, uint64_t at, struct arg_text *text,
                    struct args_item *ret_item)
{
    const struct slot *head = &slots[at & mask];
    uint64_t value = slots_of(head) > 1 ? slot_value(&slots[(at + 1) & mask]) : 0;
    struct args_item item = {.key = head->site};
    switch (slot_kind_of(head)) {
    case SLOT_ARG_INT:
        item.kind = ARGS_INT;
        item.integer = (int64_t)value;
        break;
    case SLOT_ARG_REAL:
        item.kind = ARGS_REAL;
        memcpy(&item.real, &value, sizeof(item.real));
        break;
    default:
        item.kind = ARGS_TEXT;
        item.text = (struct slice){text->bytes, slot_tick(head)};
        if (item.text.count > SLOT_TEXT_MAX || slot_count(head) != slot_text_slots(item.text.count))
            return GAIT_ERR_FORMAT;
        for (uint32_t i = 1; i < slot_count(head); i++) {
            memcpy(text->bytes + (i - 1) * sizeof(struct slot), &slots[(at + i) & mask],
                   sizeof(struct slot));
        }
    }
    *ret_item = item;
    return 0;
}

static int append_items(struct buffer *out, const struct args_item *items, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = args_append(out, &items[i]);
    }
    return status;
}

// Arguments that do not fit are dropped; their span is not.
static void add_args(struct span_builder *builder, struct span_builder_track *track,
                     const struct args_item *items, size_t count)
{
    if (track->open_count == 0)
        return;
    struct span_builder_span *span = &track->open[track->open_count - 1];
    if (span->row < 0) {
        if (append_items(&span->args, items, count))
            fail_clear();
        return;
    }
    GAIT_ASSERT(span->row < (int64_t)builder->tables[SPAN_BUILDER_SPAN].end);
    struct span_builder_piece head = {builder->args_of_row[span->row], 0};
    size_t start = builder->pieces.used;
    if (!buffer_reserve(&builder->pieces, sizeof(head)))
        return;
    builder->pieces.used += sizeof(head);
    if (append_items(&builder->pieces, items, count)) {
        fail_clear();
        builder->pieces.used = start;
        return;
    }
    head.bytes = (uint32_t)(builder->pieces.used - start - sizeof(head));
    memcpy(builder->pieces.bytes + start, &head, sizeof(head));
    GAIT_ASSERT(start > head.before); // a chain leads back, so it ends
    builder->args_of_row[span->row] = (uint32_t)start;
    builder->has_args = true;
}

// What varies most stands last: what is before it then repeats from op to op.
static void add_op(struct span_builder *builder, struct span_builder_track *track,
                   const struct slot *slot)
{
    const struct slot_op op = slot_op_of(slot);
    struct args_item items[4];
    size_t count = 0;
    if (op.shapes)
        items[count++] =
            (struct args_item){.key = SLOT_KEY_SHAPES, .kind = ARGS_STRING, .integer = op.shapes};
    if (op.scope)
        items[count++] =
            (struct args_item){.key = SLOT_KEY_SCOPE, .kind = ARGS_INT, .integer = op.scope};
    if (op.fwd_thread)
        items[count++] = (struct args_item){
            .key = SLOT_KEY_FWD_THREAD, .kind = ARGS_INT, .integer = op.fwd_thread};
    if (op.seq_above)
        items[count++] = (struct args_item){
            .key = SLOT_KEY_SEQ, .kind = ARGS_INT, .integer = (int64_t)op.seq_above - 1};
    add_args(builder, track, items, count);
}

static int begin_op(struct span_builder *builder, struct span_builder_track *track,
                    const struct slot *slot)
{
    const struct args_item shapes = {
        .key = SLOT_KEY_SHAPES, .kind = ARGS_STRING, .integer = slot_op_begin_shapes(slot)};
    int status = begin_span(builder, track, slot_tick(slot), slot->site);
    if (!status)
        add_args(builder, track, &shapes, 1);
    return status;
}

// --- the loop -------------------------------------------------------------

// Kinds that become a row of their own, and the table it goes to.
static void take_point(struct span_builder *builder, struct span_builder_track *track,
                       enum span_builder_table table, const uint64_t *row)
{
    bool is_event = table != SPAN_BUILDER_ASYNC || row[3] == 0;
    add_point(builder, table, row, row[0]);
    builder->tables[table].events += is_event;
    track->begun += is_event;
}

static void take_memory(struct span_builder *builder, struct span_builder_track *track,
                        const struct slot *slot, const struct slot payload[2])
{
    uint64_t about[4];
    memcpy(about, payload, sizeof(about)); // address, bytes, total, nothing
    const uint64_t row[SPAN_BUILDER_MAX_COLUMNS] = {slot_tick(slot), slot_phase(slot), about[0],
                                                    about[1],        about[2],         slot->site};
    take_point(builder, track, SPAN_BUILDER_MEMORY, row);
}

static void take_other(struct span_builder *builder, struct span_builder_track *track,
                       const struct slot *slot, const struct slot *payload)
{
    // behind a record of one slot the next may be in the making
    const uint64_t value = slots_of(slot) > 1 ? slot_value(payload) : 0;
    const uint64_t row[4] = {slot_tick(slot), slot->site, value, slot_phase(slot)};
    switch (slot_kind_of(slot)) {
    case SLOT_MARK:
        take_point(builder, track, SPAN_BUILDER_MARK, row);
        break;
    case SLOT_COUNT:
        take_point(builder, track, SPAN_BUILDER_COUNTER, row);
        break;
    case SLOT_COUNT_REAL:
        take_point(builder, track, SPAN_BUILDER_COUNTER_REAL, row);
        break;
    case SLOT_ASYNC:
        take_point(builder, track, SPAN_BUILDER_ASYNC, row);
        break;
    case SLOT_FLOW:
        take_point(builder, track, SPAN_BUILDER_FLOW, row);
        break;
    case SLOT_STEP_BEGIN:
        begin_step(builder, track, row[0], row[2]);
        track->begun++;
        break;
    case SLOT_STEP_END:
        end_step(builder, track, row[0]);
        break;
    default:
        break;
    }
}

static int take_record(struct span_builder *builder, struct span_builder_track *track,
                       const struct slot *slots, uint64_t mask)
{
    const struct slot *slot = &slots[track->position & mask];
    struct args_item item;
    struct arg_text text;
    switch (slot_kind_of(slot)) {
    case SLOT_END:
        end_span(builder, track, slot_tick(slot));
        return 0;
    case SLOT_NEXT:
        if (!track->open_capacity && grow_open(track)) // before the end, which happens once
            return GAIT_ERR_MEMORY;
        end_span(builder, track, slot_tick(slot));
        // fall through
    case SLOT_BEGIN:
        return begin_span(builder, track, slot_tick(slot), slot->site);
    case SLOT_ARG_INT:
    case SLOT_ARG_REAL:
    case SLOT_ARG_TEXT:
        if (read_arg(slots, mask, track->position, &text, &item) == 0)
            add_args(builder, track, &item, 1);
        return 0;
    case SLOT_OP_BEGIN:
        return begin_op(builder, track, slot);
    case SLOT_OP:
        add_op(builder, track, slot);
        return 0;
    case SLOT_MEMORY: {
        const struct slot payload[2] = {slots[(track->position + 1) & mask],
                                        slots[(track->position + 2) & mask]};
        take_memory(builder, track, slot, payload);
        return 0;
    }
    default:
        take_other(builder, track, slot, &slots[(track->position + 1) & mask]);
        return 0;
    }
}

int span_builder_take(struct span_builder *builder, struct span_builder_track *track,
                      const struct slot *slots, uint64_t mask, uint64_t until)
{
    uint64_t stop = track->position + builder->max_slots;
    if (stop > until)
        stop = until;
    // a flush is needed first when no more carried spans could end
    while (track->position < stop && builder->tables[SPAN_BUILDER_SPAN].begin > 0) {
        if (span_builder_take_spans(builder, track, slots, mask, stop))
            continue;
        uint32_t count = slots_of(&slots[track->position & mask]);
        if (count == 0 || count > mask)
            return fail(GAIT_ERR_FORMAT, "slot %llu of track %u is not a record",
                        (unsigned long long)track->position, track->track);
        if (track->position + count > until)
            return 0;
        int status = take_record(builder, track, slots, mask);
        if (status)
            return status;
        track->position += count;
        GAIT_ASSERT(track->position <= until);
    }
    return 0;
}
