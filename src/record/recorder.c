// SPDX-License-Identifier: Apache-2.0
// Sessions: how recording begins, how threads join, how it ends, and what a
// fork does to it. Two locks: `sessions` serialises start, stop and fork, the
// recorder's lock guards its fields; the first is always taken first.
#define _GNU_SOURCE
#include "record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/os/os.h"
#include "record/drainer.h"
#include "record/name_table.h"
#include "record/preamble.h"

#define JOURNAL_WAIT_NS 1000000000
#define INSIDE_TRIES 2000 // of 1 ms: longer than any wait for the drainer
#define DEAD_WORTH_WAKING 16

int gait_recording;
struct recorder recorder_state = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .drained = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t sessions = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static struct ring_pool retired; // of the session before

// --- waking and waiting -----------------------------------------------------------

void recorder_wake_drainer(void)
{
    if (__atomic_exchange_n(&recorder_state.wake, 1, __ATOMIC_ACQ_REL) == 0)
        os_wake(&recorder_state.wake);
}

uint32_t recorder_drain_round(void)
{
    return __atomic_load_n(&recorder_state.round, __ATOMIC_ACQUIRE);
}

void recorder_wait_drained(uint32_t round, uint64_t timeout_ns)
{
    os_wait(&recorder_state.round, round, timeout_ns);
}

static struct timespec deadline_in(int64_t ns)
{
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    ns += when.tv_nsec;
    when.tv_sec += (time_t)(ns / 1000000000);
    when.tv_nsec = (long)(ns % 1000000000);
    return when;
}

void recorder_flush_locked(void)
{
    struct recorder *recorder = &recorder_state;
    uint64_t wanted = ++recorder->flush_wanted;
    while (recorder->has_drainer && recorder->flush_done < wanted) {
        recorder_wake_drainer();
        struct timespec when = deadline_in(100000000);
        pthread_cond_timedwait(&recorder->drained, &recorder->lock, &when);
    }
}

// --- the journal ------------------------------------------------------------------

void recorder_journal_locked(const struct journal_row *row)
{
    struct recorder *recorder = &recorder_state;
    size_t bytes = journal_row_bytes(row);
    struct timespec when = deadline_in(JOURNAL_WAIT_NS);
    int error = 0;
    while (recorder->pool.journal && recorder->has_drainer && error != ETIMEDOUT) {
        struct journal_head *journal = recorder->pool.journal;
        if (bytes > journal->region.capacity)
            break;
        if (journal->head + bytes <= journal->region.capacity) {
            journal_row_write(row, (uint8_t *)(journal + 1) + journal->head);
            __atomic_store_n(&journal->head, journal->head + bytes, __ATOMIC_RELEASE);
            return;
        }
        recorder->flush_wanted++;
        recorder_wake_drainer();
        error = pthread_cond_timedwait(&recorder->drained, &recorder->lock, &when);
    }
    recorder->journal_lost += recorder->pool.journal != NULL;
}

void recorder_journal(const struct journal_row *row)
{
    pthread_mutex_lock(&recorder_state.lock);
    recorder_journal_locked(row);
    pthread_mutex_unlock(&recorder_state.lock);
}

// --- threads ----------------------------------------------------------------------

void recorder_free_writer(struct writer *writer)
{
    weave_track_finish(&writer->weave);
    free(writer->syncs);
    free(writer);
}

static bool is_of_this_session(const struct writer *writer)
{
    uint64_t session = __atomic_load_n(&writer_session, __ATOMIC_RELAXED);
    return session && writer->session == session;
}

static void end_thread(void *argument)
{
    struct writer *writer = argument;
    struct recorder *recorder = &recorder_state;
    writer_self = NULL;
    writer_ring = &writer_nowhere;
    pthread_mutex_lock(&recorder->lock);
    writer->self = NULL;
    // not asked by session: while one is being closed, the drainer still reads
    if (writer->is_listed) {
        writer->is_dead = true;
        if (++recorder->dead_count % DEAD_WORTH_WAKING == 0)
            recorder_wake_drainer();
    } else {
        recorder_free_writer(writer);
    }
    pthread_mutex_unlock(&recorder->lock);
}

static struct writer *new_writer(enum ring_policy policy)
{
    struct writer *writer = aligned_alloc(64, (sizeof(*writer) + 63) & ~(size_t)63);
    if (!writer)
        return NULL;
    memset(writer, 0, sizeof(*writer));
    if (policy == RING_OVERWRITE) {
        writer->syncs = malloc(WRITER_SYNCS * sizeof(*writer->syncs));
        if (!writer->syncs) {
            free(writer);
            return NULL;
        }
    }
    pthread_setspecific(thread_end, writer);
    return writer;
}

