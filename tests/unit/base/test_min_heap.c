// SPDX-License-Identifier: Apache-2.0
// Whatever goes in comes out in order, each value with its key.
#include "base/index/min_heap.h"

#include "support/random_values.h"
#include "support/tap.h"

enum { MOST = 60 };

// How many pairs came too early, or with another's value.
static unsigned random_wrong(struct random_values *values)
{
    struct min_heap heap = {.count = 0};
    int64_t keys[MOST], last = INT64_MIN;
    unsigned wrong = 0;
    const size_t count = random_below(values, MOST);
    for (size_t i = 0; i < count; i++) {
        keys[i] = (int64_t)random_below(values, 20) - 10;
        wrong += min_heap_put(&heap, keys[i], i) != GAIT_OK;
    }
    for (size_t left = count; left; left--) {
        const struct heap_pair pair = min_heap_take(&heap);
        wrong += pair.key < last || pair.key != keys[pair.value];
        last = pair.key;
    }
    wrong += heap.count != 0;
    min_heap_finish(&heap);
    return wrong;
}

TEST("min heap: pairs come out in order of their keys")
{
    struct random_values values = {88172645463325252u};
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++)
        wrong += random_wrong(&values);
    is_u64(wrong, 0);
}
