// SPDX-License-Identifier: Apache-2.0
// Segments of shared memory, carved into rings of three sizes so that ten
// thousand threads fit where a few dozen get all they ask for.
#define _GNU_SOURCE
#include "record/ring_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/os/os.h"

#define JOURNAL_BYTES (768u << 10) // holds a 100,000-byte name several times
#define SEGMENT_MIN_BYTES (1u << 20)
#define POOL_MAX_BYTES (UINT64_C(1) << 30)
#define SMALL_RING_SLOTS 2048u // 32 KiB

// With 10,000 threads alive: 64 MiB + 112 MiB + 296 MiB at the default ring.
static const struct {
    uint32_t threads; // while fewer than this live …
    uint32_t divisor; // … a ring is this part of what was asked for
} tiers[] = {{64, 1}, {512, 4}, {UINT32_MAX, 0}};

static uint64_t slots_for(const struct ring_pool *pool)
{
    uint64_t slots = pool->ring_slots;
    for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++) {
        if (pool->live_count >= tiers[i].threads)
            continue;
        uint64_t part = tiers[i].divisor ? slots / tiers[i].divisor : SMALL_RING_SLOTS;
        if (part < SMALL_RING_SLOTS)
            part = SMALL_RING_SLOTS;
        return part < slots ? part : slots;
    }
    return SMALL_RING_SLOTS;
}

// --- segments ---------------------------------------------------------------

// Shared memory belongs to the training first: half of it is left alone. Of a
// disk, as much as is taken.
static bool leaves_enough(const struct ring_pool *pool, uint64_t bytes)
{
    struct statvfs room;
    if (fstatvfs(pool->file.fd, &room))
        return false;
    uint64_t free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    uint64_t left = pool->is_shared ? (uint64_t)room.f_blocks * room.f_frsize / 2 : bytes;
    return free_bytes >= bytes + left;
}

static uint8_t *map_file(struct ring_pool *pool, uint64_t bytes)
{
    // reserve first: a hole filled later on a full disk would be a SIGBUS
    if (!os_file_is_ours(&pool->file) || !leaves_enough(pool, bytes) ||
        os_file_reserve(&pool->file, pool->file_bytes, bytes))
        return NULL;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                           pool->file.fd, (off_t)pool->file_bytes);
    return memory == MAP_FAILED ? NULL : memory;
}

static int add_segment(struct ring_pool *pool, uint64_t bytes)
{
    bytes = (bytes + 4095) & ~UINT64_C(4095);
    uint64_t max = POOL_MAX_BYTES;
    if (pool->ring_slots * sizeof(struct slot) * tiers[0].threads > max)
        max = pool->ring_slots * sizeof(struct slot) * tiers[0].threads;
    if (pool->segment_count == RING_POOL_MAX_SEGMENTS || pool->reserved_bytes + bytes > max)
        return fail(GAIT_ERR_MEMORY, "all %llu MiB for rings are in use",
                    (unsigned long long)(max >> 20));
    uint8_t *memory = map_file(pool, bytes);
    pool->carve_is_in_file = memory != NULL;
    if (memory) {
        pool->file_bytes += bytes;
    } else {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return fail(GAIT_ERR_MEMORY, "no memory for a ring: %s", strerror(errno));
        pool->lost_on_kill = true;
    }
    GAIT_ASSERT(pool->segment_count < RING_POOL_MAX_SEGMENTS);
    pool->segments[pool->segment_count++] = (struct ring_pool_segment){memory, bytes};
    pool->reserved_bytes += bytes;
    pool->carve = memory;
    pool->carve_end = memory + bytes;
    return 0;
}

// Whoever hops through the file must be led over a remainder too.
static void pad_out(struct ring_pool *pool)
{
    uint64_t left = (uint64_t)(pool->carve_end - pool->carve);
    if (left == 0 || !pool->carve_is_in_file)
        return;
    struct ring_region *pad = (struct ring_region *)(void *)pool->carve;
    *pad = (struct ring_region){RING_REGION_MAGIC, RING_REGION_PAD, 0, left, 0};
    pool->header->used_bytes += left;
}

static void *carve(struct ring_pool *pool, enum ring_region_kind kind, uint64_t bytes,
                   uint64_t capacity)
{
    if (bytes > (uint64_t)(pool->carve_end - pool->carve)) {
        pad_out(pool);
        if (add_segment(pool, bytes > SEGMENT_MIN_BYTES ? bytes : SEGMENT_MIN_BYTES)) {
            pool->carve = pool->carve_end = NULL;
            return NULL;
        }
    }
    struct ring_region *region = (struct ring_region *)(void *)pool->carve;
    *region = (struct ring_region){RING_REGION_MAGIC, kind, 0, bytes, capacity};
    pool->carve += bytes;
    GAIT_ASSERT(pool->carve <= pool->carve_end);
    GAIT_ASSERT(bytes % 8 == 0); // else the next region would not be aligned
    if (pool->carve_is_in_file)
        pool->header->used_bytes += bytes;
    return region;
}

// --- the file ---------------------------------------------------------------

