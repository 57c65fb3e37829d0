// SPDX-License-Identifier: Apache-2.0
// The n-th allocation fails, for every n: opening, counting, reading on and
// completing must end well or with GAIT_ERR_MEMORY, and give everything back.
#define _GNU_SOURCE
#include "load/repair/complete.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "load/run.h"
#include "support/ring_builder.h"
#include "support/shard_builder.h"
#include "support/tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_ALLOCATOR 1
#else
#define HAS_OWN_ALLOCATOR 0

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *memory);
#endif

static long allocations, failing, live;
static bool is_counting;

#if !HAS_OWN_ALLOCATOR
static bool is_refused(void)
{
    if (!is_counting || ++allocations != failing)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    void *memory = is_refused() ? NULL : __libc_malloc(size);

    live += memory != NULL;
    return memory;
}

void *calloc(size_t count, size_t size)
{
    void *memory = is_refused() ? NULL : __libc_calloc(count, size);

    live += memory != NULL;
    return memory;
}

void *realloc(void *old, size_t size)
{
    void *memory = is_refused() ? NULL : __libc_realloc(old, size);

    live += memory && !old;
    return memory;
}

void free(void *memory)
{
    live -= memory != NULL;
    __libc_free(memory);
}
#endif

// --- what is read ---------------------------------------------------------------

static char directory[] = "/tmp/gait-memory-XXXXXX";
static char first_path[64], second_path[64], ring_path[100];

static void put_events(struct shard_builder *builder)
{
    uint64_t start[3] = {10, 20, 15}; // not in order
    uint64_t site[3] = {1, 2, 1};
    uint64_t id[3] = {7, 7, 8};
    uint64_t phase[3] = {0, 1, 0};
    uint8_t packed[] = {1, 3, 2, 'h', 'i'}; // key 1, a text of two bytes
    struct slice args[3] = {{packed, sizeof(packed)}, {0}, {0}};
    struct slice log = slice_of("a line");

    builder_put(builder, TABLE_SPAN, 2, 3,
                &(struct builder_rows){.columns = {start, id, site},
                                       .bytes = {NULL, NULL, NULL, NULL, args},
                                       .first = 10,
                                       .last = 28,
                                       .events = 3});
    builder_put(builder, TABLE_ASYNC, 2, 3,
                &(struct builder_rows){
                    .columns = {start, site, id, phase}, .first = 10, .last = 20, .events = 2});
    builder_put(builder, TABLE_LOG, 2, 1,
                &(struct builder_rows){.columns = {start, id},
                                       .bytes = {NULL, NULL, &log},
                                       .first = 10,
                                       .last = 10,
                                       .events = 1});
    builder_put(builder, TABLE_DROP, 2, 1,
                &(struct builder_rows){.columns = {start, id, id, id}, .first = 10, .last = 17});
    builder_open(builder, 2, 30, 1, 0);
    builder_commit(builder, 2);
}

static void build_files(void)
{
    struct shard_builder builder;
    struct ring_builder ring;
    struct ring_head *head;

    builder_must(!mkdtemp(directory), "a directory");
    snprintf(first_path, sizeof(first_path), "%s/a.gait", directory);
    snprintf(second_path, sizeof(second_path), "%s/b.gait", directory);
    snprintf(ring_path, sizeof(ring_path), "%s/gait-%s.ring", directory, RING_BUILDER_SESSION);
    builder_init(&builder);
    builder_meta(&builder, "host", "\"h\"");
    builder_meta(&builder, "ring", "\"/gone/gait-" RING_BUILDER_SESSION ".ring\"");
    builder_meta(&builder, "session", "\"" RING_BUILDER_SESSION "\"");
    builder_string(&builder, 1, "one");
    builder_site(&builder, 1, 1, 1);
    builder_site(&builder, 2, 0, 1);
    builder_track(&builder, 2, "main", 1);
    builder_anchor(&builder, 5, 5, 5000);
    put_events(&builder);
    builder_save(&builder, second_path);
    builder_close(&builder);
    builder_save(&builder, first_path);
    builder_finish(&builder);
    ring_builder_init(&ring, RING_BLOCK);
    ring_builder_string(&ring, 9, "late");
    head = ring_builder_ring(&ring, 2);
    ring_builder_record(head, 40, SLOT_BEGIN, 1);
    ring_builder_record(head, 41, SLOT_END, 0);
    ring_builder_save(&ring, ring_path);
}

