// SPDX-License-Identifier: Apache-2.0
// Writes what a store holds, or the part of it that one process has, as a shard.
#ifndef GAIT_INGEST_SHARD_WRITE_H
#define GAIT_INGEST_SHARD_WRITE_H

#include "ingest/event_store.h"
#include "ingest/ingest.h"
#include "ingest/repairs.h"

struct shard_about {
    const char *path; // must not exist; NULL: into `memory`
    struct buffer *memory;
    const char *reader, *file; // what it was made from
    uint32_t track;            // of a process, number + 1: only what it has; 0: all
    int64_t pid, rank;         // rank -1: not known
    const char *host;
    const struct ingest_devices *devices; // NULL: the trace stands for itself
    int64_t base_ns;                      // what the times in the file count from
    // bytes of what the file says of all its processes: what is longer stays out
    size_t most_copied;
    const struct repairs *repairs; // of the whole file
};

struct shard_written {
    uint64_t events, bytes;
};

GAIT_CHECK int shard_write(struct event_store *store, const struct shard_about *about,
                           struct shard_written *ret_written);

#endif
