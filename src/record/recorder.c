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
#include "record/drainer_thread.h"
#include "record/identity.h"
#include "record/metadata_store.h"
#include "record/name_table.h"
#include "record/preamble.h"
#include "record/signal_guard.h"
#include "vocabulary/metadata.h"

#define JOURNAL_WAIT_NS 1000000000
#define INSIDE_TRIES 2000 // of 1 ms: longer than any wait for the drainer
#define DEAD_WORTH_WAKING 16

int gait_recording;
struct recorder recorder_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t sessions = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end, main_end;

void recorder_lock(void)
{
    signal_guard_lock(&recorder_state.lock);
}

void recorder_unlock(void)
{
    signal_guard_unlock(&recorder_state.lock);
}

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

// Waits by the clock that nobody can set.
static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static struct timespec deadline_in(int64_t ns)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    ns += when.tv_nsec;
    when.tv_sec += (time_t)(ns / 1000000000);
    when.tv_nsec = (long)(ns % 1000000000);
    return when;
}

void recorder_wait_locked(void)
{
    const struct timespec when = deadline_in(100000000);
    pthread_cond_timedwait(&recorder_state.drained, &recorder_state.lock, &when);
}

void recorder_flush_locked(void)
{
    struct recorder *recorder = &recorder_state;
    uint64_t wanted = ++recorder->flush_wanted;
    while (recorder->has_drainer && recorder->flush_done < wanted) {
        recorder_wake_drainer();
        recorder_wait_locked();
    }
}

// --- the journal ------------------------------------------------------------------

// Room for `bytes` more, or NULL; on a full disk nobody waits for any.
static uint8_t *make_journal_room(size_t bytes)
{
    struct recorder *recorder = &recorder_state;
    struct timespec when = deadline_in(JOURNAL_WAIT_NS);
    int error = 0;
    while (recorder->pool.journal && recorder->has_drainer) {
        struct journal_head *journal = recorder->pool.journal;
        if (journal->head + bytes <= journal->region.capacity)
            return (uint8_t *)(journal + 1) + journal->head;
        if (bytes > journal->region.capacity || recorder->is_disk_full || error == ETIMEDOUT)
            return NULL;
        recorder->flush_wanted++;
        recorder_wake_drainer();
        error = pthread_cond_timedwait(&recorder->drained, &recorder->lock, &when);
    }
    return NULL;
}

void recorder_journal_locked(const struct journal_row *row)
{
    size_t bytes = journal_row_bytes(row);
    uint8_t *room = make_journal_room(bytes);
    if (!room) {
        recorder_state.must_retell = true;
        return;
    }
    struct journal_head *journal = recorder_state.pool.journal;
    journal_row_write(row, room);
    __atomic_store_n(&journal->head, journal->head + bytes, __ATOMIC_RELEASE);
}

// --- threads ----------------------------------------------------------------------

void recorder_free_writer(struct writer *writer)
{
    span_builder_track_finish(&writer->builder);
    free(writer->syncs);
    free(writer->name);
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
    recorder_lock();
    writer_self = NULL;
    __atomic_store_n(&writer_ring, &writer_nowhere, __ATOMIC_RELAXED);
    writer->self = NULL;
    // not asked by session: while one is being closed, the drainer still reads
    if (writer->is_listed) {
        __atomic_store_n(&writer->is_dead, true, __ATOMIC_RELEASE);
        if (++recorder->dead_count % DEAD_WORTH_WAKING == 0)
            recorder_wake_drainer();
    } else {
        recorder_free_writer(writer);
    }
    recorder_unlock();
}

// The process goes on without its first thread, see the drainer.
static void end_main(void *recorder)
{
    __atomic_store_n(&((struct recorder *)recorder)->is_main_gone, true, __ATOMIC_RELEASE);
    recorder_wake_drainer();
}

static struct writer *new_writer(void)
{
    struct writer *writer = aligned_alloc(64, (sizeof(*writer) + 63) & ~(size_t)63);
    if (!writer)
        return NULL;
    memset(writer, 0, sizeof(*writer));
    pthread_setspecific(thread_end, writer);
    return writer;
}

static bool has_syncs(struct writer *writer, enum ring_policy policy)
{
    if (policy == RING_OVERWRITE && !writer->syncs)
        writer->syncs = malloc(WRITER_SYNCS * sizeof(*writer->syncs));
    return policy != RING_OVERWRITE || writer->syncs;
}

