// SPDX-License-Identifier: Apache-2.0
// The lanes of all tracks, made as events come, each with the number under
// which the other tool knows it.
#ifndef GAIT_EXPORT_LANE_TABLE_H
#define GAIT_EXPORT_LANE_TABLE_H

#include <stdint.h>

#include <gait/error.h>
#include <gait/trace.h>

#include "base/buffer.h"
#include "export/lanes.h"

// What lies on a lane. Steps and drops have lanes of their own, or they would
// push spans that reach across them aside; what is on no record has its own too.
enum lane_role { LANE_SPANS, LANE_STEPS, LANE_DROPS, LANE_ASYNC, LANE_DERIVED, LANE_ROLE_COUNT };

// The lane of an event that lies on `role` where it is on record.
static inline enum lane_role lane_role_of(const struct gait_event *event, enum lane_role role)
{
    return event->site == GAIT_NO_SITE ? LANE_DERIVED : role;
}

struct lane_group {
    struct lanes lanes;
    uint64_t *numbers; // by lane; 0: not given yet
    size_t capacity;
};

struct lane_table {
    struct lane_group **groups; // of a track's roles, NULL until used
    uint32_t track_count;
};

GAIT_CHECK int lane_table_init(struct lane_table *table, uint32_t track_count);
void lane_table_finish(struct lane_table *table); // takes a zeroed struct

// The lanes of a track in a role; async spans never nest.
GAIT_CHECK int lane_table_group(struct lane_table *table, uint32_t track, enum lane_role role,
                                struct lane_group **ret_group);

// Where the number of a lane is kept. Good until the next call for the group.
GAIT_CHECK int lane_group_number(struct lane_group *group, uint32_t lane, uint64_t **ret_number);

// Appends what tells this lane from the track's first one: "", " steps 2".
GAIT_CHECK int lane_table_name(enum lane_role role, uint32_t lane, struct buffer *out);

#endif
