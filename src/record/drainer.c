// SPDX-License-Identifier: Apache-2.0
// One round: names first (the journal), then every ring that is worth it, then
// the commit, all in one batch and one write. Only after the write do tails
// move: whatever a crash interrupts is still in the ring file.
#define _GNU_SOURCE
#include "record/drainer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/os/os.h"
#include "record/name_table.h"
#include "record/preamble.h"
#include "record/recorder.h"

#define FLUSH_NS UINT64_C(5000000000) // nothing waits longer than this in a ring
#define ANCHOR_NS UINT64_C(100000000) // clocks need no closer anchors
#define BATCH_BYTES (4u << 20)        // a batch is written when it has grown to this
#define WORTH_A_VISIT 8u              // a ring this part full goes along with a fuller one
#define OWN_SPANS 64u

struct drainer {
    struct recorder *recorder;
    struct shard_writer *shard;
    struct table_writer *tables;
    struct weave *weave;
    struct slot *copy;           // overwrite: a stretch of ring, safe from its writer
    struct weave_track **tracks; // of the batch
    struct writer **members;
    uint32_t track_count, track_capacity;
    bool has_preamble;
    uint64_t journal_taken; // journal bytes in the batch
    uint64_t last_anchor_ns, last_cost_ns, last_flush_ns;
    uint64_t own_start[OWN_SPANS], own_duration[OWN_SPANS];
    uint32_t own_count;
    int64_t tid;
};

// --- what a batch holds beside events --------------------------------------------

static int put_preamble(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    struct clock_anchor now = clock_read_anchor();
    const struct preamble preamble = {
        .settings = &recorder->settings,
        .session_id = recorder->session_id,
        .ring_path = recorder->pool.path,
        .first_anchor = recorder->first_anchor,
        .tick_hz = clock_tick_hz(&recorder->first_anchor, &now),
        .drainer_tid = drainer->tid,
    };
    pthread_mutex_lock(&recorder->lock);
    recorder->pool.header->tick_hz = preamble.tick_hz;
    int status = preamble_write(&preamble, drainer->tables);
    pthread_mutex_unlock(&recorder->lock);
    return status;
}

static int put_anchor(struct drainer *drainer)
{
    struct ring_file_header *header = drainer->recorder->pool.header;
    struct clock_anchor anchor = clock_read_anchor();
    uint64_t next = header->anchor_count + 1;
    header->anchors[next % 2] =
        (struct ring_anchor){anchor.tick, anchor.raw_ns, anchor.real_ns, anchor.error_ns};
    __atomic_store_n(&header->anchor_count, next, __ATOMIC_RELEASE);
    drainer->last_anchor_ns = clock_raw_ns();
    return preamble_write_anchor(&anchor, drainer->tables);
}

static int put_journal(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    struct journal_head *journal = recorder->pool.journal;
    pthread_mutex_lock(&recorder->lock);
    uint64_t head = journal->head, tail = journal->tail;
    pthread_mutex_unlock(&recorder->lock);
    drainer->journal_taken = head - tail;
    const uint8_t *entries = (const uint8_t *)(journal + 1) + tail;
    return journal_write_frames((struct slice){entries, head - tail}, drainer->tables);
}

static int put_cost(struct drainer *drainer)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    uint64_t now = clock_now();
    const uint64_t cpu_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    const struct table_about about = {now, now, 0};
    drainer->last_cost_ns = clock_raw_ns();
    table_begin(drainer->tables, TABLE_COST, 0, 1);
    table_put(drainer->tables, 0, TRANSFORM_NONE, &now);
    table_put(drainer->tables, 1, TRANSFORM_NONE, &cpu_ns);
    table_put(drainer->tables, 2, TRANSFORM_NONE, &drainer->shard->bytes);
    return table_end(drainer->tables, &about, NULL);
}

// The drainer's own work is on record like anybody's, on a track of its own.
static int put_own_spans(struct drainer *drainer)
{
    uint32_t count = drainer->own_count;
    if (count == 0)
        return 0;
    const struct table_about about = {
        drainer->own_start[0],
        drainer->own_start[count - 1] + drainer->own_duration[count - 1],
        count,
    };
    table_begin(drainer->tables, TABLE_SPAN, PREAMBLE_TRACK_DRAINER, count);
    table_count_from(drainer->tables, about.first);
    table_put_nested(drainer->tables, drainer->own_start, drainer->own_duration, NULL);
    table_put_constant(drainer->tables, 2, SITE_WRITE);
    drainer->own_count = 0;
    return table_end(drainer->tables, &about, NULL);
}

