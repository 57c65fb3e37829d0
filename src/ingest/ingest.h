// SPDX-License-Identifier: Apache-2.0
// A foreign trace becomes shards.
#ifndef GAIT_INGEST_INGEST_H
#define GAIT_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "ingest/repairs.h"

// What devices did in a window of a process that records itself: a shard beside its own.
struct ingest_devices {
    const char *owner; // name of the process's shard, in the same folder
    int64_t pid, rank; // rank -1: not known
    int64_t since_ns, until_ns;
};

struct ingest_wish {
    const char *trace;  // the file
    const char *folder; // where shards go: one for each process
    const char *file;   // or NULL: the name of the one shard, then the folder does not matter
    void (*progress)(
        void *context,
        uint64_t bytes); // of the file, since the last call, 0: a shard is written; or NULL
    void *progress_context;
    const struct ingest_devices *devices; // or NULL: a trace that stands for itself
};

struct ingest_result {
    const char *source;
    unsigned shards;
    int64_t rank;      // -1: not known
    bool is_unwritten; // it was read, but its shards could not be written
    uint64_t trace_bytes, shard_bytes, events;
    struct repairs repairs;
};

// Whether the file's first bytes look like a trace that can be imported, or there are none in
// it but what packs them.
bool ingest_knows(const char *path);

// The file's name without its folder and endings: what its shards are called.
void ingest_name(const char *trace, char *ret_name, size_t room);

// Reads the trace and writes its shards, all or none.
GAIT_CHECK int ingest_file(const struct ingest_wish *wish, struct ingest_result *ret_result);

#endif
