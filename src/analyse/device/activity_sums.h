// SPDX-License-Identifier: Apache-2.0
// What devices did by what the host did at the same time. A ledger of turns is its sums: the
// devices' side, and of idle time the host's.
#ifndef GAIT_ANALYSE_ACTIVITY_SUMS_H
#define GAIT_ANALYSE_ACTIVITY_SUMS_H

#include <stdbool.h>

#include "analyse/device/activity.h"
#include "analyse/time/intervals.h"

// The lanes of devices, then idle; the lanes of the host, then nothing that is on record.
enum {
    ACTIVITY_IDLE = LANE_COUNT,
    ACTIVITY_STATES,
    ACTIVITY_NO_HOST = ACTIVITY_COUNT - LANE_COUNT,
    ACTIVITY_HOSTS
};

struct activity_sums {
    uint64_t ns[ACTIVITY_STATES][ACTIVITY_HOSTS];
};

static inline unsigned activity_host(unsigned state)
{
    return (unsigned)__builtin_ctz(state >> LANE_COUNT | 1u << ACTIVITY_NO_HOST);
}

// Takes time in a state of a sweep with all lanes.
static inline void activity_sums_take(struct activity_sums *sums, unsigned state, uint64_t ns)
{
    sums->ns[__builtin_ctz(state | 1u << ACTIVITY_IDLE)][activity_host(state)] += ns;
}

// Adds the difference of two.
void activity_sums_add(struct activity_sums *to, const struct activity_sums *until,
                       const struct activity_sums *from);
uint64_t activity_sums_total(const struct activity_sums *sums);

enum activity_base {
    ACTIVITY_OF_NOTHING,
    ACTIVITY_OF_TURNS,
    ACTIVITY_OF_WINDOW,
    ACTIVITY_OF_CHOICE
};

struct rank_activity {
    uint32_t shard, base; // enum activity_base
    uint64_t steps;       // of turns
    struct activity_sums sums;
};

// Without turns: from the first work to the end of the last, or the times that were chosen.
struct activity_window {
    const struct intervals *times; // NULL: none were chosen
    size_t at;                     // of them, the first that is not over
    bool is_open;
    bool is_idle;                     // since the last work, as long as
    uint64_t idle_ns[ACTIVITY_HOSTS]; // this: it is of the window if more work comes
    struct activity_sums sums;        // of all time before the first work; of the chosen times
};

// `until` is of all time so far.
void activity_window_work(struct activity_window *window, const struct activity_sums *until);
void activity_window_pass(struct activity_window *window, unsigned state, int64_t from_ns,
                          int64_t until_ns);
// What of the chosen times has no row around it is idle, and the host is in nothing.
void activity_window_end(struct activity_window *window, const struct activity_sums *until);

#endif
