// SPDX-License-Identifier: Apache-2.0
// The times of each process that a choice leaves. Sums and counts take a row that begins in
// them, work of a device with the call that launched it; ledgers take the time itself.
#ifndef GAIT_ANALYSE_CHOSEN_H
#define GAIT_ANALYSE_CHOSEN_H

#include "analyse/time/intervals.h"
#include "facts/fact_slice.h"
#include "load/choice.h"

struct chosen {
    struct intervals *times; // of each shard
    uint32_t shard_count;
    bool is_of_time_alone;  // neither of steps nor of a phase
    bool cuts_steps;        // by a time or a phase
    int64_t from_ns, to_ns; // INT64_MIN, INT64_MAX: not given
};

// Makes times from the start of the run to times of the clock, as long as the run is whole: ranks
// that begin later would count from there.
void chosen_fix_times(struct choice *choice, const struct gait_trace *trace);

// Fails with a sentence where nothing is left.
GAIT_CHECK int chosen_find(struct chosen *chosen, struct gait_trace *trace,
                           const struct choice *choice);
void chosen_finish(struct chosen *chosen); // takes a zeroed struct

// From the first moment that is chosen of any process to the last.
struct interval chosen_all(const struct chosen *chosen);

// The same of a shard's process; where it has no steps or phases, as workers and meters do, of
// those of its rank; and without a rank, of all.
struct interval chosen_span(const struct chosen *chosen, const struct gait_trace *trace,
                            uint32_t shard);

// Adds the times that are chosen of some process of a host.
GAIT_CHECK int chosen_of_host(const struct chosen *chosen, const struct gait_trace *trace,
                              const char *host, struct intervals *times);

// Whether a moment is chosen, or a row that counts. Without a choice (NULL) all are.
bool chosen_has(const struct chosen *chosen, uint32_t shard, int64_t at_ns);
bool chosen_has_row(const struct chosen *chosen, uint32_t shard, const struct fact_slice *slice,
                    const struct fact_rows *track, const struct fact_row *row);

#endif
