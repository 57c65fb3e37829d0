// SPDX-License-Identifier: Apache-2.0
// Events frame by frame (the public gait_scan): only what was asked for is
// decoded, into memory that is taken once.
#include <gait/trace.h>

#include <stdlib.h>

#include "base/fail.h"
#include "load/order/async_pairs.h"
#include "load/order/batch.h"
#include "load/order/event_filter.h"
#include "load/order/event_frame.h"

#define ASYNC_BATCH 65536 // asynchronous spans gathered before they are handed out

struct scan {
    struct run *run;
    struct event_filter filter;
    uint32_t columns;
    struct event_decoder decoder;
    struct event_frame frame;
    struct batch batch;
    gait_batch_visit *visit;
    void *context;
};

// What must be decoded of a table for the columns asked for.
static uint32_t roles_of(const struct scan *scan, const struct event_table *table, bool is_covered)
{
    uint32_t roles = batch_roles(table, scan->columns);

    if (!is_covered)
        roles |= ROLE_BIT(ROLE_START) | ROLE_BIT(ROLE_DURATION);
    if (table->kind == GAIT_KIND_ASYNC)
        roles |= ROLE_BIT(ROLE_PHASE);
    return roles;
}

static int hand_out(struct scan *scan)
{
    struct gait_batch batch;

    if (!scan->batch.rows)
        return 0;
    batch_show(&scan->batch, scan->columns, &batch);
    return scan->visit(&batch, scan->context);
}

static int scan_frame(struct scan *scan, struct run_shard *shard, size_t frame)
{
    const struct event_table *table = event_table_of(shard->shard.list.entries[frame].table);
    bool is_covered = event_filter_covers_frame(&scan->filter, shard, frame);
    struct event_ask ask = {.shard = shard,
                            .tracks = &scan->run->tracks,
                            .frame = frame,
                            .roles = roles_of(scan, table, is_covered)};
    int status = event_frame_decode(&scan->frame, &scan->decoder, &ask);

    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    status =
        batch_load(&scan->batch, &scan->frame, scan->columns, is_covered ? NULL : &scan->filter);
    scan->batch.args.dictionary = &shard->dictionary;
    return status ? status : hand_out(scan);
}

// Whether frames of that kind need to be joined with others first.
static bool is_paired(const struct scan *scan, const struct event_table *table)
{
    return table->kind == GAIT_KIND_ASYNC &&
           (scan->columns & GAIT_COLUMN_DURATION || scan->filter.since_ns != INT64_MIN);
}

// Adds to `paired_rows` what must be joined with other frames first.
static int scan_frames(struct scan *scan, struct run_shard *shard, size_t *paired_rows)
{
    int status = 0;

    for (size_t i = 0; !status && i < shard->shard.list.count; i++) {
        if (!event_filter_wants_frame(&scan->filter, shard, i))
            continue;
        const struct event_table *table = event_table_of(shard->shard.list.entries[i].table);
        uint32_t track =
            id_map_get(&shard->dictionary.tracks, shard->shard.list.entries[i].track) - 1;
        if (is_paired(scan, table))
            *paired_rows += shard->shard.list.entries[i].rows;
        else if (scan->filter.wanted[track])
            status = scan_frame(scan, shard, i);
    }
    return status;
}

static int scan_open(struct scan *scan, const struct run_shard *shard)
{
    const struct open_events *open = &shard->open;
    int status = 0;

    for (size_t i = 0, end; !status && i < open->count; i = end) {
        uint32_t track = open->events[i].track;
        enum gait_kind kind = open->events[i].is_step ? GAIT_KIND_STEP : GAIT_KIND_SPAN;

        end = open_events_group(open, i);
        if (!scan->filter.wanted[track] || !(scan->filter.kinds & 1u << kind))
            continue;
        status = batch_begin(&scan->batch, end - i);
        scan->batch.kind = kind;
        scan->batch.track = track;
        scan->batch.args.dictionary = &shard->dictionary;
        for (; !status && i < end; i++)
            if (event_filter_touches(&scan->filter, open->events[i].start_ns, -1))
                batch_add_open(&scan->batch, &open->events[i]);
        if (!status)
            status = hand_out(scan);
    }
    return status;
}