static int open_batch(struct drainer *drainer)
{
    int status = 0;
    if (!drainer->has_preamble)
        status = put_preamble(drainer);
    if (status == 0 && index_writer_is_due(&drainer->shard->index))
        status = index_writer_write(&drainer->shard->index, drainer->tables);
    return status ? status : put_journal(drainer);
}

// --- losses ---------------------------------------------------------------------

static int put_losses(struct drainer *drainer, struct writer *writer)
{
    int status = 0;
    struct ring_head *ring = writer->ring;
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_ACQUIRE);
    uint64_t reported = writer->weave.lost;
    writer->lost_before = reported;
    if (lost > reported) {
        const struct weave_loss loss = {lost - reported, ring->lost_first, ring->lost_last,
                                        writer->slots ? STRING_RING_FULL : STRING_NO_RING};
        status = weave_write_loss(drainer->tables, writer->track, &loss);
        writer->weave.lost = lost;
    }
    if (status == 0 && writer->discarded.events)
        status = weave_write_loss(drainer->tables, writer->track, &writer->discarded);
    return status;
}

// --- one ring -------------------------------------------------------------------

static int add_member(struct drainer *drainer, struct writer *writer)
{
    if (drainer->track_count == drainer->track_capacity) {
        uint32_t capacity = drainer->track_capacity ? drainer->track_capacity * 2 : 64;
        struct weave_track **tracks = realloc(drainer->tracks, capacity * sizeof(*tracks));
        if (tracks)
            drainer->tracks = tracks;
        struct writer **members = realloc(drainer->members, capacity * sizeof(*members));
        if (members)
            drainer->members = members;
        if (!tracks || !members)
            return fail(GAIT_ERR_MEMORY, "no memory to drain %u rings", capacity);
        drainer->track_capacity = capacity;
    }
    drainer->tracks[drainer->track_count] = &writer->weave;
    drainer->members[drainer->track_count++] = writer;
    writer->batch_events = 0;
    writer->batch_first = clock_now();
    return 0;
}

static int flush_rows(struct drainer *drainer, struct writer *writer)
{
    uint64_t events = 0;
    int status = weave_flush(drainer->weave, &writer->weave, &events);
    writer->batch_events += events;
    return status;
}

// Somebody wrote over our memory: what the ring holds means nothing any more.
static void give_up_ring(struct writer *writer, uint64_t head)
{
    struct weave_track *track = &writer->weave;
    struct weave_loss *loss = &writer->discarded;
    uint64_t now = clock_now();
    loss->first = loss->events ? loss->first : now;
    loss->last = now;
    loss->reason = STRING_RING_DAMAGED;
    loss->events += 1 + track->open_count;
    track->open_count = 0;
    track->has_step = false;
    track->position = head;
    fail_clear();
}

static int drain_ring(struct drainer *drainer, struct writer *writer)
{
    struct weave_track *track = &writer->weave;
    uint64_t head = writer_head(writer, track->position);
    int status = 0;
    uint64_t before = head;
    while (status == 0 && track->position < head && track->position != before) {
        before = track->position;
        if (weave_take(drainer->weave, track, writer->slots, writer->capacity - 1, head))
            give_up_ring(writer, head);
        status = flush_rows(drainer, writer);
    }
    return status;
}

// The writer went over what was not yet taken: the story goes on at its tail.
static int skip_overwritten(struct drainer *drainer, struct writer *writer, uint64_t tail)
{
    struct weave_track *track = &writer->weave;
    struct ring_head *ring = writer->ring;
    uint64_t events = __atomic_load_n(&ring->tail_events, __ATOMIC_RELAXED);
    uint64_t depth = __atomic_load_n(&ring->tail_depth, __ATOMIC_RELAXED);
    if (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) != tail)
        return 0; // it moved on meanwhile: the next look will tell
    // spans taken but not ended yet lose their end: they count as lost too
    struct weave_loss loss = {(events > track->begun ? events - track->begun : 0) +
                                  track->open_count,
                              ring->lost_first, ring->lost_last, STRING_OVERWRITTEN};
    track->begun = events;
    track->open_count = 0;
    track->has_step = false;
    track->base_depth = (uint32_t)depth;
    track->position = tail;
    return loss.events ? weave_write_loss(drainer->tables, writer->track, &loss) : 0;
}

