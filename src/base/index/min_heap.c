// SPDX-License-Identifier: Apache-2.0
#include "base/index/min_heap.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/invariant.h"

#define MOST_PAIRS ((size_t)1 << 32)

void min_heap_finish(struct min_heap *heap)
{
    free(heap->pairs);
    *heap = (struct min_heap){.pairs = NULL};
}

int min_heap_put(struct min_heap *heap, int64_t key, uint64_t value)
{
    size_t at = heap->count;
    const int status = ARRAY_RESERVE(heap->pairs, heap->capacity, at + 1, MOST_PAIRS);
    if (status)
        return status;
    heap->count++;
    for (; at && key < heap->pairs[(at - 1) / 2].key; at = (at - 1) / 2)
        heap->pairs[at] = heap->pairs[(at - 1) / 2];
    heap->pairs[at] = (struct heap_pair){key, value};
    return GAIT_OK;
}

struct heap_pair min_heap_take(struct min_heap *heap)
{
    GAIT_ASSERT(heap->count);
    const struct heap_pair first = heap->pairs[0], last = heap->pairs[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        child += child + 1 < heap->count && heap->pairs[child + 1].key < heap->pairs[child].key;
        if (last.key <= heap->pairs[child].key)
            break;
        heap->pairs[at] = heap->pairs[child];
    }
    heap->pairs[at] = last;
    return first;
}
