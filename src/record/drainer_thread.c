// SPDX-License-Identifier: Apache-2.0
// One round: names first (the journal), then every ring that is worth it, then
// the commit, all in one batch and one write. Only after the write do tails
// move: whatever a crash interrupts is still in the ring file.
#define _GNU_SOURCE
#include "record/drainer_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/os/os.h"
#include "format/columns.h"
#include "record/name_table.h"
#include "record/preamble.h"
#include "record/recorder.h"
#include "record/rewrite_names.h"
#include "record/ring_reader.h"
#include "record/snapshot.h"
#include "vocabulary/metadata.h"

#define FLUSH_NS UINT64_C(5000000000) // nothing waits longer than this in a ring
#define ANCHOR_NS UINT64_C(100000000) // clocks need no closer anchors
#define BATCH_BYTES (4u << 20)        // a batch is written when it has grown to this
#define WORTH_A_VISIT 8u              // a ring this part full goes along with a fuller one
#define OWN_SPANS 64u
#define LAST_THREAD_NS UINT64_C(20000000) // how often to look who is left

struct drainer {
    struct recorder *recorder;
    struct shard_out *shard;
    struct table_writer *tables;
    struct ring_reader drain;
    bool has_preamble, is_last;
    bool is_brief;          // who it was and what was lost, and nothing more
    uint64_t journal_taken; // journal bytes in the batch
    bool has_retold;        // all names are in the batch
    uint64_t names_lost, names_lost_told;
    uint64_t ringless, ringless_told; // events that were lost where no thread could count them
    bool is_at_risk, is_risk_told;    // some ring is in no file
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
        .birth = recorder->birth,
        .tick_hz = clock_tick_hz(&recorder->first_anchor, &now),
        .drainer_tid = drainer->tid,
        .is_brief = drainer->is_brief,
    };
    recorder_lock();
    recorder->pool.header->tick_hz = preamble.tick_hz;
    int status = preamble_write(&preamble, drainer->tables);
    recorder_unlock();
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
    recorder_lock();
    uint64_t head = journal->head, tail = journal->tail;
    recorder_unlock();
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
    table_put(drainer->tables, COLUMN(COST, start), TRANSFORM_NONE, &now);
    table_put(drainer->tables, COLUMN(COST, cpu_ns), TRANSFORM_NONE, &cpu_ns);
    table_put(drainer->tables, COLUMN(COST, bytes), TRANSFORM_NONE, &drainer->shard->bytes);
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
    table_put_constant(drainer->tables, COLUMN(SPAN, site), SITE_WRITE);
    drainer->own_count = 0;
    return table_end(drainer->tables, &about, NULL);
}

// Names that found no room, when there is one again; and how many never will.
static int put_lost_names(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    int status = 0;
    recorder_lock();
    drainer->has_retold = recorder->must_retell;
    recorder->must_retell = false; // what comes from here on wants another time
    drainer->names_lost = name_table_overflow();
    drainer->is_at_risk = recorder->pool.lost_on_kill && !drainer->is_last;
    if (drainer->has_retold && drainer->has_preamble)
        status = preamble_write_dictionary(drainer->tables);
    if (drainer->has_retold && status == 0)
        status = rewrite_names(recorder, drainer->tables);
    recorder_unlock();
    if (status == 0 && drainer->names_lost != drainer->names_lost_told)
        status =
            preamble_write_number(meta.names_lost, (int64_t)drainer->names_lost, drainer->tables);
    if (status == 0 && drainer->is_at_risk != drainer->is_risk_told)
        status = preamble_write_truth(meta.lost_on_kill, drainer->is_at_risk, drainer->tables);
    return status;
}

// There was no memory for what its thread would have counted them with: they are told of
// with the latest thread that has some.
static int put_ringless(struct drainer *drainer)
{
    const struct recorder *recorder = drainer->recorder;
    const uint64_t now = clock_now();
    recorder_lock();
    const uint32_t track = recorder->writers ? recorder->writers->track : 0;
    drainer->ringless = track ? recorder->pool.header->lost_ringless : drainer->ringless_told;
    recorder_unlock();
    const struct span_builder_loss loss = {drainer->ringless - drainer->ringless_told, now, now,
                                           RING_LOSS_NO_RING};
    return loss.events ? span_builder_write_loss(drainer->tables, track, &loss) : 0;
}

static int open_batch(struct drainer *drainer)
{
    int status = 0;
    if (!drainer->has_preamble)
        status = put_preamble(drainer);
    if (status == 0)
        status = put_ringless(drainer);
    if (status)
        return status;
    if (drainer->is_brief)
        return drainer->is_risk_told
                   ? preamble_write_truth(meta.lost_on_kill, false, drainer->tables)
                   : 0;
    if (index_writer_is_due(&drainer->shard->index))
        status = index_writer_write(&drainer->shard->index, drainer->tables);
    if (status == 0)
        status = put_journal(drainer);
    return status ? status : put_lost_names(drainer);
}

