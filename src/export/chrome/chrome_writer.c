// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "export/chrome/chrome_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"
#include "export/chrome/args_json.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"

#define DAY_NS 86400000000000
#define MAX_TEXT_BYTES ((size_t)1 << 30)

static int put_names(struct buffer *out, const char *category, const char *name)
{
    int status = buffer_printf(out, ",\"cat\":");
    if (!status)
        status = utf8_append_json(out, category, strlen(category));
    if (!status)
        status = buffer_printf(out, ",\"name\":");
    return status ? status : utf8_append_json(out, name, strlen(name));
}

static int make_site(void *context, uint32_t site, struct buffer *out)
{
    struct chrome_writer *chrome = context;
    struct gait_site_info info;
    int status = gait_trace_site(chrome->trace, site, &info);
    return status ? status : put_names(out, info.category, info.name);
}

// Midnight (UTC) of the first day: a double, in which most readers keep times,
// holds every nanosecond from there, and exports of one day can be laid side
// by side.
static int find_base(struct chrome_writer *chrome)
{
    struct gait_shard_info info;
    int64_t first_ns = 0;
    for (uint32_t i = 0; i < gait_trace_shard_count(chrome->trace); i++) {
        int status = gait_trace_shard(chrome->trace, i, &info);
        if (status)
            return status;
        if (info.start_ns > 0 && (info.start_ns < first_ns || first_ns == 0))
            first_ns = info.start_ns;
    }
    chrome->base_ns = first_ns - first_ns % DAY_NS;
    return GAIT_OK;
}

int chrome_writer_init(struct chrome_writer *chrome, const struct export_run *run)
{
    *chrome = (struct chrome_writer){.trace = run->trace, .out = run->out};
    text_cache_init(&chrome->sites, make_site, chrome);
    buffer_init(&chrome->text, MAX_TEXT_BYTES);
    int status = process_table_init(&chrome->processes, run->trace);
    if (!status)
        status = lane_table_init(&chrome->lanes, chrome->processes.track_count);
    if (!status)
        status = find_base(chrome);
    chrome->is_named = calloc((size_t)chrome->processes.shard_count + 1, 1);
    if (!status && !chrome->is_named)
        status = fail(GAIT_ERR_MEMORY, "no memory for the processes of a trace");
    if (status)
        chrome_writer_finish(chrome);
    return status;
}

void chrome_writer_finish(struct chrome_writer *chrome)
{
    free(chrome->is_named);
    chrome->is_named = NULL;
    text_cache_finish(&chrome->sites);
    lane_table_finish(&chrome->lanes);
    process_table_finish(&chrome->processes);
    buffer_finish(&chrome->text);
}

void chrome_writer_begin(struct chrome_writer *chrome, char phase)
{
    static const char frame[] = ",\n{\"ph\":\"?\"";
    size_t skipped = chrome->has_events ? 0 : 1;
    char *put = output_reserve(chrome->out, sizeof(frame));
    memcpy(put, frame + skipped, sizeof(frame) - 1 - skipped);
    put += sizeof(frame) - 1 - skipped;
    put[-2] = phase;
    chrome->has_events = true;
    output_advance(chrome->out, put);
}

void chrome_writer_end(struct chrome_writer *chrome)
{
    output_write(chrome->out, "}", 1);
}

int chrome_writer_site(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct slice text;
    int status;
    if (event->site != GAIT_NO_SITE) {
        status = text_cache_get(&chrome->sites, event->site, &text);
    } else {
        chrome->text.used = 0;
        status = put_names(&chrome->text, event->category, event->name);
        text = (struct slice){chrome->text.bytes, chrome->text.used};
    }
    if (!status)
        output_write(chrome->out, text.bytes, text.count);
    return status;
}

void chrome_writer_number(struct chrome_writer *chrome, const char *before, uint64_t value)
{
    output_text(chrome->out, before);
    char *put = output_reserve(chrome->out, NUMBER_TEXT_MAX);
    output_advance(chrome->out, number_put_uint(put, value));
}

void chrome_writer_time(struct chrome_writer *chrome, const char *before, int64_t time_ns)
{
    output_text(chrome->out, before);
    char *put = output_reserve(chrome->out, NUMBER_TEXT_MAX);
    output_advance(chrome->out, number_put_thousandths(put, time_ns));
}

void chrome_writer_place(struct chrome_writer *chrome, const struct chrome_place *place)
{
    int64_t since_base;
    if (__builtin_sub_overflow(place->start_ns, chrome->base_ns, &since_base))
        since_base = INT64_MIN;
    chrome_writer_number(chrome, ",\"pid\":", place->pid);
    chrome_writer_number(chrome, ",\"tid\":", place->tid);
    chrome_writer_time(chrome, ",\"ts\":", since_base);
}

