// SPDX-License-Identifier: Apache-2.0
// Opens any bytes as a shard and asks everything there is to ask. No fuzzer
// guesses a hash: those of the input are made good, unless they are zero, which
// is the wish for a damaged one.
#include <gait/trace.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "load/run.h"

// A few bytes may stand for a million equal rows. That is slow, but no fault,
// and would keep the search from going on.
#define MOST_ROWS 256 // of a frame
#define MOST_ROWS_IN_ALL 1024
#define WINDOW_BYTES 4096 // of a merge: so few that streams take turns

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

static void read_run(struct gait_trace *trace)
{
    struct gait_query internal = {.size = sizeof(internal), .internal = 1};
    struct gait_query window = {.size = sizeof(window), .since_ns = 1000, .until_ns = 5000000};
    volatile uint64_t kept;
    uint64_t sum = 0;

    trace->run.merge_bytes = WINDOW_BYTES;
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
    read_run(&trace);
    ask_about(&trace);
    run_close(&trace.run);
}

// Returns the rows that the frame says it has.
static uint32_t repair_frame(uint8_t *header, size_t left)
{
    const uint32_t stored = bytes_get32(header + 16);
    const uint32_t rows = bytes_get32(header + 12);

    if (rows > MOST_ROWS && rows <= FRAME_MAX_ROWS)
        bytes_put32(header + 12, rows % (MOST_ROWS + 1));
    if (bytes_get64(header + 48) && stored <= left)
        bytes_put64(header + 48, frame_hash(header + FRAME_HEADER_BYTES, stored));
    if (bytes_get32(header + 60))
        bytes_put32(header + 60, (uint32_t)frame_hash(header, 60));
    return bytes_get32(header + 12);
}

static void repair_trailer(uint8_t *trailer)
{
    static const uint8_t magic[8] = {'G', 'A', 'I', 'T', 'E', 'N', 'D', '\n'};

    if (memcmp(trailer, magic, sizeof(magic)) == 0 && bytes_get32(trailer + 28))
        bytes_put32(trailer + 28, (uint32_t)frame_hash(trailer, 28));
}

// Makes the hashes right, so that the bytes behind them are believed: from the
// end, as a payload may hold what looks like a frame. Returns how many rows all
// that promises.
static uint64_t repair(uint8_t *bytes, size_t size)
{
    static const uint8_t magic[8] = {0x89, 'G', 'A', 'I', 'T', '\r', '\n', 0x1a};
    uint64_t rows = 0;

    if (size >= FRAME_TRAILER_BYTES)
        repair_trailer(bytes + size - FRAME_TRAILER_BYTES);
    if (size < FRAME_HEADER_BYTES)
        return 0;
    for (size_t at = (size - FRAME_HEADER_BYTES) / 8 * 8 + 8; at > 0; at -= 8)
        if (memcmp(bytes + at - 8, magic, sizeof(magic)) == 0)
            rows += repair_frame(bytes + at - 8, size - (at - 8) - FRAME_HEADER_BYTES);
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes;

    if (!size)
        return 0;
    bytes = malloc(size); // to the byte: a sanitizer sees a step past the end
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    if (repair(bytes, size) <= MOST_ROWS_IN_ALL)
        open_bytes((struct slice){bytes, size});
    free(bytes);
    return 0;
}