// --- the batch ------------------------------------------------------------------

static void settle_journal(struct drainer *drainer, bool is_written)
{
    struct recorder *recorder = drainer->recorder;
    struct journal_head *journal = recorder->pool.journal;
    recorder_lock();
    recorder->is_disk_full = !is_written;
    if (is_written) {
        journal->tail += drainer->journal_taken;
        if (journal->tail == journal->head)
            journal->tail = journal->head = 0;
        drainer->names_lost_told = drainer->names_lost;
        drainer->is_risk_told = drainer->is_at_risk;
        drainer->ringless_told = drainer->ringless;
    } else {
        recorder->must_retell |= drainer->has_retold;
    }
    recorder_unlock();
    drainer->journal_taken = 0;
    drainer->has_retold = false;
}

// Commits and writes what the batch holds, if `status` says that it was made
// without failure. A disk that takes nothing costs the events of this batch,
// counted, and is tried again with the next.
static void close_batch(struct drainer *drainer, int status)
{
    struct recorder *recorder = drainer->recorder;
    if (status == 0)
        status = ring_reader_commit(&drainer->drain);
    if (status == 0) {
        uint64_t start = clock_now();
        status = shard_out_put(drainer->shard);
        if (drainer->own_count < OWN_SPANS) {
            drainer->own_start[drainer->own_count] = start;
            drainer->own_duration[drainer->own_count++] = clock_now() - start;
        }
    }
    bool is_written = status == 0;
    if (is_written)
        drainer->has_preamble = true;
    else
        shard_out_discard(drainer->shard);
    fail_clear();
    settle_journal(drainer, is_written);
    // at the very end what is not written stays in the ring file
    ring_reader_settle(&drainer->drain, is_written, drainer->is_last);
    __atomic_add_fetch(&recorder->round, 1, __ATOMIC_RELEASE);
    os_wake(&recorder->round);
}

static int add_to_batch(struct drainer *drainer, struct writer *writer)
{
    int status = ring_reader_writer(&drainer->drain, writer);
    if (status == 0 && drainer->shard->batch.used >= BATCH_BYTES) {
        close_batch(drainer, 0);
        status = open_batch(drainer);
    }
    return status;
}

// --- the round ------------------------------------------------------------------

static bool is_worth_a_visit(const struct writer *writer)
{
    if (writer->policy == RING_OVERWRITE || !writer->slots)
        return false;
    if (__atomic_load_n(&writer->is_waiting, __ATOMIC_ACQUIRE))
        return true;
    uint64_t used = writer_head(writer, writer->builder.position) - writer->builder.position;
    return used * WORTH_A_VISIT >= writer->capacity;
}

// Frees the writers of ended threads that have nothing left to tell, nor to write.
static void bury_the_dead(struct recorder *recorder)
{
    recorder_lock();
    for (struct writer **link = &recorder->writers; *link;) {
        struct writer *writer = *link;
        if (!writer->is_dead || ring_reader_has_news(writer) || writer_pay_for_owner(writer)) {
            link = &writer->next;
            continue;
        }
        *link = writer->next;
        if (writer->slots)
            ring_pool_give(&recorder->pool, writer->ring);
        recorder_free_writer(writer);
    }
    recorder_unlock();
}

// What moves the drainer: a ring that fills, the time, somebody's wish, the end,
// and what is to be said when the end found no room.
enum round_kind { ROUND_FULL_RINGS, ROUND_TIMED, ROUND_FLUSH, ROUND_LAST, ROUND_LOSSES };

static void run_round(struct drainer *drainer, enum round_kind kind)
{
    struct recorder *recorder = drainer->recorder;
    bool is_last = kind >= ROUND_LAST;
    drainer->is_last = is_last;
    drainer->is_brief = kind == ROUND_LOSSES;
    recorder_lock();
    struct writer *writers = recorder->writers;
    recorder_unlock();

    int status = open_batch(drainer);
    uint64_t now = clock_raw_ns();
    if (status == 0 && !drainer->is_brief &&
        (is_last || now - drainer->last_anchor_ns >= ANCHOR_NS))
        status = put_anchor(drainer);
    if (status == 0 && !drainer->is_brief)
        status = put_own_spans(drainer);
    for (struct writer *writer = writers; writer && status == 0; writer = writer->next) {
        // the flight recorder keeps flying until somebody asks
        bool is_dead = __atomic_load_n(&writer->is_dead, __ATOMIC_ACQUIRE);
        bool is_kept = writer->policy == RING_OVERWRITE && kind < ROUND_FLUSH && !is_dead;
        bool is_due = is_dead || kind > ROUND_FULL_RINGS || is_worth_a_visit(writer);
        if (is_due && !is_kept && ring_reader_has_news(writer))
            status = add_to_batch(drainer, writer);
    }
    if (status == 0 && !drainer->is_brief && (is_last || now - drainer->last_cost_ns >= FLUSH_NS))
        status = put_cost(drainer);
    close_batch(drainer, status);
    bury_the_dead(recorder);
}