static void copy_slots(struct slot *copy, const struct writer *writer, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++) {
        copy[at & (WEAVE_MAX_SLOTS - 1)] = writer->slots[at & (writer->capacity - 1)];
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

static int drain_overwritten_ring(struct drainer *drainer, struct writer *writer)
{
    struct weave_track *track = &writer->weave;
    uint64_t head = head_under_overwrite(writer);
    int status = 0;
    uint64_t before = UINT64_MAX;
    while (status == 0 && track->position < head && track->position != before) {
        uint64_t tail = __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE);
        if (tail > track->position) {
            status = skip_overwritten(drainer, writer, tail);
            continue;
        }
        uint64_t until = track->position + WEAVE_MAX_SLOTS;
        until = until < head ? until : head;
        copy_slots(drainer->copy, writer, track->position, until);
        if (__atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE) > track->position)
            continue;
        before = track->position;
        status = weave_take(drainer->weave, track, drainer->copy, WEAVE_MAX_SLOTS - 1, until);
        int flushed = flush_rows(drainer, writer);
        status = status ? status : flushed;
    }
    return status;
}

static int drain_writer(struct drainer *drainer, struct writer *writer)
{
    int status = add_member(drainer, writer);
    if (status == 0)
        status = put_losses(drainer, writer);
    if (status == 0 && writer->slots)
        status = writer->policy == RING_OVERWRITE ? drain_overwritten_ring(drainer, writer)
                                                  : drain_ring(drainer, writer);
    writer->batch_last = clock_now();
    return status;
}

// --- the batch ------------------------------------------------------------------

static void settle_member(struct writer *writer, bool is_written)
{
    struct ring_head *ring = writer->ring;
    if (is_written) {
        __atomic_store_n(&ring->lost_noticed, writer->weave.lost, __ATOMIC_RELEASE);
        writer->discarded.events = 0;
        return;
    }
    writer->weave.lost = writer->lost_before;
    if (writer->batch_events) {
        if (writer->discarded.events == 0)
            writer->discarded.first = writer->batch_first;
        writer->discarded.events += writer->batch_events;
        writer->discarded.last = writer->batch_last;
        writer->discarded.reason = STRING_DISK_FULL;
    }
}

static void settle_journal(struct drainer *drainer, bool is_written)
{
    struct recorder *recorder = drainer->recorder;
    struct journal_head *journal = recorder->pool.journal;
    if (!is_written)
        return;
    pthread_mutex_lock(&recorder->lock);
    journal->tail += drainer->journal_taken;
    if (journal->tail == journal->head)
        journal->tail = journal->head = 0;
    pthread_mutex_unlock(&recorder->lock);
}

// Commits and writes what the batch holds. A disk that takes nothing costs the
// events of this batch, counted, and is tried again with the next.
static void close_batch(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    int status = weave_commit(drainer->weave, drainer->tracks, drainer->track_count);
    if (status == 0) {
        uint64_t start = clock_now();
        status = shard_writer_put(drainer->shard);
        if (drainer->own_count < OWN_SPANS) {
            drainer->own_start[drainer->own_count] = start;
            drainer->own_duration[drainer->own_count++] = clock_now() - start;
        }
    }
    bool is_written = status == 0;
    if (is_written)
        drainer->has_preamble = true;
    else
        shard_writer_discard(drainer->shard);
    fail_clear();
    settle_journal(drainer, is_written);
    drainer->journal_taken = 0;
    for (uint32_t i = 0; i < drainer->track_count; i++) {
        struct writer *writer = drainer->members[i];
        settle_member(writer, is_written);
        if (writer->policy != RING_OVERWRITE)
            __atomic_store_n(&writer->ring->tail, writer->weave.position, __ATOMIC_RELEASE);
        __atomic_store_n(&writer->ring->unbalanced, writer->weave.unbalanced, __ATOMIC_RELAXED);
    }
    drainer->track_count = 0;
    __atomic_add_fetch(&recorder->round, 1, __ATOMIC_RELEASE);
    os_wake(&recorder->round);
}

static int add_to_batch(struct drainer *drainer, struct writer *writer)
{
    int status = drain_writer(drainer, writer);
    if (status == 0 && drainer->shard->batch.used >= BATCH_BYTES) {
        close_batch(drainer);
        status = open_batch(drainer);
    }
    return status;
}

// --- the round ------------------------------------------------------------------

static bool is_worth_a_visit(const struct writer *writer)
{
    if (writer->policy == RING_OVERWRITE || !writer->slots)
        return false;
    uint64_t used = writer_head(writer, writer->weave.position) - writer->weave.position;
    return used * WORTH_A_VISIT >= writer->capacity;
}

static bool has_news(const struct writer *writer)
{
    uint64_t head = writer->policy == RING_OVERWRITE ? head_under_overwrite(writer)
                                                     : writer_head(writer, writer->weave.position);
    return head != writer->weave.position || writer->discarded.events ||
           __atomic_load_n(&writer->ring->lost, __ATOMIC_ACQUIRE) != writer->weave.lost;
}

