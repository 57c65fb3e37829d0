// SPDX-License-Identifier: Apache-2.0
// Spans come from the facts of a rank, slice by slice, the rest from a cursor. A span's number
// tells by its last bits how it was counted: rows of the host, calls that launch, work of devices.
#include "export/parquet/rank_rows.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "export/exporter.h"
#include "export/output/output_stream.h"
#include "facts/launches.h"
#include "facts/rank_stream.h"
#include "load/arg_list.h"
#include "load/order/event_feed.h"
#include "load/site_role.h"

enum { OF_HOST = 1, OF_CALLS, OF_DEVICES, COUNT_SHIFT = 2, SHARD_SHIFT = 36, MOST_ROWS = 1 << 28 };

struct open_row {
    int64_t end_ns, number;
};

struct host_row { // of the slice
    int64_t number;
    int64_t around; // the op or range around a call that was recorded apart from it; 0: none
};

struct nest { // of a track
    struct open_row *rows;
    size_t depth, capacity;
};

struct rank_rows {
    const struct export_run *run;
    rank_rows_take *take;
    void *context;
    uint32_t shard;
    struct launches launches;
    uint8_t *kinds; // of a site: all are one to us
    struct feed feed;
    struct nest *nests;
    size_t *firsts;         // of the slice's tracks in `hosts`
    struct host_row *hosts; // the slice's rows on the host
    size_t first_capacity, host_capacity;
    uint32_t host_rows, device_rows;
    size_t step; // that began last
    struct arg_list args;
    struct event_feed others; // what is no span
};

// --- numbers ---------------------------------------------------------------------------

static int64_t number_of(const struct rank_rows *rows, unsigned how, uint32_t count)
{
    return (int64_t)((uint64_t)rows->shard << SHARD_SHIFT | (uint64_t)count << COUNT_SHIFT | how);
}

// Before the calls find their ops, of which they keep the count.
static int see(void *context, const struct fact_slice *slice, const struct feed_head *head,
               uint32_t *ret_count)
{
    struct rank_rows *rows = context;
    const size_t track = (size_t)(head->track - slice->tracks);
    const bool launches = head->kind == LAUNCH_CALL && head->row->link;
    const uint32_t count = launches ? rows->launches.call_count : rows->host_rows++;
    const struct launch_op *around =
        head->kind != LAUNCH_CALL || head->track->shard == rows->shard
            ? NULL
            : launches_around(&rows->launches, launches_thread(&rows->launches, track),
                              head->start_ns);
    rows->hosts[rows->firsts[track] + (size_t)(head->row - head->track->rows)] = (struct host_row){
        number_of(rows, launches ? OF_CALLS : OF_HOST, count),
        around && around->end_ns >= head->end_ns ? number_of(rows, OF_HOST, around->site) : 0};
    *ret_count = count;
    return GAIT_OK;
}

static int number_slice(struct rank_rows *rows, const struct fact_slice *slice)
{
    size_t count = 0;
    int status = ARRAY_RESERVE(rows->firsts, rows->first_capacity, slice->count + 1, MOST_ROWS);
    for (size_t i = 0; i < slice->count && !status; i++) {
        rows->firsts[i] = count;
        count += slice->tracks[i].count;
    }
    if (!status)
        status = ARRAY_RESERVE(rows->hosts, rows->host_capacity, count + 1, MOST_ROWS);
    return status ? status : launches_add(&rows->launches, slice);
}

// --- rows ------------------------------------------------------------------------------

static int give(struct rank_rows *rows, const struct rank_row *row)
{
    if (!export_wants(rows->run, row->event->track, row->event->start_ns))
        return GAIT_OK;
    const int status = rows->take(rows->context, row);
    return status ? status : rows->run->out->status;
}

