// SPDX-License-Identifier: Apache-2.0
// Foreign traces that somebody named, files or folders of them, made into a run.
#ifndef GAIT_CLI_TRACE_IMPORT_H
#define GAIT_CLI_TRACE_IMPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "ingest/ingest.h"

struct sheet;

// One file: what became of it.
struct trace_file {
    char path[PATH_MAX];
    char why[1024]; // it was skipped; "": it was read
    bool is_named;  // by the user himself, not found in a folder
    struct ingest_result result;
};

struct trace_import {
    struct trace_file *files;
    size_t count, room;
    size_t read;       // of them
    bool is_unwritten; // it failed where shards go, not in the traces
    uint64_t file_bytes;
};

// Finds the traces below what is named: files, or folders whose files are looked at.
GAIT_CHECK int trace_import_find(struct trace_import *import, char *const *names, size_t count);
void trace_import_finish(struct trace_import *import); // takes a zeroed one

// Imports them into the folder `run`, or as the one shard `run` if that ends in .gait.
// Nothing of that name may exist; it appears when all is written. A file that cannot be
// read is noted; fails where none can.
GAIT_CHECK int trace_import_write(struct trace_import *import, const char *run);

// Says on stderr of each file that was skipped why.
void trace_import_say_skipped(const struct trace_import *import);

// What was repaired in all files that were read.
struct repairs trace_import_repairs(const struct trace_import *import);

// What was read, repaired and skipped.
void trace_import_put(const struct trace_import *import, const char *run, struct sheet *sheet);

#endif
