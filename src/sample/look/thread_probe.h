// SPDX-License-Identifier: Apache-2.0
// What a thread does that does not hold the interpreter's lock: asked from /proc,
// and not more often than an answer is worth.
#ifndef GAIT_SAMPLE_THREAD_PROBE_H
#define GAIT_SAMPLE_THREAD_PROBE_H

#include <stdint.h>

#include "sample/look/python_thread.h"
#include "sample/remote/attach.h"
#include "vocabulary/samples.h"

// The state of a thread that does not hold the lock. `is_urgent`: it held it a
// moment ago, so an old answer is worth little.
enum sample_state thread_probe(struct python_thread *thread, const struct target *target,
                               uint64_t now_ns, bool is_urgent);

// What /proc says of the thread at this moment, and what it means: the state is
// SAMPLE_NATIVE for every thread that runs, with the lock or without.
bool thread_probe_text(struct python_thread *thread, const struct target *target, char *out,
                       size_t room);
enum sample_state thread_probe_state(const char *text, const struct python_thread *thread,
                                     const struct target *target);

// Whether somebody stopped it: a signal (SIGSTOP, ^Z) or a debugger. What it was
// doing then says nothing of what it does.
bool thread_probe_is_stopped(struct python_thread *thread, const struct target *target);

void thread_probe_close(struct python_thread *thread);

#endif
