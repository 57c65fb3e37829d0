// SPDX-License-Identifier: Apache-2.0
// Packets of a Perfetto trace: one packet in the making, and names that are
// sent once and referred to by number afterwards. Field numbers are those of
// Perfetto's published .proto files.
#ifndef GAIT_EXPORT_PERFETTO_WRITER_H
#define GAIT_EXPORT_PERFETTO_WRITER_H

#include <stdint.h>

#include <gait/trace.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/intern.h"
#include "export/exporter.h"
#include "export/lane_table.h"
#include "export/number_map.h"
#include "export/perfetto/protobuf_writer.h"
#include "export/process_table.h"

enum perfetto_event_type {
    PERFETTO_SLICE_BEGIN = 1,
    PERFETTO_SLICE_END = 2,
    PERFETTO_INSTANT = 3,
    PERFETTO_COUNTER = 4,
};

enum perfetto_track_event {
    TRACK_EVENT_DEBUG_ANNOTATIONS = 4,
    TRACK_EVENT_COUNTER_VALUE = 30,
    TRACK_EVENT_DOUBLE_COUNTER_VALUE = 44,
    TRACK_EVENT_FLOW_IDS = 47,
    TRACK_EVENT_TERMINATING_FLOW_IDS = 48,
};

struct perfetto_writer {
    struct gait_trace *trace;
    struct output_stream *out;
    struct protobuf_writer packet;
    size_t packet_begun, event_begun;
    struct process_table processes;
    struct lane_table lanes;
    uint64_t next_uuid;
    uint64_t *process_uuids;    // by shard, 0: not described yet
    struct number_map counters; // uuid by gauge
    struct number_map sites;    // 1 for a site whose names were sent
    struct number_map keys;     // iid by address of an interned text
    struct arena key_memory;
    struct intern key_texts;
    struct buffer text;
};

GAIT_CHECK int perfetto_writer_init(struct perfetto_writer *perfetto, const struct export_run *run);
void perfetto_writer_finish(struct perfetto_writer *perfetto);

// A packet: fields between the two go to `packet`.
void perfetto_writer_packet(struct perfetto_writer *perfetto);
GAIT_CHECK int perfetto_writer_send(struct perfetto_writer *perfetto);

// One packet with a track event. `event` lends its site's names, unless `name`
// says another, and its arguments, after `extra`; NULL: neither.
struct perfetto_event {
    int64_t time_ns;
    uint64_t track_uuid;
    enum perfetto_event_type type;
    const struct gait_event *event;
    const char *category, *name;
    const struct gait_arg *extra;
    size_t extra_count;
};

// Between begin and end, more fields of the event may go to `packet`.
void perfetto_writer_begin(struct perfetto_writer *perfetto, const struct perfetto_event *about);
GAIT_CHECK int perfetto_writer_end(struct perfetto_writer *perfetto);

// The whole packet that ends what was begun on a track.
GAIT_CHECK int perfetto_writer_slice_end(struct perfetto_writer *perfetto, uint64_t track_uuid,
                                         int64_t time_ns);

#endif
