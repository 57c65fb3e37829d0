// SPDX-License-Identifier: Apache-2.0
// What could not be read. The list has a maximum, so that a file made of
// nothing but damage cannot fill the memory.
#include "load/file/damage.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DAMAGE_LIMIT 65536

void damage_init(struct damage *damage, struct arena *arena)
{
    *damage = (struct damage){.arena = arena};
}

void damage_finish(struct damage *damage)
{
    if (!damage)
        return;
    free(damage->ranges);
    *damage = (struct damage){.arena = damage->arena};
}

int damage_add(struct damage *damage, const struct damage_range *range)
{

    if (damage->count == DAMAGE_LIMIT) {
        damage->ranges[DAMAGE_LIMIT - 1].what = "more damage begins here; gait does not list it";
        return 0;
    }
    int status = ARRAY_RESERVE(damage->ranges, damage->capacity, damage->count + 1, DAMAGE_LIMIT);
    if (status)
        return status;
    const char *what = arena_text(damage->arena, range->what, strlen(range->what));
    if (!what)
        return GAIT_ERR_MEMORY;
    damage->ranges[damage->count] = *range;
    damage->ranges[damage->count++].what = what;
    return 0;
}
