// SPDX-License-Identifier: Apache-2.0
// A thread inside gait's locks. Its own signal handlers can ask whether they
// interrupted that, since waiting there would be waiting for themselves; and it
// is not cancelled there, since it would take the lock along.
#ifndef GAIT_RECORD_SIGNAL_GUARD_H
#define GAIT_RECORD_SIGNAL_GUARD_H

#include <pthread.h>
#include <stdbool.h>

// Locks `mutex`; pairs nest.
void signal_guard_lock(pthread_mutex_t *mutex);
void signal_guard_unlock(pthread_mutex_t *mutex);

// Whether the calling thread is between the two, or its signal handler is.
bool signal_guard_is_on(void);

#endif
