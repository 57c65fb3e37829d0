// SPDX-License-Identifier: Apache-2.0
// The shard as its writer sees it: a batch of frames gathered in memory, put at
// the end of the file in one write, or not at all. Used by one thread at a time.
#ifndef GAIT_RECORD_SHARD_WRITER_H
#define GAIT_RECORD_SHARD_WRITER_H

#include <limits.h>
#include <stdint.h>

#include "base/os/os.h"
#include "format/index_writer.h"
#include "format/table_writer.h"

struct shard_writer {
    struct os_file file;
    char path[PATH_MAX];
    uint64_t bytes; // of the file, all of it intact
    struct buffer batch;
    struct table_writer tables; // frames go into `batch`
    struct index_writer index;
    uint64_t batch_sequence; // of the first frame in the batch
    bool is_ending;          // the reserve under a file-size limit may be used
    bool has_index;          // false once a frame could not be listed: no trailer then
};

// Creates <directory>/<host>.<pid>.<start_ns>.gait; never overwrites.
GAIT_CHECK int shard_writer_open(struct shard_writer *shard, const char *directory,
                                 int64_t start_ns);

// The same with a path of the caller's choice.
GAIT_CHECK int shard_writer_open_path(struct shard_writer *shard, const char *path);

// Puts the batch into the file and empties it. On failure the file is as long
// as before, the batch is gone and the caller knows what was in it.
GAIT_CHECK int shard_writer_put(struct shard_writer *shard);

// Empties the batch as if none of it had been made.
void shard_writer_discard(struct shard_writer *shard);

// Index and trailer, then closes. The shard is sound without them too.
GAIT_CHECK int shard_writer_seal(struct shard_writer *shard);

void shard_writer_finish(struct shard_writer *shard); // closes unsealed, frees
void shard_writer_remove(struct shard_writer *shard); // the same, and the file goes

// Closes and frees nothing: in a forked child, whose parent may be in the middle
// of all this.
void shard_writer_abandon(struct shard_writer *shard);

#endif
