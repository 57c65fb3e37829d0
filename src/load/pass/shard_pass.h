// SPDX-License-Identifier: Apache-2.0
// One shard, read once for several analyses: what each thread of a pass does.
#ifndef GAIT_LOAD_SHARD_PASS_H
#define GAIT_LOAD_SHARD_PASS_H

#include "load/order/batch.h"
#include "load/order/event_frame.h"
#include "load/pass/pass.h"

// Scratch memory of one thread, and its file descriptors.
struct shard_pass {
    struct gait_trace *trace;
    const struct pass_ask *asks;
    size_t count;
    bool is_owned;               // the shard at hand belongs to the one that is asked about
    size_t reader;               // the ask that reads spans by itself; `count`: none
    struct shard_answer *answer; // of the shard that is read
    struct event_decoder decoder;
    struct event_frame frame;
    struct batch batch;
    struct file_pool pool;
};

// What was made of one shard.
struct shard_answer {
    uint32_t shard;
    void *parts[PASS_MOST_ASKS]; // one an ask
    struct arena arena;          // of the damage's texts
    struct damage damage;        // found while it was read
};

GAIT_CHECK int shard_pass_init(struct shard_pass *pass, struct gait_trace *trace,
                               const struct pass_ask *asks, size_t count);
void shard_pass_finish(struct shard_pass *pass); // takes a zeroed struct

// Reads answer->shard, whose file and those that it owns must be in pass->pool. Parts are taken if
// there are none yet, else used again.
GAIT_CHECK int shard_pass_read(struct shard_pass *pass, struct shard_answer *answer);

// Drops what the parts hold, and zeroes them: they may be used again.
void shard_answer_drop(struct shard_answer *answer, const struct shard_pass *pass);
void shard_answer_finish(struct shard_answer *answer, const struct shard_pass *pass);

#endif
