// SPDX-License-Identifier: Apache-2.0
// The Trace Event Format: an object whose traceEvents are spans, steps and
// drops (X), marks, samples, memory and logs (i), counters (C), async spans
// (b, e), flows (s, t, f) and names (M). Times are microseconds with three
// decimals after baseTimeNanoseconds. Spans that overlap get further lanes, for
// a thread is drawn as one stack. What was still open is a B without its E.
#include "export/chrome/chrome_json.h"

#include <string.h>

#include <gait/trace.h>

#include "base/utf8.h"
#include "export/chrome/args_json.h"
#include "export/chrome/chrome_foreign.h"
#include "export/chrome/chrome_writer.h"
#include "export/output/output_stream.h"

static void write_duration(struct chrome_writer *chrome, const struct gait_event *event)
{
    if (event->duration_ns >= 0)
        chrome_writer_time(chrome, ",\"dur\":", event->duration_ns);
}

static int take_span(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct chrome_place place;
    int status = chrome_writer_lane(chrome, event, lane_role_of(event, LANE_SPANS), &place);
    if (status)
        return status;
    chrome_writer_begin(chrome, event->duration_ns < 0 ? 'B' : 'X');
    status = chrome_writer_site(chrome, event);
    chrome_writer_place(chrome, &place);
    write_duration(chrome, event);
    chrome->text.used = 0;
    if (!status)
        status = chrome_writer_args(chrome, event);
    chrome_writer_end(chrome);
    return status;
}

static int take_step(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct chrome_place place;
    int status = chrome_writer_lane(chrome, event, lane_role_of(event, LANE_STEPS), &place);
    if (status)
        return status;
    chrome_writer_begin(chrome, event->duration_ns < 0 ? 'B' : 'X');
    output_text(chrome->out, ",\"cat\":\"");
    output_text(chrome->out, event->site == GAIT_NO_SITE ? event->category : "step");
    chrome_writer_number(chrome, "\",\"name\":\"step ", event->id);
    output_text(chrome->out, "\"");
    chrome_writer_place(chrome, &place);
    write_duration(chrome, event);
    chrome_writer_number(chrome, ",\"args\":{\"step\":", event->id);
    output_text(chrome->out, "}");
    chrome_writer_end(chrome);
    return status;
}

static int take_drop(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct chrome_place place;
    int status = chrome_writer_lane(chrome, event, LANE_DROPS, &place);
    if (status)
        return status;
    chrome_writer_begin(chrome, event->duration_ns < 0 ? 'B' : 'X');
    chrome_writer_number(chrome, ",\"cat\":\"drop\",\"name\":\"dropped ", event->id);
    output_text(chrome->out, " events\"");
    chrome_writer_place(chrome, &place);
    write_duration(chrome, event);
    chrome_writer_number(chrome, ",\"args\":{\"events\":", event->id);
    output_text(chrome->out, ",\"reason\":");
    chrome->text.used = 0;
    status = buffer_append(&chrome->text, event->name, strlen(event->name));
    if (!status)
        status = chrome_writer_quote(chrome);
    output_text(chrome->out, "}");
    chrome_writer_end(chrome);
    return status;
}

// A log's text is its name; all else is named by its site.
static int write_instant_name(struct chrome_writer *chrome, const struct gait_event *event)
{
    if (event->kind != GAIT_KIND_LOG)
        return chrome_writer_site(chrome, event);
    output_text(chrome->out, ",\"cat\":\"log\",\"name\":");
    chrome->text.used = 0;
    int status = buffer_append(&chrome->text, event->name, strlen(event->name));
    return status ? status : chrome_writer_quote(chrome);
}

static int put_instant_value(struct buffer *text, const struct gait_event *event)
{
    switch (event->kind) {
    case GAIT_KIND_SAMPLE:
        return buffer_printf(text, "\"weight\":%lld", (long long)event->value);
    case GAIT_KIND_LOG:
        return buffer_printf(text, "\"level\":%lld", (long long)event->value);
    case GAIT_KIND_MEMORY:
        return buffer_printf(text, "\"bytes\":%lld,\"address\":\"0x%llx\"", (long long)event->value,
                             (unsigned long long)event->id);
    default:
        return GAIT_OK;
    }
}

