// SPDX-License-Identifier: Apache-2.0
// Texts, and other runs of bytes, each held once: equal ones get equal pointers, and a number.
#ifndef GAIT_BASE_INTERN_H
#define GAIT_BASE_INTERN_H

#include <stddef.h>

#include "base/arena.h"
#include "base/index/hash_index.h"
#include "base/slice.h"

struct intern {
    struct arena *arena;   // holds the texts; must outlive this
    struct slice *entries; // that of number n is entries[n - 1]
    size_t count, room;
    struct hash_index index;
};

void intern_init(struct intern *intern, struct arena *arena);
void intern_finish(struct intern *intern); // takes NULL; the texts stay in the arena

// The one copy of that text, with a 0 behind it; NULL when there is no memory.
const char *intern_text(struct intern *intern, struct slice text);

// Its number, from 1 on in the order in which they came; 0 when there is no memory.
uint32_t intern_number(struct intern *intern, struct slice text);

static inline struct slice intern_get(const struct intern *intern, uint32_t number)
{
    return number ? intern->entries[number - 1] : (struct slice){(const uint8_t *)"", 0};
}

#endif