static int64_t step_at(struct rank_rows *rows, int64_t at_ns)
{
    const struct gait_export_options *options = rows->run->options;
    size_t low = 0, high = options->step_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (options->steps[middle].begin_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && at_ns < options->steps[low - 1].end_ns ? (int64_t)options->steps[low - 1].number
                                                         : -1;
}

static int give_other(void *context, const struct gait_event *event)
{
    struct rank_rows *rows = context;
    const struct rank_row row = {.event = event, .step = step_at(rows, event->start_ns)};
    return export_is_aside(event) ? GAIT_OK : give(rows, &row);
}

// The innermost row of the track that holds all of it; it is pushed itself.
static int enter(struct rank_rows *rows, const struct feed_head *head, int64_t number,
                 int64_t *ret_parent)
{
    struct nest *nest = &rows->nests[head->track->track];
    const struct open_row *top;
    while (nest->depth && (top = &nest->rows[nest->depth - 1],
                           top->end_ns <= head->start_ns || top->end_ns < head->end_ns))
        nest->depth--;
    *ret_parent = nest->depth ? nest->rows[nest->depth - 1].number : 0;
    return ARRAY_ADD(nest->rows, nest->depth, nest->capacity, MOST_ROWS,
                     &(struct open_row){head->end_ns, number});
}

static void tell_launch(struct rank_rows *rows, const struct feed_head *head, struct rank_row *row,
                        int64_t *ret_at_ns)
{
    const struct launch *launch =
        launches_find(&rows->launches, head->track->shard, head->row->link, head->start_ns);
    if (!launch)
        return;
    *ret_at_ns = launch->start_ns;
    row->launch = number_of(rows, OF_CALLS, launch->number);
    if (launch->op != GAIT_NO_SITE)
        row->op = number_of(rows, OF_HOST, launch->op);
}

static int give_span(struct rank_rows *rows, const struct fact_slice *slice,
                     const struct feed_head *head)
{
    struct gait_trace *trace = rows->run->trace;
    const size_t track = (size_t)(head->track - slice->tracks);
    struct gait_event event = {.kind = GAIT_KIND_SPAN,
                               .track = head->track->track,
                               .site = head->row->site,
                               .start_ns = head->start_ns,
                               .duration_ns =
                                   head->end_ns == FACT_OPEN ? -1 : head->end_ns - head->start_ns};
    struct rank_row row = {.event = &event};
    struct gait_site_info site;
    int64_t at_ns = head->start_ns, around = 0;
    int status = gait_trace_site(trace, event.site, &site);
    if (status)
        return status;
    event.name = site.name;
    event.category = site.category;
    if (role_is_device_work(site_role(trace, event.site))) {
        row.row = number_of(rows, OF_DEVICES, rows->device_rows++);
        tell_launch(rows, head, &row, &at_ns);
    } else {
        const struct host_row *host =
            &rows->hosts[rows->firsts[track] + (size_t)(head->row - head->track->rows)];
        row.row = host->number;
        around = host->around;
    }
    row.step = step_at(rows, at_ns);
    status = enter(rows, head, row.row, &row.parent);
    row.parent = row.parent ? row.parent : around;
    if (!status)
        status = fact_arg_list(slice, head->row, &rows->args);
    event.args = rows->args.args;
    event.arg_count = rows->args.count;
    return status ? status : give(rows, &row);
}

static int give_slice(struct rank_rows *rows, const struct fact_slice *slice)
{
    const struct feed_head *head;
    int status = number_slice(rows, slice);
    if (!status)
        status = feed_begin(&rows->feed, slice, rows->kinds);
    while (!status && (head = feed_next(&rows->feed))) {
        const int64_t start_ns = head->start_ns; // those that start with it come before it
        status =
            event_feed_until(&rows->others, start_ns + (start_ns < INT64_MAX), give_other, rows);
        if (!status)
            status = give_span(rows, slice, head);
    }
    return status;
}

// --- all -------------------------------------------------------------------------------

static int open_others(struct rank_rows *rows)
{
    const struct gait_export_options *options = rows->run->options;
    const struct gait_query query = {.size = sizeof query,
                                     .kinds =
                                         ((1u << GAIT_KIND_COUNT) - 1) & ~(1u << GAIT_KIND_SPAN),
                                     .since_ns = options->since_ns,
                                     .until_ns = options->until_ns,
                                     .internal = options->internal};
    return event_feed_open(&rows->others, rows->run->trace, rows->shard, &query);
}

static int prepare(struct rank_rows *rows)
{
    struct gait_trace *trace = rows->run->trace;
    const uint32_t sites = gait_trace_site_count(trace);
    int status = launches_init(&rows->launches, trace, rows->shard, 0);
    rows->launches.visit = see;
    rows->launches.context = rows;
    rows->kinds = calloc((size_t)sites + 1, sizeof *rows->kinds);
    rows->nests = calloc((size_t)gait_trace_track_count(trace) + 1, sizeof *rows->nests);
    if (!status && (!rows->kinds || !rows->nests))
        status = fail(GAIT_ERR_MEMORY, "no memory for the rows of a process");
    for (uint32_t i = 0; i < sites && !status; i++)
        if (rows->launches.kinds[i] == FEED_NO_KIND && !role_is_device_work(site_role(trace, i)))
            rows->launches.kinds[i] = LAUNCH_BESIDE;
    return status ? status : open_others(rows);
}

static int read_all(struct rank_rows *rows, struct rank_stream *stream)
{
    struct fact_slice slice;
    int is_more, status = launches_survey(&rows->launches, stream);
    while (!status && (is_more = rank_stream_next(stream, &slice)))
        status = is_more == 1 ? give_slice(rows, &slice) : is_more;
    return status ? status : event_feed_until(&rows->others, INT64_MAX, give_other, rows);
}

static void finish(struct rank_rows *rows)
{
    for (uint32_t i = 0; rows->nests && i < gait_trace_track_count(rows->run->trace); i++)
        free(rows->nests[i].rows);
    free(rows->nests);
    free(rows->kinds);
    free(rows->firsts);
    free(rows->hosts);
    feed_finish(&rows->feed);
    launches_finish(&rows->launches);
    arg_list_finish(&rows->args);
    event_feed_close(&rows->others);
}

int rank_rows_each(const struct export_run *run, uint32_t shard, rank_rows_take *take,
                   void *context)
{
    struct rank_rows rows = {.run = run, .take = take, .context = context, .shard = shard};
    const struct stream_wish wish = {.columns = FACT_LINKS | FACT_ARGS,
                                     .has_internal = run->options->internal};
    struct rank_stream *stream = NULL;
    arg_list_init(&rows.args);
    int status = prepare(&rows);
    if (!status)
        status = rank_stream_open(&stream, run->trace, shard, &wish);
    if (!status)
        status = read_all(&rows, stream);
    rank_stream_close(stream);
    finish(&rows);
    return status;
}
