// SPDX-License-Identifier: Apache-2.0
#include "ingest/read_ahead.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum { STRETCHES = 3 };

struct read_ahead {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved; // of what is below; the stretches themselves belong to one at a time
    size_t made, taken;   // so many stretches
    size_t counts[STRETCHES];
    bool is_last[STRETCHES], is_over;
    int status;
    char why[256];
    read_ahead_make *make;
    void *context;
    size_t stretch;
    uint8_t bytes[];
};

static void *work(void *given)
{
    struct read_ahead *ahead = given;
    for (bool is_end = false; !is_end;) {
        pthread_mutex_lock(&ahead->lock);
        while (!ahead->is_over && ahead->made - ahead->taken == STRETCHES)
            pthread_cond_wait(&ahead->moved, &ahead->lock);
        const bool is_over = ahead->is_over;
        const size_t at = ahead->made % STRETCHES;
        pthread_mutex_unlock(&ahead->lock);
        if (is_over)
            break;
        size_t count = 0;
        const int status =
            ahead->make(ahead->context, ahead->bytes + at * ahead->stretch, &count, &is_end);
        is_end |= status != 0;
        pthread_mutex_lock(&ahead->lock);
        if (status)
            snprintf(ahead->why, sizeof ahead->why, "%s", fail_text());
        ahead->status = status;
        ahead->counts[at] = count;
        ahead->is_last[at] = is_end;
        ahead->made++;
        pthread_cond_signal(&ahead->moved);
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

struct read_ahead *read_ahead_start(read_ahead_make *make, void *context, size_t stretch)
{
    struct read_ahead *ahead = malloc(sizeof *ahead + STRETCHES * stretch);
    if (!ahead)
        return NULL;
    memset(ahead, 0, sizeof *ahead);
    ahead->make = make;
    ahead->context = context;
    ahead->stretch = stretch;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->moved, NULL);
    if (pthread_create(&ahead->thread, NULL, work, ahead)) {
        free(ahead);
        return NULL;
    }
    return ahead;
}

int read_ahead_take(struct read_ahead *ahead, uint8_t *out, size_t *ret_count, bool *ret_is_end)
{
    pthread_mutex_lock(&ahead->lock);
    while (ahead->made == ahead->taken)
        pthread_cond_wait(&ahead->moved, &ahead->lock);
    const size_t at = ahead->taken % STRETCHES;
    *ret_count = ahead->counts[at];
    *ret_is_end = ahead->is_last[at];
    const int status = *ret_is_end ? ahead->status : 0;
    pthread_mutex_unlock(&ahead->lock);
    memcpy(out, ahead->bytes + at * ahead->stretch, *ret_count);
    pthread_mutex_lock(&ahead->lock);
    ahead->taken++;
    pthread_cond_signal(&ahead->moved);
    pthread_mutex_unlock(&ahead->lock);
    return status ? fail(status, "%s", ahead->why) : 0;
}

void read_ahead_stop(struct read_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_over = true;
    pthread_cond_signal(&ahead->moved);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->moved);
    free(ahead);
}
