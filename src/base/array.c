// SPDX-License-Identifier: Apache-2.0
// Growing rows of items: doubling, with a maximum.
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

int array_reserve(void **items, size_t *capacity, size_t needed, struct array_shape shape)
{
    size_t room = *capacity ? *capacity : 8;

    if (needed <= *capacity)
        return 0;
    if (needed > shape.limit)
        return fail(GAIT_ERR_MEMORY, "more than %zu items of %zu bytes", shape.limit,
                    shape.item_bytes);
    while (room < needed)
        room += room / 2 + 8;
    if (room > shape.limit)
        room = shape.limit;
    if (room > SIZE_MAX / shape.item_bytes)
        return fail(GAIT_ERR_MEMORY, "%zu items do not fit memory", room);
    void *moved = realloc(*items, room * shape.item_bytes);
    if (!moved)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu items of %zu bytes", room,
                    shape.item_bytes);
    *items = moved;
    *capacity = room;
    return 0;
}

int array_reserve_zeroed(void **items, size_t *capacity, size_t needed, struct array_shape shape)
{
    const size_t before = *capacity;
    int status = array_reserve(items, capacity, needed, shape);
    if (!status && *capacity > before)
        memset((char *)*items + before * shape.item_bytes, 0,
               (*capacity - before) * shape.item_bytes);
    return status;
}
