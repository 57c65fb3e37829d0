// SPDX-License-Identifier: Apache-2.0
// The rare half of recording: full rings, the three overflow policies, spans
// that were dropped and must be ended silently, and the way into a session.
//
// A dropped span is a gap in the stack of open spans. While there is one,
// `limit` is 0, so that every call comes here; once it has ended the hot path
// takes over again. Ring positions never go back, so nothing is ever undone.
#define _GNU_SOURCE
#include "record/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "record/recorder.h"

#define SLACK 4u // the step's end, and what one call adds beyond its check
#define BLOCKS 16u
#define GAP_LEVELS 64u
#define BLOCK_WAIT_NS 5000000u

__attribute__((tls_model("initial-exec"))) _Thread_local struct writer *writer_self;
uint64_t writer_session;
static __attribute__((tls_model("initial-exec"))) _Thread_local bool is_entering;

void writer_attach(struct writer *writer, struct ring_head *ring, uint32_t track,
                   enum ring_policy policy, uint64_t session)
{
    struct writer_sync *syncs = writer->syncs;
    *writer = (struct writer){.track = track, .policy = policy, .syncs = syncs};
    writer->ring = ring ? ring : &writer->ringless;
    writer->slots = ring ? (struct slot *)(ring + 1) : NULL;
    writer->mask = ring ? ring->region.capacity - 1 : 0;
    weave_track_init(&writer->weave, track, 0);
    writer->state = session;
}

struct writer *writer_enter_slow(void)
{
    struct writer *writer = writer_self;
    if (is_entering || !__atomic_load_n(&gait_recording, __ATOMIC_RELAXED))
        return NULL;
    if (writer && writer->state & WRITER_BUSY) {
        writer_lose(writer);
        return NULL;
    }
    is_entering = true;
    writer = recorder_attach_thread(writer);
    writer_self = writer;
    is_entering = false;
    return writer ? writer_enter() : NULL;
}

// --- room -------------------------------------------------------------------

static uint64_t events_begun(const struct writer *writer)
{
    // begins = (span slots − nexts + open) / 2: every other span slot is an end
    uint64_t span_slots = writer->head - writer->point_slots - writer->nexts;
    return (span_slots + writer->open) / 2 + writer->nexts + writer->points;
}

static void add_sync(struct writer *writer)
{
    uint32_t at = (writer->sync_first + writer->sync_count) % WRITER_SYNCS;
    if (writer->sync_count == WRITER_SYNCS) {
        // too many: give up the newest but this one, the block gets longer
        at = (at + WRITER_SYNCS - 1) % WRITER_SYNCS;
        writer->sync_count--;
    }
    writer->syncs[at] = (struct writer_sync){writer->head, events_begun(writer), writer->open,
                                             clock_now()};
    writer->sync_count++;
}

static void move_tail(struct writer *writer, const struct writer_sync *sync)
{
    struct ring_head *ring = writer->ring;
    ring->lost_first = ring->first_tick;
    ring->lost_last = sync->tick;
    __atomic_store_n(&ring->tail_events, sync->events, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->tail_depth, sync->depth, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->tail, sync->position, __ATOMIC_RELEASE);
}

// The flight recorder: gives the oldest block up.
static bool reclaim(struct writer *writer, uint32_t slots)
{
    uint64_t capacity = writer->mask + 1;
    uint64_t wanted = writer->head + writer->open + slots + capacity / BLOCKS;
    if (writer->open + slots + SLACK + capacity / BLOCKS > capacity)
        return false;
    add_sync(writer);
    uint64_t keep_from = wanted + SLACK > capacity ? wanted + SLACK - capacity : 0;
    const struct writer_sync *oldest = NULL;
    while (writer->syncs[writer->sync_first].position < keep_from) {
        writer->sync_first = (writer->sync_first + 1) % WRITER_SYNCS;
        writer->sync_count--;
        oldest = &writer->syncs[writer->sync_first];
    }
    if (oldest)
        move_tail(writer, oldest);
    writer->limit = wanted;
    return true;
}

static bool refill(struct writer *writer, uint32_t slots)
{
    uint64_t capacity = writer->mask + 1;
    uint64_t tail = __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE);
    uint64_t end = tail + capacity - SLACK;
    if (writer->head - tail >= capacity / 4)
        recorder_wake_drainer();
    // come back here at every quarter, so that the drainer is woken in time
    uint64_t quarter = writer->head + writer->open + slots + capacity / 4;
    writer->limit = quarter < end ? quarter : end;
    return writer->head + writer->open + slots <= writer->limit;
}

