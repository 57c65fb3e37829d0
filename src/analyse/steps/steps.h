// SPDX-License-Identifier: Apache-2.0
// The steps of a job. Every rank makes all of them, so a job's step is what the
// ranks did under one number, and it took as long as its slowest rank.
//
// Pure: rows in, rows and figures out.
#ifndef GAIT_ANALYSE_STEPS_H
#define GAIT_ANALYSE_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct step_row {
    int64_t start_ns, duration_ns;
    int64_t work_ns; // that others may wait for; 0 where nothing is known of it
    uint64_t number;
    uint32_t rank; // any number that the rows of one rank share
    uint32_t track;
    uint32_t occurrence; // filled in by steps_merge()
    uint64_t tag;        // the caller's own
};

// Reduces the rows of all ranks, in place, to one a job's step: the slowest
// rank's, the one with the most work, else the longest. Numbers that come again
// (each epoch counts from 0) are told apart by order: the second step 0 of one
// rank belongs to the second of the others.
// The same step found twice (a snapshot beside its shard) counts once. Returns
// how many rows are left, in order of number and occurrence; `ret_ranks` is how
// many ranks made steps.
size_t steps_merge(struct step_row *rows, size_t count, uint32_t *ret_ranks);

struct steps_summary {
    uint64_t count;
    int64_t least_ns, p50_ns, p95_ns, p99_ns, max_ns; // nearest rank: each is one step's
    int64_t total_ns;
    uint64_t slowest; // number of the (first) longest step
    // So many of the longest, one in twenty and five at most, and what they took beyond the
    // median. Of fewer than ten steps none.
    uint64_t far;
    int64_t far_ns;
};

// `ret_sorted` has room for `count` durations and is left sorted.
struct steps_summary steps_summarise(const struct step_row *rows, size_t count,
                                     int64_t *ret_sorted);

#endif