void recorder_name_track(const struct writer *writer, const char *name)
{
    char key[24];
    int64_t tid = os_thread_id();
    snprintf(key, sizeof(key), "%lld", (long long)tid);
    const struct journal_row row = {TABLE_TRACK,
                                    6,
                                    2,
                                    {writer->track, 1, 1, 0, (uint64_t)tid, 0},
                                    {slice_of(key), slice_of(name)}};
    recorder_journal_locked(&row);
}

static struct writer *attach_locked(struct writer *writer)
{
    struct recorder *recorder = &recorder_state;
    enum ring_policy policy = recorder->settings.policy;
    uint64_t session = __atomic_load_n(&writer_session, __ATOMIC_RELAXED);
    char name[16] = "";
    if (!session)
        return writer;
    if (writer && is_of_this_session(writer))
        return writer;
    if (!writer || (policy == RING_OVERWRITE && !writer->syncs))
        writer = new_writer(policy);
    if (!writer)
        return NULL;
    uint32_t track = recorder->next_track++;
    struct ring_head *ring = ring_pool_take(&recorder->pool, track, clock_now());
    fail_clear();
    writer_attach(writer, ring, track, policy, session);
    writer->self = &writer_ring;
    writer_self = writer;
    writer_ring = writer->ring;
    writer->next = recorder->writers;
    recorder->writers = writer;
    writer->is_listed = true;
    pthread_getname_np(pthread_self(), name, sizeof(name));
    recorder_name_track(writer, name);
    return writer;
}

static void restart_in_child(void);

struct writer *recorder_attach_thread(struct writer *writer)
{
    struct recorder *recorder = &recorder_state;
    if (__atomic_load_n(&recorder->is_forked, __ATOMIC_ACQUIRE))
        restart_in_child();
    pthread_mutex_lock(&recorder->lock);
    writer = attach_locked(writer);
    pthread_mutex_unlock(&recorder->lock);
    return writer;
}

// --- start ------------------------------------------------------------------------

static void prepare_fork(void);
static void resume_parent(void);
static void resume_child(void);

static void set_up_process(void)
{
    clock_setup();
    os_barrier_setup();
    pthread_key_create(&thread_end, end_thread);
    pthread_atfork(prepare_fork, resume_parent, resume_child);
}

static void make_session_id(uint8_t id[16])
{
    if (getrandom(id, 16, GRND_NONBLOCK) == 16)
        return;
    const uint64_t parts[2] = {clock_raw_ns(), (uint64_t)getpid()};
    memcpy(id, parts, 16);
}

// With `sessions` held, the lock not.
static int begin_session(void)
{
    struct recorder *recorder = &recorder_state;
    int status;

    make_session_id(recorder->session_id);
    recorder->first_anchor = clock_read_anchor();
    status = shard_writer_open(&recorder->shard, recorder->settings.directory,
                               recorder->first_anchor.real_ns);
    if (status)
        return fail_because(status, "cannot start recording");
    status = ring_pool_init(&recorder->pool, recorder->session_id, recorder->settings.ring_slots,
                            recorder->settings.directory);
    if (status) {
        shard_writer_finish(&recorder->shard);
        return status;
    }
    recorder->pool.header->policy = recorder->settings.policy;
    const struct clock_anchor *anchor = &recorder->first_anchor;
    recorder->pool.header->anchors[0] =
        (struct ring_anchor){anchor->tick, anchor->raw_ns, anchor->real_ns, anchor->error_ns};
    recorder->writers = NULL;
    recorder->next_track = PREAMBLE_FIRST_TRACK;
    recorder->dead_count = 0;
    recorder->is_stopping = false;
    status = drainer_start(recorder);
    if (status) {
        ring_pool_finish(&recorder->pool, RING_POOL_UNLINK | RING_POOL_UNMAP);
        shard_writer_finish(&recorder->shard);
        return status;
    }
    pthread_mutex_lock(&recorder->lock);
    __atomic_store_n(&writer_session, ++recorder->session_count, __ATOMIC_RELEASE);
    __atomic_store_n(&gait_recording, 1, __ATOMIC_RELEASE);
    recorder_flush_locked(); // from here on the file says who is recording
    pthread_mutex_unlock(&recorder->lock);
    return 0;
}

int gait_start(const struct gait_options *options)
{
    struct recorder *recorder = &recorder_state;
    struct settings settings;
    int status;

    pthread_once(&once, set_up_process);
    status = settings_read(options, &settings);
    if (status || !settings.is_enabled)
        return status;
    pthread_mutex_lock(&sessions);
    if (writer_session) {
        status = fail(GAIT_ERR_STATE, "already recording to '%s'", recorder->shard.path);
    } else {
        recorder->is_forked = false;
        recorder->settings = settings;
        status = begin_session();
    }
    pthread_mutex_unlock(&sessions);
    return status;
}

// --- stop -------------------------------------------------------------------------