// --- what is done ---------------------------------------------------------------

static uint64_t events_read; // of the last attempt

static int count_batch(const struct gait_batch *batch, void *context)
{
    *(uint64_t *)context += batch->rows;
    return 0;
}

static int read_trace(struct gait_trace *trace)
{
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    struct gait_shard_info info;
    uint64_t rows = 0;
    int got = gait_cursor_open(trace, NULL, &cursor);

    if (got)
        return got;
    while ((got = gait_cursor_next(cursor, &event)) == 1)
        events_read++;
    gait_cursor_close(cursor);
    if (!got)
        got = gait_scan(trace, NULL, 63, count_batch, &rows);
    if (!got && rows + 0 == 0)
        got = GAIT_ERR_STATE;
    (void)gait_trace_damage_count(trace);
    return got ? got : gait_trace_shard(trace, 0, &info);
}

static int open_and_read(void)
{
    struct gait_trace *trace = NULL;
    int status = gait_trace_open(directory, &trace);

    events_read = 0;
    if (!status)
        status = read_trace(trace);
    gait_trace_close(trace);
    return status;
}

static int complete_copy(void)
{
    return complete_shard(second_path, NULL);
}

static int count_descriptors(void)
{
    DIR *stream = opendir("/proc/self/fd");
    int count = 0;

    while (stream && readdir(stream))
        count++;
    if (stream)
        closedir(stream);
    return count;
}

// Runs `attempt` with allocation n failing, for n = 1, 2, … until none fails.
static void torture(int (*attempt)(void), void (*prepare)(void))
{
    int descriptors = count_descriptors();
    long leaks = 0, wrong = 0;
    int status = GAIT_ERR_MEMORY;

    (void)fail(GAIT_ERR_STATE, "the story's own memory is taken first");
    for (failing = 1; failing < 100000; failing++) {
        long before = live;

        prepare();
        allocations = 0;
        is_counting = true;
        status = attempt();
        is_counting = false;
        leaks += live != before;
        wrong += status && status != GAIT_ERR_MEMORY;
        wrong += status && !strlen(fail_text());
        if (allocations < failing)
            break;
    }
    printf("# %ld allocations\n", failing - 1);
    ok(failing > 20);
    is_int(status, 0);
    is_int(leaks, 0);
    is_int(wrong, 0);
    is_int(count_descriptors(), descriptors);
}

static void prepare_nothing(void)
{
}

static void prepare_files(void)
{
    unlink(second_path);
    unlink(ring_path);
    rmdir(directory);
    unlink(first_path);
    rmdir(directory);
    memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
    build_files();
}

static void remove_files(void)
{
    unlink(first_path);
    unlink(second_path);
    unlink(ring_path);
    rmdir(directory);
}

TEST("out of memory: opening and reading a run ends well or says so, and gives all back")
{
    if (HAS_OWN_ALLOCATOR) {
        skip("the sanitizer brings an allocator of its own");
        return;
    }
    build_files();
    torture(open_and_read, prepare_nothing);
    // of each shard 3 spans, 2 async, 1 log, 1 drop, 1 open; 1 span of the ring
    is_u64(events_read, 2 * 8 + 1);
    remove_files();
}

TEST("out of memory: completing a shard ends well or says so, and gives all back")
{
    if (HAS_OWN_ALLOCATOR) {
        skip("the sanitizer brings an allocator of its own");
        return;
    }
    memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
    build_files();
    torture(complete_copy, prepare_files);
    remove_files();
}
