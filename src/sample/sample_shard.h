// SPDX-License-Identifier: Apache-2.0
// Samples as a shard (docs/FORMAT.md): a track a thread, tables stack and
// sample. What was taken is on the disk a few seconds later, whatever becomes of
// the sampler.
#ifndef GAIT_SAMPLE_SAMPLE_SHARD_H
#define GAIT_SAMPLE_SAMPLE_SHARD_H

#include <stdint.h>

#include <gait/error.h>

#include "base/clock.h"
#include "base/index/hash_index.h"
#include "sample/look/stack_trie.h"
#include "shard/shard_out.h"
#include "shard/small_rows.h"

#define SAMPLE_ROWS 512

struct sample_track {
    uint32_t id, count;
    uint32_t parent; // track of the process; 0: this is one
    int64_t os_id;
    uint64_t begun_ns; // when the oldest row not written came
    bool is_written;   // some rows are in the file
    struct sample_track *next;
    uint64_t starts[SAMPLE_ROWS], stacks[SAMPLE_ROWS], weights[SAMPLE_ROWS], states[SAMPLE_ROWS];
};

struct sample_shard {
    struct shard_out writer;
    struct stack_trie *trie;
    struct sample_track *tracks;
    struct small_rows rows; // not yet written
    struct clock_anchor first_anchor;
    uint32_t track_count;
    uint32_t sites_told, nodes_told; // how many of the tree are in the file
    const char **strings;            // texts that have an id, in its order
    size_t string_count, string_room;
    struct hash_index string_index;
    uint64_t lost; // rows that no disk took
    int status;    // of the first write that failed
    char why[256]; // the same in words
};

struct sample_shard_about {
    int64_t pid;         // of the root process
    const char *program; // its executable's base name
};

GAIT_CHECK int sample_shard_open(struct sample_shard *shard, const char *path,
                                 struct stack_trie *trie);
void sample_shard_finish(struct sample_shard *shard); // takes a zeroed one

// Says whom it is about; once that is known.
void sample_shard_tell(struct sample_shard *shard, const struct sample_shard_about *about);

struct sample_track_about {
    uint32_t parent; // track of the process, 0: this is one
    int64_t os_id;
    const char *name;
};

// NULL where there is no memory. It stays the shard's.
struct sample_track *sample_shard_track(struct sample_shard *shard,
                                        const struct sample_track_about *about);

// The track, or a site of the tree, is called something else now.
void sample_shard_name(struct sample_shard *shard, struct sample_track *track, const char *name);
void sample_shard_site(struct sample_shard *shard, uint32_t site);

struct sample_row {
    uint64_t tick, weight;
    uint32_t node, state; // state: docs/FORMAT.md
};

void sample_shard_put(struct sample_shard *shard, struct sample_track *track,
                      const struct sample_row *row);

// Writes what has waited long enough, or all of it; `summary` is JSON, may be NULL.
void sample_shard_flush(struct sample_shard *shard, uint64_t now_ns, bool is_all,
                        const char *summary);

// Index and trailer. Fails with the first failure there was.
GAIT_CHECK int sample_shard_seal(struct sample_shard *shard);

#endif
