// SPDX-License-Identifier: Apache-2.0
// The rare half of recording: grants of room, the three overflow policies,
// spans that were dropped and must be ended silently, the way into a session.
//
// A dropped span is a gap in the stack of open spans. While there is one, the
// limit is 0, so that every call comes here; once it has ended the hot path
// takes over again. Positions never go back, so nothing is ever undone.
//
// An end always has a slot kept for it, unless the program made ends without
// begins that nobody has noticed yet: then it is owed, and written before
// anything else, with its own time, as soon as there is room. What a thread still
// owes when it ends, or when recording does, the drainer writes.
#define _GNU_SOURCE
#include "record/writer.h"

#include <stdlib.h>
#include <string.h>

#include "record/recorder.h"
#include "record/signal_guard.h"

#define SLACK 8u // slots never used: the step's end, and full must not look empty
#define BLOCKS 16u
#define GAP_LEVELS 64u // bits of writer.gaps
#define BLOCK_WAIT_NS 5000000u

struct ring_head writer_nowhere; // next 0, limit 0: no room, ever
WRITER_TLS struct ring_head *writer_ring = &writer_nowhere;
WRITER_TLS struct writer *writer_self;
uint64_t writer_session;

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
    struct ring_tail *syncs = writer->syncs;
    free(writer->name);
    *writer = (struct writer){.track = track, .policy = policy, .session = session, .syncs = syncs};
    writer->ring = ring ? ring : &writer->ringless;
    writer->slots = ring ? (struct slot *)(ring + 1) : NULL;
    writer->capacity = ring ? ring->region.capacity : 0;
    writer->granted_at = address_of(writer->slots);
    writer->ring->slots_address = writer->granted_at;
    __atomic_store_n(&writer->ring->next, writer->granted_at, __ATOMIC_RELEASE);
    writer->told_until = writer->ring->first_tick;
    span_builder_track_init(&writer->builder, track, 0);
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

// A signal handler that interrupted a record, or one of gait's cold calls: it
// must neither touch the ring nor wait for anybody.
static bool is_interrupting(const struct writer *writer)
{
    return signal_guard_is_on() ||
           (writer && (writer->is_inside || WRITER_GET(WRITER_GET(writer->ring)->busy)));
}

// Into the slow path, from anywhere. NULL: not recording, or interrupting; then
// an event is counted as lost.
static struct writer *enter_slow(bool is_event)
{
    struct writer *writer = writer_self;
    if (!__atomic_load_n(&gait_recording, __ATOMIC_RELAXED))
        return NULL;
    if (is_interrupting(writer)) {
        if (is_event && writer && is_recording(writer))
            writer_lose(writer);
        return NULL;
    }
    if (!writer || !is_recording(writer)) {
        writer = recorder_attach_thread(writer);
        if (!writer && is_event)
            recorder_lose();
        if (!writer)
            return NULL;
    }
    __atomic_store_n(&writer->is_inside, 1, __ATOMIC_SEQ_CST);
    if (is_recording(writer)) {
        WRITER_SET(writer->ring->busy, 1);
        writer_fence();
        return writer;
    }
    __atomic_store_n(&writer->is_inside, 0, __ATOMIC_RELEASE);
    return NULL;
}

// The way out for a record that is still to be written.
static void leave_busy(struct writer *writer)
{
    // whoever ended the session meanwhile took the limit away before this
    // looked, or finds is_inside set and waits
    if (!is_recording(writer))
        WRITER_SET(writer->ring->limit, 0);
    __atomic_store_n(&writer->is_inside, 0, __ATOMIC_RELEASE);
}

static void leave_slow(struct writer *writer)
{
    __atomic_store_n(&writer->ring->busy, 0, __ATOMIC_RELEASE);
    leave_busy(writer);
}