static bool wait_for_room(struct writer *writer, uint32_t slots)
{
    uint64_t session = writer->state & ~WRITER_BUSY;
    // what can never fit would wait for ever
    if (writer->open + slots + SLACK > writer->mask + 1)
        return false;
    while (__atomic_load_n(&writer_session, __ATOMIC_RELAXED) == session) {
        uint32_t round = recorder_drain_round();
        if (refill(writer, slots))
            return true;
        recorder_wake_drainer();
        recorder_wait_drained(round, BLOCK_WAIT_NS);
    }
    return false;
}

bool writer_room(struct writer *writer, uint32_t slots)
{
    if (!writer->slots)
        return false;
    if (writer->head + writer->open + slots <= writer->limit)
        return true;
    bool has_room = writer->policy == RING_OVERWRITE ? reclaim(writer, slots) : refill(writer, slots);
    if (!has_room && writer->policy == RING_BLOCK)
        has_room = wait_for_room(writer, slots);
    if (writer->special || !has_room)
        writer->limit = 0;
    return has_room;
}

void writer_lose(struct writer *writer)
{
    struct ring_head *ring = writer->ring;
    uint64_t now = clock_now();
    if (ring->lost == __atomic_load_n(&ring->lost_noticed, __ATOMIC_ACQUIRE))
        ring->lost_first = now;
    ring->lost_last = now;
    __atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELEASE);
}

// --- spans ------------------------------------------------------------------

static unsigned level_of(const struct writer *writer)
{
    uint64_t level = writer->open + (uint64_t)__builtin_popcountll(writer->gaps);
    return level < GAP_LEVELS ? (unsigned)level : GAP_LEVELS;
}

static void update_special(struct writer *writer)
{
    writer->special = writer->gaps | writer->deep;
    writer->limit = 0; // whoever comes next asks for room anew
}

static void drop_span(struct writer *writer)
{
    unsigned level = level_of(writer);
    writer_lose(writer);
    if (writer->deep || level == GAP_LEVELS)
        writer->deep++;
    else
        writer->gaps |= UINT64_C(1) << level;
    update_special(writer);
}

// A span can be put on record unless its level is past what gaps can tell apart.
static bool can_begin(struct writer *writer)
{
    if (writer->special && (writer->deep || level_of(writer) == GAP_LEVELS))
        return false;
    return writer_room(writer, 2);
}

static void begin_entered(struct writer *writer, uint32_t site)
{
    if (!can_begin(writer)) {
        drop_span(writer);
        return;
    }
    writer_put(writer, clock_now(), slot_word(SLOT_BEGIN, site, 0, 1));
    writer->open++;
}

void writer_begin_slow(struct writer *writer, uint32_t site)
{
    if (!writer && !(writer = writer_enter_slow()))
        return;
    begin_entered(writer, site);
    writer_leave(writer);
}

// Ends the innermost open span if it is one that was dropped.
static bool end_gap(struct writer *writer)
{
    if (writer->deep) {
        writer->deep--;
    } else {
        unsigned level = level_of(writer);
        uint64_t top = level ? UINT64_C(1) << (level - 1) : 0;
        if (level == GAP_LEVELS || !(writer->gaps & top))
            return false;
        writer->gaps &= ~top;
    }
    update_special(writer);
    return true;
}

static void end_on_record(struct writer *writer)
{
    if (writer->open == 0) {
        writer->unbalanced++;
        return;
    }
    writer_put(writer, clock_now(), slot_word(SLOT_END, 0, 0, 1));
    writer->open--;
}

void writer_end_slow(struct writer *writer)
{
    if (!writer && !(writer = writer_enter_slow()))
        return;
    if (!writer->special || !end_gap(writer))
        end_on_record(writer);
    writer_leave(writer);
}

void writer_next_slow(struct writer *writer, uint32_t site)
{
    if (!writer && !(writer = writer_enter_slow()))
        return;
    bool was_gap = writer->special && end_gap(writer);
    if (was_gap || writer->open == 0) {
        begin_entered(writer, site);
    } else if (writer_room(writer, 1)) {
        writer_put(writer, clock_now(), slot_word(SLOT_NEXT, site, 0, 1));
        writer->nexts++;
    } else {
        end_on_record(writer);
        drop_span(writer);
    }
    writer_leave(writer);
}
