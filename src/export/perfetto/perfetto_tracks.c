// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto/perfetto_tracks.h"

#include <string.h>

#include "export/lane_table.h"

enum { PACKET_TRACK_DESCRIPTOR = 60 };
enum track_descriptor {
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_THREAD = 4,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_COUNTER = 8,
    DESCRIPTOR_SIBLING_MERGE = 15,
};
// The viewer draws siblings of one name as one track, which is right for lanes
// but not for two streams or gauges that somebody named alike.
enum sibling_merge { SIBLING_MERGE_NONE = 2 };
enum process_descriptor { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum thread_descriptor { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
static void put_buffer(struct protobuf_writer *packet, uint32_t field, const struct buffer *text)
{
    protobuf_string(packet, field, (const char *)text->bytes, text->used);
}

static size_t begin_descriptor(struct perfetto_writer *perfetto, uint64_t uuid, uint64_t parent)
{
    perfetto_writer_packet(perfetto);
    size_t begun = protobuf_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
    protobuf_uint(&perfetto->packet, DESCRIPTOR_UUID, uuid);
    if (parent)
        protobuf_uint(&perfetto->packet, DESCRIPTOR_PARENT, parent);
    return begun;
}

static int end_descriptor(struct perfetto_writer *perfetto, size_t begun)
{
    protobuf_end(&perfetto->packet, begun);
    return perfetto_writer_send(perfetto);
}

static int describe_process(struct perfetto_writer *perfetto, uint32_t shard)
{
    struct protobuf_writer *packet = &perfetto->packet;
    perfetto->text.used = 0;
    int status = process_table_name_shard(&perfetto->processes, shard, &perfetto->text);
    if (status)
        return status;
    perfetto->process_uuids[shard] = perfetto->next_uuid++;
    size_t begun = begin_descriptor(perfetto, perfetto->process_uuids[shard], 0);
    size_t process = protobuf_begin(packet, DESCRIPTOR_PROCESS);
    protobuf_uint(packet, PROCESS_PID, perfetto->processes.pids[shard]);
    put_buffer(packet, PROCESS_NAME, &perfetto->text);
    protobuf_end(packet, process);
    return end_descriptor(perfetto, begun);
}

// A thread is known by its numbers; streams, counters and processes are named
// tracks of their process.
static int describe_track(struct perfetto_writer *perfetto, uint32_t track, uint64_t uuid)
{
    struct protobuf_writer *packet = &perfetto->packet;
    uint32_t shard = perfetto->processes.shards[track];
    struct gait_track_info info;
    int status = gait_trace_track(perfetto->trace, track, &info);
    if (!status && !perfetto->process_uuids[shard])
        status = describe_process(perfetto, shard);
    perfetto->text.used = 0;
    if (!status)
        status = process_table_name_track(&perfetto->processes, track, &perfetto->text);
    if (status)
        return status;
    size_t begun = begin_descriptor(perfetto, uuid, perfetto->process_uuids[shard]);
    if (info.kind == GAIT_TRACK_THREAD) {
        size_t thread = protobuf_begin(packet, DESCRIPTOR_THREAD);
        protobuf_uint(packet, THREAD_PID, perfetto->processes.pids[shard]);
        protobuf_uint(packet, THREAD_TID, perfetto->processes.tids[track]);
        put_buffer(packet, THREAD_NAME, &perfetto->text);
        protobuf_end(packet, thread);
    } else {
        put_buffer(packet, DESCRIPTOR_NAME, &perfetto->text);
        protobuf_uint(packet, DESCRIPTOR_SIBLING_MERGE, SIBLING_MERGE_NONE);
    }
    return end_descriptor(perfetto, begun);
}

static int describe_lane(struct perfetto_writer *perfetto, uint32_t track, enum lane_role role,
                         uint64_t uuid)
{
    uint64_t parent;
    int status = perfetto_tracks_own(perfetto, track, &parent);
    perfetto->text.used = 0;
    if (!status)
        status = process_table_name_track(&perfetto->processes, track, &perfetto->text);
    // without a number: lanes of one name are drawn together
    if (!status)
        status = lane_table_name(role, role == LANE_SPANS, &perfetto->text);
    if (status)
        return status;
    size_t begun = begin_descriptor(perfetto, uuid, parent);
    put_buffer(&perfetto->packet, DESCRIPTOR_NAME, &perfetto->text);
    return end_descriptor(perfetto, begun);
}

int perfetto_tracks_own(struct perfetto_writer *perfetto, uint32_t track, uint64_t *ret_uuid)
{
    struct lane_group *group = NULL;
    uint64_t *number = NULL;
    int status = lane_table_group(&perfetto->lanes, track, LANE_SPANS, &group);
    if (!status)
        status = lane_group_number(group, 0, &number);
    if (!status && !*number) {
        *number = perfetto->next_uuid++;
        status = describe_track(perfetto, track, *number);
    }
    if (!status)
        *ret_uuid = *number;
    return status;
}

// Who is told of ends: the lanes' numbers are the uuids.
struct end_teller {
    struct perfetto_writer *perfetto;
    struct lane_group *group;
    int status;
};

static void tell_end(void *context, uint32_t lane, int64_t end)
{
    struct end_teller *teller = context;
    if (!teller->status)
        teller->status =
            perfetto_writer_slice_end(teller->perfetto, teller->group->numbers[lane], end);
}

int perfetto_tracks_lane(struct perfetto_writer *perfetto, const struct gait_event *event,
                         enum lane_role role, struct perfetto_lane *ret_lane)
{
    struct lane_span span = lanes_span(event->start_ns, event->duration_ns, event->depth);
    struct end_teller teller = {.perfetto = perfetto};
    struct lanes_listener listener = {tell_end, &teller};
    uint64_t *number = NULL, uuid = 0;
    uint32_t lane = 0;
    int status = lane_table_group(&perfetto->lanes, event->track, role, &teller.group);
    if (!status)
        status = lanes_place(&teller.group->lanes, &span, &listener, &lane);
    if (!status)
        status = teller.status;
    if (!status)
        status = lane_group_number(teller.group, lane, &number);
    if (status)
        return status;
    if (*number)
        uuid = *number;
    else if (role == LANE_SPANS && lane == 0)
        status = perfetto_tracks_own(perfetto, event->track, &uuid);
    else
        status =
            describe_lane(perfetto, event->track, role, uuid = *number = perfetto->next_uuid++);
    if (!status)
        *ret_lane = (struct perfetto_lane){uuid, !lanes_nests(&teller.group->lanes, lane)};
    return status;
}

// A gauge that threads set is one of the process; two devices have one each.
static int describe_gauge(struct perfetto_writer *perfetto, const struct gait_event *event,
                          bool is_of_process, uint64_t uuid)
{
    uint64_t parent;
    int status = perfetto_tracks_own(perfetto, event->track, &parent); // and its process
    if (status)
        return status;
    if (is_of_process)
        parent = perfetto->process_uuids[perfetto->processes.shards[event->track]];
    size_t begun = begin_descriptor(perfetto, uuid, parent);
    protobuf_string(&perfetto->packet, DESCRIPTOR_NAME, event->name, strlen(event->name));
    protobuf_uint(&perfetto->packet, DESCRIPTOR_SIBLING_MERGE, SIBLING_MERGE_NONE);
    protobuf_end(&perfetto->packet, protobuf_begin(&perfetto->packet, DESCRIPTOR_COUNTER));
    return end_descriptor(perfetto, begun);
}

int perfetto_tracks_gauge(struct perfetto_writer *perfetto, const struct gait_event *event,
                          uint64_t *ret_uuid)
{
    struct gait_track_info info;
    int status = gait_trace_track(perfetto->trace, event->track, &info);
    if (status)
        return status;
    bool is_of_process = info.kind == GAIT_TRACK_THREAD;
    uint64_t owner = is_of_process ? 0 : (uint64_t)event->track + 1;
    uint64_t key = process_table_joint(&perfetto->processes, event, owner);
    uint64_t uuid = number_map_get(&perfetto->counters, key);
    if (!uuid) {
        uuid = perfetto->next_uuid++;
        status = number_map_put(&perfetto->counters, key, uuid);
        if (!status)
            status = describe_gauge(perfetto, event, is_of_process, uuid);
    }
    if (!status)
        *ret_uuid = uuid;
    return status;
}

int perfetto_tracks_end_all(struct perfetto_writer *perfetto)
{
    size_t count = (size_t)perfetto->lanes.track_count * LANE_ROLE_COUNT;
    struct end_teller teller = {.perfetto = perfetto};
    struct lanes_listener listener = {tell_end, &teller};
    for (size_t i = 0; i < count && !teller.status; i++) {
        teller.group = perfetto->lanes.groups[i];
        if (teller.group)
            lanes_end_all(&teller.group->lanes, &listener);
    }
    return teller.status;
}
