// SPDX-License-Identifier: Apache-2.0
// Pieces of the Trace Event Format: the frame of one event, its place and time,
// its arguments; and the names of processes, threads and lanes, which are
// written when the first event needs them.
#ifndef GAIT_EXPORT_CHROME_WRITER_H
#define GAIT_EXPORT_CHROME_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "base/buffer.h"
#include "export/exporter.h"
#include "export/lane_table.h"
#include "export/process_table.h"
#include "export/text_cache.h"

struct chrome_writer {
    struct gait_trace *trace;
    struct output_stream *out;
    int64_t base_ns; // ts 0
    bool has_events;
    uint8_t *is_named; // by shard
    struct text_cache sites;
    struct process_table processes;
    struct lane_table lanes;
    struct buffer text; // members of args in the making, and other small texts
    uint64_t async_count;
};

// Who and when.
struct chrome_place {
    uint32_t pid;
    uint64_t tid;
    int64_t start_ns;
};

GAIT_CHECK int chrome_writer_init(struct chrome_writer *chrome, const struct export_run *run);
void chrome_writer_finish(struct chrome_writer *chrome);

// Finds where a span goes, or where the event's track itself is.
GAIT_CHECK int chrome_writer_lane(struct chrome_writer *chrome, const struct gait_event *event,
                                  enum lane_role role, struct chrome_place *ret_place);
GAIT_CHECK int chrome_writer_track(struct chrome_writer *chrome, const struct gait_event *event,
                                   struct chrome_place *ret_place);

// An event: begin, site (or what stands for it; may use chrome->text), place, more
// members, args, end.
void chrome_writer_begin(struct chrome_writer *chrome, char phase);
GAIT_CHECK int chrome_writer_site(struct chrome_writer *chrome, const struct gait_event *event);
void chrome_writer_place(struct chrome_writer *chrome, const struct chrome_place *place);
void chrome_writer_number(struct chrome_writer *chrome, const char *before, uint64_t value);
void chrome_writer_time(struct chrome_writer *chrome, const char *before, int64_t time_ns);

// `,"args":{…}`: the members that stand in chrome->text, then the event's own.
GAIT_CHECK int chrome_writer_args(struct chrome_writer *chrome, const struct gait_event *event);
void chrome_writer_end(struct chrome_writer *chrome);

// Writes chrome->text as a JSON string.
GAIT_CHECK int chrome_writer_quote(struct chrome_writer *chrome);

#endif
