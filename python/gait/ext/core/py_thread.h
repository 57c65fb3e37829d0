// SPDX-License-Identifier: Apache-2.0
// Tells the recorder what `threading` calls its threads: each once a recording, and all of
// them at its end.
#ifndef GAIT_PY_THREAD_H
#define GAIT_PY_THREAD_H

#include "core/py_compat.h"

#include <stdatomic.h>
#include <stdint.h>

// Which recording this is: another number after each start and in each child
// of a fork. Written by the thread that starts or forks, read by all; relaxed,
// for a thread that is late only gets its name at its next record.
extern _Atomic uint32_t py_thread_recording;

// The recording this thread gave its name to. 4 bytes of static TLS: with the
// dynamic model each span would pay two calls of __tls_get_addr.
extern _Thread_local uint32_t py_thread_named __attribute__((tls_model("initial-exec")));

void py_thread_introduce(void);

// What all threads are called by now: before a record is written out, and at its end.
void py_thread_tell_names(void);
void py_thread_start_recording(void);

// Before a thread records: one load and one comparison, unless it is new.
static inline void py_thread_ready(void)
{
    uint32_t now = atomic_load_explicit(&py_thread_recording, memory_order_relaxed);
    if (__builtin_expect(py_thread_named != now, 0))
        py_thread_introduce();
}

// Once a process: a forked child is a new recording.
void py_thread_init(void);

#endif
