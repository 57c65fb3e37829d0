// SPDX-License-Identifier: Apache-2.0
// Where foreign traces come from: a source is one file in sources and one line in the
// table of source.c. It turns bytes into what a store holds, and knows neither files nor shards.
#ifndef GAIT_INGEST_SOURCE_H
#define GAIT_INGEST_SOURCE_H

#include "ingest/event_store.h"
#include "ingest/intake.h"

// What the source learnt about the whole.
struct source_facts {
    int64_t base_ns;       // what its times count from
    int64_t rank;          // -1: not known
    const char *host;      // NULL: not known; in the store's memory
    bool is_one_process;   // all tracks belong to one process, devices to it as well
    uint32_t main_process; // string id: that one
};

struct source {
    const char *name;
    // How sure it is that the file is its own, by the first bytes: 0 no, 100 yes.
    unsigned (*probe)(struct slice head);
    int (*read)(struct intake *intake, struct event_store *store, struct source_facts *ret_facts);
};

// The one that is surest, or NULL.
const struct source *source_find(struct slice head);

// The rank that a file's name tells, "rank3" or "rank_3" or "rank-3"; -1: none.
int64_t source_rank_of(const char *path);

extern const struct source source_chrome, source_snapshot, source_perfetto, source_nsys,
    source_mllog;

#endif
