// SPDX-License-Identifier: Apache-2.0
// Which call launched what a device did, and under which op. A row of a device and the call
// that launched it carry one number of a recording; the op is the innermost one that was open
// on the calling thread when the call began. External ids tell less and mislead: on 31 traces
// of other tools they leave 63 % of the rows without an op, and where old Kineto wrote them
// they are correlations, and so each op found by them is a wrong one.
#ifndef GAIT_FACTS_LAUNCHES_H
#define GAIT_FACTS_LAUNCHES_H

#include <stdbool.h>

#include "base/index/hash_index.h"
#include "facts/feed.h"
#include "facts/launch_threads.h"

struct launch {
    int64_t start_ns, end_ns; // of the call
    uint64_t link;
    uint32_t shard;
    uint32_t op;     // its site, or what a visitor has for it; GAIT_NO_SITE: none was open
    uint32_t thread; // whose op or named range was innermost; LAUNCH_NO_THREAD: none was open
    uint32_t number; // calls are counted
};

// Sees each row, in order of time, before those that it holds. A call that has a number gets
// `launches->call_count` then.
typedef int launch_visit(void *context, const struct fact_slice *slice,
                         const struct feed_head *head, uint32_t *ret_op);

struct launch_table {
    uint64_t least_link, most_link; // numbers rise: most that are not in it lie outside
    struct hash_index index;
    struct launch *rows;
    size_t count, capacity;
};

enum { LAUNCHES_REUSED = 64 };

struct launches {
    struct gait_trace *trace;
    uint32_t shard;
    size_t generation;   // so many calls are remembered at least
    uint8_t *kinds;      // of a site
    launch_visit *visit; // or NULL
    void *context;
    struct feed feed;
    struct launch_threads threads;
    struct launch_open all; // of all threads, in order of start
    uint32_t call_count;
    struct launch *calls; // of the slice, in order: those that have a number
    size_t slice_calls, call_capacity;
    uint32_t *numbers; // of the threads of the slice's tracks
    size_t number_capacity;
    struct launch_table young, old;
    struct launch reused[LAUNCHES_REUSED]; // the last calls whose number was used again
    uint32_t reused_count;
};

// Of the rank that owns that shard. `generation` 0: the usual number. Kinds may be changed before
// launches_survey() alone, which looks for the threads that launch.
GAIT_CHECK int launches_init(struct launches *launches, struct gait_trace *trace, uint32_t shard,
                             size_t generation);
GAIT_CHECK int launches_survey(struct launches *launches, struct rank_stream *stream);
void launches_finish(struct launches *launches); // takes a zeroed struct

// Takes in the slice that comes next, before anyone asks about its rows.
GAIT_CHECK int launches_add(struct launches *launches, const struct fact_slice *slice);

// The call that launched what a device began then: of several that used the number the last one
// before; by a clock that is ahead all come behind it. NULL: not on record.
const struct launch *launches_find(const struct launches *launches, uint32_t shard, uint64_t link,
                                   int64_t at_ns);

// The thread of the slice's track `at`: threads are counted as they are met, in all slices.
static inline uint32_t launches_thread(const struct launches *launches, size_t at)
{
    return launches->numbers[at];
}

// The op or named range that is innermost on a thread then, or NULL. For visitors: time is that of
// the row they see.
const struct launch_op *launches_around(struct launches *launches, uint32_t number, int64_t at_ns);

// Whether the thread of the slice's track `at` launches work: it made a call that has a number.
// Where no thread with ops did, since calls tell other numbers of threads, all of them count.
bool launches_is_launching(const struct launches *launches, size_t at);

#endif
