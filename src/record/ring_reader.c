// SPDX-License-Identifier: Apache-2.0
// The one consumer of a ring. Under drop and block it reads in place, since the
// owner waits for the tail; under overwrite it copies first and believes the
// copy only if the tail did not come past.
#include "record/ring_reader.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/invariant.h"

#define MAX_LAPS 16

int ring_reader_init(struct ring_reader *drain, struct table_writer *tables,
                     enum ring_policy policy)
{
    *drain = (struct ring_reader){.tables = tables};
    if (policy == RING_OVERWRITE) {
        drain->copy = malloc(SPAN_BUILDER_MAX_SLOTS * sizeof(struct slot));
        if (!drain->copy)
            return fail(GAIT_ERR_MEMORY, "no memory to drain rings");
    }
    return span_builder_create(tables, SPAN_BUILDER_MAX_SLOTS, &drain->builder);
}

void ring_reader_finish(struct ring_reader *drain)
{
    span_builder_destroy(drain->builder);
    free(drain->copy);
    free(drain->tracks);
    free(drain->members);
    *drain = (struct ring_reader){0};
}

// --- losses ---------------------------------------------------------------------

static void discard_events(struct writer *writer, const struct span_builder_loss *loss)
{
    struct span_builder_loss *discarded = &writer->discarded;
    if (loss->events == 0)
        return;
    if (discarded->events == 0)
        *discarded = (struct span_builder_loss){.first = loss->first, .reason = loss->reason};
    discarded->events += loss->events;
    discarded->last = loss->last;
}

static int put_losses(struct ring_reader *drain, struct writer *writer)
{
    int status = 0;
    struct ring_head *ring = writer->ring;
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_ACQUIRE);
    uint64_t reported = writer->builder.lost;
    writer->lost_before = reported;
    writer->discarded_told = writer->discarded.events;
    if (lost > reported) {
        const struct span_builder_loss loss = {lost - reported,
                                               __atomic_load_n(&ring->lost_first, __ATOMIC_RELAXED),
                                               __atomic_load_n(&ring->lost_last, __ATOMIC_RELAXED),
                                               writer->slots ? RING_LOSS_FULL : RING_LOSS_NO_RING};
        status = span_builder_write_loss(drain->tables, writer->track, &loss);
        writer->builder.lost = lost;
    }
    if (status == 0 && writer->discarded_told)
        status = span_builder_write_loss(drain->tables, writer->track, &writer->discarded);
    return status;
}

// --- one ring -------------------------------------------------------------------

static int add_member(struct ring_reader *drain, struct writer *writer)
{
    if (drain->count == drain->capacity) {
        uint32_t capacity = drain->capacity ? drain->capacity * 2 : 64;
        struct span_builder_track **tracks = realloc(drain->tracks, capacity * sizeof(*tracks));
        if (tracks)
            drain->tracks = tracks;
        struct writer **members = realloc(drain->members, capacity * sizeof(*members));
        if (members)
            drain->members = members;
        if (!tracks || !members)
            return fail(GAIT_ERR_MEMORY, "no memory to drain %u rings", capacity);
        drain->capacity = capacity;
    }
    GAIT_ASSERT(drain->count < drain->capacity);
    drain->tracks[drain->count] = &writer->builder;
    drain->members[drain->count++] = writer;
    writer->batch_events = 0;
    writer->batch_first = clock_now();
    return 0;
}

static int flush_rows(struct ring_reader *drain, struct writer *writer)
{
    return span_builder_flush(drain->builder, &writer->builder, &writer->batch_events);
}

// Spans and the step that were taken and have not ended: they lose their end,
// and so are lost.
static uint64_t forget_open(struct span_builder_track *track)
{
    uint64_t events = track->open_count + track->has_step;
    track->open_count = 0;
    track->has_step = false;
    return events;
}

// Somebody wrote over our memory: what the ring holds means nothing any more.
static int give_up_ring(struct ring_reader *drain, struct writer *writer, uint64_t head)
{
    struct span_builder_track *track = &writer->builder;
    uint64_t now = clock_now();
    fail_clear();
    int status = flush_rows(drain, writer);
    const struct span_builder_loss loss = {1 + forget_open(track), now, now, RING_LOSS_DAMAGED};
    discard_events(writer, &loss);
    track->position = head;
    return status;
}

