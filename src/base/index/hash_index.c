// SPDX-License-Identifier: Apache-2.0
// The hash is kept beside the number, so that growing never touches the rows.
#include "base/index/hash_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

void hash_index_finish(struct hash_index *index)
{
    free(index->places);
    *index = (struct hash_index){0};
}

void hash_index_clear(struct hash_index *index)
{
    if (index->room)
        memset(index->places, 0, index->room * sizeof *index->places);
    index->count = 0;
}

int hash_index_reserve(struct hash_index *index, size_t first_room)
{
    if (index->room && index->count * 2 < index->room)
        return 0;
    const size_t room = index->room ? index->room * 2 : first_room;
    struct hash_place *places = calloc(room, sizeof *places);
    if (!places)
        return fail(GAIT_ERR_MEMORY, "no memory for an index of %zu entries", index->count);
    for (size_t i = 0; i < index->room; i++) {
        size_t at = index->places[i].hash & (room - 1);
        while (places[at].row)
            at = (at + 1) & (room - 1);
        if (index->places[i].row)
            places[at] = index->places[i];
    }
    free(index->places);
    index->places = places;
    index->room = room;
    return 0;
}