static int take_instant(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct chrome_place place;
    int status = chrome_writer_track(chrome, event, &place);
    if (status)
        return status;
    chrome_writer_begin(chrome, 'i');
    output_text(chrome->out, ",\"s\":\"t\"");
    status = write_instant_name(chrome, event);
    chrome_writer_place(chrome, &place);
    chrome->text.used = 0;
    if (!status)
        status = put_instant_value(&chrome->text, event);
    if (!status)
        status = chrome_writer_args(chrome, event);
    chrome_writer_end(chrome);
    return status;
}

// A gauge that threads set is one of the process; two devices have one each,
// told apart by the counter's id.
static int write_counter_id(struct chrome_writer *chrome, uint32_t track)
{
    struct gait_track_info info;
    int status = gait_trace_track(chrome->trace, track, &info);
    if (status || info.kind == GAIT_TRACK_THREAD)
        return status;
    output_text(chrome->out, ",\"id\":");
    chrome->text.used = 0;
    status = process_table_name_track(&chrome->processes, track, &chrome->text);
    return status ? status : chrome_writer_quote(chrome);
}

static int take_counter(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct gait_arg value = {.key = "value",
                             .kind = event->is_real ? GAIT_ARG_REAL : GAIT_ARG_INT,
                             .integer = event->value,
                             .real = event->real};
    struct chrome_place place;
    int status = chrome_writer_track(chrome, event, &place);
    if (status)
        return status;
    chrome_writer_begin(chrome, 'C');
    status = chrome_writer_site(chrome, event);
    chrome_writer_place(chrome, &place);
    if (!status)
        status = write_counter_id(chrome, event->track);
    chrome->text.used = 0;
    if (!status)
        status = args_json_append(&chrome->text, &value, 1);
    if (!status)
        status = chrome_writer_args(chrome, event);
    chrome_writer_end(chrome);
    return status;
}

static int begin_async(struct chrome_writer *chrome, const struct gait_event *event, char phase,
                       const struct chrome_place *place)
{
    chrome_writer_begin(chrome, phase);
    chrome_writer_number(chrome, ",\"id2\":{\"local\":\"", chrome->async_count);
    output_text(chrome->out, "\"}");
    int status = chrome_writer_site(chrome, event);
    chrome_writer_place(chrome, place);
    return status;
}

// Viewers pair b and e by id and get lost when an id is used again too early,
// so each span has an id of its own here; args hold the one it was given.
static int take_async(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct chrome_place place;
    int status = chrome_writer_track(chrome, event, &place);
    if (status)
        return status;
    chrome->async_count++;
    status = begin_async(chrome, event, 'b', &place);
    chrome->text.used = 0;
    if (!status)
        status = buffer_printf(&chrome->text, "\"id\":%llu", (unsigned long long)event->id);
    if (!status)
        status = chrome_writer_args(chrome, event);
    chrome_writer_end(chrome);
    if (status || event->duration_ns < 0)
        return status;
    place.start_ns = lanes_span(event->start_ns, event->duration_ns, 0).end;
    status = begin_async(chrome, event, 'e', &place);
    chrome_writer_end(chrome);
    return status;
}

static int take_flow(struct chrome_writer *chrome, const struct gait_event *event)
{
    struct chrome_place place;
    if ((unsigned)event->phase > 2)
        return GAIT_OK;
    int status = chrome_writer_track(chrome, event, &place);
    if (status)
        return status;
    chrome_writer_begin(chrome, "stf"[event->phase]);
    // ids are the process's own, but readers join them across processes
    chrome->text.used = 0;
    status = buffer_printf(
        &chrome->text, "0x%llx",
        (unsigned long long)process_table_joint(&chrome->processes, event, event->id));
    output_text(chrome->out, ",\"id\":");
    if (!status)
        status = chrome_writer_quote(chrome);
    if (event->phase == 2) // to the span around the end, not to the next one
        output_text(chrome->out, ",\"bp\":\"e\"");
    if (!status)
        status = chrome_writer_site(chrome, event);
    chrome_writer_place(chrome, &place);
    chrome_writer_number(chrome, ",\"args\":{\"id\":", event->id);
    output_text(chrome->out, "}");
    chrome_writer_end(chrome);
    return status;
}

