// SPDX-License-Identifier: Apache-2.0
#include "ingest/read_ahead.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"

enum { STRETCHES = 6 };

struct made {
    uint8_t *bytes; // behind the room in front
    size_t count;
    void *notes;
    bool is_last, has_notes;
};

struct read_ahead {
    struct read_ahead_plan plan;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved; // of what is below; the stretches themselves belong to one at a time
    size_t made, taken;   // so many stretches; the two taken last are left alone
    bool is_over, is_awaited, is_stopped;
    int status;
    char why[256];
    struct made ring[STRETCHES];
};

static bool wait_for_room(struct read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->is_over && ahead->made + 2 - ahead->taken >= STRETCHES)
        pthread_cond_wait(&ahead->moved, &ahead->lock);
    const bool is_over = ahead->is_over;
    pthread_mutex_unlock(&ahead->lock);
    return !is_over;
}

static int make(struct read_ahead *ahead, struct made *made)
{
    const struct read_ahead_plan *plan = &ahead->plan;
    const int status = plan->make(plan->make_context, made->bytes, &made->count, &made->is_last);
    made->is_last |= status != 0;
    pthread_mutex_lock(&ahead->lock);
    const bool is_awaited = ahead->is_awaited;
    pthread_mutex_unlock(&ahead->lock);
    made->has_notes = plan->look && !is_awaited;
    if (made->has_notes)
        plan->look(plan->look_context, (struct slice){made->bytes, made->count}, made->notes);
    return status;
}

static void *work(void *given)
{
    struct read_ahead *ahead = given;
    bool is_end = false;
    while (!is_end && wait_for_room(ahead)) {
        struct made *made = &ahead->ring[ahead->made % STRETCHES];
        const int status = make(ahead, made);
        is_end = made->is_last;
        pthread_mutex_lock(&ahead->lock);
        if (status)
            snprintf(ahead->why, sizeof ahead->why, "%s", fail_text());
        ahead->status = status;
        ahead->made++;
        pthread_cond_signal(&ahead->moved);
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

static bool make_ring(struct read_ahead *ahead)
{
    const struct read_ahead_plan *plan = &ahead->plan;
    for (size_t i = 0; i < STRETCHES; i++) {
        struct made *made = &ahead->ring[i];
        uint8_t *room = malloc(plan->front + plan->stretch);
        made->bytes = room ? room + plan->front : NULL;
        made->notes = calloc(1, plan->notes_bytes + 1);
        if (!made->bytes || !made->notes)
            return false;
    }
    return true;
}

struct read_ahead *read_ahead_start(const struct read_ahead_plan *plan)
{
    struct read_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->plan = *plan;
    ahead->is_stopped = true;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->moved, NULL);
    if (!make_ring(ahead) || pthread_create(&ahead->thread, NULL, work, ahead)) {
        read_ahead_free(ahead);
        return NULL;
    }
    ahead->is_stopped = false;
    return ahead;
}

int read_ahead_take(struct read_ahead *ahead, struct read_ahead_stretch *ret_stretch)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->is_awaited = true;
    while (ahead->made == ahead->taken)
        pthread_cond_wait(&ahead->moved, &ahead->lock);
    ahead->is_awaited = false;
    const struct made *made = &ahead->ring[ahead->taken++ % STRETCHES];
    const int status = made->is_last ? ahead->status : 0;
    pthread_cond_signal(&ahead->moved);
    pthread_mutex_unlock(&ahead->lock);
    *ret_stretch = (struct read_ahead_stretch){made->bytes, made->count, made->is_last,
                                               made->has_notes ? made->notes : NULL};
    return status ? fail(status, "%s", ahead->why) : 0;
}

void read_ahead_stop(struct read_ahead *ahead)
{
    if (!ahead || ahead->is_stopped)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_over = true;
    pthread_cond_signal(&ahead->moved);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    ahead->is_stopped = true;
}

void read_ahead_free(struct read_ahead *ahead)
{
    if (!ahead)
        return;
    read_ahead_stop(ahead);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->moved);
    for (size_t i = 0; i < STRETCHES; i++) {
        free(ahead->ring[i].bytes ? ahead->ring[i].bytes - ahead->plan.front : NULL);
        free(ahead->ring[i].notes);
    }
    free(ahead);
}
