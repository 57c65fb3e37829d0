// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/fail.h"
#include "support/tap.h"

TEST("array: what is added stands behind the rest, in order")
{
    const struct array_shape shape = {sizeof(uint64_t), 100};
    uint64_t *items = NULL;
    size_t count = 0, capacity = 0;
    for (uint64_t i = 0; i < 100; i++)
        is_int(array_add((void **)&items, &count, &capacity, &(uint64_t){i * i}, shape), GAIT_OK);
    is_u64(count, 100);
    ok(capacity >= count);
    for (uint64_t i = 0; items && i < count; i++)
        is_u64(items[i], i * i);
    free(items);
}

TEST("array: one beyond the limit is refused, and all stays as it was")
{
    const struct array_shape shape = {sizeof(uint64_t), 2};
    uint64_t *items = NULL;
    size_t count = 0, capacity = 0;
    is_int(array_add((void **)&items, &count, &capacity, &(uint64_t){7}, shape), GAIT_OK);
    is_int(array_add((void **)&items, &count, &capacity, &(uint64_t){8}, shape), GAIT_OK);
    is_int(array_add((void **)&items, &count, &capacity, &(uint64_t){9}, shape), GAIT_ERR_MEMORY);
    is_u64(count, 2);
    ok(items && items[0] == 7 && items[1] == 8);
    fail_clear();
    free(items);
}

TEST("array: new room is zeroed where that is asked, and what was there stays")
{
    const struct array_shape shape = {sizeof(uint32_t), 1000};
    uint32_t *items = NULL;
    size_t capacity = 0, before;
    is_int(array_reserve_zeroed((void **)&items, &capacity, 1, shape), GAIT_OK);
    for (size_t i = 0; items && i < capacity; i++)
        items[i] = 7;
    before = capacity;
    is_int(array_reserve_zeroed((void **)&items, &capacity, before, shape), GAIT_OK);
    is_u64(capacity, before);
    is_int(array_reserve_zeroed((void **)&items, &capacity, 900, shape), GAIT_OK);
    ok(capacity >= 900);
    for (size_t i = 0; items && i < capacity; i++)
        is_u64(items[i], i < before ? 7 : 0);
    free(items);
}
