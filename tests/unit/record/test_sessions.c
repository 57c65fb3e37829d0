// SPDX-License-Identifier: Apache-2.0
// Recording begins and ends while threads live, die and are interrupted.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "support/recording.h"
#include "support/tap.h"

enum { SITES = 30000, THREADS = 3, CYCLES = 50 };

static uint32_t sites[SITES];

static void make_sites(void)
{
    for (int i = 0; i < SITES; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        sites[i] = gait_site("session", name);
    }
}

// --- start and stop, while threads record on -----------------------------------------

static int is_over;
static uint64_t made[THREADS]; // numbers begun so far, by thread

static void *record_on(void *argument)
{
    uint64_t *count = argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        gait_begin(sites[*count % SITES]);
        gait_mark(sites[*count % SITES]);
        gait_end();
        __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

// Each thread's spans are an unbroken row, and each mark lies in its span, but
// at the ends of the session.
static void check_rows(const struct recorded *recorded)
{
    long last[THREADS + 8];
    uint64_t breaks = 0, marks_out = 0;
    const struct recorded_event *span[THREADS + 8] = {NULL};
    memset(last, 0xff, sizeof last);
    for (size_t i = 0; i < recorded->count; i++) {
        const struct recorded_event *event = &recorded->events[i];
        if (!ok(event->track < THREADS + 8))
            return;
        if (event->kind == GAIT_KIND_MARK) {
            const struct recorded_event *around = span[event->track];
            marks_out +=
                around &&
                (around->number != event->number ||
                 (around->duration >= 0 && event->start > around->start + around->duration));
            continue;
        }
        span[event->track] = event;
        breaks += last[event->track] >= 0 && event->number != (last[event->track] + 1) % SITES;
        last[event->track] = event->number;
    }
    is_u64(breaks, 0);
    is_u64(marks_out, 0);
}

static void cycle(const char *policy, uint64_t ring_bytes, int cycles)
{
    pthread_t threads[THREADS];
    uint64_t events = 0, total = 0;
    int sessions_with_events = 0;
    recording_start(policy, ring_bytes);
    make_sites();
    is_over = 0;
    for (int i = 0; i < THREADS; i++) {
        made[i] = 0;
        pthread_create(&threads[i], NULL, record_on, &made[i]);
    }
    for (int i = 0; i < cycles; i++) {
        struct recorded recorded;
        const struct timespec pause = {0, i % 5 * 1000000};
        nanosleep(&pause, NULL);
        recording_stop(&recorded);
        is_u64(recorded.damage_count, 0);
        is_int(recorded.info.complete, 1);
        is_u64(recorded.info.events, recorded.count);
        events += recorded.info.events + recorded.info.dropped;
        sessions_with_events += recorded.info.events > 0;
        if (!strcmp(policy, "block"))
            check_rows(&recorded);
        recorded_finish(&recorded);
        recording_start(policy, ring_bytes);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += 2 * made[i];
    }
    recording_must(gait_stop() == 0, "cannot stop");
    printf("# %s: %d of %d sessions saw something, %llu of %llu events\n", policy,
           sessions_with_events, cycles, (unsigned long long)events, (unsigned long long)total);
    ok(events <= total);
    ok(sessions_with_events > cycles / 2);
}

TEST("sessions, block: 50 starts and stops while 3 threads record all the time")
{
    cycle("block", 65536, CYCLES);
}

TEST("sessions, drop and overwrite: the same")
{
    cycle("drop", 65536, 10);
    cycle("overwrite", 65536, 10);
}

// --- a signal handler that records ----------------------------------------------------

static volatile uint64_t marks_made, handler_running;
static uint32_t mark_site;

static void mark_now(int signal_number)
{
    (void)signal_number;
    int before = errno;
    handler_running = 1;
    gait_mark(mark_site);
    marks_made++;
    errno = before;
}

static timer_t start_timer(long interval_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct sigaction action = {.sa_handler = mark_now, .sa_flags = SA_RESTART};
    const struct itimerspec spec = {{0, interval_ns}, {0, interval_ns}};
    timer_t timer;
    sigaction(SIGPROF, &action, NULL);
    recording_must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
    recording_must(timer_settime(timer, 0, &spec, NULL) == 0, "no timer");
    return timer;
}

static void stop_timer(timer_t timer)
{
    const struct timespec now = {0, 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigprocmask(SIG_BLOCK, &set, NULL);
    timer_delete(timer);
    while (sigtimedwait(&set, NULL, &now) > 0) {
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

// The cold calls too, which hold the recorder's lock.
static void do_something_cold(int i)
{
    char name[32];
    snprintf(name, sizeof name, "cold %d", i);
    gait_site("cold", name);
    if (i % 4 == 0)
        gait_thread_name(name);
    if (i % 16 == 0)
        gait_metadata("cold", "\"x\"");
    if (i % 64 == 0)
        gait_flush();
}

static void record_interrupted(const char *policy, uint64_t ring_bytes)
{
    const int pairs = 150000 / RECORDING_FACTOR;
    struct recorded recorded;
    uint64_t spans = 0, marks = 0, breaks = 0;
    long last = -1;
    recording_start(policy, ring_bytes);
    make_sites();
    mark_site = gait_site("signal", "mark");
    marks_made = 0;
    gait_mark(mark_site);
    marks_made++;
    timer_t timer = start_timer(15000);
    for (int i = 0; i < pairs; i++) {
        gait_begin(sites[i % SITES]);
        gait_end();
        if (i % 200 == 0)
            do_something_cold(i / 200);
    }
    stop_timer(timer);
    recording_stop(&recorded);
    for (size_t i = 0; i < recorded.count; i++) {
        const struct recorded_event *event = &recorded.events[i];
        marks += event->kind == GAIT_KIND_MARK;
        spans += event->kind == GAIT_KIND_SPAN;
        if (event->kind != GAIT_KIND_SPAN)
            continue;
        breaks += event->number < 0 || event->depth != 0 || event->duration < 0;
        breaks += !strcmp(policy, "block") && last >= 0 && event->number != (last + 1) % SITES;
        last = event->number;
    }
    is_u64(spans + marks, recorded.info.events);
    is_u64(breaks, 0);
    is_u64(recorded.info.events + recorded.info.dropped, (uint64_t)pairs + marks_made);
    if (!strcmp(policy, "block"))
        is_u64(spans, (uint64_t)pairs);
    ok(marks_made > 10);
    printf("# %s: %llu marks from the handler, %llu on record\n", policy,
           (unsigned long long)marks_made - 1, (unsigned long long)marks - 1);
    recorded_finish(&recorded);
}

TEST("signals: marks from a handler that interrupts everything, under all policies")
{
    record_interrupted("block", 4096);
    record_interrupted("block", 1u << 20);
    record_interrupted("drop", 4096);
    record_interrupted("drop", 1u << 20);
    record_interrupted("overwrite", 4096);
    record_interrupted("overwrite", 1u << 20);
}

// --- threads that come and go ----------------------------------------------------------

static long resident_kib(void)
{
    char line[256];
    long kib = 0, part;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "Rss:", 4) && (part = strtol(line + 4, NULL, 10)) > 0)
            kib = part;
    }
    if (file)
        fclose(file);
    return kib;
}

static int open_files(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static void *live_shortly(void *number)
{
    gait_begin(sites[(uintptr_t)number % SITES]);
    gait_begin(sites[(uintptr_t)number % SITES]);
    gait_end();
    gait_end();
    return NULL;
}

// A thousand a second is one a millisecond; more are made here.
static void live_and_die(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i += 2) {
        pthread_t threads[2];
        for (uint64_t j = 0; j < 2; j++)
            pthread_create(&threads[j], NULL, live_shortly, (void *)(uintptr_t)(i + j));
        for (int j = 0; j < 2; j++)
            pthread_join(threads[j], NULL);
    }
}

TEST("threads: 4,000 births and deaths leave every span, and no memory or file behind")
{
    const uint64_t threads = 4000 / RECORDING_FACTOR;
    struct timespec before, after;
    struct recorded recorded;
    int files;
    long rss;
    recording_start("drop", 65536);
    make_sites();
    live_and_die(0, threads / 4);
    rss = resident_kib();
    files = open_files();
    clock_gettime(CLOCK_MONOTONIC, &before);
    live_and_die(threads / 4, threads);
    clock_gettime(CLOCK_MONOTONIC, &after);
    double seconds =
        (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
    long grown = resident_kib() - rss;
    is_int(open_files(), files);
    printf("# %.0f threads a second, %ld KiB resident, then %+ld KiB\n",
           (double)threads * 0.75 / seconds, rss, grown);
#ifndef __SANITIZE_ADDRESS__ // keeps what is freed
    ok(grown < 16384);
    ok(rss < 131072);
#endif
    recording_stop(&recorded);
    is_u64(recorded.info.events, 2 * threads);
    is_u64(recorded.info.dropped, 0);
    recorded_finish(&recorded);
}

// --- threads that are cancelled ---------------------------------------------------------

static void *record_until_cancelled(void *number)
{
    char name[32];
    for (unsigned i = 0;; i++) {
        gait_begin(sites[i % SITES]);
        snprintf(name, sizeof name, "cancelled %u", ((unsigned)(uintptr_t)number * 100 + i) % 9000);
        gait_site("cancel", name);
        gait_thread_name(name);
        if (i % 8 == 0)
            gait_flush();
        gait_end();
        pthread_testcancel();
    }
    return number;
}

TEST("threads: one that is cancelled in the middle of a cold call takes no lock along")
{
    struct recorded recorded;
    recording_start("block", 4096);
    make_sites();
    for (uintptr_t i = 0; i < 60 / RECORDING_FACTOR + 1; i++) {
        const struct timespec pause = {0, (long)(i % 7) * 300000};
        pthread_t threads[2];
        for (int j = 0; j < 2; j++)
            pthread_create(&threads[j], NULL, record_until_cancelled, (void *)i);
        nanosleep(&pause, NULL);
        for (int j = 0; j < 2; j++)
            pthread_cancel(threads[j]);
        for (int j = 0; j < 2; j++)
            pthread_join(threads[j], NULL);
        ok(gait_site("cancel", "after") != 0);
    }
    recording_stop(&recorded);
    is_u64(recorded.info.dropped, 0);
    is_u64(recorded.damage_count, 0);
    ok(recorded.info.events > 60 / RECORDING_FACTOR);
    recorded_finish(&recorded);
}
