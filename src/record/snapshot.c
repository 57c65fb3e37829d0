// SPDX-License-Identifier: Apache-2.0
// The flight recorder's "what just happened". Every ring is looked at through a
// writer of our own that begins at the oldest record still there, so that the
// shard being written goes on as if nobody had asked.
#define _GNU_SOURCE
#include "record/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gait/record.h>

#include "base/fail.h"
#include "record/preamble.h"
#include "record/recorder.h"
#include "record/rewrite_names.h"
#include "record/ring_reader.h"
#include "record/signal_guard.h"

#define BATCH_BYTES (4u << 20)

// --- one ring ----------------------------------------------------------------------

// The spans and the step open where the view begins, as the drainer knows them.
static int copy_open(const struct span_builder_track *from, struct span_builder_track *to)
{
    int status = 0;
    for (uint32_t i = 0; i < from->open_count && status == 0; i++) {
        const struct span_builder_span *span = &from->open[i];
        const struct slice args = {span->args.bytes, span->args.used};
        status = span_builder_track_restore(to, span, args);
    }
    to->has_step = from->has_step;
    to->step_start = from->step_start;
    to->step_number = from->step_number;
    return status;
}

// What was written already lies in the ring until its owner goes over it: the
// oldest place from which on `copy` is still whole, or the tail. Looked for after
// copying, with room for the record that the owner may be writing.
static struct ring_tail find_past(const struct writer *writer)
{
    uint64_t tail = writer->builder.position;
    uint64_t end = writer_head(writer, tail) + slot_text_slots(SLOT_TEXT_MAX);
    uint32_t count = writer->past_count < WRITER_PAST ? writer->past_count : WRITER_PAST;
    for (uint32_t i = writer->past_count - count; i != writer->past_count; i++) {
        const struct ring_tail *past = &writer->past[i % WRITER_PAST];
        if (past->position + writer->capacity >= end)
            return *past;
    }
    return (struct ring_tail){.position = tail, .depth = writer->builder.base_depth};
}

static int put_past(const struct writer *writer, struct writer *view, struct ring_reader *drain)
{
    size_t bytes = writer->capacity * sizeof(struct slot);
    struct slot *copy = writer->slots ? malloc(bytes) : NULL;
    if (!copy)
        return writer->slots ? fail(GAIT_ERR_MEMORY, "no memory for a ring of %zu bytes", bytes)
                             : 0;
    ring_reader_copy_ring(writer, copy);
    const struct ring_tail past = find_past(writer);
    view->builder.position = past.position;
    view->builder.base_depth = (uint32_t)past.depth;
    if (ring_reader_past(drain, view, copy, writer->builder.position))
        fail_clear(); // the past is a gift
    free(copy);
    // what is open there the drainer knows whole, with what began before that past
    view->builder.open_count = 0;
    view->builder.has_step = false;
    return 0;
}

// Under overwrite the view begins at birth and is led to the tail by the drain;
// else with what the drainer has taken last and the owner left alone.
static int init_view(const struct writer *writer, struct writer *view, struct ring_reader *drain)
{
    *view = (struct writer){.ring = writer->ring,
                            .slots = writer->slots,
                            .capacity = writer->capacity,
                            .track = writer->track,
                            .policy = writer->policy,
                            .told_until = writer->ring->first_tick};
    span_builder_track_init(&view->builder, writer->track, 0);
    if (writer->policy == RING_OVERWRITE)
        return 0;
    int status = put_past(writer, view, drain);
    view->builder.position = writer->builder.position;
    view->builder.lost = writer->builder.lost;
    view->builder.begun = writer->builder.begun;
    view->builder.base_depth = writer->builder.base_depth;
    view->discarded = writer->discarded;
    return status ? status : copy_open(&writer->builder, &view->builder);
}

static int put_rings(const struct writer *writers, struct ring_reader *drain, struct writer *views,
                     struct shard_out *shard)
{
    int status = 0;
    for (const struct writer *writer = writers; writer && status == 0; writer = writer->next) {
        struct writer *view = views++;
        status = init_view(writer, view, drain);
        if (status == 0)
            status = ring_reader_writer(drain, view);
        if (status == 0 && shard->batch.used >= BATCH_BYTES)
            status = shard_out_put(shard);
    }
    return status;
}

