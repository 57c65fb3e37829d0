// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "export/perfetto/perfetto_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "export/output/output_stream.h"

#define MAX_PACKET_BYTES ((size_t)512 << 20)
#define MAX_KEY_BYTES ((size_t)64 << 20)
#define MAX_NUMBERS (16u << 20)

// All packets are of one sequence, whose names are cleared by its first packet.
enum { SEQUENCE_ID = 1, STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum { TRACE_PACKET = 1 };
enum trace_packet {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
};
enum clock_snapshot { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY_CLOCK = 2 };
enum clock_field { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum builtin_clock { CLOCK_OF_REALTIME = 1, CLOCK_OF_BOOTTIME = 6 };
enum interned_data { INTERNED_CATEGORY = 1, INTERNED_EVENT_NAME = 2, INTERNED_KEY = 3 };
enum interned_entry { ENTRY_IID = 1, ENTRY_NAME = 2 };
enum track_event {
    EVENT_CATEGORY_IID = 3,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
};
enum debug_annotation {
    ANNOTATION_NAME_IID = 1,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING = 6,
    ANNOTATION_JSON = 9,
    ANNOTATION_NAME = 10,
};

void perfetto_writer_packet(struct perfetto_writer *perfetto)
{
    protobuf_clear(&perfetto->packet);
    perfetto->packet_begun = protobuf_begin(&perfetto->packet, TRACE_PACKET);
    protobuf_uint(&perfetto->packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
}

int perfetto_writer_send(struct perfetto_writer *perfetto)
{
    struct protobuf_writer *packet = &perfetto->packet;
    protobuf_end(packet, perfetto->packet_begun);
    if (!packet->status)
        output_write(perfetto->out, packet->bytes.bytes, packet->bytes.used);
    return packet->status;
}

static void put_text(struct protobuf_writer *packet, uint32_t field, const char *text)
{
    protobuf_string(packet, field, text, strlen(text));
}

static void put_clock(struct protobuf_writer *packet, enum builtin_clock clock, int64_t time_ns)
{
    size_t begun = protobuf_begin(packet, SNAPSHOT_CLOCKS);
    protobuf_uint(packet, CLOCK_ID, clock);
    protobuf_uint(packet, CLOCK_TIMESTAMP, (uint64_t)time_ns);
    protobuf_end(packet, begun);
}

// Packets without a clock of their own are in BOOTTIME, so that is what our ns
// since the epoch are called; that REALTIME reads the same lets the viewer show
// dates.
static int write_clocks(struct perfetto_writer *perfetto, int64_t first_ns)
{
    struct protobuf_writer *packet = &perfetto->packet;
    perfetto_writer_packet(perfetto);
    protobuf_uint(packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    protobuf_uint(packet, PACKET_TIMESTAMP, (uint64_t)first_ns);
    size_t begun = protobuf_begin(packet, PACKET_CLOCK_SNAPSHOT);
    put_clock(packet, CLOCK_OF_BOOTTIME, first_ns);
    put_clock(packet, CLOCK_OF_REALTIME, first_ns);
    protobuf_uint(packet, SNAPSHOT_PRIMARY_CLOCK, CLOCK_OF_BOOTTIME);
    protobuf_end(packet, begun);
    return perfetto_writer_send(perfetto);
}

// Files may be joined by writing one behind the other, so their tracks should
// not meet: numbering starts at a place that depends on what was recorded.
// 35 bits, for the number stands in every packet.
static int look_at_shards(struct perfetto_writer *perfetto, int64_t *ret_first_ns)
{
    struct gait_shard_info info;
    uint64_t hash = 0;
    *ret_first_ns = 0;
    for (uint32_t i = 0; i < perfetto->processes.shard_count; i++) {
        int status = gait_trace_shard(perfetto->trace, i, &info);
        if (status)
            return status;
        hash = number_map_mix(hash ^ (uint64_t)info.start_ns ^ (uint64_t)info.pid << 40);
        if (info.start_ns > 0 && (info.start_ns < *ret_first_ns || !*ret_first_ns))
            *ret_first_ns = info.start_ns;
    }
    perfetto->next_uuid = (hash & ((UINT64_C(1) << 35) - 1)) + 1;
    return GAIT_OK;
}

static int make_tables(struct perfetto_writer *perfetto)
{
    int status = process_table_init(&perfetto->processes, perfetto->trace);
    if (!status)
        status = lane_table_init(&perfetto->lanes, perfetto->processes.track_count);
    size_t shards = (size_t)perfetto->processes.shard_count + 1;
    perfetto->process_uuids = calloc(shards, sizeof(*perfetto->process_uuids));
    if (!status && !perfetto->process_uuids)
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu processes", shards);
    return status;
}

int perfetto_writer_init(struct perfetto_writer *perfetto, const struct export_run *run)
{
    int64_t first_ns;
    *perfetto = (struct perfetto_writer){.trace = run->trace, .out = run->out};
    protobuf_init(&perfetto->packet, MAX_PACKET_BYTES);
    buffer_init(&perfetto->text, MAX_PACKET_BYTES);
    number_map_init(&perfetto->counters, MAX_NUMBERS);
    number_map_init(&perfetto->sites, MAX_NUMBERS);
    number_map_init(&perfetto->keys, MAX_NUMBERS);
    arena_init(&perfetto->key_memory, MAX_KEY_BYTES);
    intern_init(&perfetto->key_texts, &perfetto->key_memory);
    int status = make_tables(perfetto);
    if (!status)
        status = look_at_shards(perfetto, &first_ns);
    if (!status)
        status = write_clocks(perfetto, first_ns);
    if (status)
        perfetto_writer_finish(perfetto);
    return status;
}

void perfetto_writer_finish(struct perfetto_writer *perfetto)
{
    free(perfetto->process_uuids);
    perfetto->process_uuids = NULL;
    intern_finish(&perfetto->key_texts);
    arena_finish(&perfetto->key_memory);
    number_map_finish(&perfetto->keys);
    number_map_finish(&perfetto->sites);
    number_map_finish(&perfetto->counters);
    lane_table_finish(&perfetto->lanes);
    process_table_finish(&perfetto->processes);
    buffer_finish(&perfetto->text);
    protobuf_finish(&perfetto->packet);
}

static void intern_name(struct protobuf_writer *packet, uint32_t field, uint64_t iid,
                        const char *text)
{
    size_t begun = protobuf_begin(packet, field);
    protobuf_uint(packet, ENTRY_IID, iid);
    put_text(packet, ENTRY_NAME, text);
    protobuf_end(packet, begun);
}

// Category and name of a site have its number plus one.
static void intern_site(struct perfetto_writer *perfetto, const struct gait_event *event)
{
    struct protobuf_writer *packet = &perfetto->packet;
    uint64_t iid = (uint64_t)event->site + 1;
    if (number_map_get(&perfetto->sites, iid))
        return;
    int status = number_map_put(&perfetto->sites, iid, 1);
    if (status)
        packet->status = status;
    intern_name(packet, INTERNED_CATEGORY, iid, event->category);
    intern_name(packet, INTERNED_EVENT_NAME, iid, event->name);
}

// The number of a key that was sent, else 0; `ret_text` is the copy it goes by,
// NULL when there is no memory for one.
static uint64_t key_iid(struct perfetto_writer *perfetto, const char *key, const char **ret_text)
{
    *ret_text = intern_text(&perfetto->key_texts, slice_of(key));
    return *ret_text ? number_map_get(&perfetto->keys, (uintptr_t)*ret_text) : 0;
}

// A key that finds no room here goes out in full each time.
static void intern_keys(struct perfetto_writer *perfetto, const struct gait_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text;
        uint64_t iid = perfetto->keys.count + 1;
        if (key_iid(perfetto, args[i].key, &text) || !text)
            continue;
        if (!number_map_put(&perfetto->keys, (uintptr_t)text, iid))
            intern_name(&perfetto->packet, INTERNED_KEY, iid, text);
    }
}

static void intern_all(struct perfetto_writer *perfetto, const struct perfetto_event *about)
{
    struct protobuf_writer *packet = &perfetto->packet;
    size_t begun = protobuf_begin(packet, PACKET_INTERNED_DATA);
    if (about->event && !about->name)
        intern_site(perfetto, about->event);
    intern_keys(perfetto, about->extra, about->extra_count);
    if (about->event)
        intern_keys(perfetto, about->event->args, about->event->arg_count);
    if (packet->bytes.used > begun)
        protobuf_end(packet, begun);
    else
        packet->bytes.used = begun - 2; // nothing is new: take tag and length back
}

static void put_args(struct perfetto_writer *perfetto, const struct gait_arg *args, size_t count)
{
    struct protobuf_writer *packet = &perfetto->packet;
    for (size_t i = 0; i < count; i++) {
        const char *text;
        uint64_t iid = key_iid(perfetto, args[i].key, &text);
        size_t begun = protobuf_begin(packet, TRACK_EVENT_DEBUG_ANNOTATIONS);
        if (iid)
            protobuf_uint(packet, ANNOTATION_NAME_IID, iid);
        else
            put_text(packet, ANNOTATION_NAME, args[i].key);
        if (args[i].kind == GAIT_ARG_INT)
            protobuf_uint(packet, ANNOTATION_INT, (uint64_t)args[i].integer);
        else if (args[i].kind == GAIT_ARG_REAL)
            protobuf_double(packet, ANNOTATION_DOUBLE, args[i].real);
        else
            protobuf_string(packet,
                            args[i].kind == GAIT_ARG_JSON ? ANNOTATION_JSON : ANNOTATION_STRING,
                            args[i].text, args[i].text_bytes);
        protobuf_end(packet, begun);
    }
}

static void put_names(struct perfetto_writer *perfetto, const struct perfetto_event *about)
{
    struct protobuf_writer *packet = &perfetto->packet;
    if (about->name) {
        put_text(packet, EVENT_CATEGORY, about->category);
        put_text(packet, EVENT_NAME, about->name);
    } else if (about->event) {
        protobuf_uint(packet, EVENT_CATEGORY_IID, (uint64_t)about->event->site + 1);
        protobuf_uint(packet, EVENT_NAME_IID, (uint64_t)about->event->site + 1);
    }
}

void perfetto_writer_begin(struct perfetto_writer *perfetto, const struct perfetto_event *about)
{
    struct protobuf_writer *packet = &perfetto->packet;
    perfetto_writer_packet(perfetto);
    protobuf_uint(packet, PACKET_TIMESTAMP, (uint64_t)about->time_ns);
    protobuf_uint(packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
    intern_all(perfetto, about);
    perfetto->event_begun = protobuf_begin(packet, PACKET_TRACK_EVENT);
    protobuf_uint(packet, EVENT_TYPE, about->type);
    protobuf_uint(packet, EVENT_TRACK_UUID, about->track_uuid);
    put_names(perfetto, about);
    put_args(perfetto, about->extra, about->extra_count);
    if (about->event)
        put_args(perfetto, about->event->args, about->event->arg_count);
}

int perfetto_writer_end(struct perfetto_writer *perfetto)
{
    protobuf_end(&perfetto->packet, perfetto->event_begun);
    return perfetto_writer_send(perfetto);
}

int perfetto_writer_slice_end(struct perfetto_writer *perfetto, uint64_t track_uuid,
                              int64_t time_ns)
{
    struct protobuf_writer *packet = &perfetto->packet;
    perfetto_writer_packet(perfetto);
    protobuf_uint(packet, PACKET_TIMESTAMP, (uint64_t)time_ns);
    size_t begun = protobuf_begin(packet, PACKET_TRACK_EVENT);
    protobuf_uint(packet, EVENT_TYPE, PERFETTO_SLICE_END);
    protobuf_uint(packet, EVENT_TRACK_UUID, track_uuid);
    protobuf_end(packet, begun);
    return perfetto_writer_send(perfetto);
}
