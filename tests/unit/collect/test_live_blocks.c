// SPDX-License-Identifier: Apache-2.0
// Sizes of blocks against a plain list, and under several threads.
#include "collect/torch/live_blocks.h"

#include <pthread.h>

#include "support/random_values.h"
#include "support/tap.h"

enum { BLOCKS = 5000, THREADS = 3, ROUNDS = 20000, OWN = 64 };

static const void *block_at(uint64_t number)
{
    return (const void *)(uintptr_t)(UINT64_C(0x7f1200000000) + number * 64);
}

TEST("live blocks: each is known once, with its size, whatever else lives")
{
    static uint64_t sizes[BLOCKS];
    struct random_values random = {11};
    int wrong = 0;
    is_int(live_blocks_open(), 0);
    for (int i = 0; i < 200000; i++) {
        const uint64_t number = random_below(&random, BLOCKS);
        if (sizes[number]) {
            wrong += live_blocks_take(block_at(number)) != sizes[number];
            sizes[number] = 0;
        } else {
            wrong += live_blocks_take(block_at(number)) != 0;
            sizes[number] = 1 + random_below(&random, 1 << 30);
            live_blocks_put(block_at(number), sizes[number], i % 3);
        }
    }
    is_int(wrong, 0);
    is_u64(live_blocks_lost(), 0);
}

TEST("live blocks: those of an earlier window are not known, and leave room")
{
    is_int(live_blocks_open(), 0);
    for (uint64_t i = 0; i < 8; i++) {
        live_blocks_put(block_at(i), 100 + i, true);
    }
    is_int(live_blocks_open(), 0);
    is_u64(live_blocks_take(block_at(3)), 0);
    for (uint64_t i = 0; i < 8; i++) {
        live_blocks_put(block_at(i), 200 + i, true);
    }
    is_u64(live_blocks_take(block_at(3)), 203);
    is_u64(live_blocks_take(block_at(3)), 0);
    is_u64(live_blocks_lost(), 0);
}

TEST("live blocks: one that finds no room is counted")
{
    is_int(live_blocks_open(), 0);
    for (uint64_t i = 0; i < 9; i++) { // eight fit where addresses fall together
        live_blocks_put((const char *)block_at(0) + 7 * i, 1 + i, true);
    }
    is_u64(live_blocks_lost(), 1);
    for (uint64_t i = 0; i < 9; i++) { // and eight of other threads
        live_blocks_put((const char *)block_at(0) + 3 + 7 * i, 1 + i, false);
    }
    is_u64(live_blocks_lost(), 2);
}

static void *churn(void *argument)
{
    const uint64_t first = (uint64_t)(uintptr_t)argument * OWN;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        live_blocks_put(block_at(first + i % OWN), i + 1, first == 0);
        wrong += live_blocks_take(block_at(first + i % OWN)) != i + 1;
    }
    return (void *)(uintptr_t)wrong;
}

TEST("live blocks: threads do not take each other's")
{
    pthread_t threads[THREADS];
    is_int(live_blocks_open(), 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        is_int(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        ok(wrong == NULL);
    }
}
