// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis: temporal breakdown, overlap, and time by kinds of kernels.
#ifndef GAIT_ANALYSE_COMPAT_HTA_TIMES_H
#define GAIT_ANALYSE_COMPAT_HTA_TIMES_H

#include "analyse/compat/hta_rows.h"

enum { HTA_STATES = 8 }; // by 1: computation, 2: communication, 4: memory

struct hta_times {
    bool has_device; // else it raises
    int64_t idle_us, compute_us, non_compute_us, kernel_us;
    double overlap_share; // of communication; NAN without
};

GAIT_CHECK int hta_times_make(struct hta_times *times, const struct hta_rank *rank);

// Adds the time in each state; with_memory: memory is a kind of its own, else not looked at.
// met[state]: the state was there, be it for no time.
GAIT_CHECK int hta_times_by_kind(int64_t *ret_us, bool *ret_met, const struct hta_rank *rank,
                                 bool with_memory);

#endif