// Takes the room away from every thread. A record being written in this very
// moment is finished in time; one whose thread has just lost its processor may
// come too late, as if it had been made after the stop.
static void revoke_room(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    for (struct writer *writer = recorder->writers; writer; writer = writer->next) {
        __atomic_store_n(&writer->ring->limit, 0, __ATOMIC_SEQ_CST);
        if (writer->self)
            __atomic_store_n(writer->self, &writer_nowhere, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&recorder->lock);
    os_barrier_all_threads();
}

// Waits until no thread is in the slow path, where it may wait for the drainer.
static void wait_until_outside(struct recorder *recorder)
{
    const struct timespec pause = {0, 1000000};
    bool is_inside = true;
    for (int i = 0; i < INSIDE_TRIES && is_inside; i++) {
        is_inside = false;
        pthread_mutex_lock(&recorder->lock);
        for (const struct writer *writer = recorder->writers; writer; writer = writer->next) {
            is_inside |= __atomic_load_n(&writer->is_inside, __ATOMIC_ACQUIRE) != 0;
        }
        pthread_mutex_unlock(&recorder->lock);
        if (is_inside)
            nanosleep(&pause, NULL);
    }
}

// Writers of living threads stay with them, empty, for a later session.
static void release_writers(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    for (struct writer *writer = recorder->writers, *next; writer; writer = next) {
        next = writer->next;
        weave_track_finish(&writer->weave);
        writer->slots = NULL;
        writer->ring = &writer->ringless;
        writer->is_listed = false;
        if (writer->is_dead)
            recorder_free_writer(writer);
    }
    recorder->writers = NULL;
    pthread_mutex_unlock(&recorder->lock);
}

// With `sessions` held.
static int end_session(void)
{
    struct recorder *recorder = &recorder_state;
    __atomic_store_n(&gait_recording, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&writer_session, 0, __ATOMIC_RELEASE);
    revoke_room(recorder);
    wait_until_outside(recorder);
    revoke_room(recorder); // of those who were inside and took room again
    if (recorder->has_drainer)
        drainer_stop(recorder);
    int status = shard_writer_seal(&recorder->shard);
    release_writers(recorder);
    // a thread without a processor may still wake up with a slot's address in
    // hand, so its memory goes one session later
    ring_pool_finish(&retired, RING_POOL_UNMAP);
    pthread_mutex_lock(&recorder->lock);
    retired = recorder->pool;
    ring_pool_finish(&retired, RING_POOL_UNLINK);
    recorder->pool = (struct ring_pool){.fd = -1};
    pthread_mutex_unlock(&recorder->lock);
    shard_writer_finish(&recorder->shard);
    return status;
}

int gait_stop(void)
{
    int status = 0;
    pthread_mutex_lock(&sessions);
    if (writer_session)
        status = end_session();
    recorder_state.is_forked = false;
    __atomic_store_n(&gait_recording, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&sessions);
    return status;
}

// The normal end of a process. Forked children that never recorded have no
// session and pass through.
__attribute__((destructor)) static void stop_at_exit(void)
{
    (void)gait_stop();
}

// --- fork -------------------------------------------------------------------------

static void prepare_fork(void)
{
    pthread_mutex_lock(&sessions);
    pthread_mutex_lock(&recorder_state.lock);
}

static void resume_parent(void)
{
    pthread_mutex_unlock(&recorder_state.lock);
    pthread_mutex_unlock(&sessions);
}

// The child has none of the parent's threads and must not touch its files. It
// begins a session of its own with its first record, if it ever makes one.
static void resume_child(void)
{
    struct recorder *recorder = &recorder_state;
    const pthread_mutex_t fresh_mutex = PTHREAD_MUTEX_INITIALIZER;
    const pthread_cond_t fresh_condition = PTHREAD_COND_INITIALIZER;
    sessions = fresh_mutex;
    recorder->lock = fresh_mutex;
    recorder->drained = fresh_condition;
    if (!writer_session)
        return;
    writer_session = 0;
    writer_self = NULL;
    writer_ring = &writer_nowhere;
    pthread_setspecific(thread_end, NULL);
    recorder->writers = NULL; // the writers' memory is given up
    recorder->has_drainer = false;
    recorder->flush_done = recorder->flush_wanted;
    ring_pool_finish(&recorder->pool, RING_POOL_UNMAP);
    close(recorder->shard.fd); // its buffers too: the drainer may have been in them
    recorder->is_forked = true;
}

static void restart_in_child(void)
{
    struct recorder *recorder = &recorder_state;
    pthread_mutex_lock(&sessions);
    if (recorder->is_forked) {
        __atomic_store_n(&recorder->is_forked, false, __ATOMIC_RELEASE);
        if (begin_session()) {
            __atomic_store_n(&gait_recording, 0, __ATOMIC_RELEASE);
            fail_clear();
        }
    }
    pthread_mutex_unlock(&sessions);
}
