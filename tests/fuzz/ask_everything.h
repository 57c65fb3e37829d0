// SPDX-License-Identifier: Apache-2.0
// Asks a run everything there is to ask. What may not be, whatever the files
// say, is a trap.
#ifndef GAIT_ASK_EVERYTHING_H
#define GAIT_ASK_EVERYTHING_H

#include <gait/trace.h>

#include <stdint.h>

#include "load/run.h"

#define ASK_WINDOW_BYTES 4096 // of a merge: so few that streams take turns

// Touches what a batch shows, so that a sanitizer sees a byte too far.
static inline int ask_add_batch(const struct gait_batch *batch, void *context)
{
    uint64_t *sum = context;

    for (size_t i = 0; i < batch->rows; i++)
        *sum += (uint64_t)batch->start_ns[i] + (uint64_t)batch->duration_ns[i] + batch->site[i] +
                batch->depth[i] + batch->id[i] + (uint64_t)batch->value[i];
    return 0;
}

static inline uint64_t ask_add_texts(const struct gait_event *event)
{
    uint64_t sum = (uint64_t)event->name[0] + (uint64_t)event->category[0];

    for (size_t i = 0; i < event->arg_count; i++) {
        const struct gait_arg *arg = &event->args[i];

        sum += (uint64_t)arg->key[0];
        if (arg->kind == GAIT_ARG_TEXT || arg->kind == GAIT_ARG_RAW)
            sum += (uint64_t)arg->text[arg->text_bytes];
    }
    return sum;
}

// Events must come in order, whatever the bytes say.
static inline uint64_t ask_for_events(struct gait_trace *trace, const struct gait_query *query)
{
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    int64_t before = INT64_MIN;
    uint64_t sum = 0;

    if (gait_cursor_open(trace, query, &cursor))
        return 0;
    while (gait_cursor_next(cursor, &event) == 1) {
        if (event.start_ns < before)
            __builtin_trap();
        before = event.start_ns;
        sum += ask_add_texts(&event);
    }
    gait_cursor_close(cursor);
    return sum;
}

static inline void ask_about(const struct gait_trace *trace)
{
    struct gait_damage_info damage;
    struct gait_shard_info shard;
    struct gait_track_info track;
    struct gait_site_info site;

    for (uint32_t i = 0; i < gait_trace_damage_count(trace); i++)
        if (gait_trace_damage(trace, i, &damage) || !damage.what[0])
            __builtin_trap();
    if (gait_trace_shard(trace, 0, &shard))
        __builtin_trap();
    for (uint32_t i = 0; i < gait_trace_track_count(trace); i++)
        if (gait_trace_track(trace, i, &track))
            __builtin_trap();
    for (uint32_t i = 0; i < gait_trace_site_count(trace); i++)
        if (gait_trace_site(trace, i, &site) || !site.name || !site.category)
            __builtin_trap();
    for (uint32_t i = 0; gait_trace_metadata_key(trace, 0, i); i++)
        if (!gait_trace_metadata(trace, 0, gait_trace_metadata_key(trace, 0, i)))
            __builtin_trap();
}

static inline void ask_for_all(struct gait_trace *trace)
{
    struct gait_query internal = {.size = sizeof(internal), .internal = 1};
    struct gait_query window = {.size = sizeof(window), .since_ns = 1000, .until_ns = 5000000};
    volatile uint64_t kept;
    uint64_t sum = 0;

    trace->run.merge_bytes = ASK_WINDOW_BYTES;
    trace->run.async_begins = 16;
    if (gait_scan(trace, &internal, 63, ask_add_batch, &sum) ||
        gait_scan(trace, &window, 63, ask_add_batch, &sum))
        __builtin_trap();
    sum += ask_for_events(trace, &internal) + ask_for_events(trace, &window);
    kept = sum;
    (void)kept;
}

#endif
