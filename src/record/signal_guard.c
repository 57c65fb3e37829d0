// SPDX-License-Identifier: Apache-2.0
// Two bytes a thread. They are set before the lock is taken and cleared after
// it is given back, so a signal handler never sees too little.
#define _GNU_SOURCE
#include "record/signal_guard.h"

#include <stdint.h>

#include "record/writer.h"

static WRITER_TLS struct {
    volatile uint8_t depth;
    uint8_t cancel_state; // before the outermost
} hold;

bool signal_guard_is_on(void)
{
    return hold.depth > 0;
}

void signal_guard_lock(pthread_mutex_t *mutex)
{
    if (hold.depth++ == 0) {
        int before = PTHREAD_CANCEL_ENABLE;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        hold.cancel_state = (uint8_t)before;
    }
    pthread_mutex_lock(mutex);
}

void signal_guard_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    if (hold.depth == 1)
        pthread_setcancelstate(hold.cancel_state, NULL);
    hold.depth--;
}
