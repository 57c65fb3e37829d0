// SPDX-License-Identifier: Apache-2.0
// The rare half of recording: grants of room, the three overflow policies,
// spans that were dropped and must be ended silently, the way into a session.
//
// A dropped span is a gap in the stack of open spans. While there is one, the
// limit is 0, so that every call comes here; once it has ended the hot path
// takes over again. Positions never go back, so nothing is ever undone.
#define _GNU_SOURCE
#include "record/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "record/recorder.h"

#define SLACK 8u // slots never used: the step's end, and full must not look empty
#define BLOCKS 16u
#define GAP_LEVELS 64u
#define BLOCK_WAIT_NS 5000000u

struct ring_head writer_nowhere; // next 0, limit 0: no room, ever
WRITER_TLS struct ring_head *writer_ring = &writer_nowhere;
WRITER_TLS struct writer *writer_self;
uint64_t writer_session;
static WRITER_TLS bool is_entering;

static uint64_t address_of(const struct slot *slot)
{
    return (uint64_t)(uintptr_t)slot;
}

static struct slot *next_slot(const struct writer *writer)
{
    return (struct slot *)(uintptr_t)writer->ring->next;
}

void writer_attach(struct writer *writer, struct ring_head *ring, uint32_t track,
                   enum ring_policy policy, uint64_t session)
{
    struct writer_sync *syncs = writer->syncs;
    *writer = (struct writer){.track = track, .policy = policy, .session = session, .syncs = syncs};
    writer->ring = ring ? ring : &writer->ringless;
    writer->slots = ring ? (struct slot *)(ring + 1) : NULL;
    writer->capacity = ring ? ring->region.capacity : 0;
    writer->granted_at = address_of(writer->slots);
    writer->ring->slots_address = writer->granted_at;
    __atomic_store_n(&writer->ring->next, writer->granted_at, __ATOMIC_RELEASE);
    weave_track_init(&writer->weave, track, 0);
}

uint64_t writer_head(const struct writer *writer, uint64_t tail)
{
    if (!writer->capacity)
        return 0;
    uint64_t next = __atomic_load_n(&writer->ring->next, __ATOMIC_ACQUIRE);
    return ring_head_position(next, address_of(writer->slots), tail, writer->capacity);
}

// --- in and out ---------------------------------------------------------------

static bool is_recording(const struct writer *writer)
{
    return writer->session == __atomic_load_n(&writer_session, __ATOMIC_SEQ_CST);
}

// Into the slow path, from anywhere. NULL: not recording, or a signal handler
// that interrupted a record (what it wanted is counted as lost).
static struct writer *enter_slow(void)
{
    struct writer *writer = writer_self;
    if (is_entering || !__atomic_load_n(&gait_recording, __ATOMIC_RELAXED))
        return NULL;
    if (writer && (writer->is_inside || writer->ring->busy)) {
        writer_lose(writer);
        return NULL;
    }
    if (!writer || !is_recording(writer)) {
        is_entering = true;
        writer = recorder_attach_thread(writer);
        is_entering = false;
        if (!writer)
            return NULL;
    }
    __atomic_store_n(&writer->is_inside, 1, __ATOMIC_SEQ_CST);
    if (is_recording(writer))
        return writer;
    __atomic_store_n(&writer->is_inside, 0, __ATOMIC_RELEASE);
    return NULL;
}

static void leave_slow(struct writer *writer)
{
    // whoever ended the session meanwhile took the limit away before this
    // looked, or finds is_inside set and waits
    if (!is_recording(writer))
        writer->ring->limit = 0;
    __atomic_store_n(&writer->is_inside, 0, __ATOMIC_RELEASE);
}

struct writer *writer_attached(void)
{
    struct writer *writer = enter_slow();
    if (writer)
        leave_slow(writer);
    return writer;
}

// --- what has been written ------------------------------------------------------

static void count_position(struct writer *writer)
{
    uint64_t next = writer->ring->next;
    writer->position += (next - writer->granted_at) / sizeof(struct slot);
    writer->granted_at = next;
}

// Begins and nexts: all span slots that are no ends.
static uint64_t spans_begun(const struct writer *writer)
{
    return writer->position - writer->point_slots - writer->ring->ends;
}

// Spans on record and not ended. An end without a begin makes this too small
// until the drainer has met it.
static uint64_t open_spans(const struct writer *writer)
{
    const struct ring_head *ring = writer->ring;
    uint64_t unbalanced = __atomic_load_n(&ring->unbalanced, __ATOMIC_RELAXED);
    int64_t open = (int64_t)(spans_begun(writer) - ring->nexts + unbalanced - ring->ends);
    return open > 0 ? (uint64_t)open : 0;
}

// --- room ---------------------------------------------------------------------

// Slots that lie in a row from the next one to the ring's end.
static uint64_t slots_in_a_row(const struct writer *writer)
{
    uint64_t end = writer->granted_at - address_of(writer->slots);
    return writer->capacity - end / sizeof(struct slot);
}

