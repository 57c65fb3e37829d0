// SPDX-License-Identifier: Apache-2.0
// All that writes a *.gait file: a batch of frames gathered in memory, put at the end of
// the file in one write, or not at all; then index and trailer. The file is a new one, one
// that is there already, or memory. Used by one thread at a time; several shards may be
// written side by side.
//
//     status = shard_out_open_path(&shard, path);
//     table_write_schema(&shard.tables), small_rows_write(&rows, &shard.tables) ...
//     status = shard_out_settle(&shard);      // as often as one likes
//     status = shard_out_seal(&shard);
//     shard_out_finish(&shard);
#ifndef GAIT_SHARD_SHARD_OUT_H
#define GAIT_SHARD_SHARD_OUT_H

#include <limits.h>
#include <stdint.h>

#include "base/os/os.h"
#include "format/index_writer.h"
#include "format/table_writer.h"

struct shard_out {
    struct os_file file;
    char path[PATH_MAX];
    uint64_t bytes; // of the file, all of it intact
    struct buffer batch;
    struct table_writer tables; // frames go into `batch`
    struct index_writer index;
    uint64_t batch_sequence; // of the first frame in the batch
    bool is_ending;          // the reserve under a file-size limit may be used
    bool is_in_memory;       // the file is `memory`
    bool has_tail;           // of a file that was there: what stands behind `bytes` goes first
    struct buffer memory;
    bool keeps_batch; // that could not be written, for the next try
    bool has_index;   // false once a frame could not be listed: no trailer then
};

// "<host>.rank<rank>.<pid>", of rank -1 "<host>.<pid>": how names of shards begin. They are for
// people: who a shard is of its metadata say, for a rank may become known later.
void shard_out_name(char *out, size_t room, int64_t rank, int64_t pid);

// Creates <directory>/<host>.rank<rank>.<pid>.<start_ns>.gait; never overwrites.
GAIT_CHECK int shard_out_open(struct shard_out *shard, const char *directory, int64_t rank,
                              int64_t start_ns);

// The same with a path of the caller's choice.
GAIT_CHECK int shard_out_open_path(struct shard_out *shard, const char *path);

// A file that is open for writing already, and stays the caller's. It is kept up to its
// first `bytes`; the caller tells the index of the frames in them, and sets the sequence
// number of the next frame in `tables`.
GAIT_CHECK int shard_out_open_end(struct shard_out *shard, int fd, const char *path,
                                  uint64_t bytes);

// No file: the shard grows in `memory`.
GAIT_CHECK int shard_out_open_memory(struct shard_out *shard);

// Puts the batch into the file once there is enough of it, and an index where one is due.
GAIT_CHECK int shard_out_settle(struct shard_out *shard);

// Puts the batch into the file and empties it. On failure the file is as long
// as before, the batch is gone and the caller knows what was in it.
GAIT_CHECK int shard_out_put(struct shard_out *shard);

// Empties the batch as if none of it had been made.
void shard_out_discard(struct shard_out *shard);

// Index and trailer. The shard is sound without them too.
GAIT_CHECK int shard_out_seal(struct shard_out *shard);

void shard_out_finish(struct shard_out *shard); // closes unsealed, frees
void shard_out_remove(struct shard_out *shard); // the same, and the file goes

// Closes and frees nothing: in a forked child, whose parent may be in the middle
// of all this.
void shard_out_abandon(struct shard_out *shard);

#endif
