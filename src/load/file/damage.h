// SPDX-License-Identifier: Apache-2.0
// What could not be read: ranges of bytes, each with one sentence.
#ifndef GAIT_LOAD_DAMAGE_H
#define GAIT_LOAD_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#include <gait/error.h>

struct damage_range {
    const char *path; // borrowed
    uint64_t offset, bytes;
    const char *what;
};

struct damage {
    struct arena *arena; // holds the sentences
    struct damage_range *ranges;
    size_t count, capacity;
    bool has_news; // a frame turned bad since somebody counted what is whole
};

void damage_init(struct damage *damage, struct arena *arena);
void damage_finish(struct damage *damage); // takes NULL

// Adds a range; past a maximum the last entry says that there is more.
GAIT_CHECK int damage_add(struct damage *damage, const struct damage_range *range);

#endif