static int create_file(struct ring_pool *pool, const uint8_t session[16], const char *directory)
{
    char name[33];
    for (int i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", session[i]);
    }
    snprintf(pool->path, sizeof(pool->path), "%.4000s/gait-%s.ring", directory, name);
    if (os_file_open(&pool->file, pool->path, O_RDWR | O_CREAT | O_EXCL, 0600)) {
        pool->path[0] = '\0';
        return -1;
    }
    // held as long as this process lives: readers ask for it
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(pool->file.fd, F_SETLK, &lock);
    return 0;
}

static void discard_file(struct ring_pool *pool)
{
    if (pool->file.fd < 0)
        return;
    unlink(pool->path);
    os_file_close(&pool->file);
    pool->path[0] = '\0';
}

static void fill_header(struct ring_pool *pool, const uint8_t session[16])
{
    struct ring_file_header *header = (struct ring_file_header *)(void *)pool->carve;
    pool->header = header;
    *header = (struct ring_file_header){
        .version = RING_FILE_VERSION,
        .pid = getpid(),
        .process_start = os_process_start(getpid()),
        .pid_namespace = os_pid_namespace(),
        .used_bytes = RING_FILE_HEADER_BYTES,
    };
    memcpy(header->session, session, sizeof(header->session));
    pool->carve += RING_FILE_HEADER_BYTES;
}

int ring_pool_init(struct ring_pool *pool, const uint8_t session[16], uint64_t ring_slots,
                   const char *directory)
{
    uint64_t first_bytes = RING_FILE_HEADER_BYTES + sizeof(struct journal_head) + JOURNAL_BYTES;
    const char *places[] = {RING_FILE_SHARED_MEMORY, directory};

    *pool = (struct ring_pool){.file = {.fd = -1}, .ring_slots = ring_slots};
    pool->segments = calloc(RING_POOL_MAX_SEGMENTS, sizeof(*pool->segments));
    if (!pool->segments)
        return fail(GAIT_ERR_MEMORY, "no memory for the list of rings");
    for (int i = 0; i < 2 && pool->segment_count == 0; i++) {
        pool->is_shared = i == 0;
        if (create_file(pool, session, places[i]))
            continue;
        if (!leaves_enough(pool, first_bytes + ring_slots * sizeof(struct slot)) ||
            add_segment(pool, first_bytes) || !pool->carve_is_in_file)
            discard_file(pool);
    }
    if (pool->segment_count == 0 && add_segment(pool, first_bytes)) {
        free(pool->segments);
        return fail_because(GAIT_ERR_MEMORY, "cannot start recording");
    }
    fill_header(pool, session);
    pool->journal = carve(pool, RING_REGION_JOURNAL, sizeof(struct journal_head) + JOURNAL_BYTES,
                          JOURNAL_BYTES);
    __atomic_store_n(&pool->header->magic, RING_FILE_MAGIC, __ATOMIC_RELEASE);
    return 0;
}

static void blank(const struct ring_pool_segment *segment)
{
    // Where even this fails, the memory stays as it is. Asked of the system itself: a
    // writer on its way in may look here any time, and finds no room before or after,
    // but a thread sanitizer takes the library's mmap() for a write beside that look.
    (void)syscall(SYS_mmap, segment->memory, segment->bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);
}

void ring_pool_finish(struct ring_pool *pool, bool is_unlinked)
{
    if (!pool || !pool->segments)
        return;
    if (pool->path[0] && is_unlinked)
        unlink(pool->path);
    os_file_close(&pool->file);
    for (uint32_t i = 0; i < pool->segment_count; i++) {
        blank(&pool->segments[i]);
    }
    free(pool->segments);
    *pool = (struct ring_pool){.file = {.fd = -1}};
}

// --- rings ------------------------------------------------------------------

static unsigned class_of(uint64_t slots)
{
    return (unsigned)__builtin_ctzll(slots);
}

struct ring_head *ring_pool_take(struct ring_pool *pool, uint32_t track, uint64_t tick)
{
    uint64_t slots = slots_for(pool);
    struct ring_head *ring = pool->free[class_of(slots)];
    if (ring) {
        memcpy(&pool->free[class_of(slots)], ring_pool_slots(ring), sizeof(ring));
    } else {
        ring = carve(pool, RING_REGION_RING, sizeof(*ring) + slots * sizeof(struct slot), slots);
        if (!ring)
            return NULL;
    }
    struct ring_region region = ring->region;
    memset(ring, 0, sizeof(*ring));
    ring->region = region;
    ring->first_tick = tick;
    // last: a reader after a crash believes the rest once it sees a track
    __atomic_store_n(&ring->region.track, track, __ATOMIC_RELEASE);
    pool->live_count++;
    return ring;
}

void ring_pool_give(struct ring_pool *pool, struct ring_head *ring)
{
    unsigned class = class_of(ring->region.capacity);
    __atomic_store_n(&ring->region.track, 0, __ATOMIC_RELEASE);
    memcpy(ring_pool_slots(ring), &pool->free[class], sizeof(ring));
    pool->free[class] = ring;
    GAIT_ASSERT(pool->live_count > 0);
    pool->live_count--;
}