static void wrap(struct writer *writer)
{
    uint64_t left = slots_in_a_row(writer);
    struct slot *slot = next_slot(writer);
    for (uint64_t i = 0; i < left; i++) {
        slot[i] = slot_other(0, SLOT_PAD, 0, 0, 1);
    }
    writer->position += left;
    writer->point_slots += left;
    writer->granted_at = address_of(writer->slots);
    __atomic_store_n(&writer->ring->next, writer->granted_at, __ATOMIC_RELEASE);
}

static void add_sync(struct writer *writer)
{
    uint32_t at = (writer->sync_first + writer->sync_count) % WRITER_SYNCS;
    if (writer->sync_count == WRITER_SYNCS) {
        // too many: give up the newest but this one, the block gets longer
        at = (at + WRITER_SYNCS - 1) % WRITER_SYNCS;
        writer->sync_count--;
    }
    writer->syncs[at] = (struct writer_sync){writer->position, spans_begun(writer) + writer->points,
                                             open_spans(writer), clock_now()};
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

// The flight recorder: gives the oldest blocks up until `slots` fit.
static bool reclaim(struct writer *writer, uint64_t slots)
{
    if (slots + SLACK > writer->capacity)
        return false;
    add_sync(writer);
    uint64_t end = writer->position + slots + SLACK;
    uint64_t keep_from = end > writer->capacity ? end - writer->capacity : 0;
    const struct writer_sync *oldest = NULL;
    while (writer->syncs[writer->sync_first].position < keep_from) {
        writer->sync_first = (writer->sync_first + 1) % WRITER_SYNCS;
        writer->sync_count--;
        oldest = &writer->syncs[writer->sync_first];
    }
    if (oldest)
        move_tail(writer, oldest);
    return true;
}

static uint64_t slots_used(const struct writer *writer)
{
    return writer->position - __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE);
}

// What is written, and what the ends of open spans will need.
static uint64_t slots_kept(const struct writer *writer)
{
    return slots_used(writer) + open_spans(writer) + SLACK;
}

static bool wait_until_free(struct writer *writer, uint64_t slots)
{
    // what can never fit would wait for ever
    if (open_spans(writer) + slots + SLACK >= writer->capacity)
        return false;
    while (is_recording(writer)) {
        uint32_t round = recorder_drain_round();
        if (slots_kept(writer) + slots < writer->capacity)
            return true;
        recorder_wake_drainer();
        recorder_wait_drained(round, BLOCK_WAIT_NS);
    }
    return false;
}

static bool make_free(struct writer *writer, uint64_t slots)
{
    if (writer->policy == RING_OVERWRITE)
        return reclaim(writer, slots + writer->capacity / BLOCKS);
    // also the drainer's alarm clock: grants are never longer than a quarter
    if (slots_used(writer) >= writer->capacity / 4)
        recorder_wake_drainer();
    if (slots_kept(writer) + slots < writer->capacity)
        return true;
    return writer->policy == RING_BLOCK && wait_until_free(writer, slots);
}

// Slots that may be written from here before the next look: half of what is
// free, since each may begin a span that wants an end.
static uint64_t grant(const struct writer *writer, uint64_t slots)
{
    uint64_t row = slots_in_a_row(writer);
    uint64_t granted = writer->capacity / BLOCKS;
    if (writer->policy != RING_OVERWRITE) {
        granted = (writer->capacity - slots_kept(writer)) / 2;
        granted = granted < writer->capacity / 4 ? granted : writer->capacity / 4;
    }
    granted = granted > slots ? granted : slots;
    return granted < row ? granted : row;
}

// Room for `slots` in a row at next_slot(), by the policy. Sets the limit.
static bool has_room(struct writer *writer, uint64_t slots)
{
    struct ring_head *ring = writer->ring;
    if (!writer->slots)
        return false;
    if (ring->next + slots * sizeof(struct slot) <= ring->limit)
        return true;
    count_position(writer);
    ring->limit = 0;
    uint64_t row = slots_in_a_row(writer);
    // the way to the ring's end is lost to a record that does not fit there
    if (!make_free(writer, slots <= row ? slots : row + slots))
        return false;
    if (slots > row)
        wrap(writer);
    if (clock_has_ticks && !writer->gaps && !writer->deep)
        ring->limit = ring->next + grant(writer, slots) * sizeof(struct slot);
    return true;
}

// A slot that was kept free for an end.
static struct slot *reserved_slot(struct writer *writer)
{
    count_position(writer);
    if (slots_in_a_row(writer) == 0)
        wrap(writer);
    writer->ring->limit = 0; // the grant was for others
    return next_slot(writer);
}

