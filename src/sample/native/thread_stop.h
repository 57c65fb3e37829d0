// SPDX-License-Identifier: Apache-2.0
// A thread of another process held still for some microseconds: traced from the
// moment it is asked to stop until it goes on, and not before or after. Signals,
// stops, exec and exit that fall into this time take their course.
#ifndef GAIT_SAMPLE_THREAD_STOP_H
#define GAIT_SAMPLE_THREAD_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/native/native_registers.h"

struct tracer; // a thread of ours that is not done with one of theirs

struct thread_stop {
    // Called while a thread is held, in another thread of ours; its answer is kept.
    bool (*look)(void *context, const struct native_registers *registers);
    // Told of each hold: the time it took at most.
    void (*held)(void *context, uint64_t ns);
    void *context;
    struct tracer *tracers;
    // what came of the last one
    bool is_seen;
    int error; // THREAD_REFUSED
};

enum thread_stop_result {
    THREAD_HELD,
    THREAD_AWAY,    // it is not on a processor, or deep in the system: not looked at
    THREAD_GONE,    // it ended
    THREAD_REFUSED, // we may not
};

enum thread_stop_result thread_stop(struct thread_stop *stop, int64_t tid);

// Why the system refused, as one sentence: always fails. 0 where it did so only for
// the moment.
GAIT_CHECK int thread_stop_refuse(const struct thread_stop *stop, int64_t pid, int64_t tid);

void thread_stop_finish(struct thread_stop *stop);

#endif
