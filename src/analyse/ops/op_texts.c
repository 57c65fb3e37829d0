// SPDX-License-Identifier: Apache-2.0
// Equal texts have one address, and that has a number.
#include "analyse/ops/op_texts.h"

#include "base/fail.h"

#define MOST_BYTES (UINT64_C(1) << 32)

void op_texts_init(struct op_texts *texts)
{
    arena_init(&texts->arena, MOST_BYTES);
    intern_init(&texts->intern, &texts->arena);
    tuple_map_init(&texts->numbers, 1);
}

void op_texts_finish(struct op_texts *texts)
{
    tuple_map_finish(&texts->numbers);
    intern_finish(&texts->intern);
    arena_finish(&texts->arena);
}

int op_texts_add(struct op_texts *texts, struct slice text, uint32_t *ret_number)
{
    const char *known = intern_text(&texts->intern, text);
    const uint64_t address = (uintptr_t)known;
    if (!known)
        return fail(GAIT_ERR_MEMORY, "no memory for the names of ops");
    return tuple_map_add(&texts->numbers, &address, ret_number);
}

const char *op_texts_get(const struct op_texts *texts, uint32_t number)
{
    if (number >= texts->numbers.count)
        return NULL;
    return (const char *)(uintptr_t)texts->numbers.tuples[number];
}
