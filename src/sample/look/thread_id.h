// SPDX-License-Identifier: Apache-2.0
// Which thread of /proc a thread of Python is.
#ifndef GAIT_SAMPLE_THREAD_ID_H
#define GAIT_SAMPLE_THREAD_ID_H

#include <stddef.h>

#include "sample/look/python_thread.h"
#include "sample/remote/attach.h"

// Sets thread->tid, 0 where nobody can tell.
void thread_id_find(struct python_thread *thread, struct target *target);

// What Python calls it; else "MainThread" for the main one, of others the system's name.
void thread_id_name(const struct python_thread *thread, struct target *target, char *out,
                    size_t room);

// The name the system has for it, at most 15 bytes.
void thread_id_system_name(const struct python_thread *thread, const struct target *target,
                           char *out, size_t room);

// The same, but "" where that is only the program's.
void thread_id_given_name(const struct python_thread *thread, struct target *target, char *out,
                          size_t room);

#endif
