// SPDX-License-Identifier: Apache-2.0
// Events one by one, in order of start (the public gait_cursor_* functions):
// the merge gives rows, here they become events.
#include <gait/trace.h>

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/arg_list.h"
#include "load/order/async_pairs.h"
#include "load/order/batch.h"
#include "load/order/event_filter.h"
#include "load/order/merge.h"
#include "load/sized.h"

#define TEXT_LIMIT (FRAME_MAX_RAW + 1)

struct gait_cursor {
    struct run *run;
    struct event_filter filter;
    struct merge merge;
    struct async_pairs pairs;
    bool has_merge;
    struct arg_list args, fields;
    struct buffer text; // of a log line
};

static bool wants_frame(const void *context, const struct run_shard *shard, size_t frame)
{
    return event_filter_wants_frame(context, shard, frame);
}

static int open_cursor(struct gait_cursor *cursor, const struct gait_query *query)
{
    struct merge_choice choice = {.wants = wants_frame, .context = &cursor->filter};
    int status = event_filter_init(&cursor->filter, cursor->run, query);

    if (status)
        return status;
    choice.kinds = cursor->filter.kinds;
    choice.shards = cursor->filter.shards; // an end has its begin in its own shard
    status = merge_open(&cursor->merge, cursor->run, &choice);
    cursor->has_merge = !status;
    if (!status && cursor->filter.kinds & 1u << GAIT_KIND_ASYNC)
        status = async_pairs_open(&cursor->pairs, cursor->run, choice.shards);
    return status;
}

int gait_cursor_open(struct gait_trace *trace, const struct gait_query *query,
                     struct gait_cursor **ret_cursor)
{
    struct gait_cursor *cursor;

    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(ret_cursor);
    cursor = calloc(1, sizeof(*cursor));
    if (!cursor)
        return fail(GAIT_ERR_MEMORY, "no memory for a cursor");
    cursor->run = &trace->run;
    arg_list_init(&cursor->args);
    arg_list_init(&cursor->fields);
    buffer_init(&cursor->text, TEXT_LIMIT);
    int status = open_cursor(cursor, query);
    if (status) {
        gait_cursor_close(cursor);
        return status;
    }
    *ret_cursor = cursor;
    return 0;
}

void gait_cursor_close(struct gait_cursor *cursor)
{
    if (!cursor)
        return;
    if (cursor->has_merge)
        merge_close(&cursor->merge);
    async_pairs_close(&cursor->pairs);
    event_filter_finish(&cursor->filter);
    arg_list_finish(&cursor->args);
    arg_list_finish(&cursor->fields);
    buffer_finish(&cursor->text);
    free(cursor);
}

static uint64_t number_at(const struct merge_row *row, enum event_role role)
{
    const uint64_t *column = row->frame->numbers[role];

    return column ? column[row->row] : 0;
}

static int set_args(struct gait_cursor *cursor, const struct merge_row *row, struct slice packed,
                    struct gait_event *event)
{
    const struct arg_source source = {.packed = packed};
    int status = arg_list_unpack(&cursor->args, &source, &row->shard->dictionary);

    if (status == GAIT_ERR_FORMAT)
        status = row->open ? 0 : shard_note(&row->shard->shard, row->place, fail_text());
    event->args = cursor->args.args;
    event->arg_count = cursor->args.count;
    return status;
}

// What an imported event has by its form.
static int set_form(struct gait_cursor *cursor, const struct merge_row *row,
                    struct gait_event *event)
{
    const struct event_frame *frame = row->frame;
    const struct dictionary *dictionary = &row->shard->dictionary;
    const struct dictionary_form form = dictionary_form(dictionary, number_at(row, ROLE_FORM));
    struct arg_source source = {.form = form.args,
                                .columns = &frame->numbers[ROLE_LINK],
                                .row = row->row,
                                .packed =
                                    frame->has_bytes ? frame->bytes[row->row] : (struct slice){0}};
    int status = arg_list_unpack(&cursor->args, &source, dictionary);

    source.form = form.fields;
    source.packed = (struct slice){0};
    if (!status)
        status = arg_list_unpack(&cursor->fields, &source, dictionary);
    if (status == GAIT_ERR_FORMAT)
        status = shard_note(&row->shard->shard, row->place, fail_text());
    event->args = cursor->args.args;
    event->arg_count = cursor->args.count;
    event->fields = cursor->fields.args;
    event->field_count = cursor->fields.count;
    return status;
}

static int set_log_text(struct gait_cursor *cursor, struct slice text, struct gait_event *event)
{
    cursor->text.used = 0;
    int status = buffer_append(&cursor->text, text.bytes, text.count);
    if (!status)
        status = buffer_append(&cursor->text, "", 1);
    event->name = (const char *)cursor->text.bytes;
    return status;
}

// What only some kinds have.
static int set_details(struct gait_cursor *cursor, const struct merge_row *row,
                       struct gait_event *event)
{
    const struct event_frame *frame = row->frame;
    uint64_t value = number_at(row, ROLE_VALUE);
    struct slice bytes = frame->has_bytes ? frame->bytes[row->row] : (struct slice){0};

