// SPDX-License-Identifier: Apache-2.0
// One *.gait file: its frames, read and verified one at a time. Damage is
// noted, never fatal: whatever is intact is served.
#ifndef GAIT_LOAD_SHARD_H
#define GAIT_LOAD_SHARD_H

#include <stdbool.h>

#include "base/buffer.h"
#include "format/table_reader.h"
#include "load/file/damage.h"
#include "load/file/file_source.h"
#include "load/file/frame_list.h"

struct shard {
    struct file_source source;
    struct frame_list list;
    struct damage *damage;    // borrowed
    struct buffer salvaged;   // frames made from the ring file
    const char *ring_failure; // why its ring file could not be read, NULL if it could
    bool is_whole;            // made whole from the ring file: reads as if closed
    bool is_live;             // its process is still recording
    bool is_verified;         // every payload hash was looked at
};

// Opens the file at `path` and lists its frames. The shard must not move.
// Fails when nothing in it can be read; then the story says why.
GAIT_CHECK int shard_open(struct shard *shard, struct file_pool *pool, struct damage *damage,
                          const char *path);
GAIT_CHECK int shard_open_memory(struct shard *shard, struct damage *damage, struct slice bytes);
void shard_close(struct shard *shard); // takes NULL and a half-opened shard

// Reads frame `index` into `payload` and makes it ready to be asked. A frame
// that proves damaged is noted once and is GAIT_ERR_FORMAT ever after.
GAIT_CHECK int shard_read(struct shard *shard, size_t index, struct buffer *payload,
                          struct table_view *ret_view);

// Notes that frame `index` is damaged in a way that only its reader could see,
// and returns GAIT_ERR_FORMAT (or what went wrong in noting it).
int shard_reject(struct shard *shard, size_t index, const char *what);

// Notes, once, that something within frame `index` cannot be served while the
// rest can.
GAIT_CHECK int shard_note(struct shard *shard, size_t index, const char *what);

// Reads all payloads that were not read yet, so that damage is complete.
GAIT_CHECK int shard_verify(struct shard *shard);

static inline bool shard_has_frame(const struct shard *shard, size_t index)
{
    return !(shard->list.entries[index].flags & (FRAME_IS_BAD | FRAME_IS_REPLACED));
}

#endif
