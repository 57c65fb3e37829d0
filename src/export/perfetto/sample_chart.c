// SPDX-License-Identifier: Apache-2.0
// Sampled stacks over time, as the Trace Event Format: a call is a B and an E on
// its thread. Calls that two samples in a row share are one. All that is held is
// the stack that is open on each thread.
#define _GNU_SOURCE
#include "export/perfetto/sample_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "export/number_map.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "export/text_cache.h"
#include "load/run.h"
#include "load/shard/clock_map.h"
#include "load/stack_label.h"
#include "load/stack_rows.h"
#include "vocabulary/metadata.h"

#define DAY_NS 86400000000000
#define DEPTH_LIMIT 65536u
#define TRACK_LIMIT (16u << 20)
#define SHARD_PIDS 4194304 // a system's numbers end there

struct chart_track {
    uint32_t *open; // ids of stacks, outermost first
    size_t depth, room;
    int64_t begun_ns, end_ns; // of the last sample; end: if nothing is known of the next
    uint64_t weight, pid, tid;
    bool is_named;
};

struct chart {
    const struct export_run *export;
    struct run *run;
    struct output_stream *out;
    struct stack_rows stacks;
    struct text_cache sites;
    struct number_map used_tids;
    uint64_t next_tid;
    struct chart_track *tracks;
    size_t track_room;
    uint32_t *path;
    size_t path_room;
    uint32_t shard;
    int64_t base_ns;
    double period_ns; // between rounds
    bool has_events;
};

static int make_site(void *context, uint32_t number, struct buffer *out)
{
    struct chart *chart = context;
    const struct gait_site_info *site = &chart->run->sites.sites[number];
    int status = buffer_printf(out, ",\"cat\":\"python\",\"name\":");
    if (!status)
        status = utf8_append_json(out, site->name, strlen(site->name));
    if (!status)
        status = buffer_printf(out, ",\"args\":{\"file\":");
    return status ? status : utf8_append_json(out, site->file, strlen(site->file));
}

static void put_number(struct chart *chart, const char *before, uint64_t value)
{
    output_text(chart->out, before);
    output_advance(chart->out, number_put_uint(output_reserve(chart->out, NUMBER_TEXT_MAX), value));
}

static void begin_event(struct chart *chart, const char *head, uint32_t track)
{
    output_text(chart->out, chart->has_events ? ",\n" : "\n");
    output_text(chart->out, head);
    put_number(chart, ",\"pid\":", chart->tracks[track].pid);
    put_number(chart, ",\"tid\":", chart->tracks[track].tid);
    chart->has_events = true;
}

static void put_time(struct chart *chart, int64_t time_ns)
{
    int64_t since_base;
    if (__builtin_sub_overflow(time_ns, chart->base_ns, &since_base))
        since_base = INT64_MIN;
    output_text(chart->out, ",\"ts\":");
    output_advance(chart->out,
                   number_put_thousandths(output_reserve(chart->out, NUMBER_TEXT_MAX), since_base));
}

static int begin_call(struct chart *chart, uint32_t track, uint32_t stack, int64_t time_ns)
{
    const struct stack_row *row = &chart->stacks.rows[stack];
    struct slice text;
    int status = text_cache_get(&chart->sites, row->site, &text);
    if (status)
        return status;
    begin_event(chart, "{\"ph\":\"B\"", track);
    put_time(chart, time_ns);
    output_write(chart->out, text.bytes, text.count);
    if (row->line)
        put_number(chart, ",\"line\":", row->line);
    output_text(chart->out, "}}");
    return 0;
}

static void end_calls(struct chart *chart, uint32_t track, size_t depth, int64_t time_ns)
{
    struct chart_track *at = &chart->tracks[track];
    for (; at->depth > depth; at->depth--) {
        begin_event(chart, "{\"ph\":\"E\"", track);
        put_time(chart, time_ns);
        output_text(chart->out, "}");
    }
}

