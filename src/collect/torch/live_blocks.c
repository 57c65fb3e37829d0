// SPDX-License-Identifier: Apache-2.0
// A hash table of buckets that never grow: an address can be in one bucket only,
// so an entry is freed by making it empty and nothing has to be moved. Each entry
// says which window it belongs to; those of others are as good as empty. Clearing
// the table instead would touch all of it again in every window.
#define _GNU_SOURCE
#include "collect/torch/live_blocks.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/fail.h"

#define BUCKETS (1u << 13) // 2 MiB, of which only what is touched counts
#define WAYS 16            // in each bucket: eight of the owner's, eight of all others'
#define OWNER_WAYS 8
#define ADDRESS_BITS 48

struct block {
    uint64_t key; // window << ADDRESS_BITS | address; an address of 1: being filled
    uint64_t bytes;
};

struct bucket {
    struct block blocks[WAYS];
};

static struct bucket *buckets;
static uint64_t window, lost;

int live_blocks_open(void)
{
    if (!buckets) {
        void *memory = mmap(NULL, BUCKETS * sizeof(struct bucket), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return fail(GAIT_ERR_MEMORY, "no memory to follow %u blocks", BUCKETS * WAYS);
        buckets = memory;
    }
    window++;
    return 0;
}

static uint64_t key_of(uint64_t address)
{
    return window << ADDRESS_BITS | (address & ((UINT64_C(1) << ADDRESS_BITS) - 1));
}

// Neighbours stay together: what a step allocates again and again is then in few
// lines of the cache.
static struct bucket *bucket_of(const void *block)
{
    const uint64_t place = (uint64_t)(uintptr_t)block >> 9; // blocks begin at multiples of 64
    return &buckets[(place ^ place >> 13 ^ place >> 26) % BUCKETS];
}

static bool is_free(uint64_t key)
{
    return key == 0 || key >> ADDRESS_BITS != key_of(0) >> ADDRESS_BITS;
}

void live_blocks_put(const void *block, uint64_t bytes, bool is_owner)
{
    struct bucket *bucket = bucket_of(block);
    const int end = is_owner ? OWNER_WAYS : WAYS;
    for (int i = is_owner ? 0 : OWNER_WAYS; i < end; i++) {
        struct block *entry = &bucket->blocks[i];
        uint64_t key = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);
        if (!is_free(key))
            continue;
        if (!is_owner && !__atomic_compare_exchange_n(&entry->key, &key, key_of(1), 0,
                                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&entry->bytes, bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&entry->key, key_of((uint64_t)(uintptr_t)block), __ATOMIC_RELEASE);
        return;
    }
    __atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
}

// Only the block's owner releases it, so nobody else takes the same entry.
uint64_t live_blocks_take(const void *block)
{
    const uint64_t key = key_of((uint64_t)(uintptr_t)block);
    struct bucket *bucket = bucket_of(block);
    for (int i = 0; i < WAYS; i++) {
        struct block *entry = &bucket->blocks[i];
        if (__atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) != key)
            continue;
        const uint64_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&entry->key, 0, __ATOMIC_RELEASE);
        return bytes;
    }
    return 0;
}

uint64_t live_blocks_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}