// --- the file ----------------------------------------------------------------------

static int put_preamble(struct recorder *recorder, struct table_writer *tables)
{
    const struct clock_anchor now = clock_read_anchor();
    const struct preamble preamble = {
        .settings = &recorder->settings,
        .session_id = recorder->session_id,
        .ring_path = "", // nothing is to be fetched from there
        .first_anchor = recorder->first_anchor,
        .birth = recorder->birth,
        .tick_hz = clock_tick_hz(&recorder->first_anchor, &now),
    };
    recorder_lock();
    int status = preamble_write(&preamble, tables);
    recorder_unlock();
    return status;
}

// After the rings, which may hold names that are younger than the preamble.
static int put_names(struct recorder *recorder, struct table_writer *tables)
{
    const struct clock_anchor now = clock_read_anchor();
    recorder_lock();
    int status = preamble_write_dictionary(tables);
    if (status == 0)
        status = rewrite_names(recorder, tables);
    recorder_unlock();
    return status ? status : preamble_write_anchor(&now, tables);
}

static int write_rings(const struct recorder *recorder, struct shard_out *shard)
{
    struct ring_reader drain = {0};
    uint32_t count = 1;
    recorder_lock();
    const struct writer *writers = recorder->writers;
    recorder_unlock();
    for (const struct writer *writer = writers; writer; writer = writer->next) {
        count++;
    }
    struct writer *views = calloc(count, sizeof(*views));
    int status = views ? ring_reader_init(&drain, &shard->tables, recorder->settings.policy)
                       : fail(GAIT_ERR_MEMORY, "no memory for %u rings", count);
    if (status == 0)
        status = put_rings(writers, &drain, views, shard);
    if (status == 0)
        status = ring_reader_commit(&drain);
    for (uint32_t i = 0; views && i < count; i++) {
        span_builder_track_finish(&views[i].builder);
    }
    ring_reader_finish(&drain);
    free(views);
    return status;
}

static int write_snapshot(struct recorder *recorder, const char *path)
{
    struct shard_out shard;
    int status = shard_out_open_path(&shard, path);
    if (status)
        return status;
    status = put_preamble(recorder, &shard.tables);
    if (status == 0)
        status = write_rings(recorder, &shard);
    if (status == 0)
        status = put_names(recorder, &shard.tables);
    if (status == 0)
        status = shard_out_seal(&shard);
    if (status)
        unlink(path); // half a snapshot would look like a whole one
    shard_out_finish(&shard);
    return status;
}

// --- asking ------------------------------------------------------------------------

static void finish_request(struct recorder *recorder, struct snapshot_request *request)
{
    recorder_lock();
    request->is_done = true;
    recorder->snapshot = NULL;
    pthread_cond_broadcast(&recorder->drained);
    recorder_unlock();
}

void snapshot_serve(struct recorder *recorder)
{
    recorder_lock();
    struct snapshot_request *request = recorder->snapshot;
    recorder_unlock();
    if (!request)
        return;
    request->status = write_snapshot(recorder, request->path);
    snprintf(request->text, sizeof(request->text), "%s", request->status ? fail_text() : "");
    fail_clear();
    finish_request(recorder, request);
}

// With the lock held. Requests are served one after the other.
static int ask(struct recorder *recorder, struct snapshot_request *request)
{
    bool is_asked = false;
    while (recorder->has_drainer && !request->is_done) {
        if (!is_asked && !recorder->snapshot) {
            recorder->snapshot = request;
            is_asked = true;
        }
        recorder_wake_drainer();
        recorder_wait_locked();
    }
    if (request->is_done)
        return request->status;
    if (is_asked)
        recorder->snapshot = NULL;
    snprintf(request->text, sizeof(request->text), "cannot write '%s': not recording",
             request->path);
    return GAIT_ERR_STATE;
}

int gait_snapshot(const char *path)
{
    struct snapshot_request request = {.path = path};
    if (!path || !*path)
        return fail(GAIT_ERR_ARGUMENT, "path must not be NULL");
    if (signal_guard_is_on())
        return fail(GAIT_ERR_STATE, "cannot write '%s' from a signal handler", path);
    recorder_lock();
    int status = ask(&recorder_state, &request);
    recorder_unlock();
    return status ? fail(status, "%s", request.text) : 0;
}