struct journal_row recorder_track_row(const struct writer *writer)
{
    return (struct journal_row){TABLE_TRACK,
                                6,
                                2,
                                {writer->track, 1, 1, 0, (uint64_t)writer->tid, 0},
                                {slice_of(writer->key), slice_of(writer->name)}};
}

void recorder_name_track(struct writer *writer, const char *name)
{
    char *copy = strdup(name);
    if (copy) {
        free(writer->name);
        writer->name = copy;
    }
    const struct journal_row row = recorder_track_row(writer);
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
    if (!writer)
        writer = new_writer();
    if (!writer || !has_syncs(writer, policy))
        return NULL;
    uint32_t track = recorder->next_track++;
    struct ring_head *ring = ring_pool_take(&recorder->pool, track, clock_now());
    fail_clear();
    writer_attach(writer, ring, track, policy, session);
    writer->self = &writer_ring;
    writer_self = writer;
    __atomic_store_n(&writer_ring, writer->ring, __ATOMIC_RELAXED);
    writer->next = recorder->writers;
    recorder->writers = writer;
    writer->is_listed = true;
    writer->is_named = false;
    writer->tid = os_thread_id();
    snprintf(writer->key, sizeof(writer->key), "%lld", (long long)writer->tid);
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
    recorder_lock();
    const uint32_t next_track = recorder->next_track;
    writer = attach_locked(writer);
    const bool has_begun = recorder->next_track != next_track;
    recorder_unlock();
    void (*begun)(void) = __atomic_load_n(&recorder->begun, __ATOMIC_ACQUIRE);
    if (has_begun && begun)
        begun();
    return writer;
}

void recorder_lose(void)
{
    recorder_lock();
    if (writer_session)
        recorder_state.pool.header->lost_ringless++;
    recorder_unlock();
}

void gait_on_thread(void (*begun)(void))
{
    __atomic_store_n(&recorder_state.begun, begun, __ATOMIC_RELEASE);
}

// --- stop -------------------------------------------------------------------------

// Takes the room away from every thread. Whoever is past looking at the limit
// shows it by its ring's `busy`.
static void revoke_room(struct recorder *recorder)
{
    recorder_lock();
    for (struct writer *writer = recorder->writers; writer; writer = writer->next) {
        __atomic_store_n(&writer->ring->limit, 0, __ATOMIC_SEQ_CST);
        if (writer->self)
            __atomic_store_n(writer->self, &writer_nowhere, __ATOMIC_SEQ_CST);
    }
    recorder_unlock();
    os_barrier_all_threads();
}

// In the middle of a record, or in the slow path, where it may wait for the
// drainer. The calling thread itself may be, if a signal handler stops us.
static bool is_occupied(const struct writer *writer)
{
    return writer != writer_self && (__atomic_load_n(&writer->is_inside, __ATOMIC_ACQUIRE) ||
                                     __atomic_load_n(&writer->ring->busy, __ATOMIC_ACQUIRE));
}

static void wait_until_outside(struct recorder *recorder)
{
    const struct timespec pause = {0, 1000000};
    bool is_inside = true;
    for (int i = 0; i < INSIDE_TRIES && is_inside; i++) {
        is_inside = false;
        recorder_lock();
        for (const struct writer *writer = recorder->writers; writer; writer = writer->next) {
            is_inside |= is_occupied(writer);
        }
        recorder_unlock();
        if (is_inside)
            nanosleep(&pause, NULL);
    }
}

// Writers of living threads stay with them, empty, for a later session.
static void release_writers(struct recorder *recorder)
{
    recorder_lock();
    for (struct writer *writer = recorder->writers, *next; writer; writer = next) {
        next = writer->next;
        span_builder_track_finish(&writer->builder);
        writer->slots = NULL;
        __atomic_store_n(&writer->ring, &writer->ringless, __ATOMIC_RELEASE);
        writer->is_listed = false;
        if (writer->is_dead)
            recorder_free_writer(writer);
    }
    recorder->writers = NULL;
    recorder_unlock();
}

