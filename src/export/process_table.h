// SPDX-License-Identifier: Apache-2.0
// The numbers and names by which other tools know the processes and threads of
// a trace. These tools take two processes of one number for the same, so what
// two shards call by one number (two hosts, two containers, a number used
// again) gets different ones here: the first keeps it, the next gets one that
// no system gives.
#ifndef GAIT_EXPORT_PROCESS_TABLE_H
#define GAIT_EXPORT_PROCESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "base/buffer.h"
#include "export/number_map.h"

struct process_table {
    struct gait_trace *trace;
    uint32_t *pids;          // by shard
    uint32_t *tids, *shards; // by track
    uint32_t shard_count, track_count, next_number;
    struct number_map used_pids, used_tids;
    bool has_many_hosts;
};

GAIT_CHECK int process_table_init(struct process_table *table, struct gait_trace *trace);
void process_table_finish(struct process_table *table); // takes a zeroed struct

// A thread number that nobody has, for a lane of our own.
uint32_t process_table_new_tid(struct process_table *table);

static inline uint32_t process_table_pid(const struct process_table *table, uint32_t track)
{
    return table->pids[table->shards[track]];
}

// A number for what a process joins by site and id (flows, gauges): the same
// wherever the event's process uses that category, name and id, another in
// every other process, never 0.
uint64_t process_table_joint(const struct process_table *table, const struct gait_event *event,
                             uint64_t id);

// Appends a name for people: "python rank 3 on node7", "loader", "stream 7".
GAIT_CHECK int process_table_name_shard(const struct process_table *table, uint32_t shard,
                                        struct buffer *out);
GAIT_CHECK int process_table_name_track(const struct process_table *table, uint32_t track,
                                        struct buffer *out);

#endif