// Frees the writers of ended threads that have nothing left to tell.
static void bury_the_dead(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    for (struct writer **link = &recorder->writers; *link;) {
        struct writer *writer = *link;
        if (!writer->is_dead || has_news(writer)) {
            link = &writer->next;
            continue;
        }
        *link = writer->next;
        if (writer->slots)
            ring_pool_give(&recorder->pool, writer->ring);
        recorder->dead_count--;
        recorder_free_writer(writer);
    }
    pthread_mutex_unlock(&recorder->lock);
}

// What moves the drainer: a ring that fills, the time, or somebody's wish.
enum round_kind { ROUND_FULL_RINGS, ROUND_TIMED, ROUND_FLUSH, ROUND_LAST };

static void run_round(struct drainer *drainer, enum round_kind kind)
{
    struct recorder *recorder = drainer->recorder;
    bool is_last = kind == ROUND_LAST;
    pthread_mutex_lock(&recorder->lock);
    struct writer *writers = recorder->writers;
    pthread_mutex_unlock(&recorder->lock);

    int status = open_batch(drainer);
    uint64_t now = clock_raw_ns();
    if (status == 0 && (is_last || now - drainer->last_anchor_ns >= ANCHOR_NS))
        status = put_anchor(drainer);
    if (status == 0)
        status = put_own_spans(drainer);
    for (struct writer *writer = writers; writer && status == 0; writer = writer->next) {
        // the flight recorder keeps flying until somebody asks
        bool is_kept = writer->policy == RING_OVERWRITE && kind < ROUND_FLUSH && !writer->is_dead;
        if (has_news(writer) && !is_kept && (kind > ROUND_FULL_RINGS || is_worth_a_visit(writer)))
            status = add_to_batch(drainer, writer);
    }
    if (status == 0 && (is_last || now - drainer->last_cost_ns >= FLUSH_NS))
        status = put_cost(drainer);
    close_batch(drainer);
    bury_the_dead(recorder);
}

static void finish_flush(struct recorder *recorder, uint64_t wanted)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->flush_done = wanted;
    pthread_cond_broadcast(&recorder->drained);
    pthread_mutex_unlock(&recorder->lock);
}

static void run_until_stopped(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    for (;;) {
        pthread_mutex_lock(&recorder->lock);
        uint64_t wanted = recorder->flush_wanted;
        bool is_flush = wanted != recorder->flush_done;
        bool is_last = recorder->is_stopping;
        pthread_mutex_unlock(&recorder->lock);

        uint64_t now = clock_raw_ns();
        bool is_time = now - drainer->last_flush_ns >= FLUSH_NS;
        if (is_flush || is_last || is_time)
            drainer->last_flush_ns = now;
        __atomic_store_n(&recorder->wake, 0, __ATOMIC_RELEASE);
        run_round(drainer, is_last    ? ROUND_LAST
                           : is_flush ? ROUND_FLUSH
                           : is_time  ? ROUND_TIMED
                                      : ROUND_FULL_RINGS);
        if (is_flush)
            finish_flush(recorder, wanted);
        if (is_last)
            return;
        os_wait(&recorder->wake, 0, FLUSH_NS);
    }
}

static int prepare(struct drainer *drainer, struct recorder *recorder)
{
    *drainer = (struct drainer){.recorder = recorder,
                                .shard = &recorder->shard,
                                .tables = &recorder->shard.tables,
                                .tid = os_thread_id()};
    if (recorder->settings.policy == RING_OVERWRITE) {
        drainer->copy = malloc(WEAVE_MAX_SLOTS * sizeof(struct slot));
        if (!drainer->copy)
            return fail(GAIT_ERR_MEMORY, "no memory to drain rings");
    }
    return weave_create(drainer->tables, &drainer->weave);
}

static void *run_drainer(void *argument)
{
    struct recorder *recorder = argument;
    struct drainer drainer;
    if (prepare(&drainer, recorder) == 0)
        run_until_stopped(&drainer);
    weave_destroy(drainer.weave);
    free(drainer.copy);
    free(drainer.tracks);
    free(drainer.members);
    pthread_mutex_lock(&recorder->lock);
    recorder->has_drainer = false;
    pthread_cond_broadcast(&recorder->drained);
    pthread_mutex_unlock(&recorder->lock);
    return NULL;
}

int drainer_start(struct recorder *recorder)
{
    // no signal of the program's is ever handled here, SIGXFSZ included
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    recorder->has_drainer = true;
    int error = pthread_create(&recorder->drainer, NULL, run_drainer, recorder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        recorder->has_drainer = false;
        return fail(GAIT_ERR_STATE, "cannot start the drainer thread: %s", strerror(error));
    }
    return 0;
}

void drainer_stop(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->is_stopping = true;
    pthread_mutex_unlock(&recorder->lock);
    recorder_wake_drainer();
    pthread_join(recorder->drainer, NULL);
}
