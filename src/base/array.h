// SPDX-License-Identifier: Apache-2.0
// Growing rows of items, for reading: the caller keeps pointer, count and
// capacity in a struct of its own and asks here for room. And what sorts them.
#ifndef GAIT_BASE_ARRAY_H
#define GAIT_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <gait/error.h>

// What a row of items may become: `limit` items of `item_bytes` each.
struct array_shape {
    size_t item_bytes, limit;
};

// Makes room for `needed` items in `*items`, which may move. On failure
// (no memory, or past the limit) everything stays as it was.
GAIT_CHECK int array_reserve(void **items, size_t *capacity, size_t needed,
                             struct array_shape shape);

// The same; items that there was no room for before are zeroed.
GAIT_CHECK int array_reserve_zeroed(void **items, size_t *capacity, size_t needed,
                                    struct array_shape shape);

// Puts a copy of `item` behind the `*count` items. On failure everything stays as it was.
// Inline: the size of what is copied is known where it is called, in loops over rows.
GAIT_CHECK static inline int array_add(void **items, size_t *count, size_t *capacity,
                                       const void *item, struct array_shape shape)
{
    int status = array_reserve(items, capacity, *count + 1, shape);
    if (!status)
        memcpy((char *)*items + (*count)++ * shape.item_bytes, item, shape.item_bytes);
    return status;
}

// The three where pointer, count and capacity are at hand by name: `limit` items at most. What is
// added stands last, as it may be a compound literal.
#define ARRAY_RESERVE(items, capacity, needed, limit)                                              \
    array_reserve((void **)&(items), &(capacity), (needed),                                        \
                  (struct array_shape){sizeof *(items), (limit)})
#define ARRAY_RESERVE_ZEROED(items, capacity, needed, limit)                                       \
    array_reserve_zeroed((void **)&(items), &(capacity), (needed),                                 \
                         (struct array_shape){sizeof *(items), (limit)})
#define ARRAY_ADD(items, count, capacity, limit, ...)                                              \
    array_add((void **)&(items), &(count), &(capacity), __VA_ARGS__,                               \
              (struct array_shape){sizeof *(items), (limit)})

typedef int array_compare(const void *left, const void *right);

// Such a function returns here, unless both are equal: then it looks at what comes next. The
// greater one first: RETURN_IF_APART(b->ns, a->ns).
#define RETURN_IF_APART(left, right)                                                               \
    do {                                                                                           \
        if ((left) != (right))                                                                     \
            return (left) < (right) ? -1 : 1;                                                      \
    } while (0)

// Defines the one that orders items by these members, each rising.
#define ARRAY_BY3(name, type, first, second, third)                                                \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
        RETURN_IF_APART(a->first, b->first);                                                       \
        RETURN_IF_APART(a->second, b->second);                                                     \
        RETURN_IF_APART(a->third, b->third);                                                       \
        return 0;                                                                                  \
    }
#define ARRAY_BY2(name, type, first, second) ARRAY_BY3(name, type, first, second, second)
#define ARRAY_BY1(name, type, only) ARRAY_BY3(name, type, only, only, only)

// qsort() must not be given NULL, which no items may be.
static inline void array_sort(void *items, size_t count, size_t bytes, array_compare *compare)
{
    if (count)
        qsort(items, count, bytes, compare);
}
#define ARRAY_SORT(items, count, compare) array_sort((items), (count), sizeof *(items), (compare))

#endif