static int name_it(struct chart *chart, const char *head, uint32_t track, const char *name)
{
    struct buffer quoted;
    buffer_init(&quoted, 1u << 20);
    int status = utf8_append_json(&quoted, name, strlen(name));
    if (!status) {
        begin_event(chart, head, track);
        output_text(chart->out, ",\"args\":{\"name\":");
        output_write(chart->out, quoted.bytes, quoted.used);
        output_text(chart->out, "}}");
    }
    buffer_finish(&quoted);
    return status;
}

static const struct gait_site_info *site_of(const struct chart *chart, uint32_t stack)
{
    return &chart->run->sites.sites[chart->stacks.rows[stack].site];
}

static bool is_call(const struct chart *chart, uint32_t stack)
{
    return stack_rows_owner(site_of(chart, stack)) == FRAME_NONE;
}

static int name_process(struct chart *chart, uint32_t track, const char *process)
{
    const char *json = dictionary_meta(&chart->run->shards[chart->shard]->dictionary, meta.program);
    struct buffer program;
    buffer_init(&program, 1u << 16);
    int status = process || !json ? 0 : json_decode(json, &program);
    if (!status)
        status = name_it(chart, "{\"ph\":\"M\",\"name\":\"process_name\"", track,
                         process        ? process
                         : program.used ? (const char *)program.bytes
                                        : "python");
    buffer_finish(&program);
    return status;
}

// A thread that was lost and found again has a track for each time: viewers would
// take them for one.
static int number_thread(struct chart *chart, struct chart_track *at, int64_t tid)
{
    const bool is_free =
        tid > 0 && tid < SHARD_PIDS && !number_map_get(&chart->used_tids, (uint64_t)tid);
    at->tid = is_free ? (uint64_t)tid : SHARD_PIDS + chart->next_tid++;
    return number_map_put(&chart->used_tids, at->tid, 1);
}

// A thread's process is the outermost frame of its stacks, or the only one.
static int name_track(struct chart *chart, uint32_t track, uint32_t stack)
{
    struct chart_track *at = &chart->tracks[track];
    const struct gait_shard_info *about = &chart->run->shards[chart->shard]->info;
    const struct gait_track_info *info = &chart->run->tracks.tracks[track].info;
    const char *process = NULL;
    for (uint32_t id = stack; id; id = chart->stacks.rows[id].parent)
        if (stack_rows_owner(site_of(chart, id)) == FRAME_PROCESS)
            process = site_of(chart, id)->name;
    const long long pid = process ? stack_label_pid(process) : about->subject_pid;
    at->is_named = true;
    int status = number_thread(chart, at, info->tid);
    if (status)
        return status;
    at->pid =
        (uint64_t)(pid > 0 && pid < SHARD_PIDS ? pid : 1) + (uint64_t)chart->shard * SHARD_PIDS;
    status = name_process(chart, track, process);
    return status || !*info->name
               ? status
               : name_it(chart, "{\"ph\":\"M\",\"name\":\"thread_name\"", track, info->name);
}

static struct chart_track *track_of(struct chart *chart, uint32_t number)
{
    return ARRAY_RESERVE_ZEROED(chart->tracks, chart->track_room, (size_t)number + 1, TRACK_LIMIT)
               ? NULL
               : &chart->tracks[number];
}

// The calls of a stack, outermost first, in chart->path.
static int lay_path(struct chart *chart, uint32_t stack, size_t *ret_depth)
{
    size_t depth = 0;
    for (uint32_t id = stack; id && depth < DEPTH_LIMIT; id = chart->stacks.rows[id].parent)
        depth += is_call(chart, id);
    int status = ARRAY_RESERVE(chart->path, chart->path_room, depth + 1, DEPTH_LIMIT + 1);
    *ret_depth = depth;
    for (uint32_t id = stack; id && depth && !status; id = chart->stacks.rows[id].parent)
        if (is_call(chart, id))
            chart->path[--depth] = id;
    return status;
}

// Rounds are made at random times: a thread was away in between when the next
// sample comes later than so many rounds may take.
static bool is_next(const struct chart *chart, const struct chart_track *at, int64_t start_ns)
{
    const double rounds = (double)at->weight;
    return (double)start_ns - (double)at->begun_ns <=
           (rounds + 4 * sqrt(rounds) + 4) * chart->period_ns;
}

