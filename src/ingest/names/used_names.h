// SPDX-License-Identifier: Apache-2.0
// Which names of a store the rows of one shard use. A trace of many processes becomes a shard
// for each: with all names in each of them, 2,000 processes with a name of their own took 3.3 s
// of a processor and 42 MB, and take 0.2 s and 7 MB.
#ifndef GAIT_INGEST_USED_NAMES_H
#define GAIT_INGEST_USED_NAMES_H

#include "ingest/event_store.h"

struct used_ids {
    uint8_t *has;  // a bit for each
    uint32_t *ids; // those of them
    size_t count, capacity, most;
};

struct used_names {
    const struct event_store *store;
    struct used_ids strings, sites, forms;
    uint16_t *text_blanks; // of each form: the columns that hold string ids
};

GAIT_CHECK int used_names_init(struct used_names *used, const struct event_store *store);
void used_names_finish(struct used_names *used); // takes a zeroed one

// All that a row refers to.
GAIT_CHECK int used_names_add(struct used_names *used, const struct row *row);

// In order of their ids: what is added later is not.
void used_names_sort(struct used_names *used);

#endif
