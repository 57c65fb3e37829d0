// SPDX-License-Identifier: Apache-2.0
// Opens any bytes as a shard and asks everything there is to ask.
#include <gait/trace.h>

#include <stdlib.h>
#include <string.h>

#include "load/run.h"

#define ROWS_LIMIT 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Touches what a batch shows, so that a sanitizer sees a byte too far.
static int add_batch(const struct gait_batch *batch, void *context)
{
    uint64_t *sum = context;

    for (size_t i = 0; i < batch->rows; i++)
        *sum += (uint64_t)batch->start_ns[i] + (uint64_t)batch->duration_ns[i] + batch->site[i] +
                batch->depth[i] + batch->id[i] + (uint64_t)batch->value[i];
    return 0;
}

static uint64_t add_texts(const struct gait_event *event)
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
static uint64_t read_all(struct gait_trace *trace, const struct gait_query *query)
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
        sum += add_texts(&event);
    }
    gait_cursor_close(cursor);
    return sum;
}

static void ask_about(const struct gait_trace *trace)
{
    struct gait_damage_info damage;
    struct gait_shard_info shard;
    struct gait_track_info track;

    for (uint32_t i = 0; i < gait_trace_damage_count(trace); i++)
        if (gait_trace_damage(trace, i, &damage) || !damage.what[0])
            __builtin_trap();
    if (gait_trace_shard(trace, 0, &shard))
        __builtin_trap();
    for (uint32_t i = 0; i < gait_trace_track_count(trace); i++)
        if (gait_trace_track(trace, i, &track))
            __builtin_trap();
    for (uint32_t i = 0; gait_trace_metadata_key(trace, 0, i); i++)
        if (!gait_trace_metadata(trace, 0, gait_trace_metadata_key(trace, 0, i)))
            __builtin_trap();
}

// A few bytes may stand for a million equal rows. That is slow, but no fault,
// and would keep the search from going on.
static uint64_t count_rows(const struct run *run)
{
    const struct frame_list *list = &run->shards[0]->shard.list;
    uint64_t rows = 0;

    for (size_t i = 0; i < list->count; i++)
        rows += list->entries[i].rows;
    return rows;
}

static void read_run(struct gait_trace *trace)
{
    struct gait_query internal = {.size = sizeof(internal), .internal = 1};
    struct gait_query window = {.size = sizeof(window), .since_ns = 1000, .until_ns = 5000000};
    volatile uint64_t kept;
    uint64_t sum = 0;

    trace->run.merge_bytes = 1 << 20;
    trace->run.async_begins = 16;
    if (gait_scan(trace, &internal, 63, add_batch, &sum) ||
        gait_scan(trace, &window, 63, add_batch, &sum))
        __builtin_trap();
    sum += read_all(trace, &internal) + read_all(trace, &window);
    kept = sum;
    (void)kept;
}

static void open_bytes(struct slice bytes)
{
    struct gait_trace trace;

    if (run_open_memory(&trace.run, bytes))
        return;
    if (count_rows(&trace.run) <= ROWS_LIMIT)
        read_run(&trace);
    ask_about(&trace);
    run_close(&trace.run);
}

// Makes all hashes right, so that the bytes behind them are believed.
static void repair(uint8_t *bytes, size_t size)
{
    static const uint8_t magic[8] = {0x89, 'G', 'A', 'I', 'T', '\r', '\n', 0x1a};

    for (size_t at = 0; at + FRAME_HEADER_BYTES <= size; at += 8) {
        uint32_t stored;
        uint64_t hash;

        if (memcmp(bytes + at, magic, sizeof(magic)) != 0)
            continue;
        memcpy(&stored, bytes + at + 16, sizeof(stored));
        if (stored > size - at - FRAME_HEADER_BYTES)
            stored = 0;
        hash = frame_hash(bytes + at + FRAME_HEADER_BYTES, stored);
        memcpy(bytes + at + 48, &hash, sizeof(hash));
        hash = frame_hash(bytes + at, 60);
        memcpy(bytes + at + 60, &hash, 4);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *repaired;

    if (!size)
        return 0;
    open_bytes((struct slice){data, size});
    repaired = malloc(size);
    if (!repaired)
        return 0;
    memcpy(repaired, data, size);
    repair(repaired, size);
    open_bytes((struct slice){repaired, size});
    free(repaired);
    return 0;
}
