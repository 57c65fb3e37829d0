// SPDX-License-Identifier: Apache-2.0
// The threads of a rank, and which of them have ops, named ranges, and calls that launch work. A
// look at a few columns of their frames tells that before anything is read: whether a thread
// launches must not depend on how far the reading is.
#ifndef GAIT_FACTS_LAUNCH_THREADS_H
#define GAIT_FACTS_LAUNCH_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

#include "base/index/hash_index.h"

#define LAUNCH_NO_THREAD UINT32_MAX

// Kinds of sites. Calls behind ops and named ranges: what begins together with a call is around
// it. Who has launches of his own may change them: rows beside go to the visitor alone.
enum { LAUNCH_OP, LAUNCH_RANGE, LAUNCH_CALL, LAUNCH_BESIDE };

struct launch_op { // one that is open, or was
    int64_t start_ns, end_ns;
    uint32_t site, thread; // the site, or what a visitor has for it
};

struct launch_stack {
    struct launch_op *ops; // the innermost last
    size_t depth, capacity;
};

struct launch_open { // ops, and ranges that are named
    struct launch_stack ops, ranges;
};

struct launch_thread {
    int64_t tid;
    uint32_t process; // its track, of an imported trace; 0: the one that owns the shards
    bool has_ops, has_ranges, has_calls;
    struct launch_open open;
};

struct launch_threads {
    struct launch_thread *rows;
    size_t count, capacity;
    struct hash_index index;
    bool has_known_caller; // a thread that has ops has calls, too
};

struct launch_threads_wish {
    struct gait_trace *trace;
    uint32_t shard;       // that owns the rank
    const uint8_t *kinds; // of a site
};

void launch_threads_finish(struct launch_threads *threads); // takes a zeroed struct

// The number of the thread of a track: a thread's ops may lie on several.
GAIT_CHECK int launch_threads_find(struct launch_threads *threads, const struct gait_trace *trace,
                                   uint32_t track, uint32_t *ret_number);

// Looks at the frames of a rank for what its threads have. Damaged frames are noted in the trace.
struct rank_stream;
GAIT_CHECK int launch_threads_survey(struct launch_threads *threads, struct rank_stream *stream,
                                     const struct launch_threads_wish *wish);

#endif
