// SPDX-License-Identifier: Apache-2.0
// Eight threads at once, each with its own random nesting that the reader's side
// generates anew and compares with, span by span. GAIT_TEST_FULL=1 in the
// environment makes it a million spans a thread.
#define _GNU_SOURCE
#include <pthread.h>

#include "support/recording.h"
#include "support/tap.h"

enum { THREADS = 8, DEEPEST = 40, SITES = 64 };

static uint32_t sites[SITES];
static uint32_t spans_each;
static bool closes_all;

// The story of one thread: a walk in which up means begin and down means end.
struct walk {
    uint64_t seed;
    uint32_t depth, begun;
};

static bool next_is_begin(struct walk *walk)
{
    walk->seed ^= walk->seed << 13;
    walk->seed ^= walk->seed >> 7;
    walk->seed ^= walk->seed << 17;
    bool is_begin = walk->seed >> 20 & 1;
    if (walk->depth == 0 || walk->begun == 0)
        is_begin = true;
    else if (walk->depth == DEEPEST)
        is_begin = false;
    walk->depth += is_begin ? 1u : (uint32_t)-1;
    walk->begun += is_begin;
    return is_begin;
}

static uint32_t site_at(const struct walk *walk)
{
    return (uint32_t)(walk->seed >> 40) % SITES;
}

static uint64_t seed_of(uint32_t thread)
{
    return 88172645463325252u + thread * UINT64_C(0x9e3779b97f4a7c15);
}

static void *walk_along(void *argument)
{
    struct walk walk = {.seed = seed_of(*(const uint32_t *)argument)};
    char name[16];
    snprintf(name, sizeof name, "walk %u", *(const uint32_t *)argument);
    gait_thread_name(name);
    while (walk.begun < spans_each) {
        if (next_is_begin(&walk))
            gait_begin(sites[site_at(&walk)]);
        else
            gait_end();
    }
    while (closes_all && walk.depth--)
        gait_end();
    return NULL;
}

static void record(struct recorded *recorded, const char *policy, uint64_t ring_bytes)
{
    static uint32_t numbers[THREADS];
    pthread_t threads[THREADS];
    const char *full = getenv("GAIT_TEST_FULL");
    spans_each = full && *full == '1' ? 1000000 : 100000 / RECORDING_FACTOR;
    recording_start(policy, ring_bytes);
    for (int i = 0; i < SITES; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        sites[i] = gait_site("walk", name);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, walk_along, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    *recorded = (struct recorded){.count = 0};
    snprintf(recorded->path, sizeof recorded->path, "%s", gait_shard_path());
    recording_must(gait_stop() == 0, "cannot stop recording");
}

// --- what came of it ----------------------------------------------------------------

struct level {
    int64_t start, end, last_child_end;
};

struct story {
    struct walk walk;
    struct level levels[DEEPEST + 1];
    uint64_t spans, wrong;
    bool is_whole;    // every span is expected
    bool has_orphans; // spans whose parents were overwritten
};

// The next span of this thread by start: must be the next begin of its walk.
static bool is_expected(struct story *story, const struct gait_event *event)
{
    while (!next_is_begin(&story->walk)) {
    }
    return event->depth == story->walk.depth - 1 &&
           strtoul(event->name + 1, NULL, 10) == site_at(&story->walk);
}

static bool lies_well(struct story *story, const struct gait_event *event)
{
    int64_t end = event->duration_ns < 0 ? INT64_MAX : event->start_ns + event->duration_ns;
    if (event->depth > DEEPEST)
        return false;
    struct level *level = &story->levels[event->depth];
    bool is_after_sibling = event->start_ns >= level->end || event->depth > 0;
    bool is_orphan = story->has_orphans && event->depth > 0 && level[-1].end <= event->start_ns;
    if (event->depth > 0 && !is_orphan) {
        struct level *parent = level - 1;
        is_after_sibling = event->start_ns >= parent->last_child_end;
        if (event->start_ns < parent->start || end > parent->end)
            return false;
        parent->last_child_end = end;
    }
    *level = (struct level){event->start_ns, end, event->start_ns};
    return is_after_sibling;
}

static void take(struct story *story, const struct gait_event *event)
{
    story->spans++;
    story->wrong += story->is_whole && !is_expected(story, event);
    story->wrong += !lies_well(story, event);
}

// Which walk a track is, by its thread's name.
static struct story *story_of(struct story *stories, struct gait_trace *trace, uint32_t track)
{
    struct gait_track_info info;
    recording_must(gait_trace_track(trace, track, &info) == 0, "no such track");
    recording_must(!strncmp(info.name, "walk ", 5), "a thread has lost its name");
    return &stories[strtoul(info.name + 5, NULL, 10) % THREADS];
}

static void read_stories(struct recorded *recorded, struct story *stories)
{
    struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    struct story *by_track[64] = {NULL};
    struct gait_cursor *cursor;
    struct gait_event event;
    recording_must(gait_trace_open(recorded->path, &recorded->trace) == 0, "cannot open");
    recording_must(gait_trace_shard(recorded->trace, 0, &recorded->info) == 0, "no shard");
    recording_must(gait_cursor_open(recorded->trace, &query, &cursor) == 0, "no cursor");
    while (gait_cursor_next(cursor, &event) == 1) {
        recording_must(event.track < 64, "too many tracks");
        if (!by_track[event.track])
            by_track[event.track] = story_of(stories, recorded->trace, event.track);
        take(by_track[event.track], &event);
    }
    gait_cursor_close(cursor);
}

static void check(const char *policy, uint64_t ring_bytes)
{
    static struct story stories[THREADS];
    struct recorded recorded;
    uint64_t spans = 0;
    bool is_whole = !strcmp(policy, "block");
    record(&recorded, policy, ring_bytes);
    memset(stories, 0, sizeof stories);
    for (uint32_t i = 0; i < THREADS; i++)
        stories[i] = (struct story){.walk = {.seed = seed_of(i)},
                                    .is_whole = is_whole,
                                    .has_orphans = !strcmp(policy, "overwrite")};
    read_stories(&recorded, stories);
    for (int i = 0; i < THREADS; i++) {
        spans += stories[i].spans;
        is_u64(stories[i].wrong, 0);
        if (is_whole)
            is_u64(stories[i].spans, spans_each);
    }
    is_u64(recorded.info.events, spans);
    is_u64(recorded.info.events + recorded.info.dropped, (uint64_t)THREADS * spans_each);
    is_u64(gait_trace_damage_count(recorded.trace), 0);
    printf("# %s: %llu spans on record, %llu dropped\n", policy, (unsigned long long)spans,
           (unsigned long long)recorded.info.dropped);
    recorded_finish(&recorded);
}

TEST("8 threads, block: every span at its place, rings of 16 KiB")
{
    closes_all = true;
    check("block", 16384);
}

TEST("8 threads, block: every span at its place, rings of 1 MiB, some left open")
{
    closes_all = false;
    check("block", 1u << 20);
}

TEST("8 threads, drop: what is there nests, the rest is counted")
{
    closes_all = true;
    check("drop", 16384);
}

TEST("8 threads, overwrite: what is there nests, the rest is counted")
{
    closes_all = true;
    check("overwrite", 65536);
}
