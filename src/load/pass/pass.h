// SPDX-License-Identifier: Apache-2.0
// One reading of a run for everyone who asks. Each frame is decoded once, whoever
// wants rows of it; shards are read side by side on all processors, one shard at a
// time on each.
//
// An analysis is a summary that is made of each shard and merged:
//
//     begin(part, shard, answer) a zeroed part; the shard is about to be read
//     rows(part, batch)          for each frame of a wanted kind and track, in file
//                                order, then for what was still open at the end
//     end(part)                  the shard was read: drop what the summary does not need
//     merge(answer, part)        in order of the shards, one at a time
//     drop(part)                 frees what the part still holds
//
// begin, rows and end of one shard run on one thread, those of several shards on
// several. They may read the trace's metadata, tracks and sites, and write what
// belongs to the shard alone (its tracks' places in an array of the answer). Where several
// analyses are asked for together, end() is called in the order of the asks, so a
// later one may use what an earlier one put there.
#ifndef GAIT_LOAD_PASS_H
#define GAIT_LOAD_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

enum { PASS_MOST_ASKS = 16, PASS_MOST_THREADS = 16 };

struct event_frame;

// Who reads spans by himself shows each frame here, with these columns, and so nobody decodes it
// again.
struct pass_tap {
    uint32_t roles; // ROLE_BIT()s of event_frame.h
    void *context;
    int (*show)(void *context, uint32_t shard, struct event_frame *frame);
};

struct pass_shard {
    const struct gait_trace *trace;
    uint32_t shard;
    uint32_t first_track, track_count; // of the trace's tracks, the shard's own
    const struct pass_tap *tap;        // for `read`; NULL: nobody else wants spans
};

struct analysis {
    const char *name;
    uint32_t kinds;   // bits 1u << GAIT_KIND_...
    uint32_t columns; // enum gait_column; asynchronous begins and ends come apart,
                      // as their phase says (0: a begin), without a duration
    // With a shard's rows come those of the shards that it owns (shard_owner.h): tracks beyond
    // its own. Others never see rows of an owned shard.
    bool has_owned;
    size_t part_bytes;
    int (*begin)(void *part, const struct pass_shard *shard, void *answer); // NULL: nothing
    // NULL: all but gait's own tracks
    bool (*wants)(const void *part, enum gait_kind kind, uint32_t track);
    int (*rows)(void *part, const struct gait_batch *batch);
    // Instead of rows, where it asks for no kind: reads the spans of the shard and of those that
    // it owns by itself, in an order of its own. Of the asks of a pass one may have it.
    int (*read)(void *part, const struct pass_shard *shard, void *answer);
    int (*end)(void *part);                 // NULL: nothing to do
    int (*merge)(void *answer, void *part); // NULL: the answer was written in place
    void (*drop)(void *part);               // takes a zeroed part; NULL: nothing to free
};

struct pass_ask {
    const struct analysis *analysis;
    void *answer; // which also says what is wished
};

// The first failure ends the reading: answers are incomplete then. Damaged frames
// are noted in the trace and left out.
GAIT_CHECK int pass_run(struct gait_trace *trace, const struct pass_ask *asks, size_t count);

// The same of one shard alone.
GAIT_CHECK int pass_run_shard(struct gait_trace *trace, uint32_t shard, const struct pass_ask *asks,
                              size_t count);

#endif
