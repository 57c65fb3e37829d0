// SPDX-License-Identifier: Apache-2.0
// A Perfetto trace: a begin and an end for each span on a track where it
// overlaps no other without lying in it, instants for marks, samples, memory
// and logs, counters, and flow points as instants that arrows join. Times are
// ns since the epoch. What was still open has no end.
#include "export/perfetto/perfetto_proto.h"

#include <stdio.h>

#include "export/exporter.h"
#include "export/perfetto/perfetto_tracks.h"
#include "export/perfetto/perfetto_writer.h"

#define NAME_BYTES 48

static struct gait_arg int_arg(const char *key, uint64_t value)
{
    return (struct gait_arg){.key = key, .kind = GAIT_ARG_INT, .integer = (int64_t)value};
}

static struct gait_arg text_arg(const char *key, const char *text)
{
    return (struct gait_arg){
        .key = key, .kind = GAIT_ARG_TEXT, .text = text, .text_bytes = slice_of(text).count};
}

static int write_slice(struct perfetto_writer *perfetto, struct perfetto_event *about,
                       enum lane_role role)
{
    const struct gait_event *event = about->event;
    struct perfetto_lane lane;
    int status = perfetto_tracks_lane(perfetto, event, lane_role_of(event, role), &lane);
    if (status)
        return status;
    about->time_ns = event->start_ns;
    about->track_uuid = lane.uuid;
    about->type = PERFETTO_SLICE_BEGIN;
    perfetto_writer_begin(perfetto, about);
    status = perfetto_writer_end(perfetto);
    if (!status && lane.is_alone && event->duration_ns >= 0)
        status = perfetto_writer_slice_end(perfetto, lane.uuid,
                                           lanes_span(event->start_ns, event->duration_ns, 0).end);
    return status;
}

static int take_span(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct perfetto_event about = {.event = event};
    if (event->site == GAIT_NO_SITE) {
        about.category = event->category;
        about.name = event->name;
    }
    return write_slice(perfetto, &about, LANE_SPANS);
}

static int take_async(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct gait_arg id = int_arg("id", event->id);
    struct perfetto_event about = {.event = event, .extra = &id, .extra_count = 1};
    return write_slice(perfetto, &about, LANE_ASYNC);
}

static int take_step(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    char name[NAME_BYTES];
    struct gait_arg number = int_arg("step", event->id);
    struct perfetto_event about = {
        .event = event, .category = "step", .name = name, .extra = &number, .extra_count = 1};
    if (event->site == GAIT_NO_SITE)
        about.category = event->category;
    snprintf(name, sizeof(name), "step %llu", (unsigned long long)event->id);
    return write_slice(perfetto, &about, LANE_STEPS);
}

static int take_drop(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    char name[NAME_BYTES];
    struct gait_arg extra[] = {int_arg("events", event->id), text_arg("reason", event->name)};
    struct perfetto_event about = {
        .event = event, .category = "drop", .name = name, .extra = extra, .extra_count = 2};
    snprintf(name, sizeof(name), "dropped %llu events", (unsigned long long)event->id);
    return write_slice(perfetto, &about, LANE_DROPS);
}

static int write_instant(struct perfetto_writer *perfetto, struct perfetto_event *about)
{
    int status = perfetto_tracks_own(perfetto, about->event->track, &about->track_uuid);
    if (status)
        return status;
    about->time_ns = about->event->start_ns;
    about->type = PERFETTO_INSTANT;
    perfetto_writer_begin(perfetto, about);
    return perfetto_writer_end(perfetto);
}

static int take_mark(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct perfetto_event about = {.event = event};
    return write_instant(perfetto, &about);
}

static int take_sample(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct gait_arg weight = int_arg("weight", (uint64_t)event->value);
    struct perfetto_event about = {.event = event, .extra = &weight, .extra_count = 1};
    return write_instant(perfetto, &about);
}

static int take_memory(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    char address[NAME_BYTES];
    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)event->id);
    struct gait_arg extra[] = {int_arg("bytes", (uint64_t)event->value),
                               text_arg("address", address)};
    struct perfetto_event about = {.event = event, .extra = extra, .extra_count = 2};
    return write_instant(perfetto, &about);
}

static int take_log(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct gait_arg level = int_arg("level", (uint64_t)event->value);
    struct perfetto_event about = {
        .event = event, .category = "log", .name = event->name, .extra = &level, .extra_count = 1};
    return write_instant(perfetto, &about);
}

static int take_counter(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct perfetto_event about = {.time_ns = event->start_ns, .type = PERFETTO_COUNTER};
    int status = perfetto_tracks_gauge(perfetto, event, &about.track_uuid);
    if (status)
        return status;
    perfetto_writer_begin(perfetto, &about);
    if (event->is_real)
        protobuf_double(&perfetto->packet, TRACK_EVENT_DOUBLE_COUNTER_VALUE, event->real);
    else
        protobuf_uint(&perfetto->packet, TRACK_EVENT_COUNTER_VALUE, (uint64_t)event->value);
    return perfetto_writer_end(perfetto);
}

// A flow point is an event of its own, while Perfetto hangs arrows on slices:
// an instant that lies in the span around it carries them.
static int take_flow(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct gait_arg id = int_arg("id", event->id);
    struct perfetto_event about = {.event = event,
                                   .time_ns = event->start_ns,
                                   .type = PERFETTO_INSTANT,
                                   .extra = &id,
                                   .extra_count = 1};
    int status = perfetto_tracks_own(perfetto, event->track, &about.track_uuid);
    if (status)
        return status;
    perfetto_writer_begin(perfetto, &about);
    protobuf_fixed64(&perfetto->packet,
                     event->phase == 2 ? TRACK_EVENT_TERMINATING_FLOW_IDS : TRACK_EVENT_FLOW_IDS,
                     process_table_joint(&perfetto->processes, event, event->id));
    return perfetto_writer_end(perfetto);
}

typedef int take_kind(struct perfetto_writer *perfetto, const struct gait_event *event);
static take_kind *const takes[GAIT_KIND_COUNT] = {
    [GAIT_KIND_SPAN] = take_span,       [GAIT_KIND_MARK] = take_mark,
    [GAIT_KIND_COUNTER] = take_counter, [GAIT_KIND_ASYNC] = take_async,
    [GAIT_KIND_FLOW] = take_flow,       [GAIT_KIND_STEP] = take_step,
    [GAIT_KIND_DROP] = take_drop,       [GAIT_KIND_SAMPLE] = take_sample,
    [GAIT_KIND_MEMORY] = take_memory,   [GAIT_KIND_LOG] = take_log,
};

static int take_event(void *context, const struct gait_event *event)
{
    struct perfetto_writer *perfetto = context;
    return (unsigned)event->kind < GAIT_KIND_COUNT ? takes[event->kind](perfetto, event) : GAIT_OK;
}

int perfetto_proto_write(const struct export_run *run)
{
    struct perfetto_writer perfetto;
    int status = perfetto_writer_init(&perfetto, run);
    if (status)
        return status;
    status = export_each_event(run, take_event, &perfetto);
    if (!status)
        status = perfetto_tracks_end_all(&perfetto);
    perfetto_writer_finish(&perfetto);
    return status;
}
