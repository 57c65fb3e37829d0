// SPDX-License-Identifier: Apache-2.0
// Steps that somebody wants on record now. Who asks from outside writes into the
// header of the ring file, which is shared memory: no signal is sent, so a process
// that has no gait cannot be hurt.
#define _GNU_SOURCE
#include <gait/record.h>

#include "record/recorder.h"
#include "record/writer.h"

static uint64_t asked_here; // by gait_trigger(), any thread or signal handler

void gait_trigger(uint64_t steps)
{
    __atomic_store_n(&asked_here, steps, __ATOMIC_RELEASE);
}

uint64_t gait_trigger_take(void)
{
    uint64_t steps = __atomic_exchange_n(&asked_here, 0, __ATOMIC_ACQUIRE);
    if (!GAIT_ON)
        return steps;
    recorder_lock(); // a stop takes the header away
    struct ring_file_header *header = recorder_state.pool.header;
    if (header && __atomic_load_n(&header->asked_steps, __ATOMIC_RELAXED))
        steps = __atomic_exchange_n(&header->asked_steps, 0, __ATOMIC_ACQUIRE);
    recorder_unlock();
    return steps > GAIT_TRIGGER_ANY ? GAIT_TRIGGER_ANY : steps; // anybody may write there
}
