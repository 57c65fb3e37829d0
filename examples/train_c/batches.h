// SPDX-License-Identifier: Apache-2.0
// The data side: a thread of its own draws samples of two spirals and keeps a
// short queue of batches filled, in an order that the seed alone decides.
#ifndef BATCHES_H
#define BATCHES_H

#include <pthread.h>
#include <stdint.h>

#include "network.h"
#include "random.h"

enum { BATCHES_QUEUED = 4, BATCHES_PER_SHARD = 32 };

struct sample {
    float x, y, label;
};

struct batches {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t made, taken, total; // slots [taken, made) are full
    struct batch slots[BATCHES_QUEUED];
    struct sample shard[BATCHES_PER_SHARD * NETWORK_ROWS]; // batches are drawn from it
    struct random random;
};

int batches_start(struct batches *batches, uint64_t total, uint64_t seed); // 0, or -1
void batches_stop(struct batches *batches); // once all `total` were taken

// The next batch, waiting for it if need be; valid until release.
const struct batch *batches_take(struct batches *batches);
void batches_release(struct batches *batches);

void batches_fill_held_out(struct batch *batch, uint64_t seed);

#endif