int chrome_writer_args(struct chrome_writer *chrome, const struct gait_event *event)
{
    int status = GAIT_OK;
    if (!chrome->text.used && !event->arg_count)
        return status;
    if (chrome->text.used && event->arg_count)
        status = buffer_append(&chrome->text, ",", 1);
    if (!status)
        status = args_json_append(&chrome->text, event->args, event->arg_count);
    output_text(chrome->out, ",\"args\":{");
    output_write(chrome->out, chrome->text.bytes, chrome->text.used);
    output_text(chrome->out, "}");
    return status;
}

int chrome_writer_quote(struct chrome_writer *chrome)
{
    struct buffer quoted;
    buffer_init(&quoted, MAX_TEXT_BYTES);
    int status = utf8_append_json(&quoted, (const char *)chrome->text.bytes, chrome->text.used);
    if (!status)
        output_write(chrome->out, quoted.bytes, quoted.used);
    buffer_finish(&quoted);
    return status;
}

// A name: what it is of, and the text that stands in chrome->text.
static int write_name(struct chrome_writer *chrome, const char *what,
                      const struct chrome_place *place)
{
    chrome_writer_begin(chrome, 'M');
    output_text(chrome->out, ",\"name\":\"");
    output_text(chrome->out, what);
    output_text(chrome->out, "\"");
    chrome_writer_place(chrome, place);
    output_text(chrome->out, ",\"args\":{\"name\":");
    int status = chrome_writer_quote(chrome);
    output_text(chrome->out, "}}");
    return status;
}

static void write_order(struct chrome_writer *chrome, const char *what, uint64_t order,
                        const struct chrome_place *place)
{
    chrome_writer_begin(chrome, 'M');
    output_text(chrome->out, ",\"name\":\"");
    output_text(chrome->out, what);
    output_text(chrome->out, "\"");
    chrome_writer_place(chrome, place);
    chrome_writer_number(chrome, ",\"args\":{\"sort_index\":", order);
    output_text(chrome->out, "}}");
}

static int name_process(struct chrome_writer *chrome, uint32_t shard)
{
    struct gait_shard_info info;
    uint32_t pid = chrome->processes.pids[shard];
    struct chrome_place place = {pid, pid, chrome->base_ns};
    chrome->is_named[shard] = 1;
    chrome->text.used = 0;
    int status = gait_trace_shard(chrome->trace, shard, &info);
    if (!status)
        status = process_table_name_shard(&chrome->processes, shard, &chrome->text);
    if (!status)
        status = write_name(chrome, "process_name", &place);
    if (!status)
        write_order(chrome, "process_sort_index", info.rank >= 0 ? (uint64_t)info.rank : shard,
                    &place);
    return status;
}

// Gives a lane its number and says its name.
static int name_lane(struct chrome_writer *chrome, uint32_t track, enum lane_role role,
                     uint32_t lane, uint64_t *number)
{
    struct process_table *processes = &chrome->processes;
    uint32_t shard = processes->shards[track];
    int status = chrome->is_named[shard] ? GAIT_OK : name_process(chrome, shard);
    chrome->text.used = 0;
    if (!status)
        status = process_table_name_track(processes, track, &chrome->text);
    if (!status)
        status = lane_table_name(role, lane, &chrome->text);
    if (status)
        return status;
    bool is_track = role == LANE_SPANS && lane == 0;
    *number = is_track ? processes->tids[track] : process_table_new_tid(processes);
    struct chrome_place place = {processes->pids[shard], *number, chrome->base_ns};
    // derived steps stand where a thread's steps do
    write_order(chrome, "thread_sort_index",
                (uint64_t)track * LANE_DERIVED + (role == LANE_DERIVED ? LANE_STEPS : role),
                &place);
    return write_name(chrome, "thread_name", &place);
}

static int enter_lane(struct chrome_writer *chrome, const struct gait_event *event,
                      enum lane_role role, const struct lane_span *span,
                      struct chrome_place *ret_place)
{
    static const struct lanes_listener nobody = {NULL, NULL};
    struct lane_group *group = NULL;
    uint64_t *number = NULL;
    uint32_t lane = 0;
    int status = lane_table_group(&chrome->lanes, event->track, role, &group);
    if (!status && span)
        status = lanes_place(&group->lanes, span, &nobody, &lane);
    if (!status)
        status = lane_group_number(group, lane, &number);
    if (!status && !*number)
        status = name_lane(chrome, event->track, role, lane, number);
    if (!status)
        *ret_place = (struct chrome_place){process_table_pid(&chrome->processes, event->track),
                                           *number, event->start_ns};
    return status;
}

int chrome_writer_lane(struct chrome_writer *chrome, const struct gait_event *event,
                       enum lane_role role, struct chrome_place *ret_place)
{
    struct lane_span span = lanes_span(event->start_ns, event->duration_ns, event->depth);
    return enter_lane(chrome, event, role, &span, ret_place);
}

int chrome_writer_track(struct chrome_writer *chrome, const struct gait_event *event,
                        struct chrome_place *ret_place)
{
    return enter_lane(chrome, event, LANE_SPANS, NULL, ret_place);
}
