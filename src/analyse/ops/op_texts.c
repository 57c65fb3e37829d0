// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_texts.h"

#include "base/fail.h"

#define MOST_BYTES (UINT64_C(1) << 32)

void op_texts_init(struct op_texts *texts)
{
    arena_init(&texts->arena, MOST_BYTES);
    intern_init(&texts->intern, &texts->arena);
}

void op_texts_finish(struct op_texts *texts)
{
    intern_finish(&texts->intern);
    arena_finish(&texts->arena);
}

int op_texts_add(struct op_texts *texts, struct slice text, uint32_t *ret_number)
{
    const uint32_t number = intern_number(&texts->intern, text);
    *ret_number = number - 1;
    return number ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the names of ops");
}

const char *op_texts_get(const struct op_texts *texts, uint32_t number)
{
    return number < texts->intern.count ? (const char *)texts->intern.entries[number].bytes : NULL;
}