struct stretch {
    const struct slot *slots;
    uint64_t mask, until;
};

// Twice, should memory have been short for a moment. What then cannot be read is given up as
// far as `head`: its owner may be waiting for the room.
static int take(struct ring_reader *drain, struct writer *writer, const struct stretch *stretch,
                uint64_t head)
{
    int taken = -1, status = 0;
    for (int i = 0; i < 2 && taken && status == 0; i++) {
        taken = span_builder_take(drain->builder, &writer->builder, stretch->slots, stretch->mask,
                                  stretch->until);
        status = flush_rows(drain, writer);
    }
    return taken && status == 0 ? give_up_ring(drain, writer, head) : status;
}

static int ring_reader_ring(struct ring_reader *drain, struct writer *writer)
{
    struct span_builder_track *track = &writer->builder;
    const uint64_t head = writer_head(writer, track->position);
    const struct stretch stretch = {writer->slots, writer->capacity - 1, head};
    int status = 0;
    uint64_t before = head;
    while (status == 0 && track->position < head && track->position != before) {
        before = track->position;
        status = take(drain, writer, &stretch, head);
        GAIT_ASSERT(track->position <= head);
    }
    return status;
}

// The writer went over what was not yet taken: the story goes on at its tail.
static int skip_overwritten(struct ring_reader *drain, struct writer *writer)
{
    struct span_builder_track *track = &writer->builder;
    const struct ring_tail tail = ring_head_tail(writer->ring);
    struct span_builder_loss loss = {0, writer->told_until, tail.tick, RING_LOSS_OVERWRITTEN};
    loss.events = (tail.events > track->begun ? tail.events - track->begun : 0);
    loss.events += forget_open(track);
    track->begun = tail.events;
    track->base_depth = (uint32_t)tail.depth;
    track->position = tail.position;
    writer->batch_events += loss.events; // should this batch not be written
    writer->told_until = tail.tick;
    return loss.events ? span_builder_write_loss(drain->tables, writer->track, &loss) : 0;
}

// Reads what its owner may be writing: the tail, looked at again afterwards,
// tells which of it counts.
__attribute__((no_sanitize("thread"))) static void copy_slots(struct slot *copy,
                                                              const struct writer *writer,
                                                              uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++) {
        copy[at & (SPAN_BUILDER_MAX_SLOTS - 1)] = writer->slots[at & (writer->capacity - 1)];
    }
}

static uint64_t head_under_overwrite(const struct writer *writer)
{
    uint64_t tail, head;
    do {
        tail = __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE);
        head = writer_head(writer, tail);
    } while (__atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE) != tail);
    return head;
}

static bool is_overwritten(const struct writer *writer)
{
    return __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE) > writer->builder.position;
}

// Copies what is between position and `head`, as much as the builder takes at once.
// The owner may go over the beginning of that meanwhile; the rest still holds.
// Returns how far the copy reaches.
static int copy_stretch(struct ring_reader *drain, struct writer *writer, uint64_t head,
                        uint64_t *ret_until)
{
    const struct span_builder_track *track = &writer->builder;
    uint64_t until = track->position + SPAN_BUILDER_MAX_SLOTS;
    until = until < head ? until : head;
    GAIT_ASSERT(until - track->position <= SPAN_BUILDER_MAX_SLOTS); // what the copy has room for
    copy_slots(drain->copy, writer, track->position, until);
    *ret_until = until;
    return is_overwritten(writer) ? skip_overwritten(drain, writer) : 0;
}

