// SPDX-License-Identifier: Apache-2.0
// Threads take shards in order. Whoever finishes the shard that is due merges it and
// those behind it that are ready; nobody runs further ahead than there are places
// for finished shards, so memory does not grow with their number.
#define _GNU_SOURCE
#include "load/pass/pass.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "load/pass/shard_pass.h"
#include "load/shard_owner.h"

enum { MOST_PLACES = 2 * PASS_MOST_THREADS, STORY_BYTES = 1024 };

struct place {
    struct shard_answer answer;
    bool is_ready;
};

struct pass {
    struct gait_trace *trace;
    const struct pass_ask *asks;
    size_t count;
    uint32_t end;         // behind the last shard to read
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t has_room;
    uint32_t next, due; // to read, to merge
    uint32_t place_count;
    struct place places[MOST_PLACES]; // of shard i: i modulo their number
    int status;
    char story[STORY_BYTES]; // of the first failure
    bool has_news;           // of damage that the run's counts do not know of
};

// Keeps the first failure; its story belongs to the thread that met it.
static void stop(struct pass *pass, int status)
{
    if (pass->status || !status)
        return;
    pass->status = status;
    snprintf(pass->story, sizeof(pass->story), "%s", fail_text());
}

static int merge(struct pass *pass, struct shard_answer *answer)
{
    struct damage *damage = &pass->trace->run.damage;
    int status = 0;
    for (size_t i = 0; !status && i < pass->count; i++) {
        if (pass->asks[i].analysis->merge)
            status = pass->asks[i].analysis->merge(pass->asks[i].answer, answer->parts[i]);
    }
    for (size_t i = 0; !status && i < answer->damage.count; i++)
        status = damage_add(damage, &answer->damage.ranges[i]);
    pass->has_news |= answer->damage.has_news;
    return status;
}

// Merges the shards that are due and ready.
static void merge_ready(struct pass *pass, const struct shard_pass *reader)
{
    struct place *place;
    while (place = &pass->places[pass->due % pass->place_count], place->is_ready) {
        if (!pass->status)
            stop(pass, merge(pass, &place->answer));
        shard_answer_drop(&place->answer, reader);
        place->is_ready = false;
        pass->due++;
        pthread_cond_broadcast(&pass->has_room);
    }
}

// Of a shard and of those that it owns, which are read with it. An owned one by itself has
// nothing to read.
static void move_sources(const struct run *run, uint32_t shard, struct file_pool *pool)
{
    if (run->shards[shard]->owner != shard)
        return;
    file_source_move(&run->shards[shard]->shard.source, pool);
    for (uint32_t i = shard_owned_first(run, shard); i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        file_source_move(&run->shards[i]->shard.source, pool);
}

// Reads shard after shard until none is left or something failed. The lock is held
// but for the reading itself.
static void read_shards(struct pass *pass, struct shard_pass *reader)
{
    while (!pass->status && pass->next < pass->end) {
        if (pass->next - pass->due >= pass->place_count) {
            pthread_cond_wait(&pass->has_room, &pass->lock);
            continue;
        }
        struct place *place = &pass->places[pass->next % pass->place_count];
        const uint32_t shard = pass->next++;
        struct file_pool *pool = pass->trace->run.shards[shard]->shard.source.pool;
        place->answer.shard = shard;
        move_sources(&pass->trace->run, shard, &reader->pool);
        pthread_mutex_unlock(&pass->lock);
        const int status = shard_pass_read(reader, &place->answer);
        pthread_mutex_lock(&pass->lock);
        move_sources(&pass->trace->run, shard, pool);
        stop(pass, status);
        place->is_ready = true;
        merge_ready(pass, reader);
    }
}

static void *work(void *context)
{
    struct pass *pass = context;
    struct shard_pass reader;
    const int status = shard_pass_init(&reader, pass->trace, pass->asks, pass->count);
    pthread_mutex_lock(&pass->lock);
    stop(pass, status);
    read_shards(pass, &reader);
    pthread_cond_broadcast(&pass->has_room); // whoever waits may have to stop
    pthread_mutex_unlock(&pass->lock);
    shard_pass_finish(&reader);
    return NULL;
}

static uint32_t count_processors(void)
{
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof(usable), &usable))
        return 1;
    return (uint32_t)CPU_COUNT(&usable);
}

// Starts helpers; without them everything is done here. They leave signals to the
// program's own threads.
static uint32_t start_helpers(struct pass *pass, pthread_t *threads, uint32_t wanted)
{
    sigset_t all, before;
    uint32_t count = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (count < wanted && !pthread_create(&threads[count], NULL, work, pass))
        count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return count;
}

static int run(struct pass *pass, uint32_t shards)
{
    const struct shard_pass dropper = {.asks = pass->asks, .count = pass->count};
    pthread_t threads[PASS_MOST_THREADS];
    uint32_t wanted = count_processors();
    wanted = wanted < shards ? wanted : shards;
    wanted = wanted < PASS_MOST_THREADS ? wanted : PASS_MOST_THREADS;
    pass->place_count = 2 * (wanted ? wanted : 1);
    pthread_mutex_init(&pass->lock, NULL);
    pthread_cond_init(&pass->has_room, NULL);
    const uint32_t helpers = start_helpers(pass, threads, wanted > 1 ? wanted - 1 : 0);
    work(pass);
    for (uint32_t i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < pass->place_count; i++)
        shard_answer_finish(&pass->places[i].answer, &dropper);
    pthread_cond_destroy(&pass->has_room);
    pthread_mutex_destroy(&pass->lock);
    pass->trace->run.damage.has_news |= pass->has_news;
    return pass->status ? fail(pass->status, "%s", pass->story) : 0;
}

static int run_range(struct gait_trace *trace, uint32_t first, uint32_t end,
                     const struct pass_ask *asks, size_t count)
{
    struct pass *pass = calloc(1, sizeof(*pass));
    if (!pass)
        return fail(GAIT_ERR_MEMORY, "no memory to read a run");
    pass->trace = trace;
    pass->asks = asks;
    pass->count = count;
    pass->next = pass->due = first;
    pass->end = end;
    int status = run_recount(&trace->run); // threads that ask about shards find all counted
    if (!status)
        status = run(pass, end - first);
    free(pass);
    return status;
}

int pass_run(struct gait_trace *trace, const struct pass_ask *asks, size_t count)
{
    if (count > PASS_MOST_ASKS)
        return fail(GAIT_ERR_ARGUMENT, "a pass takes at most %d analyses", PASS_MOST_ASKS);
    return run_range(trace, 0, trace->run.shard_count, asks, count);
}

int pass_run_shard(struct gait_trace *trace, uint32_t shard, const struct pass_ask *asks,
                   size_t count)
{
    if (shard >= trace->run.shard_count || count > PASS_MOST_ASKS)
        return fail(GAIT_ERR_ARGUMENT, "shard %u does not exist", shard);
    return run_range(trace, shard, shard + 1, asks, count);
}
