// SPDX-License-Identifier: Apache-2.0
// gait_snapshot(): a shard of its own, whole, while everybody records on.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "support/recording.h"
#include "support/tap.h"

enum { SITES = 20000, SNAPSHOTS = 20 };

static uint32_t sites[SITES];

static void make_sites(void)
{
    for (int i = 0; i < SITES; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        sites[i] = gait_site("snapshot", name);
    }
}

static const char *snapshot_path(void)
{
    static char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/snapshot", recording_make_directory());
    return path;
}

static void read_snapshot(struct recorded *recorded)
{
    *recorded = (struct recorded){.count = 0};
    snprintf(recorded->path, sizeof recorded->path, "%.4000s", snapshot_path());
    recording_read(recorded);
    is_int(recorded->info.complete, 1);
    is_u64(recorded->damage_count, 0);
}

static const struct recorded_event *find(const struct recorded *recorded, long number)
{
    for (size_t i = 0; i < recorded->count; i++)
        if (recorded->events[i].number == number)
            return &recorded->events[i];
    return NULL;
}

// A span around numbers from..to, each a span with its number as argument.
static void make_spans(int from, int to)
{
    uint32_t key = gait_key("n");
    for (int i = from; i < to; i++) {
        gait_begin(sites[i]);
        gait_arg_int(key, i);
        gait_end();
    }
}

TEST("snapshot, overwrite: the newest of the ring, and how many went before")
{
    struct recorded snapshot, recorded;
    recording_start("overwrite", 65536);
    make_sites();
    gait_begin(sites[0]);
    make_spans(1, 10000);
    gait_begin(sites[10000]);
    is_int(gait_snapshot(snapshot_path()), 0);
    gait_end();
    gait_end();
    read_snapshot(&snapshot);
    is_u64(snapshot.info.events + snapshot.info.dropped, 10001);
    ok(snapshot.info.events > 4096 / 4 / 2); // a ring of 4,096 slots, 4 a span
    for (long i = 10000; i > 10001 - (long)snapshot.info.events; i--) {
        const struct recorded_event *event = find(&snapshot, i);
        if (!ok(event))
            break;
        is_int(event->depth, 1);
        is_int(event->arg, i < 10000 ? i : -1);
        is_int(event->duration < 0, i == 10000);
    }
    recording_stop(&recorded);
    is_u64(recorded.info.events + recorded.info.dropped, 10001);
    ok(find(&recorded, 10000) && find(&recorded, 10000)->duration >= 0);
    recorded_finish(&snapshot);
    recorded_finish(&recorded);
}

TEST("snapshot, overwrite: a flush before takes nothing out of it")
{
    struct recorded snapshot, recorded;
    recording_start("overwrite", 65536);
    make_sites();
    make_spans(0, 500);
    is_int(gait_flush(), 0);
    make_spans(500, 510);
    is_int(gait_snapshot(snapshot_path()), 0);
    read_snapshot(&snapshot);
    is_u64(snapshot.info.events, 510);
    recording_stop(&recorded);
    is_u64(recorded.info.events, 510);
    recorded_finish(&snapshot);
    recorded_finish(&recorded);
}

static bool has_track(const struct recorded *recorded, const char *name)
{
    struct gait_track_info track;
    for (uint32_t i = 0; i < gait_trace_track_count(recorded->trace); i++)
        if (!gait_trace_track(recorded->trace, i, &track) && !strcmp(track.name, name))
            return true;
    return false;
}

TEST("snapshot, block and drop: what the buffer has, drained or not, and what is open")
{
    static const char *const policies[] = {"block", "drop"};
    for (int i = 0; i < 2; i++) {
        struct recorded snapshot, recorded;
        recording_start(policies[i], 1u << 20);
        make_sites();
        gait_step_begin(7);
        gait_begin(sites[1]);
        gait_arg_int(gait_key("n"), 1);
        make_spans(2, 100);
        is_int(gait_flush(), 0);
        make_spans(100, 200);
        is_int(gait_thread_name("late"), 0);
        is_int(gait_metadata("note", "{\"a\": 1}"), 0);
        is_int(gait_snapshot(snapshot_path()), 0);
        read_snapshot(&snapshot);
        is_u64(snapshot.info.events, 200); // 2 … 199, the span around and the step
        is_u64(snapshot.info.dropped, 0);
        ok(find(&snapshot, 1) && find(&snapshot, 1)->duration < 0 && find(&snapshot, 1)->arg == 1);
        ok(find(&snapshot, 2) && find(&snapshot, 2)->depth == 1 && find(&snapshot, 2)->arg == 2);
        is_str(gait_trace_metadata(snapshot.trace, 0, "note"), "{\"a\": 1}");
        ok(has_track(&snapshot, "late"));
        recording_stop(&recorded);
        is_u64(recorded.info.events, 200);
        recorded_finish(&snapshot);
        recorded_finish(&recorded);
    }
}