// Where the disk took less than everything, the shard stays open and the ring
// file stays: together they are whole, and a reader takes them together.
static int seal(struct recorder *recorder)
{
    if (recorder->is_incomplete && recorder->pool.path[0])
        return fail(GAIT_ERR_IO, "cannot write all to '%s': the rest is in '%s'",
                    recorder->shard.path, recorder->pool.path);
    if (recorder->is_incomplete)
        return fail(GAIT_ERR_IO, "cannot write all to '%s': the rest is lost",
                    recorder->shard.path);
    return shard_out_seal(&recorder->shard);
}

// With `sessions` held.
static void halt_session(struct recorder *recorder)
{
    __atomic_store_n(&gait_recording, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&writer_session, 0, __ATOMIC_SEQ_CST);
    revoke_room(recorder);
    wait_until_outside(recorder);
    revoke_room(recorder); // of those who were inside and took room again
    wait_until_outside(recorder);
    drainer_thread_stop(recorder);
}

static void release_session(struct recorder *recorder, bool is_ring_done)
{
    release_writers(recorder);
    recorder_lock();
    ring_pool_finish(&recorder->pool, is_ring_done);
    recorder_unlock();
}

static int end_session(void)
{
    struct recorder *recorder = &recorder_state;
    halt_session(recorder);
    int status = seal(recorder);
    // no reader would find a ring file by a shard that does not name it
    bool is_empty = !recorder->shard.bytes;
    release_session(recorder, status == 0 || is_empty);
    if (is_empty)
        shard_out_remove(&recorder->shard);
    else
        shard_out_finish(&recorder->shard);
    return status;
}

// Of a start that failed half-way nothing stays behind.
static void undo_session(struct recorder *recorder)
{
    halt_session(recorder);
    release_session(recorder, true);
    shard_out_remove(&recorder->shard);
}

// --- start ------------------------------------------------------------------------

static void prepare_fork(void);
static void resume_parent(void);
static void resume_child(void);

static void note_exit(int code);

static void set_up_process(void)
{
    os_on_exit(note_exit);
    clock_setup();
    init_condition(&recorder_state.drained);
    os_barrier_setup();
    pthread_key_create(&thread_end, end_thread);
    pthread_key_create(&main_end, end_main);
    pthread_atfork(prepare_fork, resume_parent, resume_child);
}

static void make_session_id(uint8_t id[16])
{
    if (getrandom(id, 16, GRND_NONBLOCK) == 16)
        return;
    const uint64_t parts[2] = {clock_raw_ns(), (uint64_t)getpid()};
    memcpy(id, parts, 16);
}

// Who finds the ring file alone must find its shard, or that there is none.
static void tell_shard_path(const struct recorder *recorder)
{
    struct ring_file_header *header = recorder->pool.header;
    char path[PATH_MAX];
    if (realpath(recorder->shard.path, path) && strlen(path) < sizeof(header->shard_path))
        memcpy(header->shard_path, path, strlen(path) + 1);
}

static void reset_fields(struct recorder *recorder)
{
    const struct clock_anchor *anchor = &recorder->first_anchor;
    recorder->pool.header->policy = recorder->settings.policy;
    recorder->pool.header->anchors[0] =
        (struct ring_anchor){anchor->tick, anchor->raw_ns, anchor->real_ns, anchor->error_ns};
    recorder->writers = NULL;
    recorder->next_track = PREAMBLE_FIRST_TRACK;
    recorder->dead_count = 0;
    recorder->must_retell = recorder->is_disk_full = recorder->is_stopping = false;
    metadata_store_clear();
}

// What lies before a later session of the same process is not the later one's.
static void find_birth(struct recorder *recorder)
{
    const pid_t pid = getpid();
    const bool is_first = recorder->born_pid != pid;
    recorder->birth = is_first ? birth_find(&recorder->first_anchor) : (struct birth){0};
    recorder->born_pid = pid;
}

