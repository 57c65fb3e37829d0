// SPDX-License-Identifier: Apache-2.0
#include "export/lane_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

int lane_table_init(struct lane_table *table, uint32_t track_count)
{
    size_t count = (size_t)track_count * LANE_ROLE_COUNT;
    *table = (struct lane_table){.track_count = track_count};
    table->groups = calloc(count + 1, sizeof(struct lane_group *));
    if (!table->groups)
        return fail(GAIT_ERR_MEMORY, "no memory for %u tracks", track_count);
    return GAIT_OK;
}

void lane_table_finish(struct lane_table *table)
{
    size_t count = table->groups ? (size_t)table->track_count * LANE_ROLE_COUNT : 0;
    for (size_t i = 0; i < count; i++) {
        if (!table->groups[i])
            continue;
        lanes_finish(&table->groups[i]->lanes);
        free(table->groups[i]->numbers);
        free(table->groups[i]);
    }
    free(table->groups);
    *table = (struct lane_table){0};
}

int lane_table_group(struct lane_table *table, uint32_t track, enum lane_role role,
                     struct lane_group **ret_group)
{
    if (track >= table->track_count)
        return fail(GAIT_ERR_FORMAT, "an event names track %u of %u", track, table->track_count);
    struct lane_group **place = &table->groups[(size_t)track * LANE_ROLE_COUNT + role];
    if (!*place) {
        struct lane_group *group = calloc(1, sizeof(*group));
        if (!group)
            return fail(GAIT_ERR_MEMORY, "no memory for the lanes of a track");
        lanes_init(&group->lanes, role == LANE_ASYNC);
        *place = group;
    }
    *ret_group = *place;
    return GAIT_OK;
}

int lane_group_number(struct lane_group *group, uint32_t lane, uint64_t **ret_number)
{
    int status =
        ARRAY_RESERVE_ZEROED(group->numbers, group->capacity, (size_t)lane + 1, UINT32_MAX);
    if (!status)
        *ret_number = &group->numbers[lane];
    return status;
}

int lane_table_name(enum lane_role role, uint32_t lane, struct buffer *out)
{
    static const char *const names[LANE_ROLE_COUNT] = {" overlapping", " steps", " drops", " async",
                                                       " derived"};
    uint32_t first = role == LANE_SPANS ? 1 : 0; // a track's own lane bears its name alone
    if (lane < first)
        return GAIT_OK;
    return lane > first ? buffer_printf(out, "%s %u", names[role], lane - first + 1)
                        : buffer_printf(out, "%s", names[role]);
}
