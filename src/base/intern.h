// SPDX-License-Identifier: Apache-2.0
// Texts held once: equal texts get equal pointers.
#ifndef GAIT_BASE_INTERN_H
#define GAIT_BASE_INTERN_H

#include <stddef.h>

#include "base/arena.h"
#include "base/index/hash_index.h"
#include "base/slice.h"

struct intern_entry;

struct intern {
    struct arena *arena; // holds the texts; must outlive this
    struct intern_entry *entries;
    size_t count, room;
    struct hash_index index;
};

void intern_init(struct intern *intern, struct arena *arena);
void intern_finish(struct intern *intern); // takes NULL; the texts stay in the arena

// The one copy of that text, with a 0 behind it; NULL when there is no memory.
const char *intern_text(struct intern *intern, struct slice text);

#endif