// With `sessions` held, the lock not.
static int begin_session(void)
{
    struct recorder *recorder = &recorder_state;
    int status;

    make_session_id(recorder->session_id);
    recorder->first_anchor = clock_read_anchor();
    find_birth(recorder);
    status = shard_out_open(&recorder->shard, recorder->settings.directory, recorder->settings.rank,
                            recorder->first_anchor.real_ns);
    if (status)
        return fail_because(status, "cannot start recording");
    status = ring_pool_init(&recorder->pool, recorder->session_id, recorder->settings.ring_slots,
                            recorder->settings.directory);
    if (status) {
        shard_out_remove(&recorder->shard);
        return status;
    }
    reset_fields(recorder);
    tell_shard_path(recorder);
    if (os_thread_id() == getpid())
        pthread_setspecific(main_end, recorder);
    status = drainer_thread_start(recorder);
    if (status) {
        ring_pool_finish(&recorder->pool, true);
        shard_out_remove(&recorder->shard);
        return status;
    }
    recorder_lock();
    __atomic_store_n(&writer_session, ++recorder->session_count, __ATOMIC_RELEASE);
    __atomic_store_n(&gait_recording, 1, __ATOMIC_RELEASE);
    recorder_flush_locked(); // from here on the file says who is recording
    bool has_drainer = recorder->has_drainer;
    recorder_unlock();
    if (has_drainer) {
        identity_tell();
        return 0;
    }
    undo_session(recorder); // it found no memory to begin with
    return fail(GAIT_ERR_MEMORY, "cannot start recording: no memory for the drainer");
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
    signal_guard_lock(&sessions);
    if (writer_session) {
        status = fail(GAIT_ERR_STATE, "already recording to '%s'", recorder->shard.path);
    } else {
        __atomic_store_n(&recorder->is_forked, false, __ATOMIC_RELEASE);
        recorder_lock();
        recorder->settings = settings;
        recorder_unlock();
        status = begin_session();
    }
    signal_guard_unlock(&sessions);
    return status;
}

int gait_stop(void)
{
    int status = 0;
    signal_guard_lock(&sessions);
    if (writer_session)
        status = end_session();
    __atomic_store_n(&recorder_state.is_forked, false, __ATOMIC_RELEASE);
    __atomic_store_n(&gait_recording, 0, __ATOMIC_RELEASE);
    signal_guard_unlock(&sessions);
    return status;
}

// A process that closes its shard itself says how it ended only if it failed. Not in the
// middle of our own work, nor in a forked child that never recorded.
static void note_exit(int code)
{
    char json[32];
    if (!code || signal_guard_is_on() || !writer_session)
        return;
    snprintf(json, sizeof(json), "{\"code\": %d}", code);
    if (gait_metadata(meta.exit, json))
        fail_clear();
}

// The normal end of a process. Forked children that never recorded have no
// session and pass through; so does a signal handler that exits in the middle
// of our own work: what it left is completed from the ring file.
__attribute__((destructor)) static void stop_at_exit(void)
{
    if (!signal_guard_is_on())
        (void)gait_stop();
}

// --- fork -------------------------------------------------------------------------

static void prepare_fork(void)
{
    signal_guard_lock(&sessions);
    recorder_lock();
}

static void resume_parent(void)
{
    recorder_unlock();
    signal_guard_unlock(&sessions);
}

// The child has none of the parent's threads and must not touch its files. It
// begins a session of its own with its first record, if it ever makes one.
static void resume_child(void)
{
    struct recorder *recorder = &recorder_state;
    const pthread_mutex_t fresh_mutex = PTHREAD_MUTEX_INITIALIZER;
    resume_parent(); // gives back what this thread took
    sessions = fresh_mutex;
    recorder->lock = fresh_mutex;
    init_condition(&recorder->drained);
    if (!writer_session)
        return;
    writer_session = 0;
    writer_self = NULL;
    writer_ring = &writer_nowhere;
    pthread_setspecific(thread_end, NULL);
    recorder->writers = NULL; // the writers' memory is given up
    recorder->snapshot = NULL;
    recorder->is_main_gone = false; // this very thread is the first now
    recorder->has_drainer = false;
    recorder->flush_done = recorder->flush_wanted;
    ring_pool_finish(&recorder->pool, false);
    // its buffers are given up too: the drainer may have been in them
    shard_out_abandon(&recorder->shard);
    recorder->is_forked = true;
}

static void restart_in_child(void)
{
    struct recorder *recorder = &recorder_state;
    signal_guard_lock(&sessions);
    if (recorder->is_forked) {
        __atomic_store_n(&recorder->is_forked, false, __ATOMIC_RELEASE);
        if (begin_session()) {
            __atomic_store_n(&gait_recording, 0, __ATOMIC_RELEASE);
            fail_clear();
        }
    }
    signal_guard_unlock(&sessions);
}