    if (frame->table->is_real) {
        event->is_real = 1;
        event->value = 0;
        memcpy(&event->real, &value, sizeof(event->real));
    }
    switch (event->kind) {
    case GAIT_KIND_DROP:
        event->name = dictionary_text(&row->shard->dictionary, number_at(row, ROLE_REASON));
        return 0;
    case GAIT_KIND_LOG:
        return set_log_text(cursor, bytes, event);
    case GAIT_KIND_MEMORY:
        event->args = cursor->args.args;
        event->arg_count = 1;
        return 0;
    default:
        if (frame->numbers[ROLE_FORM])
            return set_form(cursor, row, event);
        return bytes.count ? set_args(cursor, row, bytes, event) : 0;
    }
}

static int fill_event(struct gait_cursor *cursor, const struct merge_row *row,
                      struct gait_event *event)
{
    const struct event_frame *frame = row->frame;
    int status = 0;

    *event = (struct gait_event){
        .kind = frame->table->kind,
        .track = frame->track,
        .site = (uint32_t)number_at(row, ROLE_SITE),
        .depth = (uint32_t)number_at(row, ROLE_DEPTH),
        .start_ns = frame->start_ns[row->row],
        .duration_ns = frame->duration_ns ? frame->duration_ns[row->row] : 0,
        .id = number_at(row, ROLE_ID),
        .value = (int64_t)number_at(row, ROLE_VALUE),
        .phase = (int)number_at(row, ROLE_PHASE),
        .link = number_at(row, ROLE_LINK),
        .op = number_at(row, ROLE_OP),
        .bytes = (int64_t)number_at(row, ROLE_SIZE),
    };
    const struct gait_site_info *site = &cursor->run->sites.sites[event->site];
    event->category = site->category;
    event->name = site->name;
    if (event->kind == GAIT_KIND_MEMORY)
        status = arg_list_set_integer(&cursor->args, "total", (int64_t)number_at(row, ROLE_TOTAL));
    return status ? status : set_details(cursor, row, event);
}

static int fill_open(struct gait_cursor *cursor, const struct merge_row *row,
                     struct gait_event *event)
{
    const struct open_event *open = row->open;
    const struct gait_site_info *site = &cursor->run->sites.sites[open->site];

    *event = (struct gait_event){
        .kind = open->is_step ? GAIT_KIND_STEP : GAIT_KIND_SPAN,
        .track = open->track,
        .site = open->site,
        .depth = open->is_step ? 0 : open->depth,
        .category = site->category,
        .name = site->name,
        .start_ns = open->start_ns,
        .duration_ns = -1,
        .id = open->is_step ? open->number : 0,
    };
    return open->args.count ? set_args(cursor, row, open->args, event) : 0;
}

// Finds the end of an asynchronous begin; 0 for a row that is none.
static int pair_row(struct gait_cursor *cursor, const struct merge_row *row,
                    int64_t *ret_duration_ns)
{
    int64_t start_ns = row->frame->start_ns[row->row];
    int64_t end_ns;

    if (number_at(row, ROLE_PHASE) != 0)
        return 0;
    int status = async_pairs_next(&cursor->pairs, start_ns, &end_ns);
    if (status)
        return status;
    *ret_duration_ns = async_pairs_duration(start_ns, end_ns);
    return 1;
}

// 1 when the row is an event that was asked for.
static int take_row(struct gait_cursor *cursor, const struct merge_row *row,
                    struct gait_event *event)
{
    const struct event_filter *filter = &cursor->filter;
    bool is_async = !row->open && row->frame->table->kind == GAIT_KIND_ASYNC;
    uint32_t track = row->open ? row->open->track : row->frame->track;
    int64_t duration_ns = 0;
    int status;

    if (is_async) {
        status = pair_row(cursor, row, &duration_ns);
        if (status != 1)
            return status;
    }
    if (!filter->wanted[track])
        return 0;
    status = row->open ? fill_open(cursor, row, event) : fill_event(cursor, row, event);
    if (status)
        return status;
    if (is_async) {
        event->duration_ns = duration_ns;
        event->phase = ASYNC_IS_WHOLE;
    }
    return event_filter_touches(filter, event->start_ns, event->duration_ns);
}

int gait_cursor_next_sized(struct gait_cursor *cursor, struct gait_event *ret_event, size_t size)
{
    struct gait_event event;
    struct merge_row row;

    GAIT_REQUIRE(cursor);
    GAIT_REQUIRE(ret_event);
    for (;;) {
        int got = merge_next(&cursor->merge, &row);
        if (got != 1)
            return got;
        if ((row.open ? row.open->start_ns : row.frame->start_ns[row.row]) > cursor->filter.last_ns)
            return 0;
        got = take_row(cursor, &row, &event);
        if (got < 0)
            return got;
        if (got) {
            sized_give(ret_event, size, &event, sizeof(event));
            return 1;
        }
    }
}