static int open_calls(struct chart *chart, uint32_t track, size_t depth, int64_t start_ns)
{
    struct chart_track *at = &chart->tracks[track];
    const struct stack_row *rows = chart->stacks.rows;
    size_t same = 0;
    int status = ARRAY_RESERVE(at->open, at->room, depth + 1, DEPTH_LIMIT + 1);
    while (same < depth && same < at->depth &&
           rows[at->open[same]].site == rows[chart->path[same]].site)
        same++;
    if (status == 0)
        end_calls(chart, track, same, start_ns);
    for (; at->depth < depth && status == 0; at->depth++) {
        at->open[at->depth] = chart->path[at->depth];
        status = begin_call(chart, track, chart->path[at->depth], start_ns);
    }
    return status;
}

static int take_sample(void *context, const struct stack_sample *sample)
{
    struct chart *chart = context;
    struct chart_track *at = track_of(chart, sample->track);
    if (!at)
        return GAIT_ERR_MEMORY; // the story is told
    if (!sample->stack || sample->stack >= chart->stacks.count || !sample->weight ||
        sample_word_has(sample->state, SAMPLE_ASIDE))
        return 0;
    int64_t start_ns = clock_map_ns(chart->run->tracks.tracks[sample->track].map, sample->tick);
    if (!export_wants(chart->export, sample->track, start_ns))
        return 0;
    size_t depth;
    int status = lay_path(chart, sample->stack, &depth);
    if (!status && !at->is_named)
        status = name_track(chart, sample->track, sample->stack);
    if (status)
        return status;
    if (at->depth && start_ns < at->begun_ns)
        start_ns = at->begun_ns;
    if (at->depth && !is_next(chart, at, start_ns))
        end_calls(chart, sample->track, 0, at->end_ns < start_ns ? at->end_ns : start_ns);
    status = open_calls(chart, sample->track, depth, start_ns);
    at->begun_ns = start_ns;
    at->weight = sample->weight;
    if (__builtin_add_overflow(
            start_ns, (int64_t)fmin((double)sample->weight * chart->period_ns, 1e18), &at->end_ns))
        at->end_ns = INT64_MAX;
    return status ? status : chart->out->status;
}

static int write_shard(struct chart *chart, uint32_t index)
{
    chart->shard = index;
    chart->period_ns = stack_rows_period(chart->run->shards[index]);
    int status = stack_rows_load(&chart->stacks, chart->run, index);
    if (status == 0)
        status = stack_rows_samples(chart->run, index, take_sample, chart);
    for (size_t i = 0; i < chart->track_room && status == 0; i++)
        if (chart->tracks[i].depth)
            end_calls(chart, (uint32_t)i, 0, chart->tracks[i].end_ns);
    stack_rows_finish(&chart->stacks);
    return status;
}

static void find_base(struct chart *chart)
{
    int64_t first_ns = 0;
    for (uint32_t i = 0; i < chart->run->shard_count; i++) {
        const int64_t start_ns = chart->run->shards[i]->info.start_ns;
        if (start_ns > 0 && (start_ns < first_ns || first_ns == 0))
            first_ns = start_ns;
    }
    chart->base_ns = first_ns - first_ns % DAY_NS;
}

int sample_chart_write(const struct export_run *export)
{
    struct chart chart = {.export = export, .run = &export->trace->run, .out = export->out};
    int status = 0;
    text_cache_init(&chart.sites, make_site, &chart);
    number_map_init(&chart.used_tids, TRACK_LIMIT);
    find_base(&chart);
    put_number(&chart,
               "{\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":", (uint64_t)chart.base_ns);
    output_text(chart.out, ",\n\"otherData\":{\"recorder\":\"gait\"},\n\"traceEvents\":[");
    for (uint32_t i = 0; i < chart.run->shard_count && status == 0; i++)
        status = write_shard(&chart, i);
    output_text(chart.out, "\n]}\n");
    for (size_t i = 0; i < chart.track_room; i++)
        free(chart.tracks[i].open);
    free(chart.tracks);
    free(chart.path);
    text_cache_finish(&chart.sites);
    number_map_finish(&chart.used_tids);
    return status;
}
