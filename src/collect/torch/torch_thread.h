// SPDX-License-Identifier: Apache-2.0
// What a thread that runs ops keeps: which are open, and what the last names and
// shapes were, so that an op that comes again costs no lock. Taken at a thread's
// first op, given back at its end.
#ifndef GAIT_COLLECT_TORCH_THREAD_H
#define GAIT_COLLECT_TORCH_THREAD_H

#include <stddef.h>
#include <stdint.h>

#define TORCH_OPEN_MAX 512
#define TORCH_WAYS 4
#define TORCH_NAME_SETS 128 // a transformer's step has some 150 names
#define TORCH_SHAPE_SETS 512

// What the recorder knows by a number, by the hash of its content. 64 bits of
// hash stand for the content: among the 2^17 texts of a process two meet with a
// chance of one in two thousand million.
struct torch_known {
    uint64_t hash;
    uint32_t id;
};

struct torch_set { // a cache line; the newest stands first
    struct torch_known ways[TORCH_WAYS];
} __attribute__((aligned(64)));

struct torch_thread {
    uint64_t session; // that `open` is about
    uint32_t open_count;
    const void *open[TORCH_OPEN_MAX]; // RecordFunctions, innermost last
    struct torch_set names[TORCH_NAME_SETS];
    struct torch_set shapes[TORCH_SHAPE_SETS];
};

static inline struct torch_known *torch_set_find(struct torch_set *set, uint64_t hash)
{
    for (int i = 0; i < TORCH_WAYS; i++) {
        if (set->ways[i].hash == hash)
            return &set->ways[i];
    }
    return NULL;
}

static inline void torch_set_add(struct torch_set *set, uint64_t hash, uint32_t id)
{
    for (int i = TORCH_WAYS - 1; i > 0; i--) {
        set->ways[i] = set->ways[i - 1];
    }
    set->ways[0] = (struct torch_known){hash, id};
}

// Both halves of a product; the factor is odd and otherwise nothing special.
static inline uint64_t torch_mix(uint64_t hash, uint64_t word)
{
    __extension__ const unsigned __int128 product =
        (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

extern
    __attribute__((tls_model("initial-exec"))) _Thread_local struct torch_thread *torch_thread_self;

// The calling thread's, or NULL for want of memory.
struct torch_thread *torch_thread_make(void);

static inline struct torch_thread *torch_thread_get(void)
{
    struct torch_thread *thread = torch_thread_self;
    return thread ? thread : torch_thread_make();
}

#endif
