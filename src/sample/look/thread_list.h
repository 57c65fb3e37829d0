// SPDX-License-Identifier: Apache-2.0
// Which threads a process has, as its interpreters list them.
#ifndef GAIT_SAMPLE_THREAD_LIST_H
#define GAIT_SAMPLE_THREAD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/look/python_process.h"

// Reads the lists anew. Fails when the process is gone.
GAIT_CHECK int thread_list_read(struct python_process *process);

// Asked by one call, which is nearly always the answer: nothing came or went.
bool thread_list_is_same(struct python_process *process);

// Whether the process is the one that was asked for, and runs what it ran then.
bool thread_list_is_of_program(const struct target *target);

// The thread whose state lies at that address, or NULL.
struct python_thread *thread_list_at(const struct python_process *process, uint64_t address);

// Takes one off; the last one takes its place.
void thread_list_drop(struct python_process *process, size_t index);

// Whether the list of one of several interpreters begins with somebody else by now.
bool thread_list_has_newcomer(struct python_process *process);

#endif
