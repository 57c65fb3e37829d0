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

struct launch {
    int64_t start_ns, end_ns; // of the call
    uint64_t link;
    uint32_t shard;
    uint32_t op;     // its site, or what a visitor has for it; GAIT_NO_SITE: none was open
    uint32_t thread; // whose op or named range was innermost; LAUNCH_NO_THREAD: none was open
    uint32_t number; // calls are counted
};

#define LAUNCH_NO_THREAD UINT32_MAX

// Kinds of sites. Calls behind ops and named ranges: what begins together with a call is around
// it. Who has launches of his own may change them: rows beside go to the visitor alone.
enum { LAUNCH_OP, LAUNCH_RANGE, LAUNCH_CALL, LAUNCH_BESIDE };

// Sees each row but for calls, in order of time, before those that it holds.
typedef int launch_visit(void *context, const struct fact_slice *slice,
                         const struct feed_head *head, uint32_t *ret_op);

struct launch_table {
    uint64_t least_link, most_link; // numbers rise: most that are not in it lie outside
    struct hash_index index;
    struct launch *rows;
    size_t count, capacity;
};

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

struct launches {
    const struct gait_trace *trace;
    size_t generation;   // so many calls are remembered at least
    uint8_t *kinds;      // of a site
    launch_visit *visit; // or NULL
    void *context;
    struct feed feed;
    struct launch_thread *threads;
    size_t thread_count, thread_capacity;
    struct hash_index thread_index;
    struct launch_open all; // of all threads, in order of start
    bool has_known_caller;  // a thread that has ops has calls, too
    uint32_t call_count;
    struct launch *calls; // of the slice, in order: those that have a number
    size_t slice_calls, call_capacity;
    uint32_t *numbers; // of the threads of the slice's tracks
    size_t number_capacity;
    struct launch_table young, old;
};

// `generation` 0: the usual number.
GAIT_CHECK int launches_init(struct launches *launches, const struct gait_trace *trace,
                             size_t generation);
void launches_finish(struct launches *launches); // takes a zeroed struct

// Takes in the slice that comes next, before anyone asks about its rows.
GAIT_CHECK int launches_add(struct launches *launches, const struct fact_slice *slice);

// The call that launched that row of a device; NULL: not on record.
const struct launch *launches_find(const struct launches *launches, uint32_t shard, uint64_t link);

// The thread of the slice's track `at`: threads are counted as they are met, in all slices.
static inline uint32_t launches_thread(const struct launches *launches, size_t at)
{
    return launches->numbers[at];
}

// Whether the thread of the slice's track `at` launches work: it made a call that has a number.
// Where no thread with ops did, since calls tell other numbers of threads, all of them count.
bool launches_is_launching(const struct launches *launches, size_t at);

#endif
