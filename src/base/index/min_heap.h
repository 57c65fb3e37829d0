// SPDX-License-Identifier: Apache-2.0
// What comes next: pairs of a key and a value, the least key first. Pairs of one key come in
// any order.
#ifndef GAIT_BASE_MIN_HEAP_H
#define GAIT_BASE_MIN_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct heap_pair {
    int64_t key;
    uint64_t value;
};

struct min_heap {            // zeroed: empty
    struct heap_pair *pairs; // the first one is the least
    size_t count, capacity;
};

void min_heap_finish(struct min_heap *heap); // takes a zeroed struct
GAIT_CHECK int min_heap_put(struct min_heap *heap, int64_t key, uint64_t value);

// Takes the least; the heap must not be empty.
struct heap_pair min_heap_take(struct min_heap *heap);

#endif