typedef int take_kind(struct chrome_writer *chrome, const struct gait_event *event);
static take_kind *const takes[GAIT_KIND_COUNT] = {
    [GAIT_KIND_SPAN] = take_span,       [GAIT_KIND_MARK] = take_instant,
    [GAIT_KIND_COUNTER] = take_counter, [GAIT_KIND_ASYNC] = take_async,
    [GAIT_KIND_FLOW] = take_flow,       [GAIT_KIND_STEP] = take_step,
    [GAIT_KIND_DROP] = take_drop,       [GAIT_KIND_SAMPLE] = take_instant,
    [GAIT_KIND_MEMORY] = take_instant,  [GAIT_KIND_LOG] = take_instant,
};

static int take_event(void *context, const struct gait_event *event)
{
    struct chrome_writer *chrome = context;
    return (unsigned)event->kind < GAIT_KIND_COUNT ? takes[event->kind](chrome, event) : GAIT_OK;
}

static int put_member(struct buffer *text, const char *key, const char *value)
{
    int status = buffer_printf(text, "%s", key);
    return status ? status : utf8_append_json(text, value, strlen(value));
}

// Metadata is JSON text by promise only, so it is passed on as a string.
static int put_metadata(struct chrome_writer *chrome, uint32_t shard)
{
    const char *key;
    int status = buffer_printf(&chrome->text, ",\"metadata\":{");
    for (uint32_t i = 0;
         !status && (key = gait_trace_metadata_key(chrome->trace, shard, i)) != NULL; i++) {
        const char *value = gait_trace_metadata(chrome->trace, shard, key);
        status = put_member(&chrome->text, i ? "," : "", key);
        if (!status)
            status = put_member(&chrome->text, ":", value ? value : "");
    }
    return status ? status : buffer_printf(&chrome->text, "}}");
}

static int write_shard(struct chrome_writer *chrome, uint32_t shard)
{
    struct gait_shard_info info;
    struct buffer *text = &chrome->text;
    int status = gait_trace_shard(chrome->trace, shard, &info);
    text->used = 0;
    if (!status)
        status = buffer_printf(text, "%s\n{\"pid\":%u,\"system_pid\":%lld", shard ? "," : "",
                               chrome->processes.pids[shard], (long long)info.pid);
    if (!status && info.rank >= 0)
        status = buffer_printf(text, ",\"rank\":%lld", (long long)info.rank);
    if (!status)
        status = put_member(text, ",\"host\":", info.host);
    if (!status)
        status = put_member(text, ",\"role\":", info.role);
    if (!status)
        status = put_member(text, ",\"run_id\":", info.run_id);
    if (!status)
        status = put_metadata(chrome, shard);
    if (!status)
        output_write(chrome->out, text->bytes, text->used);
    return status;
}

static int write_all(struct chrome_writer *chrome, const struct export_run *run)
{
    int status = GAIT_OK;
    chrome_writer_number(
        chrome, "{\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":", (uint64_t)chrome->base_ns);
    output_text(chrome->out, ",\n\"otherData\":{\"recorder\":\"gait\",\"shards\":[");
    for (uint32_t i = 0; i < chrome->processes.shard_count && !status; i++)
        status = write_shard(chrome, i);
    output_text(chrome->out, "]},\n\"traceEvents\":[");
    if (!status)
        status = export_each_event(run, take_event, chrome);
    output_text(chrome->out, "\n]}\n");
    return status;
}

int chrome_json_write(const struct export_run *run)
{
    struct chrome_writer chrome;
    if (chrome_foreign_is(run->trace))
        return chrome_foreign_write(run);
    int status = chrome_writer_init(&chrome, run);
    if (status)
        return status;
    status = write_all(&chrome, run);
    chrome_writer_finish(&chrome);
    return status;
}