static int drain_overwritten_ring(struct ring_reader *drain, struct writer *writer)
{
    struct span_builder_track *track = &writer->builder;
    uint64_t head = head_under_overwrite(writer);
    uint64_t until = 0, before = UINT64_MAX;
    int laps = 0; // that its owner was ahead of us
    int status = is_overwritten(writer) ? skip_overwritten(drain, writer) : 0;
    while (status == 0 && track->position < head && track->position != before) {
        status = copy_stretch(drain, writer, head, &until);
        if (status == 0 && track->position >= until && laps++ < MAX_LAPS) {
            head = head_under_overwrite(writer);
            continue;
        }
        before = track->position;
        const struct stretch stretch = {drain->copy, SPAN_BUILDER_MAX_SLOTS - 1, until};
        int put = take(drain, writer, &stretch, head);
        status = status ? status : put;
    }
    writer->told_until = clock_now();
    return status;
}

int ring_reader_writer(struct ring_reader *drain, struct writer *writer)
{
    int status = add_member(drain, writer);
    if (status == 0)
        status = put_losses(drain, writer);
    if (status == 0 && writer->slots)
        status = writer->policy == RING_OVERWRITE ? drain_overwritten_ring(drain, writer)
                                                  : ring_reader_ring(drain, writer);
    writer->batch_last = clock_now();
    return status;
}

__attribute__((no_sanitize("thread"))) void ring_reader_copy_ring(const struct writer *writer,
                                                                  struct slot *copy)
{
    GAIT_ASSERT(!(writer->capacity & (writer->capacity - 1))); // positions are masked with it
    for (uint64_t i = 0; i < writer->capacity; i++) {
        copy[i] = writer->slots[i];
    }
}

int ring_reader_past(struct ring_reader *drain, struct writer *writer, const struct slot *copy,
                     uint64_t until)
{
    struct span_builder_track *track = &writer->builder;
    int status = 0;
    while (status == 0 && track->position < until) {
        uint64_t before = track->position;
        status = span_builder_take(drain->builder, track, copy, writer->capacity - 1, until);
        int flushed = flush_rows(drain, writer);
        status = status ? status : flushed;
        if (track->position == before)
            break;
    }
    return status;
}

bool ring_reader_has_news(const struct writer *writer)
{
    uint64_t head = writer->policy == RING_OVERWRITE
                        ? head_under_overwrite(writer)
                        : writer_head(writer, writer->builder.position);
    return head != writer->builder.position || writer->discarded.events ||
           __atomic_load_n(&writer->ring->lost, __ATOMIC_ACQUIRE) != writer->builder.lost;
}

// --- after the batch --------------------------------------------------------------

int ring_reader_commit(struct ring_reader *drain)
{
    return span_builder_commit(drain->builder, drain->tracks, drain->count);
}

static void settle_member(struct writer *writer, bool is_written)
{
    struct ring_head *ring = writer->ring;
    if (is_written) {
        __atomic_store_n(&ring->lost_noticed, writer->builder.lost, __ATOMIC_RELEASE);
        GAIT_ASSERT(writer->discarded.events >= writer->discarded_told);
        writer->discarded.events -= writer->discarded_told;
        return;
    }
    writer->builder.lost = writer->lost_before;
    const struct span_builder_loss loss = {writer->batch_events, writer->batch_first,
                                           writer->batch_last, RING_LOSS_DISK_FULL};
    discard_events(writer, &loss);
}

// The owner may write there again. What the batch held and the disk did not take
// is only known here: for a reader of the ring file it is counted beside.
static void move_tail(struct writer *writer)
{
    struct ring_head *ring = writer->ring;
    const struct span_builder_track *track = &writer->builder;
    __atomic_store_n(&ring->unbalanced, track->unbalanced, __ATOMIC_RELAXED);
    if (writer->policy == RING_OVERWRITE)
        return; // the owner's
    writer->past[writer->past_count++ % WRITER_PAST] = ring_head_tail(ring);
    const struct ring_tail tail = {track->position, track->begun,
                                   track->base_depth + track->open_count, clock_now()};
    ring_head_move_tail(ring, &tail);
}

void ring_reader_settle(struct ring_reader *drain, bool is_written, bool is_kept)
{
    for (uint32_t i = 0; i < drain->count; i++) {
        settle_member(drain->members[i], is_written);
        if (is_written || !is_kept)
            move_tail(drain->members[i]);
    }
    drain->count = 0;
}
