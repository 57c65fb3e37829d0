// SPDX-License-Identifier: Apache-2.0
// `gait run --sample`: samples of the program and of all that it starts, as one
// more shard of the run.
#ifndef GAIT_LAUNCH_RUN_SAMPLE_H
#define GAIT_LAUNCH_RUN_SAMPLE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sample/sample_shard.h"
#include "sample/sampler.h"

#define NATIVE_SAMPLE_HZ 1000 // of --native without --sample

struct run_sample {
    int64_t rate_hz; // 0: nothing is sampled
    bool has_native; // C frames too
    char directory[PATH_MAX];
    struct sampler sampler;
    struct sample_shard shard;
    pthread_t thread;
    bool is_running;
    char why[512]; // it samples nothing, or stopped early; "" if all is well
};

// A launch_watcher's `started`: context is a struct run_sample whose rate and
// directory are set, all else zero. What goes wrong is kept in `why`.
void run_sample_start(void *context, pid_t pid);

// Ends it and closes the shard.
void run_sample_stop(struct run_sample *sample);

#endif
