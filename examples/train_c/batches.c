// SPDX-License-Identifier: Apache-2.0
// One producer, one consumer, one lock. What crosses the threads is on record
// too: an async span from the moment a batch is begun until it is taken, and
// an arrow from the thread that made it to the step that learns from it.
#include "batches.h"

#include <gait/record.h>

#include <math.h>
#include <string.h>

enum { SHARD_SAMPLES = BATCHES_PER_SHARD * NETWORK_ROWS, READINGS = 4000 };

static struct sample draw_sample(struct random *random)
{
    const float turns = 2.0f;
    float label = (float)(random_next(random) & 1);
    float radius = 0.6f + 0.4f * random_signed(random);
    float angle = 6.2831853f * (turns * radius + 0.5f * label);

    return (struct sample){radius * cosf(angle), radius * sinf(angle), label};
}

// A point as an instrument sees it: the mean of many readings with noise.
static struct sample measure_sample(struct random *random)
{
    const float noise = 4.0f;
    struct sample sample = draw_sample(random);

    for (int i = 0; i < READINGS; i++) {
        sample.x += noise / READINGS * random_signed(random);
        sample.y += noise / READINGS * random_signed(random);
    }
    return sample;
}

static void fill_row(struct batch *batch, int row, struct sample sample)
{
    const float inputs[NETWORK_INPUTS] = {
        sample.x,
        sample.y,
        sample.x * sample.x,
        sample.y * sample.y,
        sample.x * sample.y,
        sinf(3.0f * sample.x),
        sinf(3.0f * sample.y),
        sqrtf(sample.x * sample.x + sample.y * sample.y),
    };

    memcpy(batch->inputs[row], inputs, sizeof inputs);
    batch->labels[row] = sample.label;
}

void batches_fill_held_out(struct batch *batch, uint64_t seed)
{
    struct random random = {.state = seed};

    for (int row = 0; row < NETWORK_ROWS; row++)
        fill_row(batch, row, measure_sample(&random));
}

// Stands for reading and decoding a file: as dear as several steps, so that
// now and then the queue runs dry and the trainer waits.
static void load_shard(struct batches *batches)
{
    gait_begin(GAIT_SITE("data", "load shard"));
    for (int i = 0; i < SHARD_SAMPLES; i++)
        batches->shard[i] = measure_sample(&batches->random);
    gait_end();
}

static void prepare(struct batches *batches, struct batch *batch)
{
    gait_begin(GAIT_SITE("data", "prepare batch"));
    for (int row = 0; row < NETWORK_ROWS; row++)
        fill_row(batch, row, batches->shard[random_next(&batches->random) % SHARD_SAMPLES]);
    gait_flow_begin(GAIT_SITE("data", "batch"), batch->number);
    gait_end();
}

static struct batch *wait_for_room(struct batches *batches)
{
    gait_begin(GAIT_SITE("data", "wait for room"));
    pthread_mutex_lock(&batches->mutex);
    while (batches->made - batches->taken == BATCHES_QUEUED)
        pthread_cond_wait(&batches->changed, &batches->mutex);
    pthread_mutex_unlock(&batches->mutex);
    gait_end();
    return &batches->slots[batches->made % BATCHES_QUEUED];
}

// Counts one batch made or taken.
static void advance(struct batches *batches, uint64_t *counter)
{
    uint64_t depth;

    pthread_mutex_lock(&batches->mutex);
    ++*counter;
    depth = batches->made - batches->taken;
    pthread_cond_signal(&batches->changed);
    pthread_mutex_unlock(&batches->mutex);
    gait_count(GAIT_SITE("data", "queue depth"), (int64_t)depth);
}

static void *make_batches(void *context)
{
    struct batches *batches = context;

    gait_thread_name("data");
    for (uint64_t number = 1; number <= batches->total; number++) {
        struct batch *batch = wait_for_room(batches);

        batch->number = number;
        gait_async_begin(GAIT_SITE("data", "prefetch"), number);
        if ((number - 1) % BATCHES_PER_SHARD == 0)
            load_shard(batches);
        prepare(batches, batch);
        advance(batches, &batches->made);
    }
    return NULL;
}

const struct batch *batches_take(struct batches *batches)
{
    const struct batch *batch = &batches->slots[batches->taken % BATCHES_QUEUED];

    pthread_mutex_lock(&batches->mutex);
    while (batches->made == batches->taken)
        pthread_cond_wait(&batches->changed, &batches->mutex);
    pthread_mutex_unlock(&batches->mutex);
    gait_async_end(GAIT_SITE("data", "prefetch"), batch->number);
    gait_flow_end(GAIT_SITE("data", "batch"), batch->number);
    return batch;
}

void batches_release(struct batches *batches)
{
    advance(batches, &batches->taken);
}

int batches_start(struct batches *batches, uint64_t total, uint64_t seed)
{
    memset(batches, 0, sizeof *batches);
    batches->total = total;
    batches->random.state = seed;
    pthread_mutex_init(&batches->mutex, NULL);
    pthread_cond_init(&batches->changed, NULL);
    return pthread_create(&batches->thread, NULL, make_batches, batches) ? -1 : 0;
}

void batches_stop(struct batches *batches)
{
    pthread_join(batches->thread, NULL);
    pthread_mutex_destroy(&batches->mutex);
    pthread_cond_destroy(&batches->changed);
}