TEST("snapshot, block: a buffer that wrapped many times still has an unbroken end")
{
    struct recorded snapshot, recorded;
    size_t total = 0;
    recording_start("block", 16384);
    make_sites();
    gait_begin(sites[0]);
    for (int round = 0; round < 30; round++) {
        make_spans(1, 6000);
        is_int(gait_snapshot(snapshot_path()), 0);
        read_snapshot(&snapshot);
        total += snapshot.count;
        ok(find(&snapshot, 0) && find(&snapshot, 0)->duration < 0);
        for (size_t i = 1; i < snapshot.count; i++) {
            is_int(snapshot.events[i].number, 6000 - (long)(snapshot.count - i));
            is_int(snapshot.events[i].depth, 1);
            is_int(snapshot.events[i].arg, snapshot.events[i].number);
        }
        recorded_finish(&snapshot);
    }
    gait_end();
    ok(total > 30 * 50); // 256 would fill the buffer; batches begin where they do
    printf("# %zu spans a snapshot\n", total / 30);
    recording_stop(&recorded);
    is_u64(recorded.info.events, 30 * 5999 + 1);
    recorded_finish(&recorded);
}

// --- at full speed -------------------------------------------------------------------

static uint64_t published;
static int is_over;

static void *record_on(void *none)
{
    for (uint64_t i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++) {
        gait_begin(sites[i % SITES]);
        gait_end();
        __atomic_store_n(&published, i + 1, __ATOMIC_RELEASE);
    }
    return none;
}

// One unbroken row of numbers that reaches at least up to `least`.
static void check_row(const struct recorded *snapshot, uint64_t least)
{
    uint64_t breaks = 0;
    is_u64(snapshot->info.events, snapshot->count);
    if (!ok(snapshot->count > 0))
        return;
    for (size_t i = 1; i < snapshot->count; i++)
        breaks += snapshot->events[i].number != (snapshot->events[i - 1].number + 1) % SITES ||
                  snapshot->events[i].start < snapshot->events[i - 1].start;
    is_u64(breaks, 0);
    uint64_t begun = snapshot->info.events + snapshot->info.dropped;
    ok(begun >= least);
    is_u64((begun - 1) % SITES, (uint64_t)snapshot->events[snapshot->count - 1].number);
}

TEST("snapshot, overwrite: at full recording speed each one is an unbroken row")
{
    struct recorded snapshot, recorded;
    pthread_t thread;
    recording_start("overwrite", 1u << 18);
    make_sites();
    published = 0;
    is_over = 0;
    pthread_create(&thread, NULL, record_on, NULL);
    for (int i = 0; i < SNAPSHOTS / RECORDING_FACTOR + 1; i++) {
        uint64_t least = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
        if (!is_int(gait_snapshot(snapshot_path()), 0))
            break;
        read_snapshot(&snapshot);
        if (least)
            check_row(&snapshot, least);
        recorded_finish(&snapshot);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    recording_stop(&recorded);
    is_u64(recorded.info.events + recorded.info.dropped, published);
    recorded_finish(&recorded);
}

// --- refusals ------------------------------------------------------------------------

static void refuses(const char *path, const char *words)
{
    ok(gait_snapshot(path) < 0);
    if (!ok(strstr(gait_record_error(), words) && !strchr(gait_record_error(), '\n')))
        printf("# %s\n", gait_record_error());
}

TEST("snapshot: what cannot be written is refused in one sentence")
{
    struct recorded recorded;
    struct stat about;
    FILE *file = fopen(snapshot_path(), "w");
    refuses(snapshot_path(), "not recording");
    recording_start("overwrite", 65536);
    fputs("mine", file);
    fclose(file);
    refuses(snapshot_path(), "File exists");
    ok(!stat(snapshot_path(), &about) && about.st_size == 4);
    unlink(snapshot_path());
    refuses("/no/such/directory/x", "No such file");
    refuses(NULL, "path");
    refuses("", "path");
    refuses("/dev/full", "File exists");
    recording_stop(&recorded);
    recorded_finish(&recorded);
}