static void publish(struct writer *writer, uint64_t slots)
{
    __atomic_store_n(&writer->ring->next, writer->ring->next + slots * sizeof(struct slot),
                     __ATOMIC_RELEASE);
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

// --- spans ----------------------------------------------------------------------

static void put_span(struct writer *writer, struct slot *slot, enum slot_class class, uint32_t site)
{
    uint64_t now = clock_now();
    slot->tick_low = (uint32_t)now;
    slot->tick_high = (uint32_t)(now >> 32 & 0x3fffffff) | slot_class_bits(class);
    slot->site = site;
    publish(writer, 1);
}

static unsigned level_of(const struct writer *writer)
{
    uint64_t level = open_spans(writer) + (uint64_t)__builtin_popcountll(writer->gaps);
    return level < GAP_LEVELS ? (unsigned)level : GAP_LEVELS;
}

static void drop_span(struct writer *writer)
{
    count_position(writer);
    unsigned level = level_of(writer);
    writer_lose(writer);
    if (writer->deep || level == GAP_LEVELS)
        writer->deep++;
    else
        writer->gaps |= UINT64_C(1) << level;
    writer->ring->limit = 0;
}

static void begin_entered(struct writer *writer, uint32_t site)
{
    bool is_too_deep = false;
    if (writer->gaps || writer->deep) {
        count_position(writer);
        is_too_deep = writer->deep || level_of(writer) == GAP_LEVELS;
    }
    if (is_too_deep || !has_room(writer, 1))
        drop_span(writer);
    else
        put_span(writer, next_slot(writer), SLOT_CLASS_BEGIN, site);
}

void writer_begin_slow(uint32_t site)
{
    struct writer *writer = enter_slow();
    if (!writer)
        return;
    begin_entered(writer, site);
    leave_slow(writer);
}

// Ends the innermost open span if it is one that was dropped.
static bool end_gap(struct writer *writer)
{
    if (!writer->gaps && !writer->deep)
        return false;
    if (writer->deep) {
        writer->deep--;
        return true;
    }
    count_position(writer);
    unsigned level = level_of(writer);
    uint64_t top = level ? UINT64_C(1) << (level - 1) : 0;
    bool is_gap = level < GAP_LEVELS && (writer->gaps & top);
    writer->gaps &= is_gap ? ~top : ~UINT64_C(0);
    return is_gap;
}

static void end_on_record(struct writer *writer)
{
    struct slot *slot = NULL;
    if (has_room(writer, 1))
        slot = next_slot(writer);
    else if (writer->slots && open_spans(writer) > 0)
        slot = reserved_slot(writer);
    if (!slot)
        return; // nothing open, so no slot was kept
    writer->ring->ends++;
    put_span(writer, slot, SLOT_CLASS_END, 0);
}

void writer_end_slow(void)
{
    struct writer *writer = enter_slow();
    if (!writer)
        return;
    if (!end_gap(writer))
        end_on_record(writer);
    leave_slow(writer);
}

void writer_next_slow(uint32_t site)
{
    struct writer *writer = enter_slow();
    if (!writer)
        return;
    if (end_gap(writer) || !writer->slots) {
        begin_entered(writer, site);
    } else if (has_room(writer, 1)) {
        writer->ring->nexts++;
        put_span(writer, next_slot(writer), SLOT_CLASS_NEXT, site);
    } else {
        end_on_record(writer);
        drop_span(writer);
    }
    leave_slow(writer);
}

// --- other records ----------------------------------------------------------------

struct slot *writer_enter(uint32_t slots, bool is_event)
{
    struct ring_head *ring = writer_ring;
    if (!ring->busy) {
        ring->busy = 1;
        writer_fence();
        if (ring->next + slots * sizeof(struct slot) <= ring->limit)
            return (struct slot *)(uintptr_t)ring->next;
        ring->busy = 0;
    }
    struct writer *writer = enter_slow();
    if (!writer)
        return NULL;
    bool is_granted = has_room(writer, slots);
    if (!is_granted && is_event)
        writer_lose(writer);
    writer->ring->busy = is_granted; // from one guard into the other
    writer_fence();
    leave_slow(writer);
    return is_granted ? next_slot(writer) : NULL;
}

void writer_publish(uint32_t slots, bool is_event)
{
    struct writer *writer = writer_self;
    writer->points += is_event;
    writer->point_slots += slots;
    publish(writer, slots);
    writer_fence();
    writer->ring->busy = 0;
}

// --- steps --------------------------------------------------------------------------

static void end_step(struct writer *writer)
{
    if (writer->step == WRITER_STEP_ON_RECORD) {
        struct slot *slot = has_room(writer, 1) ? next_slot(writer) : reserved_slot(writer);
        *slot = slot_other(clock_now(), SLOT_STEP_END, 0, 0, 1);
        writer->point_slots++;
        publish(writer, 1);
    }
    writer->step = WRITER_STEP_NONE;
}

void writer_step_end(void)
{
    struct writer *writer = enter_slow();
    if (!writer)
        return;
    end_step(writer);
    leave_slow(writer);
}

void writer_step_begin(uint64_t number)
{
    struct writer *writer = enter_slow();
    if (!writer)
        return;
    end_step(writer);
    if (has_room(writer, 2)) {
        struct slot *slot = next_slot(writer);
        slot[0] = slot_other(clock_now(), SLOT_STEP_BEGIN, 0, 0, 2);
        memcpy(&slot[1], &number, sizeof(number));
        writer->points++;
        writer->point_slots += 2;
        publish(writer, 2);
        writer->step = WRITER_STEP_ON_RECORD;
    } else {
        writer_lose(writer);
        writer->step = WRITER_STEP_DROPPED;
    }
    leave_slow(writer);
}
