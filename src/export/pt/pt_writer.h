// SPDX-License-Identifier: Apache-2.0
// Pieces of an event in torch.profiler's trace file, and what is known of the
// process it is about. The head and the names are pt_head.h's, what each of
// gait's events becomes is pt_ops.h's and pt_trace.c's.
#ifndef GAIT_EXPORT_PT_WRITER_H
#define GAIT_EXPORT_PT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "base/buffer.h"
#include "export/exporter.h"
#include "export/pt/pt_inputs.h"
#include "export/pt/pt_links.h"
#include "export/text_cache.h"

enum pt_class {
    PT_UNKNOWN,
    PT_LEFT_OUT,
    PT_OP,
    PT_EVALUATE,
    PT_ANNOTATION,
    PT_PYTHON,
    PT_DEVICE, // of a shard of devices
};

// The engine's range around an autograd node, before the node's name.
#define PT_EVALUATES "autograd::engine::evaluate_function: "
#define PT_MODULE "nn.Module: " // before its class and number, `Linear_0`

struct pt_writer {
    const struct export_run *run;
    struct gait_trace *trace;
    struct output_stream *out;
    bool is_full;                      // as large as it may be: what follows is left out
    int64_t base_ns, begin_ns, end_ns; // ts 0; what the file is about
    struct gait_shard_info process;    // its first shard
    uint32_t shard;
    uint32_t *tracks, track_count; // of the process
    uint32_t first_thread;
    uint8_t *is_named; // by track
    uint8_t *classes;  // by site, enum pt_class
    bool has_devices;  // gait recorded some
    uint32_t all_tracks, all_sites;
    bool has_events, has_step_ranges; // ranges named ProfilerStep#n are on record
    struct text_cache sites;          // `"cat": …, "name": …, ` by site
    struct text_cache spans;          // the same with the beginning of an X before it
    struct text_cache places;         // `"pid": …, "tid": …, "ts": ` by track
    struct pt_inputs inputs;
    struct pt_links links;
    struct buffer text; // small texts in the making
    uint64_t op_count, event_count, async_count;
};

GAIT_CHECK int pt_writer_init(struct pt_writer *writer, const struct export_run *run);
void pt_writer_finish(struct pt_writer *writer);

enum pt_class pt_writer_class(struct pt_writer *writer, uint32_t site);

// `,\n{"ph": "X", ` and the like.
void pt_writer_begin(struct pt_writer *writer, char phase);

// `"pid": …, "tid": …, "ts": …`
GAIT_CHECK int pt_writer_place(struct pt_writer *writer, uint32_t track, int64_t start_ns);

// A time as microseconds since the base, never negative, as Kineto has it.
char *pt_writer_put_time(const struct pt_writer *writer, char *put, int64_t time_ns);
void pt_writer_time(struct pt_writer *writer, int64_t time_ns);

// `, "Ev Idx": …}}`: the event's place among all, and its end.
void pt_writer_index_of(struct pt_writer *writer, uint64_t index);
void pt_writer_index(struct pt_writer *writer); // of the next one

// What was never ended lasted as long as the capture did.
int64_t pt_writer_length(const struct pt_writer *writer, const struct gait_event *event);

GAIT_CHECK int pt_writer_quote(struct pt_writer *writer, const char *text);

// The number of a thread, or one no system gives for what is none.
int64_t pt_writer_tid(const struct pt_writer *writer, uint32_t track);

#define PT_PUT(put, text) ((char *)memcpy((put), (text), sizeof(text) - 1) + (sizeof(text) - 1))

#endif
