// SPDX-License-Identifier: Apache-2.0
// A thread of gait run's own: the program is its child, which it may read.
#define _GNU_SOURCE
#include "launch/run_sample.h"

#include <stdio.h>

#include "base/fail.h"
#include "launch/job.h"
#include "shard/shard_out.h"

static void keep_story(struct run_sample *sample)
{
    if (!sample->why[0])
        snprintf(sample->why, sizeof sample->why, "%s", fail_text());
}

static void *run_sampler(void *context)
{
    struct run_sample *sample = context;
    if (sampler_run(&sample->sampler))
        keep_story(sample);
    else if (sample->sampler.followed.has_unknown && !sample->why[0])
        snprintf(sample->why, sizeof sample->why, "%s", sample->sampler.followed.refusal);
    if (sample_shard_seal(&sample->shard))
        keep_story(sample);
    return NULL;
}

static int open_sampler(struct run_sample *sample, pid_t pid)
{
    const struct sampler_options options = {.rate_hz = (double)sample->rate_hz,
                                            .keeps_idle = true,
                                            .has_children = true,
                                            .has_orphans = true,
                                            .native = {sample->has_native ? NATIVE_RATE : 0, NULL},
                                            .is_waiting = true};
    char name[160], path[PATH_MAX + 192];
    int status = sampler_init(&sample->sampler, &options);
    if (status)
        return status;
    if (sample->has_native && !sample->sampler.native)
        keep_story(sample);
    shard_out_name(name, sizeof name, job_rank(), pid);
    snprintf(path, sizeof path, "%s/samples.%s.gait", sample->directory, name);
    status = sample_shard_open(&sample->shard, path, &sample->sampler.trie);
    if (status)
        return status;
    sample->sampler.shard = &sample->shard;
    return sampler_follow(&sample->sampler, pid);
}

void run_sample_start(void *context, pid_t pid)
{
    struct run_sample *sample = context;
    if (!sample->rate_hz)
        return;
    if (open_sampler(sample, pid)) {
        keep_story(sample);
        return;
    }
    sample->is_running = pthread_create(&sample->thread, NULL, run_sampler, sample) == 0;
    if (!sample->is_running)
        snprintf(sample->why, sizeof sample->why, "cannot start the sampling thread");
}

void run_sample_stop(struct run_sample *sample)
{
    if (sample->is_running) {
        atomic_store(&sample->sampler.is_stopped, true);
        pthread_join(sample->thread, NULL);
        // no Python, no samples: no shard either
        if (!sample->sampler.totals.rounds)
            shard_out_remove(&sample->shard.writer);
    }
    if (sample->rate_hz) {
        sampler_finish(&sample->sampler);
        sample_shard_finish(&sample->shard);
    }
    sample->rate_hz = 0;
}
