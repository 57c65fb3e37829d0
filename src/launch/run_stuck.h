// SPDX-License-Identifier: Apache-2.0
// `gait run --stuck-after`: looks now and then whether the ranks of the run move. Where they
// have not for so long, stuck.txt in the run's directory says who holds them up.
#ifndef GAIT_LAUNCH_RUN_STUCK_H
#define GAIT_LAUNCH_RUN_STUCK_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RUN_STUCK_FILE "stuck.txt"

struct run_stuck {
    int64_t after_ns; // 0: nobody looks
    char directory[PATH_MAX];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ending;
    bool is_running, is_told;
    atomic_bool is_ending;
};

// With `after_ns` and the directory set, all else zero: begins to look at the ranks that record
// into it, in a thread of its own.
void run_stuck_start(struct run_stuck *stuck);
void run_stuck_stop(struct run_stuck *stuck);

#endif
