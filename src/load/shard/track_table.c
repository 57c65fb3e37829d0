// SPDX-License-Identifier: Apache-2.0
// The tracks of a whole trace.
#include "load/shard/track_table.h"

#include <stdlib.h>

#include "base/array.h"

#define TRACK_LIMIT (16u << 20)

void track_table_finish(struct track_table *table)
{
    if (!table)
        return;
    free(table->tracks);
    *table = (struct track_table){0};
}

int track_table_add(struct track_table *table, const struct track *track, uint32_t *ret_number)
{
    int status = ARRAY_RESERVE(table->tracks, table->capacity, table->count + 1, TRACK_LIMIT);

    if (status)
        return status;
    table->tracks[table->count] = *track;
    *ret_number = (uint32_t)table->count++;
    return 0;
}
