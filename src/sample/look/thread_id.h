// SPDX-License-Identifier: Apache-2.0
// Which thread of /proc a thread of Python is.
#ifndef GAIT_SAMPLE_THREAD_ID_H
#define GAIT_SAMPLE_THREAD_ID_H

#include <stddef.h>

#include "sample/look/python_thread.h"
#include "sample/remote/attach.h"

// Sets thread->tid, 0 where nobody can tell.
void thread_id_find(struct python_thread *thread, struct target *target);

// "MainThread" for the main one; else the name the system has for it, or "" where
// that is only the program's.
void thread_id_name(const struct python_thread *thread, struct target *target, char *out,
                    size_t room);

#endif