struct writer *writer_attached(void)
{
    struct writer *writer = enter_slow(false);
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

// Notes that the story can be taken up here. Few places suffice, so a new one
// wants its distance from the last unless nothing else would be left.
static void add_sync(struct writer *writer, uint64_t keep_from)
{
    if (writer->sync_count) {
        uint32_t last = (writer->sync_first + writer->sync_count - 1) % WRITER_SYNCS;
        uint64_t newest = writer->syncs[last].position;
        if (newest >= keep_from && writer->position - newest < writer->capacity / BLOCKS)
            return;
    }
    uint32_t at = (writer->sync_first + writer->sync_count) % WRITER_SYNCS;
    if (writer->sync_count == WRITER_SYNCS) {
        // too many: give up the newest but this one, the block gets longer
        at = (at + WRITER_SYNCS - 1) % WRITER_SYNCS;
        writer->sync_count--;
    }
    writer->syncs[at] = (struct ring_tail){writer->position, spans_begun(writer) + writer->points,
                                           open_spans(writer), clock_now()};
    writer->sync_count++;
}

// The flight recorder: gives the oldest blocks up until `slots` fit.
static bool reclaim(struct writer *writer, uint64_t slots)
{
    if (slots + SLACK > writer->capacity)
        return false;
    uint64_t end = writer->position + slots + SLACK;
    uint64_t keep_from = end > writer->capacity ? end - writer->capacity : 0;
    add_sync(writer, keep_from);
    const struct ring_tail *oldest = NULL;
    while (writer->syncs[writer->sync_first].position < keep_from) {
        writer->sync_first = (writer->sync_first + 1) % WRITER_SYNCS;
        writer->sync_count--;
        oldest = &writer->syncs[writer->sync_first];
    }
    if (oldest)
        ring_head_move_tail(writer->ring, oldest);
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
    bool is_free = false;
    __atomic_store_n(&writer->is_waiting, true, __ATOMIC_RELEASE);
    while (is_recording(writer)) {
        uint32_t round = recorder_drain_round();
        is_free = slots_kept(writer) + slots < writer->capacity;
        if (is_free)
            break;
        recorder_wake_drainer();
        recorder_wait_drained(round, BLOCK_WAIT_NS);
    }
    __atomic_store_n(&writer->is_waiting, false, __ATOMIC_RELEASE);
    return is_free;
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

// Room for `slots` in a row at next_slot(), by the policy.
static bool make_row(struct writer *writer, uint64_t slots)
{
    uint64_t row = slots_in_a_row(writer);
    if (slots > row) {
        // the way to the ring's end is lost to a record that does not fit there
        if (row && !make_free(writer, row))
            return false;
        wrap(writer);
    }
    return make_free(writer, slots);
}

static void publish(struct writer *writer, uint64_t slots)
{
    __atomic_store_n(&writer->ring->next, writer->ring->next + slots * sizeof(struct slot),
                     __ATOMIC_RELEASE);
}

static void put_span_at(struct writer *writer, uint64_t tick, enum slot_class class, uint32_t site)
{
    struct slot *slot = next_slot(writer);
    slot->tick_low = (uint32_t)tick;
    slot->tick_high = (uint32_t)(tick >> 32 & 0x3fffffff) | slot_class_bits(class);
    slot->site = site;
    publish(writer, 1);
}

static void put_span(struct writer *writer, enum slot_class class, uint32_t site)
{
    put_span_at(writer, clock_now(), class, site);
}

static void put_end_at(struct writer *writer, uint64_t tick)
{
    writer->ring->ends++;
    put_span_at(writer, tick, SLOT_CLASS_END, 0);
}

// Whether one of the slots kept for ends is left, beside the step's.
static bool has_kept_slot(struct writer *writer)
{
    if (slots_used(writer) + 2 >= writer->capacity)
        return false;
    if (slots_in_a_row(writer) == 0)
        wrap(writer);
    return true;
}

static void owe_end(struct writer *writer)
{
    const uint64_t at = writer->owed < WRITER_OWED ? writer->owed : WRITER_OWED - 1;
    writer->owed_at[at] = clock_now();
    writer->owed++;
}

static void pay_end(struct writer *writer)
{
    put_end_at(writer, writer->owed_at[0]);
    memmove(writer->owed_at, writer->owed_at + 1, (WRITER_OWED - 1) * sizeof writer->owed_at[0]);
    count_position(writer);
    writer->owed--;
}

static void write_owed_ends(struct writer *writer)
{
    while (writer->owed && (make_row(writer, 1) || has_kept_slot(writer)))
        pay_end(writer);
}

// Never waits for the drainer, who calls this.
bool writer_pay_for_owner(struct writer *writer)
{
    if (__atomic_load_n(&writer->is_inside, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&writer->ring->busy, __ATOMIC_ACQUIRE))
        return false;
    const uint64_t owed = writer->owed;
    if (!owed)
        return false;
    count_position(writer);
    while (writer->owed && has_kept_slot(writer))
        pay_end(writer);
    return writer->owed < owed;
}

// Room for `slots` in a row at next_slot(), and nothing owed before it. Sets the
// limit.
static bool has_room(struct writer *writer, uint64_t slots)
{
    struct ring_head *ring = writer->ring;
    if (!writer->slots)
        return false;
    if (WRITER_GET(ring->next) + slots * sizeof(struct slot) <= WRITER_GET(ring->limit))
        return true;
    count_position(writer);
    WRITER_SET(ring->limit, 0);
    write_owed_ends(writer);
    if (writer->owed || !make_row(writer, slots))
        return false;
    if (clock_has_ticks && !writer->gap_depth && !writer->deep)
        WRITER_SET(ring->limit, ring->next + grant(writer, slots) * sizeof(struct slot));
    return true;
}

void writer_lose(struct writer *writer)
{
    struct ring_head *ring = writer->ring;
    uint64_t now = clock_now();
    if (__atomic_load_n(&ring->lost, __ATOMIC_RELAXED) ==
        __atomic_load_n(&ring->lost_noticed, __ATOMIC_ACQUIRE))
        __atomic_store_n(&ring->lost_first, now, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->lost_last, now, __ATOMIC_RELAXED);
    // in one piece: a signal handler may come in between and lose one too
    __atomic_add_fetch(&ring->lost, 1, __ATOMIC_RELEASE);
}

// --- spans ----------------------------------------------------------------------

static void push_gap(struct writer *writer, bool is_dropped)
{
    writer->gaps = writer->gaps << 1 | is_dropped;
    writer->gap_depth++;
}

static void drop_span(struct writer *writer)
{
    count_position(writer);
    WRITER_SET(writer->ring->limit, 0);
    writer_lose(writer);
    if (writer->deep || writer->gap_depth == GAP_LEVELS)
        writer->deep++;
    else
        push_gap(writer, true);
}

// Above the levels that `gaps` can tell apart everything is dropped.
static bool may_record_span(struct writer *writer)
{
    return !writer->deep && writer->gap_depth < GAP_LEVELS && has_room(writer, 1);
}

static void begin_entered(struct writer *writer, uint32_t site)
{
    if (!may_record_span(writer)) {
        drop_span(writer);
        return;
    }
    put_span(writer, SLOT_CLASS_BEGIN, site);
    if (writer->gap_depth)
        push_gap(writer, false);
}

void writer_begin_slow(uint32_t site)
{
    struct writer *writer = enter_slow(true);
    if (!writer)
        return;
    begin_entered(writer, site);
    leave_slow(writer);
}

// Takes the innermost open span off; true if it is one that was dropped.
static bool end_gap(struct writer *writer)
{
    if (writer->deep) {
        writer->deep--;
        return true;
    }
    if (!writer->gap_depth)
        return false;
    bool is_dropped = writer->gaps & 1;
    writer->gaps >>= 1;
    writer->gap_depth = writer->gaps ? writer->gap_depth - 1 : 0;
    return is_dropped;
}

static void end_on_record(struct writer *writer)
{
    if (!writer->slots)
        return;
    if (has_room(writer, 1)) {
        put_end_at(writer, clock_now());
        return;
    }
    owe_end(writer);
    write_owed_ends(writer);
}

void writer_end_slow(void)
{
    struct writer *writer = enter_slow(false);
    if (!writer)
        return;
    if (!end_gap(writer))
        end_on_record(writer);
    leave_slow(writer);
}

void writer_next_slow(uint32_t site)
{
    struct writer *writer = enter_slow(true);
    if (!writer)
        return;
    if (end_gap(writer) || !writer->slots) {
        begin_entered(writer, site);
    } else if (may_record_span(writer)) {
        writer->ring->nexts++;
        put_span(writer, SLOT_CLASS_NEXT, site);
        if (writer->gap_depth)
            push_gap(writer, false);
    } else {
        end_on_record(writer);
        drop_span(writer);
    }
    leave_slow(writer);
}

// --- other records ----------------------------------------------------------------

struct slot *writer_enter(uint32_t slots, bool is_event)
{
    struct ring_head *ring = WRITER_GET(writer_ring);
    if (!WRITER_GET(ring->busy)) {
        WRITER_SET(ring->busy, 1);
        writer_fence();
        if (WRITER_GET(ring->next) + slots * sizeof(struct slot) <= WRITER_GET(ring->limit))
            return (struct slot *)(uintptr_t)WRITER_GET(ring->next);
        WRITER_SET(ring->busy, 0);
    }
    struct writer *writer = enter_slow(is_event);
    if (!writer)
        return NULL;
    if (has_room(writer, slots)) {
        leave_busy(writer);
        return next_slot(writer);
    }
    if (is_event)
        writer_lose(writer);
    leave_slow(writer);
    return NULL;
}

void writer_publish(uint32_t slots, bool is_event)
{
    struct writer *writer = writer_self;
    writer->points += is_event;
    writer->point_slots += slots;
    publish(writer, slots);
    __atomic_store_n(&writer->ring->busy, 0, __ATOMIC_RELEASE);
}

// --- steps --------------------------------------------------------------------------

static void end_step(struct writer *writer)
{
    if (writer->step == WRITER_STEP_ON_RECORD) {
        count_position(writer);
        WRITER_SET(writer->ring->limit, 0);
        write_owed_ends(writer);
        if (!make_row(writer, 1) && slots_in_a_row(writer) == 0)
            wrap(writer); // one slot is always kept for this
        *next_slot(writer) = slot_other(clock_now(), SLOT_STEP_END, 0, 0, 1);
        writer->point_slots++;
        publish(writer, 1);
    }
    writer->step = WRITER_STEP_NONE;
}

void writer_step_end(void)
{
    struct writer *writer = enter_slow(false);
    if (!writer)
        return;
    end_step(writer);
    leave_slow(writer);
}

void writer_step_begin(uint64_t number)
{
    struct writer *writer = enter_slow(true);
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
