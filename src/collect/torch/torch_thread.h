// SPDX-License-Identifier: Apache-2.0
// What a thread that runs ops keeps: which are open, and what the last names and
// shapes were, so that an op that comes again costs no lock. Taken at a thread's
// first op, given back at its end.
#ifndef GAIT_COLLECT_TORCH_THREAD_H
#define GAIT_COLLECT_TORCH_THREAD_H

#include <stdint.h>

#define TORCH_OPEN_MAX 512
#define TORCH_NAME_SETS 512 // of two; a transformer's step has some 150 names
#define TORCH_SHAPE_SETS 1024

struct torch_name { // of an op, by the address torch keeps it at
    const char *at;
    char *copy; // the address may hold another name by now
    uint32_t site;
    uint32_t scope;
};

// A set is a cache line.
struct torch_name_set {
    struct torch_name ways[2];
} __attribute__((aligned(64)));

struct torch_shape { // of all arguments of an op, by a hash of 128 bits
    uint64_t hash[2];
    uint32_t text; // string id
};

struct torch_shape_set {
    struct torch_shape ways[2];
} __attribute__((aligned(64)));

struct torch_thread {
    uint64_t session; // that `open` is about
    uint32_t open_count;
    const void *open[TORCH_OPEN_MAX]; // RecordFunctions, innermost last
    struct torch_name_set names[TORCH_NAME_SETS];
    struct torch_shape_set shapes[TORCH_SHAPE_SETS];
};

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