static void finish_flush(struct recorder *recorder, uint64_t wanted)
{
    recorder_lock();
    recorder->flush_done = wanted;
    pthread_cond_broadcast(&recorder->drained);
    recorder_unlock();
}

// Whether every event that was drained is in the shard, or counted there.
static bool has_written_all(const struct recorder *recorder)
{
    for (const struct writer *writer = recorder->writers; writer; writer = writer->next) {
        if (writer->discarded.events)
            return false;
    }
    return !recorder->is_disk_full;
}

static bool pay_for_owners(struct recorder *recorder)
{
    bool has_news = false;
    recorder_lock();
    for (struct writer *writer = recorder->writers; writer; writer = writer->next)
        has_news |= writer_pay_for_owner(writer);
    recorder_unlock();
    return has_news;
}

static void run_last_round(struct drainer *drainer)
{
    const struct ring_pool *pool = &drainer->recorder->pool;
    drainer->shard->is_ending = true;
    do
        run_round(drainer, ROUND_LAST);
    while (pay_for_owners(drainer->recorder));
    // where no ring file keeps what the disk did not take, it can only be
    // counted, and that may still fit
    if ((!pool->path[0] || pool->lost_on_kill) && !has_written_all(drainer->recorder))
        run_round(drainer, ROUND_LOSSES);
}

// A process whose first thread has called pthread_exit() ends with its last
// one. Where only we are left we end, and with us the process, as it should.
static bool is_last_thread(struct recorder *recorder, bool is_time)
{
    if (is_time && !os_main_thread_lives())
        __atomic_store_n(&recorder->is_main_gone, true, __ATOMIC_RELEASE);
    return __atomic_load_n(&recorder->is_main_gone, __ATOMIC_ACQUIRE) && !os_other_thread_lives();
}

static void sleep_until_wanted(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    bool is_over = false;
    while (!is_over && __atomic_load_n(&recorder->wake, __ATOMIC_ACQUIRE) == 0) {
        bool is_main_gone = __atomic_load_n(&recorder->is_main_gone, __ATOMIC_ACQUIRE);
        os_wait(&recorder->wake, 0, is_main_gone ? LAST_THREAD_NS : FLUSH_NS);
        is_over =
            clock_raw_ns() - drainer->last_flush_ns >= FLUSH_NS || is_last_thread(recorder, false);
    }
}

static void run_until_stopped(struct drainer *drainer)
{
    struct recorder *recorder = drainer->recorder;
    for (bool is_last = false; !is_last;) {
        uint64_t now = clock_raw_ns();
        bool is_time = now - drainer->last_flush_ns >= FLUSH_NS;
        bool is_alone = is_last_thread(recorder, is_time);
        recorder_lock();
        uint64_t wanted = recorder->flush_wanted;
        bool is_flush = wanted != recorder->flush_done;
        is_last = recorder->is_stopping || is_alone;
        recorder_unlock();

        if (is_flush || is_last || is_time)
            drainer->last_flush_ns = now;
        __atomic_store_n(&recorder->wake, 0, __ATOMIC_RELEASE);
        if (is_last)
            run_last_round(drainer);
        else
            run_round(drainer, is_flush ? ROUND_FLUSH : is_time ? ROUND_TIMED : ROUND_FULL_RINGS);
        snapshot_serve(recorder);
        if (is_flush)
            finish_flush(recorder, wanted);
        if (!is_last)
            sleep_until_wanted(drainer);
    }
}

static int prepare(struct drainer *drainer, struct recorder *recorder)
{
    *drainer = (struct drainer){.recorder = recorder,
                                .shard = &recorder->shard,
                                .tables = &recorder->shard.tables,
                                .tid = os_thread_id()};
    return ring_reader_init(&drainer->drain, drainer->tables, recorder->settings.policy);
}

static void *run_drainer(void *argument)
{
    struct recorder *recorder = argument;
    struct drainer drainer;
    if (prepare(&drainer, recorder) == 0)
        run_until_stopped(&drainer);
    ring_reader_finish(&drainer.drain);
    recorder_lock();
    recorder->is_incomplete = !has_written_all(recorder);
    recorder->has_drainer = false;
    pthread_cond_broadcast(&recorder->drained);
    recorder_unlock();
    return NULL;
}

int drainer_thread_start(struct recorder *recorder)
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

void drainer_thread_stop(struct recorder *recorder)
{
    recorder_lock();
    recorder->is_stopping = true;
    recorder_unlock();
    recorder_wake_drainer();
    // refused where the drainer itself is the last thread of the process
    (void)pthread_join(recorder->drainer, NULL);
}
