// SPDX-License-Identifier: Apache-2.0
// The rows of one level on their way into the file: they wait until no earlier one can come, then
// stand by lane in a group, packed, or are left out.
#ifndef GAIT_FACTS_LOD_STORE_H
#define GAIT_FACTS_LOD_STORE_H

#include <gait/error.h>

#include "base/buffer.h"
#include "facts/lod_row.h"

struct lod_store { // zeroed but for the first three: empty
    unsigned level;
    uint64_t row_spans; // a group with fewer spans a row is left out; 0: none is
    struct buffer packed;
    struct lod_row *rows; // that wait
    size_t count, capacity;
    struct lod_group *groups;
    size_t group_count, group_capacity;
    struct lod_row *room;
    size_t room_capacity;
    uint32_t *ends; // of lanes, while rows are put in order
    size_t end_capacity;
};

void lod_store_init(struct lod_store *store, unsigned level, uint64_t row_spans);
void lod_store_finish(struct lod_store *store); // takes a zeroed struct

// Rows of a lane come in order of time.
GAIT_CHECK int lod_store_add(struct lod_store *store, const struct lod_row *row);

// No row that starts before will come: those that wait become a group. `lanes`: how many there are.
GAIT_CHECK int lod_store_settle(struct lod_store *store, int64_t until_ns, uint32_t lanes);

struct facts_file;
GAIT_CHECK int lod_store_save(const struct lod_store *store, struct facts_file *file);

#endif
