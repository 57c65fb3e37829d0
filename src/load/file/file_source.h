// SPDX-License-Identifier: Apache-2.0
// The bytes of one file, read piece by piece (never mapped: the file may
// shrink while we read, and that must be an error, not a signal). However many
// files a run has, only a few are open at once.
#ifndef GAIT_LOAD_FILE_SOURCE_H
#define GAIT_LOAD_FILE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#include <gait/error.h>

#define FILE_POOL_OPEN 64

struct file_source;

// The descriptors that the sources of one run share. All zero at first.
struct file_pool {
    struct file_source *open[FILE_POOL_OPEN];
    unsigned next; // whose turn it is to be closed
};

struct file_source {
    struct file_pool *pool;
    const char *path;      // borrowed
    const uint8_t *memory; // instead of a file
    uint64_t bytes;        // length when it was opened
    uint64_t device, inode;
    int descriptor; // -1: closed for now
};

// Opens a regular file; anything else is refused in one sentence. `path` must
// outlive the source, and the source must not move. Without a pool the file
// stays open until it is closed.
GAIT_CHECK int file_source_open(struct file_source *source, struct file_pool *pool,
                                const char *path);

// A source over bytes in memory, which must outlive it.
void file_source_open_memory(struct file_source *source, const char *path, struct slice bytes);
void file_source_close(struct file_source *source); // takes NULL

// Hands an open source over to another pool, which counts its descriptor from now on.
void file_source_move(struct file_source *source, struct file_pool *pool);

// Reads exactly `count` bytes at `offset`, or fails.
GAIT_CHECK int file_source_read(struct file_source *source, uint64_t offset, void *ret_bytes,
                                size_t count);

#endif
