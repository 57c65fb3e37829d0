// SPDX-License-Identifier: Apache-2.0
// A thread of another process held still for some microseconds, one at a time:
// traced from the moment it is asked to stop until it goes on, and not before or
// after. Signals, stops, exec and exit that fall into this time take their course.
#ifndef GAIT_SAMPLE_THREAD_STOP_H
#define GAIT_SAMPLE_THREAD_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/native_registers.h"

struct thread_stop {
    int64_t pid, tid; // tid 0: nobody is stopped
    uint64_t ran_ns;  // the last moment at which it was not yet seen to be still
    int signal;       // that it is to be given when it goes on
    bool may_restart; // its system call was cut short by us
};

enum thread_stop_result {
    THREAD_STOPPED,
    THREAD_PENDING, // it does not run at the moment: ask again soon
    THREAD_GONE,    // it ended
    THREAD_REFUSED, // we may not; errno tells why
};

// Asks a thread to stop and waits a little.
enum thread_stop_result thread_stop_begin(struct thread_stop *stop, int64_t pid, int64_t tid);

// Why the system refused, as one sentence: always fails.
GAIT_CHECK int thread_stop_refuse(int64_t pid, int64_t tid, int error);

// Whether a thread that was pending has stopped.
enum thread_stop_result thread_stop_poll(struct thread_stop *stop);

// Registers of the stopped thread. False where it was killed meanwhile.
bool thread_stop_registers(struct thread_stop *stop, struct native_registers *registers);

// Lets it go on. The time that it was held at most, in ns. One that was killed
// meanwhile is pending (tid is not 0) until its end is seen.
uint64_t thread_stop_end(struct thread_stop *stop);

#endif