// Hands out what was gathered of asynchronous spans, track by track.
static int hand_out_async(struct scan *scan, struct batch_async *gathered, size_t count)
{
    size_t i = 0;
    int status = 0;

    batch_sort_async(gathered, count);
    while (!status && i < count) {
        status = batch_begin(&scan->batch, count - i);
        if (status)
            return status;
        scan->batch.kind = GAIT_KIND_ASYNC;
        scan->batch.track = gathered[i].track;
        for (; i < count && gathered[i].track == scan->batch.track; i++)
            batch_add_async(&scan->batch, &gathered[i]);
        status = hand_out(scan);
    }
    return status;
}

// 1 when the row is the begin of a span that is wanted.
static int pair_row(struct scan *scan, struct async_pairs *pairs, const struct merge_row *row,
                    struct batch_async *ret_async)
{
    const struct event_frame *frame = row->frame;
    int64_t start_ns = frame->start_ns[row->row];
    int64_t end_ns;

    if (frame->numbers[ROLE_PHASE][row->row])
        return 0;
    int status = async_pairs_next(pairs, start_ns, &end_ns);
    if (status)
        return status;
    *ret_async = (struct batch_async){.start_ns = start_ns,
                                      .duration_ns = async_pairs_duration(start_ns, end_ns),
                                      .id = frame->numbers[ROLE_ID][row->row],
                                      .site = (uint32_t)frame->numbers[ROLE_SITE][row->row],
                                      .track = frame->track};
    return scan->filter.wanted[frame->track] &&
           event_filter_touches(&scan->filter, start_ns, ret_async->duration_ns);
}

struct gathering {
    struct batch_async *spans;
    size_t capacity;
};

static int gather_async(struct scan *scan, struct merge *merge, struct async_pairs *pairs,
                        const struct gathering *gathering)
{
    struct batch_async *gathered = gathering->spans;
    struct merge_row row;
    size_t count = 0;
    int got;

    while ((got = merge_next(merge, &row)) == 1) {
        got = pair_row(scan, pairs, &row, &gathered[count]);
        if (got < 0)
            break;
        count += (size_t)got;
        if (count < gathering->capacity)
            continue;
        got = hand_out_async(scan, gathered, count);
        if (got)
            return got;
        count = 0;
    }
    return got ? got : hand_out_async(scan, gathered, count);
}

static int scan_async(struct scan *scan, size_t rows)
{
    struct merge_choice choice = {.kinds = 1u << GAIT_KIND_ASYNC};
    struct gathering gathering = {.capacity = rows < ASYNC_BATCH ? rows : ASYNC_BATCH};
    struct async_pairs pairs;
    struct merge merge;
    int status = 0;

    gathering.spans = malloc(gathering.capacity * sizeof(*gathering.spans));
    if (!gathering.spans)
        status = fail(GAIT_ERR_MEMORY, "no memory for asynchronous spans");

    if (!status)
        status = merge_open(&merge, scan->run, &choice);
    if (status) {
        free(gathering.spans);
        return status;
    }
    status = async_pairs_open(&pairs, scan->run, NULL);
    if (!status)
        status = gather_async(scan, &merge, &pairs, &gathering);
    async_pairs_close(&pairs);
    merge_close(&merge);
    free(gathering.spans);
    return status;
}

static int scan_all(struct scan *scan)
{
    size_t paired_rows = 0;
    int status = 0;

    for (uint32_t i = 0; !status && i < scan->run->shard_count; i++)
        status = scan_frames(scan, scan->run->shards[i], &paired_rows);
    if (!status && paired_rows)
        status = scan_async(scan, paired_rows);
    for (uint32_t i = 0; !status && i < scan->run->shard_count; i++)
        status = scan_open(scan, scan->run->shards[i]);
    return status;
}

int gait_scan(struct gait_trace *trace, const struct gait_query *query, uint32_t columns,
              gait_batch_visit *visit, void *context)
{
    struct scan scan = {.columns = columns, .visit = visit, .context = context};

    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(visit);
    scan.run = &trace->run;
    event_frame_init(&scan.frame);
    arg_list_init(&scan.batch.args.list);
    int status = event_decoder_init(&scan.decoder);
    if (!status)
        status = event_filter_init(&scan.filter, scan.run, query);
    if (!status)
        status = scan_all(&scan);
    event_filter_finish(&scan.filter);
    event_decoder_finish(&scan.decoder);
    event_frame_finish(&scan.frame);
    batch_finish(&scan.batch);
    return status;
}
