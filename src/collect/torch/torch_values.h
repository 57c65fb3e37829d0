// SPDX-License-Identifier: Apache-2.0
// What arguments of an op are that are no tensors: numbers, and lists of them or
// of tensors. How torch lays them out is learned from calls that are known.
#ifndef GAIT_COLLECT_TORCH_VALUES_H
#define GAIT_COLLECT_TORCH_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "collect/torch/torch_layout.h"

// Between the two the callback looks at what this thread runs.
void torch_values_begin(void);
void torch_values_end(void);
void *torch_values_see(void **context, const void *function);
void torch_values_see_end(const void *function, void *context);

enum torch_value_kind {
    TORCH_VALUE_OTHER,
    TORCH_VALUE_INT,
    TORCH_VALUE_BOOL,
    TORCH_VALUE_REAL, // or complex
    TORCH_VALUE_LIST,
};

struct torch_value_tags {
    uint32_t integer, boolean, real, complex, list;
    int items;
};

// What was learned, in one line for those who ask often; tags that are not known
// are none that a value has.
struct torch_value_tags torch_values_tags(void);

static inline enum torch_value_kind torch_value_kind(const struct torch_value_tags *tags,
                                                     uint32_t tag)
{
    if (tag == tags->integer)
        return TORCH_VALUE_INT;
    if (tag == tags->boolean)
        return TORCH_VALUE_BOOL;
    if (tag == tags->real || tag == tags->complex)
        return TORCH_VALUE_REAL;
    return tag == tags->list ? TORCH_VALUE_LIST : TORCH_VALUE_OTHER;
}

// The IValues of the list that an IValue holds; 0 of them where it looks odd.
static inline const char *torch_value_items(const struct torch_value_tags *tags, const char *value,
                                            size_t *ret_count)
{
    const char *list = (const char *)(uintptr_t)torch_word_at(value, 0);
    *ret_count = 0;
    if (!list)
        return NULL;
    const uint64_t first = torch_word_at(list, tags->items);
    const uint64_t bytes = torch_word_at(list, tags->items + 8) - first;
    if (bytes % TORCH_IVALUE_BYTES == 0 && bytes < (UINT64_C(1) << 40))
        *ret_count = (size_t)(bytes / TORCH_IVALUE_BYTES);
    return (const char *)(uintptr_t)first;
}

#endif
