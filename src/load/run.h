// SPDX-License-Identifier: Apache-2.0
// A run: all shards of a directory (or one shard alone), with the sites and
// tracks they share.
#ifndef GAIT_LOAD_RUN_H
#define GAIT_LOAD_RUN_H

#include "base/arena.h"
#include "base/intern.h"
#include "load/file/damage.h"
#include "load/file/run_outcome.h"
#include "load/shard/dictionary.h"
#include "load/shard/open_events.h"
#include "load/shard/shard.h"
#include "load/shard/site_table.h"
#include "load/shard/track_table.h"

struct run_shard {
    struct shard shard;
    struct dictionary dictionary;
    struct open_events open;
    struct gait_shard_info info;
    // of shard_owner.h: numbers of shards; an owned one owns none
    uint32_t owner, first_owned, next_owned;
};

#define RUN_NO_SHARD UINT32_MAX

struct run {
    struct arena arena;
    struct intern texts;
    struct damage damage;
    struct file_pool pool;
    struct site_table sites;
    struct track_table tracks;
    struct row_reader rows;
    struct run_shard **shards;  // in order of path
    struct run_outcome outcome; // of the command, where a folder is read
    uint32_t shard_count;
    bool is_of_some_ranks; // others were left out as the reader asked
    size_t merge_bytes;    // bound of a merge's memory; 0: the usual one
    size_t async_begins;   // of a window of async_pairs; 0: the usual one
    bool wants_facts;      // a file of facts of each rank, however short it is
    bool is_lazy;          // frames are looked at when they are read
    struct slice facts;    // for tests: of the rank, in place of a file
};

// What the public functions hand around.
struct gait_trace {
    struct run run;
};

// Opens a shard or a run directory. Damaged and foreign files among good ones
// are damage; fails when nothing can be read.
GAIT_CHECK int run_open(struct run *run, const char *path);

// The same, but what is behind the headers of frames is looked at when it is read alone, also in
// a short file: of who wants a few of them.
GAIT_CHECK int run_open_lazily(struct run *run, const char *path);

// A run of one shard in memory, which must outlive it.
GAIT_CHECK int run_open_memory(struct run *run, struct slice bytes);
// Those shards of a run alone.
GAIT_CHECK int run_open_some(struct run *run, const struct run *of, const bool *is_kept);
void run_close(struct run *run); // takes NULL and a half-opened run

// Completes the damage list; looks at every byte that was not looked at yet.
GAIT_CHECK int run_verify(struct run *run);

// Counts events anew if frames turned out to be damaged since.
GAIT_CHECK int run_recount(struct run *run);

#endif
