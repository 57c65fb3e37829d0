// SPDX-License-Identifier: Apache-2.0
// A hash table of buckets that never grow: an address can be in one bucket only,
// so an entry is freed by making it empty and nothing has to be moved.
#define _GNU_SOURCE
#include "collect/torch/live_blocks.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/fail.h"

#define BUCKETS (1u << 15) // of eight: 4 MiB, of which only what is touched counts
#define WAYS 8

struct block { // an address of 1: being filled
    uint64_t address, bytes;
};

struct bucket {
    struct block blocks[WAYS];
};

static struct bucket *buckets;
static uint64_t lost;

int live_blocks_open(void)
{
    const size_t bytes = BUCKETS * sizeof(struct bucket);
    if (buckets)
        return 0;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return fail(GAIT_ERR_MEMORY, "no memory to follow %u blocks", BUCKETS * WAYS);
    buckets = memory;
    return 0;
}

// The mapping stays: a thread may be on its way into it.
void live_blocks_close(void)
{
    if (buckets)
        (void)madvise(buckets, BUCKETS * sizeof(struct bucket), MADV_DONTNEED);
}

static struct bucket *bucket_of(uint64_t address)
{
    return &buckets[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 49];
}

void live_blocks_put(const void *block, uint64_t bytes)
{
    struct bucket *bucket = bucket_of((uint64_t)(uintptr_t)block);
    for (int i = 0; i < WAYS; i++) {
        struct block *entry = &bucket->blocks[i];
        uint64_t empty = 0;
        if (__atomic_load_n(&entry->address, __ATOMIC_RELAXED) ||
            !__atomic_compare_exchange_n(&entry->address, &empty, 1, 0, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&entry->bytes, bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&entry->address, (uint64_t)(uintptr_t)block, __ATOMIC_RELEASE);
        return;
    }
    __atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
}

// Only the block's owner releases it, so nobody else takes the same entry.
uint64_t live_blocks_take(const void *block)
{
    const uint64_t address = (uint64_t)(uintptr_t)block;
    struct bucket *bucket = bucket_of(address);
    for (int i = 0; i < WAYS; i++) {
        struct block *entry = &bucket->blocks[i];
        if (__atomic_load_n(&entry->address, __ATOMIC_ACQUIRE) != address)
            continue;
        const uint64_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&entry->address, 0, __ATOMIC_RELEASE);
        return bytes;
    }
    return 0;
}

uint64_t live_blocks_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}
